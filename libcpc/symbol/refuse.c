/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* refuse.c - why a symbol cannot be counted. */
#include "lookup.h"

#include <errno.h>
#include <string.h>

void cpci_lookup_shorten_path(char *to, size_t size, const char *path)
{
	size_t n = strlen(path);

	if (n < size)
		snprintf(to, size, "%s", path);
	else
		snprintf(to, size, "...%s", path + n - (size - 4));
}

static const char *reason(int err)
{
	switch (err) {
	case ESTALE:
	case ENOENT:
		return "it was removed or replaced since it was mapped";
	case ENOEXEC:
		return "it is not an ELF file of this machine";
	case EISDIR:
		return "it is a directory";
	case EIO:
		return "it is damaged, or ends too early";
	case EFBIG:
		return "reading its symbols takes too much memory";
	case ETIME:
		return "reading its symbols takes too long";
	case ENODATA:
		return "it has no section headers, which locate its symbols";
	case ENOTSUP:
		return "its symbols are compressed, or their names are not there";
	case EBUSY:
		return "it is being written";
	default:
		return strerror(err);
	}
}

/* ENOENT and ESRCH have other meanings in this call. */
static int errno_for(int err)
{
	if (err == EPERM)
		return EACCES;
	return err == ENOENT || err == ESRCH ? ESTALE : err;
}

int cpci_lookup_cannot_read(const struct cpci_lookup *look, const char *path, int err)
{
	char text[256];

	cpci_lookup_shorten_path(text, sizeof(text), path);
	return cpci_diag(look->diag, errno_for(err), 0,
			 "cannot count '%s': '%s', which may have the symbol, cannot be read: %s",
			 look->req->name, text, reason(err));
}

int cpci_lookup_cannot_look(const struct cpci_lookup *look, enum cpci_process_error error)
{
	const char *name = look->req->name;
	int err = errno;

	switch (error) {
	case CPCI_PROCESS_MAPS:
		return cpci_diag(
			look->diag, errno_for(err), 0,
			"cannot count '%s': the mappings of its program cannot be read: %s", name,
			err == EFBIG ? "there are too many" : strerror(err));
	case CPCI_PROCESS_PROGRAM:
		return cpci_diag(look->diag, errno_for(err), 0,
				 "cannot count '%s': its program cannot be read: %s", name,
				 reason(err));
	case CPCI_PROCESS_ADDRESS:
		return cpci_diag(
			look->diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': the address of its program is unknown, because the "
			"program has changed its mappings or its auxiliary vector",
			name);
	case CPCI_PROCESS_LIST:
		return cpci_diag(
			look->diag, errno_for(err), 0,
			"cannot count '%s': the dynamic linker's list of libraries, in the "
			"memory of the program, cannot be read: %s",
			name,
			err == EBADMSG ? "it is damaged"
			: err == EFBIG ? "it is too long"
				       : strerror(err));
	case CPCI_PROCESS_LINKER:
		return cpci_diag(
			look->diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': the program of a dynamic linker that was called as a "
			"command is not known before it runs",
			name);
	case CPCI_PROCESS_OK:
		break;
	}
	return -1;
}

/* An event at a single address must name one of several versions and clones. */
static int refuse_several(const struct cpci_lookup *look, const struct cpci_found *found)
{
	const char *symbol = look->term->symbol;
	char names[512] = "";
	size_t n = 0;

	for (uint64_t i = 0; i < found->symbol.n && i < CPCI_MAX_ENTRIES && n < sizeof(names); i++)
		n += (size_t)snprintf(
			names + n, sizeof(names) - n, "%s%s%s", i > 0 ? ", " : "", symbol,
			found->symbol.site[i].suffix[0] != '\0' ? found->symbol.site[i].suffix
								: "+0");
	return cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			 "cannot count '%s': '%s' has several versions or clones of '%s', which "
			 "uprobe/func=%s/ counts together; write one of: %s",
			 look->req->name, found->path, symbol, symbol, names);
}

int cpci_lookup_check(const struct cpci_lookup *look, const struct cpci_found *found)
{
	const char *name = look->req->name, *symbol = look->term->symbol;

	switch (found->symbol.kind) {
	case CPCI_SYM_AMBIGUOUS:
		return cpci_diag(
			look->diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': the symbol '%s' is ambiguous, %llu of that name are "
			"in '%s'; write another one near by, with +offset",
			name, symbol, (unsigned long long)found->symbol.n, found->path);
	case CPCI_SYM_IFUNC:
		return cpci_diag(
			look->diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': '%s' of '%s' is chosen among several functions when "
			"the program starts (IFUNC); write the one that this CPU uses",
			name, symbol, found->path);
	case CPCI_SYM_TLS:
		return cpci_diag(
			look->diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': '%s' of '%s' is thread-local, each thread has its own",
			name, symbol, found->path);
	case CPCI_SYM_FOUND:
	case CPCI_SYM_NO_SITE:
	case CPCI_SYM_NONE:
		break;
	}
	if (found->symbol.kind == CPCI_SYM_FOUND && look->term->site == 0 &&
	    (look->term->exact ? !found->symbol.exact : found->symbol.n > 1))
		return refuse_several(look, found);
	if (look->term->site != 0 && found->symbol.n > cpci_term_most_sites(look->term))
		return cpci_diag(look->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
				 "cannot count '%s': it has %llu sites in '%s', more than %u", name,
				 (unsigned long long)found->symbol.n, found->path,
				 cpci_term_most_sites(look->term));
	if (found->symbol.hidden > 0 && !look->term->exact)
		return cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
				 "cannot count '%s': '%s' has a global function '%s' and %u local "
				 "of that name; write %s+0 for the global one, for a local one "
				 "another symbol near by, with +offset",
				 name, found->path, symbol, found->symbol.hidden, symbol);
	if (found->moved)
		return cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
				 "cannot count '%s': '%s' of '%s' is not mapped at its address",
				 name, symbol, found->path);
	return 1;
}
