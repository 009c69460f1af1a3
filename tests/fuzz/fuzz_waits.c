/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Results of waitpid(2) for LWPs, in any order: the meaning of a status, and what libpctx then
 * does with its tables.  The kernel's part is played by the input: each of its first bytes answers
 * a question of libpctx, and each record of 4 bytes is a report.
 */
#include "fuzz.h"

#include "../../libpctx/base.h"
#include "../../libpctx/dispatch.h"
#include "../../libpctx/procfs.h"
#include "../../libpctx/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NTIDS 8
#define TID(i) (0x500000 + (int)((unsigned)(i) % NTIDS)) /* more than there can be */
#define NANSWERS 16

static struct {
	const uint8_t *answer; /* NANSWERS of them, again and again */
	unsigned asked;
	uint8_t message; /* of the last report */
	int begun, finished;
} kernel;

static unsigned ask(void)
{
	return kernel.answer[kernel.asked++ % NANSWERS];
}

/* ---- in place of those that libpctx calls; see --wrap of ld(1) ------------------------ */

long __wrap_ptrace(enum __ptrace_request request, ...);
long __wrap_syscall(long number, ...);
int __wrap_pctxi_task_read(pid_t tid, struct pctxi_task *task);
void __wrap_pctxi_cmdline(pid_t pid, char *buf, size_t size);

long __wrap_ptrace(enum __ptrace_request request, ...)
{
	unsigned answer = ask();
	va_list ap;
	void *data;
	pid_t tid;

	va_start(ap, request);
	tid = va_arg(ap, pid_t);
	va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	must(tid >= TID(0) && tid <= TID(NTIDS - 1));
	errno = (answer & 8) != 0 ? EIO : ESRCH;
	if ((answer & 7) == 7)
		return -1;
	if (request == PTRACE_GETEVENTMSG)
		*(unsigned long *)data = (unsigned long)TID(kernel.message);
	else if (request == PTRACE_GETSIGINFO)
		memset(data, (int)answer & 1, sizeof(siginfo_t));
	errno = 0;
	return 0;
}

/* tgkill(2), which asks whether an LWP exists, and gettid(2). */
long __wrap_syscall(long number, ...)
{
	errno = ESRCH;
	return number == SYS_tgkill ? -(long)(ask() & 1) : (long)getpid();
}

int __wrap_pctxi_task_read(pid_t tid, struct pctxi_task *task)
{
	unsigned answer = ask();

	*task = (struct pctxi_task){
		.state = "RSDtTZX?"[answer & 7],
		.tgid = (answer & 8) != 0 ? tid : TID(answer >> 5),
		.ppid = TID(answer >> 4),
		.tracer = (answer & 16) != 0 ? getpid() : 0,
	};
	errno = ENOENT;
	return answer % 11 == 10 ? -1 : 0;
}

void __wrap_pctxi_cmdline(pid_t pid, char *buf, size_t size)
{
	(void)pid;
	snprintf(buf, size, "command");
}

/* ---- the caller's handlers, which check the order in which they are called ------------ */

static int on_init(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)arg;
	must(pid == pctx_pid(pctx) && pctx_lwp_tid(pctx, lwp) != -1);
	must(pctx_lwp_data(pctx, lwp) == NULL);
	pctx_lwp_set_data(pctx, lwp, &kernel);
	kernel.begun++;
	return ask() % 16 == 15;
}

static int on_fini(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)arg;
	must(pid == pctx_pid(pctx) && pctx_lwp_data(pctx, lwp) == &kernel);
	pctx_lwp_set_data(pctx, lwp, NULL);
	kernel.finished++;
	return 0;
}

static int on_lwp(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)arg;
	must(pid == pctx_pid(pctx) && pctx_lwp_tid(pctx, lwp) != -1);
	return ask() % 16 == 15;
}

static void on_fork(pctx_t *pctx, pid_t pid, id_t lwp, pid_t child, void *arg)
{
	(void)arg;
	(void)lwp;
	must(pctx_pid(pctx) == child);
	must(pctx_parent(pctx) == NULL || pctx_pid(pctx_parent(pctx)) == pid);
	if (ask() % 8 != 7)
		must(pctx_run(pctx, 0, 0, NULL) == 0);
}

static int on_exec(pctx_t *pctx, pid_t pid, id_t lwp, char *cmd, void *arg)
{
	must(strcmp(cmd, "command") == 0);
	return on_lwp(pctx, pid, lwp, arg);
}

static void on_exit_of(pctx_t *pctx, pid_t pid, id_t lwp, int status, void *arg)
{
	(void)arg;
	(void)lwp;
	(void)status;
	must(pid == pctx_pid(pctx));
}

