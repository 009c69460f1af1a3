/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * returns.c - the functions whose returns cannot be counted.
 *
 * To count returns, the kernel replaces the return address of each call.  That kills programs whose
 * function returns twice from one call, or whose stack is exchanged or moved before the return.
 */
#include "lookup.h"

#include <errno.h>
#include <string.h>

/* Functions that return twice, never return, or return on another stack. */
static const char *const unusual[] = {
	"setjmp",	  "_setjmp",	       "sigsetjmp",	   "__sigsetjmp",
	"longjmp",	  "_longjmp",	       "siglongjmp",	   "__longjmp_chk",
	"__libc_longjmp", "__libc_siglongjmp", "__sigsetjmp_tail", "__longjmp",
	"getcontext",	  "setcontext",	       "swapcontext",	   "makecontext",
	"__getcontext",	  "__setcontext",      "__swapcontext",	   "__start_context",
	"vfork",	  "__vfork",	       "__libc_vfork",
};

/* Is the function found at the address of `name`?  Libraries have aliases. */
static bool is_alias(const struct cpci_found *found, struct cpci_symfile *file, int fd,
		     const char *name)
{
	struct cpci_symbol symbol;

	return cpci_symfile_find(file, fd, CPCI_ELF_ALL, name, 0, &symbol) == 0 &&
	       symbol.kind == CPCI_SYM_FOUND && symbol.value == found->symbol.value;
}

static const char *unusual_name(const struct cpci_lookup *look, const struct cpci_found *found,
				struct cpci_symfile *file, int fd)
{
	const char *name = look->term->symbol;
	const size_t n = sizeof(unusual) / sizeof(*unusual), length = strcspn(name, "@");

	for (size_t i = 0; i < n; i++) {
		if (strncmp(unusual[i], name, length) == 0 && unusual[i][length] == '\0')
			return unusual[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (is_alias(found, file, fd, unusual[i]))
			return unusual[i];
	}
	return NULL;
}

int cpci_function_check_return(const struct cpci_lookup *look, const struct cpci_found *found,
			       struct cpci_symfile *file, int fd)
{
	static const char *const go[] = {".note.go.buildid", ".go.buildinfo", ".gopclntab"};
	const char *name;

	if (!cpci_uprobe_returns(&look->term->attr))
		return 1;
	for (size_t i = 0; i < sizeof(go) / sizeof(*go); i++) {
		if (cpci_elf_has_section(fd, go[i]))
			return cpci_diag(look->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
					 "cannot count '%s': '%s' is a program of Go, which moves "
					 "its stacks; a probe of returns would kill it (without "
					 "',ret' calls are counted)",
					 look->req->name, found->path);
	}
	name = unusual_name(look, found, file, fd);
	if (name == NULL)
		return 1;
	return cpci_diag(look->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			 "cannot count '%s': '%s' of '%s' returns twice, or on another stack; a "
			 "probe of returns would kill the program (without ',ret' calls are "
			 "counted)",
			 look->req->name, name, found->path);
}
