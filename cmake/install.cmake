# SPDX-License-Identifier: BSD-2-Clause
# What is installed, and where.  Components: tools, dev, python; each is a package, too.
include(CMakePackageConfigHelpers)

# Debian's own packages have them elsewhere.
set(CPC_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
	"Where completions for zsh are installed")
set(CPC_EXAMPLES_DIR ${CMAKE_INSTALL_DOCDIR}/examples CACHE STRING
	"Where examples are installed")
set(CPC_TMPFILES_DIR lib/tmpfiles.d CACHE STRING
	"Where systemd-tmpfiles(8) looks for its configuration")
set(CPC_SYSTEMD_DIR lib/systemd/system CACHE STRING "Where systemd(1) looks for units")

# ---- programs, libraries, headers ----------------------------------------------
install(PROGRAMS cmd/cpcplot/cpcplot TYPE BIN COMPONENT tools)
install(TARGETS cputrack cpustat cpc-events COMPONENT tools)
install(TARGETS cpc pctx EXPORT cpcTargets
	ARCHIVE COMPONENT dev
	LIBRARY COMPONENT tools NAMELINK_COMPONENT dev
	INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ ${PROJECT_BINARY_DIR}/include/
	TYPE INCLUDE COMPONENT dev FILES_MATCHING PATTERN "*.h")

# ---- the Python module, and its library beside it ------------------------------
set(CPC_PYTHON_DIR lib/python3/dist-packages CACHE STRING
	"Where modules of Python are installed")
if(TARGET cpc_python)
	install(TARGETS cpc_python DESTINATION ${CPC_PYTHON_DIR} COMPONENT python)
	install(FILES python/cpc.py DESTINATION ${CPC_PYTHON_DIR} COMPONENT python)
endif()

# ---- pkg-config and CMake; both find the rest from where they are ---------------
file(RELATIVE_PATH CPC_PREFIX_FROM_PC
	${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
if(NOT BUILD_SHARED_LIBS)
	set(CPC_PC_LIBS "-lpfm -lbsd -pthread -ldl")
	set(PCTX_PC_LIBS "-lbsd")
	set(CPC_PC_PRIVATE "-lmd") # of libbsd, for programs that are static all through
endif()
foreach(library libcpc libpctx)
	configure_file(pkgconfig/${library}.pc.in ${library}.pc @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/${library}.pc
		DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cpc)
set(CPC_SHARED ${BUILD_SHARED_LIBS})
configure_package_config_file(cmake/cpcConfig.cmake.in cpcConfig.cmake
	INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cpcConfigVersion.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cpcConfig.cmake ${PROJECT_BINARY_DIR}/cpcConfigVersion.cmake
	DESTINATION ${cmake_dir} COMPONENT dev)
install(FILES cmake/deps.cmake RENAME cpcDependencies.cmake
	DESTINATION ${cmake_dir} COMPONENT dev)
install(EXPORT cpcTargets NAMESPACE cpc:: DESTINATION ${cmake_dir} COMPONENT dev)

# ---- manual pages, with version and paths, and found by each of their names ------
file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/man)
function(cpc_man section component)
	set(out ${PROJECT_BINARY_DIR}/man/man${section})
	file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man${section}/*.${section})
	foreach(page IN LISTS pages)
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
		get_filename_component(file ${page} NAME)
		file(READ ${page} text)
		string(REPLACE "\n.Os\n" "\n.Os ${PROJECT_NAME} ${PROJECT_VERSION}\n" text "${text}")
		string(REPLACE "/usr/share/cpc" "${CMAKE_INSTALL_FULL_DATADIR}/cpc" text "${text}")
		file(WRITE ${out}/${file} "${text}")

		string(REGEX MATCH "\n\\.Sh NAME\n(\\.Nm [^\n]*\n)*" names "${text}")
		string(REGEX MATCHALL "Nm [A-Za-z0-9_-]+" names "${names}")
		foreach(name IN LISTS names)
			string(REPLACE "Nm " "" name "${name}")
			if(NOT EXISTS ${PROJECT_SOURCE_DIR}/man${section}/${name}.${section})
				file(WRITE ${out}/${name}.${section} ".so man${section}/${file}\n")
			endif()
		endforeach()
	endforeach()
	install(DIRECTORY ${out} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${component})
endfunction()
cpc_man(1 tools)
cpc_man(3 dev)
cpc_man(5 tools)
cpc_man(7 tools)

# ---- completions, definitions, documents ---------------------------------------
foreach(program cputrack cpustat cpc-events)
	set(from ${PROJECT_BINARY_DIR}/completions/${program})
	install(FILES ${from}.bash RENAME ${program}
		DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
	install(FILES ${from}.zsh RENAME _${program} DESTINATION ${CPC_ZSH_DIR} COMPONENT tools)
	install(FILES ${from}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
		COMPONENT tools)
endforeach()
install(DIRECTORY libcpc/event/defs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/cpc
	COMPONENT tools FILES_MATCHING PATTERN "*.def")
install(FILES packaging/cpc.conf DESTINATION ${CPC_TMPFILES_DIR} COMPONENT tools)
configure_file(packaging/cpustat-export.service.in cpustat-export.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cpustat-export.service
	DESTINATION ${CPC_SYSTEMD_DIR} COMPONENT tools)
install(FILES README.md CHANGELOG.md SECURITY.md LICENSE docs/ci.md docs/fleet.md
	packaging/cpc-dashboard.json TYPE DOC COMPONENT tools)

install(DIRECTORY examples/ DESTINATION ${CPC_EXAMPLES_DIR} COMPONENT dev)

# ---- uninstall -----------------------------------------------------------------
if(PROJECT_IS_TOP_LEVEL)
	add_custom_target(uninstall COMMAND ${CMAKE_COMMAND}
		-DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
		-P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)
endif()
