# SPDX-License-Identifier: BSD-2-Clause
# Toolchain for the emulated Arm64 machine: the cross compiler of the Debian package
# gcc-aarch64-linux-gnu, and libraries that tests/vm/fetch downloads.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../tests/vm/fetch
	OUTPUT_VARIABLE cpc_vm_cache OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
	message(FATAL_ERROR "tests/vm/fetch could not download the libraries for Arm64")
endif()
set(CMAKE_SYSROOT ${cpc_vm_cache}/sysroot)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
