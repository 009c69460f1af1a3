# SPDX-License-Identifier: BSD-2-Clause
# What is installed, and where.  Components: lib, tools, plot, dev, python; each is a package, too.
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
install(PROGRAMS ${PROJECT_BINARY_DIR}/cpcplot TYPE BIN COMPONENT plot)
install(TARGETS cputrack cpustat cpc-events COMPONENT tools)
# Scripts for Solaris call /usr/sbin/cpustat.
if(NOT CMAKE_INSTALL_FULL_SBINDIR STREQUAL CMAKE_INSTALL_FULL_BINDIR)
	file(RELATIVE_PATH to ${CMAKE_INSTALL_FULL_SBINDIR} ${CMAKE_INSTALL_FULL_BINDIR}/cpustat)
	file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/sbin)
	file(CREATE_LINK ${to} ${PROJECT_BINARY_DIR}/sbin/cpustat SYMBOLIC)
	install(FILES ${PROJECT_BINARY_DIR}/sbin/cpustat TYPE SBIN COMPONENT tools)
endif()
if(TARGET ovfprof)
	install(TARGETS ovfprof COMPONENT tools)
	install(TARGETS ovfprof-preload DESTINATION ${CMAKE_INSTALL_LIBDIR}/cpc COMPONENT tools)
else()
	set(without PATTERN ovfprof.1 EXCLUDE)
endif()
install(TARGETS cpc pctx EXPORT cpcTargets
	ARCHIVE COMPONENT dev
	LIBRARY COMPONENT lib NAMELINK_COMPONENT dev
	INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(BUILD_SHARED_LIBS)
	install(TARGETS cpc_static pctx_static EXPORT cpcStaticTargets
		ARCHIVE COMPONENT dev
		INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(DIRECTORY include/ ${PROJECT_BINARY_DIR}/include/
	TYPE INCLUDE COMPONENT dev FILES_MATCHING PATTERN "*.h")

# ---- the Python module, and its library beside it ------------------------------
set(CPC_PYTHON_DIR "" CACHE STRING
	"Where modules of Python are installed, below the prefix; empty: where Python finds them")
if(TARGET cpc_python)
	# The prefix is known at the installation only, and so is the directory.
	install(CODE "set(CPC_PYTHON_DIR \"${CPC_PYTHON_DIR}\")
		include(\"${PROJECT_SOURCE_DIR}/cmake/python_dir.cmake\")" COMPONENT python)
	install(TARGETS cpc_python DESTINATION "\${CPC_PYTHON_DIR}" COMPONENT python)
	install(FILES python/cpc.py DESTINATION "\${CPC_PYTHON_DIR}" COMPONENT python)
endif()

# ---- pkg-config and CMake; both find the rest from where they are ---------------
# In /usr the prefix is absolute: pkg-config omits -I and -L of system directories only if they
# are written as such.  Elsewhere it is relative to the .pc file, so an installation can be moved.
file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
if(BUILD_SHARED_LIBS)
	# What they need themselves matters only to programs that link everything statically.
	set(LIBCPC_LIBS "Requires.private: libpctx
Libs: -L\${libdir} -lcpc
Libs.private: -lpfm -lbsd -lmd -pthread -ldl")
	set(LIBPCTX_LIBS "Libs: -L\${libdir} -lpctx
Libs.private: -lbsd -lmd")
else()
	set(LIBCPC_LIBS "Requires: libpctx
Libs: -L\${libdir} -lcpc -lpctx -lpfm -lbsd -pthread -ldl
Libs.private: -lmd") # of libbsd, for programs that are static all through
	set(LIBPCTX_LIBS "Libs: -L\${libdir} -lpctx -lbsd
Libs.private: -lmd")
endif()
foreach(library libcpc libpctx)
	set(CPC_PC_PREFIX /usr)
	configure_file(pkgconfig/${library}.pc.in usr/${library}.pc @ONLY)
	set(CPC_PC_PREFIX "\${pcfiledir}/${up}")
	configure_file(pkgconfig/${library}.pc.in ${library}.pc @ONLY)
	install(CODE "
		set(from \"${PROJECT_BINARY_DIR}\")
		if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
			string(APPEND from /usr)
		endif()
		file(INSTALL \${from}/${library}.pc TYPE FILE
			DESTINATION \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig)"
		COMPONENT dev)
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
if(BUILD_SHARED_LIBS)
	install(EXPORT cpcStaticTargets NAMESPACE cpc:: DESTINATION ${cmake_dir} COMPONENT dev)
endif()

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
	install(DIRECTORY ${out} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${component}
		PATTERN cpcplot.1 EXCLUDE ${without})
endfunction()
cpc_man(1 tools)
cpc_man(3 dev)
cpc_man(5 tools)
cpc_man(7 tools)
install(FILES ${PROJECT_BINARY_DIR}/man/man1/cpcplot.1
	DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT plot)

# ---- completions, definitions, documents ---------------------------------------
foreach(program cputrack cpustat cpc-events cpcplot)
	set(from ${PROJECT_BINARY_DIR}/completions/${program})
	set(component tools)
	if(program STREQUAL cpcplot)
		set(component plot)
	endif()
	install(FILES ${from}.bash RENAME ${program}
		DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
		COMPONENT ${component})
	install(FILES ${from}.zsh RENAME _${program} DESTINATION ${CPC_ZSH_DIR}
		COMPONENT ${component})
	install(FILES ${from}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
		COMPONENT ${component})
endforeach()
install(DIRECTORY libcpc/event/defs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/cpc
	COMPONENT tools FILES_MATCHING PATTERN "*.def")
install(FILES packaging/cpc.conf DESTINATION ${CPC_TMPFILES_DIR} COMPONENT tools)
configure_file(packaging/cpustat-export.service.in cpustat-export.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cpustat-export.service
	DESTINATION ${CPC_SYSTEMD_DIR} COMPONENT tools)
install(FILES README.md CHANGELOG.md SECURITY.md LICENSE docs/answers.md docs/ci.md
	docs/comparison.md docs/fleet.md docs/solaris.md
	packaging/cpc-dashboard.json TYPE DOC COMPONENT tools)

install(DIRECTORY examples/ DESTINATION ${CPC_EXAMPLES_DIR} COMPONENT dev)

# ---- uninstall -----------------------------------------------------------------
if(PROJECT_IS_TOP_LEVEL)
	add_custom_target(uninstall COMMAND ${CMAKE_COMMAND}
		-DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
		-P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)
endif()
