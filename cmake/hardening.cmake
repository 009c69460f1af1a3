# SPDX-License-Identifier: BSD-2-Clause
# What makes faults hard to exploit, as far as compiler and linker know it: into cpc_flags.
include(CheckCCompilerFlag)
include(CheckPIESupported)

check_pie_supported(LANGUAGES C)
# One that is ignored is an error here: clang warns of those of other machines.
set(CMAKE_REQUIRED_FLAGS -Werror)
foreach(flag
	-fstack-protector-strong
	-fstack-clash-protection
	-fcf-protection             # CET of x86
	-mbranch-protection=standard # PAC and BTI of Arm64
	)
	string(MAKE_C_IDENTIFIER CPC_TAKES${flag} known)
	check_c_compiler_flag(${flag} ${known})
	if(${known})
		target_compile_options(cpc_flags INTERFACE ${flag})
	endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)
# It takes optimization.  The compiler's or the user's own level may be another.
target_compile_options(cpc_flags INTERFACE
	$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
target_link_options(cpc_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
