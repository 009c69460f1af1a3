# SPDX-License-Identifier: BSD-2-Clause
# The libraries of others.  Programs contain them, too, where there are archives, so that
# one file is all to copy to a server.

# Sets OUT to the libraries of those NAMES.
function(cpc_find out)
	set(found)
	foreach(name IN LISTS ARGN)
		if(BUILD_SHARED_LIBS)
			find_library(CPC_LIB_${name} ${name} REQUIRED)
		else()
			find_library(CPC_LIB_${name} NAMES lib${name}.a ${name} REQUIRED)
		endif()
		list(APPEND found ${CPC_LIB_${name}})
	endforeach()
	set(${out} ${found} PARENT_SCOPE)
endfunction()

cpc_find(CPC_PFM pfm)
if(BUILD_SHARED_LIBS)
	cpc_find(CPC_BSD bsd)
else()
	cpc_find(CPC_BSD bsd md)
endif()
