# SPDX-License-Identifier: BSD-2-Clause
# Debian packages: cmake --preset package && cmake --build --preset package.  With
# -DBUILD_SHARED_LIBS=OFF the programs contain all libraries but the C library.
#
# The same sources and tools give the same bytes: all times are that of the version in CHANGELOG.md,
# or SOURCE_DATE_EPOCH.
file(STRINGS CHANGELOG.md entry REGEX "^## " LIMIT_COUNT 1)
if(NOT entry MATCHES "^## ([0-9.]+) - ([0-9]+-[0-9]+-[0-9]+)$" OR
   NOT CMAKE_MATCH_1 STREQUAL PROJECT_VERSION)
	message(FATAL_ERROR "CHANGELOG.md: its first entry is not of version ${PROJECT_VERSION}")
endif()
set(date "${CMAKE_MATCH_2} 00:00 UTC")
execute_process(COMMAND date -u -d ${date} +%s
	OUTPUT_VARIABLE CPC_EPOCH OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C date -u -R -d ${date}
	OUTPUT_VARIABLE CPC_DATE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# The project has no address; dpkg requires none.
set(CPACK_PACKAGE_CONTACT "The cpc authors" CACHE STRING
	"Maintainer of the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each has one of its own
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL tools plot dev)
set(CPC_PACKAGES tools cpc-tools plot cpcplot dev libcpc-dev)
if(BUILD_SHARED_LIBS)
	# Both libraries: their SONAMEs always change together (Debian Policy 8.1).
	set(CPC_LIB_PACKAGE libcpc${CPC_ABI})
	list(PREPEND CPACK_COMPONENTS_ALL lib)
	list(APPEND CPC_PACKAGES lib ${CPC_LIB_PACKAGE})
endif()
if(TARGET cpc_python)
	list(APPEND CPACK_COMPONENTS_ALL python)
	list(APPEND CPC_PACKAGES python python3-cpc)
endif()
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/packaging/config.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_BINARY_DIR}/packaging/finish.cmake)
if(CPC_LIB_ncurses AND CPC_LIB_tinfo AND CPC_TERM_H) # the programs contain it; its licence is in the package
	set(CPC_NCURSES_PACKAGE libncurses)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(debian_x86_64 amd64)
set(debian_aarch64 arm64)
set(debian_ppc64le ppc64el)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}) # riscv64, s390x
if(debian_${CMAKE_SYSTEM_PROCESSOR})
	set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${debian_${CMAKE_SYSTEM_PROCESSOR}})
endif()
set(dev "libc6-dev | libc-dev, libpfm4-dev, libbsd-dev")
if(CMAKE_CROSSCOMPILING)
	if(BUILD_SHARED_LIBS)
		message(STATUS "cross-built programs need -DBUILD_SHARED_LIBS=OFF: no Debian packages")
		return()
	endif()
	# dpkg-shlibdeps knows this machine's libraries only.
	set(preprocess ${CMAKE_C_COMPILER} -E -dM -x c -include features.h /dev/null)
	if(CMAKE_SYSROOT)
		list(APPEND preprocess --sysroot=${CMAKE_SYSROOT})
	endif()
	if(CMAKE_C_COMPILER_TARGET)
		list(APPEND preprocess --target=${CMAKE_C_COMPILER_TARGET})
	endif()
	execute_process(COMMAND ${preprocess} OUTPUT_VARIABLE macros COMMAND_ERROR_IS_FATAL ANY)
	if(NOT macros MATCHES "__GLIBC_MINOR__ ([0-9]+)")
		message(STATUS "no glibc: no Debian packages")
		return()
	endif()
	set(libc "libc6 (>= 2.${CMAKE_MATCH_1})")
	set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${libc}")
	set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, ${libc}, libpfm4, libbsd0")
else()
	set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
	set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
	set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
	set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS python3)
	if(BUILD_SHARED_LIBS)
		set(same "${CPC_LIB_PACKAGE} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
		set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${same}")
		string(PREPEND dev "${same}, ")
	endif()
endif()

if(BUILD_SHARED_LIBS)
	set(CPACK_DEBIAN_LIB_PACKAGE_NAME ${CPC_LIB_PACKAGE})
	set(CPACK_DEBIAN_LIB_DESCRIPTION
"CPU performance counters for programs - shared libraries
libcpc counts performance events of threads, processes and CPUs, libpctx
follows processes through fork and exec.  Both have the interface of their
namesakes on Solaris.")
	set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
	configure_file(packaging/lib/shlibs.in packaging/lib/shlibs @ONLY)
	set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packaging/lib/shlibs
		${PROJECT_SOURCE_DIR}/packaging/lib/triggers)
	# CPack would add scripts that call ldconfig, if it looked for the dependencies itself.
	set(CPC_LIB_FILES ${PROJECT_BINARY_DIR}/libcpc.so ${PROJECT_BINARY_DIR}/libpctx.so)
endif()

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME cpc-tools)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION
"count performance events of processes and CPUs
cputrack runs a program, or attaches to one, and counts events in each of its
threads, through fork and exec, up to the last instruction of each.  cpustat
counts them on each CPU.  Both print plain tables, as on Solaris.  ovfprof
prints in which functions of a program they happen.

Nothing is multiplexed or scaled: what cannot be counted is refused with the
reason.  Without hardware counters there are software events, tracepoints and
breakpoints.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION admin)
# Of cpustat --listen, and of ovfprof; they are loaded when they are needed.
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS
	"cpcplot, libmicrohttpd12t64 | libmicrohttpd12, libdebuginfod1t64 | libdebuginfod1")
# It owns /usr/sbin/cpustat and completions of that name.
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONFLICTS cpustat)
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA
	${PROJECT_SOURCE_DIR}/packaging/tools/postinst ${PROJECT_SOURCE_DIR}/packaging/tools/postrm)

# A package of its own: servers count without Python.
set(CPACK_DEBIAN_PLOT_PACKAGE_NAME cpcplot)
set(CPACK_DEBIAN_PLOT_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PLOT_DESCRIPTION
"draw the counts of cputrack and cpustat
cpcplot reads the csv, json and records of cputrack and cpustat, of this or
of another machine, and draws the counts over time: in the terminal, or as
files of images.")
set(CPACK_DEBIAN_PLOT_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PLOT_PACKAGE_DEPENDS "python3:any, gnuplot-nox | gnuplot")
set(CPACK_DEBIAN_PLOT_PACKAGE_SUGGESTS cpc-tools)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcpc-dev)
set(CPACK_DEBIAN_DEV_DESCRIPTION
"CPU performance counters for programs - development files
libcpc counts performance events of threads, processes and CPUs, libpctx
follows processes through fork and exec.  Both have the interface of their
namesakes on Solaris.

These are the libraries to link with, headers and manual pages, and what
pkg-config and CMake need to find them.")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${dev}")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS cpc-tools)

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-cpc)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION
"CPU performance counters for Python programs
The module cpc counts performance events of the calling thread in a with
statement: page faults, cycles, tracepoints, and whatever else cputrack counts.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS cpc-tools)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
	${PROJECT_SOURCE_DIR}/packaging/python/postinst ${PROJECT_SOURCE_DIR}/packaging/python/prerm)

# These files read the variables above.
foreach(file config finish)
	configure_file(packaging/${file}.cmake.in packaging/${file}.cmake @ONLY)
endforeach()
include(CPack)
