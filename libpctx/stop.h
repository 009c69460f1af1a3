/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* stop.h - decodes a status of waitpid(2). */
#ifndef PCTXI_STOP_H
#define PCTXI_STOP_H

#include <stdbool.h>

/* What happened, and what must be done next. */
enum pctxi_stop_kind {
	PCTXI_STOP_DEATH,   /* it exited or was killed; nothing to do: it is reaped */
	PCTXI_STOP_BIRTH,   /* it created a thread or process; get the event message, resume */
	PCTXI_STOP_EXEC,    /* it runs a new program and its other LWPs have exited; resume */
	PCTXI_STOP_GROUP,   /* its process is stopped by job control; listen */
	PCTXI_STOP_SYSCALL, /* a system call begins or ends; resume */
	PCTXI_STOP_SIGNAL,  /* a signal is to be delivered; resume with it */
	PCTXI_STOP_OTHER,   /* first stop, interrupted, or after a group-stop; resume */
};

struct pctxi_stop {
	enum pctxi_stop_kind kind;
	int sig;     /* PCTXI_STOP_SIGNAL: the signal to deliver; 0: none */
	bool thread; /* PCTXI_STOP_BIRTH: most likely a thread, not a process */
};

/* The status of a stop with WSTOPSIG() `sig`. */
#define PCTXI_STOPPED(sig) ((sig) << 8 | 0x7f)

struct pctxi_stop pctxi_stop_decode(int status);

#endif /* PCTXI_STOP_H */