static void on_lost(pctx_t *pctx, pid_t pid, pid_t tid, void *arg)
{
	(void)arg;
	must(pctx != NULL && pid > 0 && tid > 0);
}

static void on_error(const char *fn, const char *fmt, va_list ap)
{
	char text[256];

	must(fn != NULL && vsnprintf(text, sizeof(text), fmt, ap) > 0);
}

/* ---- statuses ------------------------------------------------------------------------- */

static void check_meaning(int status)
{
	const struct pctxi_stop stop = pctxi_stop_decode(status);

	must((stop.kind == PCTXI_STOP_DEATH) == !WIFSTOPPED(status));
	must(stop.sig == 0 || (stop.kind == PCTXI_STOP_SIGNAL && stop.sig == WSTOPSIG(status)));
	must(!stop.thread || stop.kind == PCTXI_STOP_BIRTH);
	must(stop.kind != PCTXI_STOP_SIGNAL || status >> 16 == 0);
	must((stop.kind != PCTXI_STOP_BIRTH && stop.kind != PCTXI_STOP_EXEC) || status >> 16 != 0);
}

/* A status that the kernel gives, or just any. */
static int make_status(unsigned kind, unsigned x, const uint8_t *record)
{
	static const int stopping[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};

	switch (kind % 8) {
	case 0:
		return (int)(x & 0x7f) << 8; /* it exited */
	case 1:
		return x % 64 + 1; /* killed */
	case 2:
		return W_STOPCODE((int)(x % 64 + 1));
	case 3:
		return W_STOPCODE(SIGTRAP) | (int)(x % 4) << 16; /* births */
	case 4:
		return W_STOPCODE(SIGTRAP) | PTRACE_EVENT_EXEC << 16;
	case 5:
		return W_STOPCODE((x & 1) != 0 ? SIGTRAP : stopping[x >> 1 & 3]) | PTRACE_EVENT_STOP
											   << 16;
	case 6:
		return W_STOPCODE(SIGTRAP | 0x80);
	default:
		return (int)(record[0] | (unsigned)record[1] << 8 | (unsigned)record[2] << 16);
	}
}

/* A loop with a process that runs. */
static struct pctxi_loop *new_loop(void)
{
	struct pctxi_handlers handlers = {.errfn = on_error};
	struct pctxi_loop *loop = pctxi_loop_new();
	struct pctxi_lwp *lwp;

	must(loop != NULL);
	loop->own_proc = true;
	loop->root = pctxi_proc_new(loop, TID(0), (ask() & 1) != 0 ? PCTXI_CREATED : PCTXI_CAPTURED,
				    &handlers);
	must(loop->root != NULL);
	must(pctx_set_events(loop->root, PCTX_INIT_LWP_EVENT, on_init, PCTX_FINI_LWP_EVENT, on_fini,
			     PCTX_SYSC_LWP_CREATE_EVENT, on_lwp, PCTX_SYSC_LWP_EXIT_EVENT, on_lwp,
			     PCTX_SYSC_EXEC_EVENT, on_exec, PCTX_SYSC_EXIT_EVENT, on_exit_of,
			     PCTX_LOST_EVENT, on_lost, PCTX_NULL_EVENT) == 0);
	if ((ask() & 3) != 3)
		must(pctx_set_events(loop->root, PCTX_SYSC_FORK_EVENT, on_fork, PCTX_NULL_EVENT) ==
		     0);
	lwp = pctxi_lwp_new(loop, TID(0), PCTXI_LWP_STOPPED);
	must(lwp != NULL);
	pctxi_lwp_join(lwp, loop->root);
	loop->running = true;
	pctxi_follow(loop->root);
	return loop;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pctxi_report report;
	struct pctxi_loop *loop;
	int64_t now = 0;

	if (size < NANSWERS)
		return 0;
	memset(&kernel, 0, sizeof(kernel));
	kernel.answer = data;
	loop = new_loop();
	for (const uint8_t *at = data + NANSWERS; at + 4 <= data + size; at += 4) {
		report.tid = TID(at[0]);
		report.status = make_status(at[0] >> 4, at[1], at + 1);
		kernel.message = at[2];
		check_meaning(report.status);
		pctxi_dispatch(loop, &report);
		if ((at[3] & 7) == 7)
			pctxi_assign_late(loop, pctxi_now_ns() + (now += at[3] * PCTXI_MSEC));
		if ((at[3] & 0xf8) == 0xf8)
			pctxi_detach(loop->root);
	}
	must(kernel.finished <= kernel.begun);
	loop->running = false;
	pctxi_loop_free(loop);
	return 0;
}
