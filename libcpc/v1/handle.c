/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* handle.c - the handle of the obsolete interface, error messages, and queries of the machine. */
#include "v1.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static cpc_t *handle;
static int no_handle; /* why cpc_open() failed */
static cpc_errfn_t *errfn;
/* The last error message to this thread, and its errno. */
static _Thread_local char message[1024];
static _Thread_local int message_errno;

__attribute__((format(printf, 3, 0))) static void keep_message(const char *fn, int subcode,
							       const char *fmt, va_list ap)
{
	size_t n;

	(void)fn;
	if (subcode == CPC_WARNING)
		return;
	message_errno = errno;
	vsnprintf(message, sizeof(message), fmt, ap);
	n = strlen(message);
	if (n > 0 && message[n - 1] == '\n')
		message[n - 1] = '\0';
}

static void open_handle(void)
{
	handle = cpc_open(CPC_VER_CURRENT);
	if (handle != NULL)
		cpc_seterrhndlr(handle, keep_message);
	else
		no_handle = errno;
}

cpc_t *cpci_v1_handle(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_handle);
	if (handle == NULL)
		errno = no_handle;
	return handle;
}

__attribute__((format(printf, 2, 0))) static void default_errfn(const char *fn, const char *fmt,
								va_list ap)
{
	fprintf(stderr, "libcpc: %s: ", fn);
	vfprintf(stderr, fmt, ap);
}

/* A variadic wrapper, because the handler takes a va_list. */
static void call(const char *fn, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(errfn != NULL ? errfn : default_errfn)(fn, fmt, ap);
	va_end(ap);
}

int cpci_v1_fail(const char *fn, const char *fmt, ...)
{
	int err = errno;
	char text[sizeof(message)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	call(fn, "%s\n", text);
	return cpci_errno(err);
}

int cpci_v1_fail_libcpc(const char *fn)
{
	bool now = message_errno == errno && message[0] != '\0';

	cpci_v1_fail(fn, "%s", now ? message : strerror(errno));
	message[0] = '\0';
	return -1;
}

void cpc_seterrfn(cpc_errfn_t *fn)
{
	errfn = fn;
}

uint_t cpc_version(uint_t ver)
{
	if (ver == CPC_VER_NONE)
		return CPC_VER_CURRENT;
	return ver == CPC_VER_1 || ver == CPC_VER_CURRENT ? ver : CPC_VER_NONE;
}

int cpc_getcpuver(void)
{
	return cpci_v1_handle() != NULL ? CPCI_V1_CPU : -1;
}

/* The handle; NULL: cpuver is not this machine's. */
static cpc_t *handle_of(int cpuver)
{
	return cpuver == CPCI_V1_CPU ? cpci_v1_handle() : NULL;
}

const char *cpc_getcciname(int cpuver)
{
	cpc_t *cpc = handle_of(cpuver);

	return cpc != NULL ? cpc_cciname(cpc) : NULL;
}

const char *cpc_getcpuref(int cpuver)
{
	cpc_t *cpc = handle_of(cpuver);

	return cpc != NULL ? cpc_cpuref(cpc) : NULL;
}

uint_t cpc_getnpic(int cpuver)
{
	cpc_t *cpc = handle_of(cpuver);
	uint_t n = cpc != NULL ? cpc_npic(cpc) : 0;

	return n < CPC_EVENT_PICS ? n : CPC_EVENT_PICS;
}

const char *cpc_getusage(int cpuver)
{
	return handle_of(cpuver) == NULL
		       ? NULL
		       : "[picn=]event[,[picn=]event]...[,nouser[n]][,sys[n]][,attribute[n][=value]]...";
}

struct walk {
	void *arg;
	void (*action)(void *arg, int regno, const char *name, uint8_t bits);
};

static void visit(void *arg, uint_t picno, const char *event)
{
	const struct walk *walk = arg;

	walk->action(walk->arg, (int)picno, event, 0);
}

void cpc_walk_names(int cpuver, int regno, void *arg,
		    void (*action)(void *arg, int regno, const char *name, uint8_t bits))
{
	struct walk walk = {.arg = arg, .action = action};
	cpc_t *cpc = handle_of(cpuver);

	if (cpc != NULL && regno >= 0)
		cpc_walk_events_pic(cpc, (uint_t)regno, &walk, visit);
}
