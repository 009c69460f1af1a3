# SPDX-License-Identifier: BSD-2-Clause
# Toolchain for other machines, CPC_MACHINE: Debian's cross compilers, and libraries that
# tests/vm/fetch downloads.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CPC_MACHINE)
set(cpc_architecture ${CPC_MACHINE}) # as Debian names it
set(cpc_triplet ${CPC_MACHINE}-linux-gnu)
if(CPC_MACHINE STREQUAL aarch64)
	set(cpc_architecture arm64)
elseif(CPC_MACHINE STREQUAL ppc64le)
	set(cpc_architecture ppc64el)
	set(cpc_triplet powerpc64le-linux-gnu)
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CPC_MACHINE})
set(CMAKE_C_COMPILER ${cpc_triplet}-gcc)

execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../tests/vm/fetch -a ${cpc_architecture}
	OUTPUT_VARIABLE cpc_vm_cache OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
	message(FATAL_ERROR "tests/vm/fetch could not download the libraries for ${CPC_MACHINE}")
endif()
set(CMAKE_SYSROOT ${cpc_vm_cache}/sysroot)
set(CMAKE_LIBRARY_ARCHITECTURE ${cpc_triplet})
find_program(CPC_QEMU qemu-${CPC_MACHINE})
if(CPC_QEMU)
	set(CMAKE_CROSSCOMPILING_EMULATOR ${CPC_QEMU} -L ${CMAKE_SYSROOT})
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${cpc_triplet}/pkgconfig)
