# SPDX-License-Identifier: BSD-2-Clause
# The libraries of others, as cpc::libpfm and cpc::libbsd.  This file is also part of the
# installed CMake package: the static libcpc needs them where a program is linked.
#
# Archives come first, so that one file is all to copy to a server.

# cpc_dependency(TARGET NAME...): TARGET stands for those libraries.  CPC_MISSING gets the names
# of those that are not there.
function(cpc_dependency target)
	set(found)
	foreach(name IN LISTS ARGN)
		if(CPC_SHARED_DEPENDENCIES)
			find_library(CPC_LIB_${name} ${name})
		else()
			find_library(CPC_LIB_${name} NAMES lib${name}.a ${name})
		endif()
		mark_as_advanced(CPC_LIB_${name})
		if(NOT CPC_LIB_${name})
			list(APPEND CPC_MISSING lib${name})
		endif()
		list(APPEND found ${CPC_LIB_${name}})
	endforeach()
	if(NOT TARGET ${target})
		add_library(${target} INTERFACE IMPORTED)
		set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${found}")
	endif()
	set(CPC_MISSING ${CPC_MISSING} PARENT_SCOPE)
endfunction()

set(CPC_MISSING)
cpc_dependency(cpc::libpfm pfm)
if(CPC_SHARED_DEPENDENCIES)
	cpc_dependency(cpc::libbsd bsd)
else()
	cpc_dependency(cpc::libbsd bsd md)
endif()
