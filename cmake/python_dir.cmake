# SPDX-License-Identifier: BSD-2-Clause
# cmake --install includes this: it sets CPC_PYTHON_DIR, below the prefix, if that is empty.
if(NOT CPC_PYTHON_DIR)
	find_program(CPC_PYTHON python3 PATHS ${CMAKE_INSTALL_PREFIX}/bin /usr/bin NO_DEFAULT_PATH)
	find_program(CPC_PYTHON python3)
	set(find "import os, site, sys
prefix = sys.argv[1]
found = [path for path in site.getsitepackages() if path.startswith(os.path.join(prefix, 'lib'))]
print(os.path.relpath(found[0], prefix) if found else '', end='')")
	if(CPC_PYTHON)
		execute_process(COMMAND ${CPC_PYTHON} -c ${find} ${CMAKE_INSTALL_PREFIX}
			OUTPUT_VARIABLE CPC_PYTHON_DIR COMMAND_ERROR_IS_FATAL ANY)
	endif()
endif()
if(NOT CPC_PYTHON_DIR)
	set(CPC_PYTHON_DIR lib/python3/dist-packages)
	message(STATUS "Python does not look for modules in this prefix; import cpc requires "
		"PYTHONPATH=${CMAKE_INSTALL_PREFIX}/${CPC_PYTHON_DIR}")
endif()
