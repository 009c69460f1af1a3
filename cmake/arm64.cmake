# SPDX-License-Identifier: BSD-2-Clause
# Toolchain for the emulated Arm64 machine.
set(CPC_MACHINE aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
