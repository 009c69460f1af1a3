/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * preload.c - the half of ovfprof that runs in the program: a set that all LWPs inherit,
 * whose overflows are counted by the place where they happen.
 *
 * Each overflow is a signal.  Buffered overflows (CPC_OVF_BUFFERED) would cost a tenth of
 * that; but only the LWP itself can take its records, so those after the last signal of each
 * LWP would be lost when the program is killed, executes another one or calls _exit(2).
 */
#include "profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libcpc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static cpc_t *cpc;
static cpc_set_t *set;
static cpc_buf_t *buf; /* used by the handler that holds `busy` */
static const char *dir;
static uint64_t preset;
static bool with_callers;
static int lwps_fd = -1, maps_fd = -1;
static atomic_long nlwps;
static pthread_key_t key; /* its destructor runs when an LWP exits */

/* The calling LWP's entry; NULL: not started. */
static _Thread_local struct lwp *me __attribute__((tls_model("initial-exec")));
static struct lwp nobody; /* for an LWP that has exited, or has no space in the file */

/*
 * Protects what handlers share.  Signals are blocked in handlers, so a holder soon releases
 * it.
 */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void lock(void)
{
	while (atomic_flag_test_and_set(&busy))
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear(&busy);
}

/* The same outside of handlers. */
static void lock_out_handlers(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
	lock();
}

static void let_handlers_in(const sigset_t *old)
{
	unlock();
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* ---- what is mapped -------------------------------------------------------------------- */

/* The code that is mapped, according to the last entry in the file of maps. */
static struct {
	uint64_t time;
	size_t n;
	struct {
		uint64_t start, end;
	} code[4096];
} known;

/* Adds a line of /proc/PID/maps: "START-END rwxp ...". */
static void know_line(const char *line)
{
	uint64_t bound[2] = {0};
	int i = 0;

	for (; *line != '\0' && *line != ' '; line++) {
		if (*line == '-')
			i = 1;
		else
			bound[i] = bound[i] << 4 |
				   (uint64_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
	}
	if (strnlen(line, 4) == 4 && line[3] == 'x' &&
	    known.n < sizeof(known.code) / sizeof(known.code[0])) {
		known.code[known.n].start = bound[0];
		known.code[known.n++].end = bound[1];
	}
}

/* Writes the current mappings, for samples from now on. */
static void write_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[4096], line[32], head[32] = "= ";
	size_t len = 0, at = sizeof(head);
	ssize_t n;

	known.time++;
	known.n = 0;
	head[--at] = '\n';
	for (uint64_t t = known.time; t > 0; t /= 10)
		head[--at] = (char)('0' + t % 10);
	n = write(maps_fd, head, 2) + write(maps_fd, head + at, sizeof(head) - at);
	while (n > 0 && (n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (len < sizeof(line) - 1 && text[i] != '\n') {
				line[len++] = text[i];
			} else if (text[i] == '\n') {
				line[len] = '\0';
				know_line(line);
				len = 0;
			}
		}
		n = write(maps_fd, text, (size_t)n);
	}
	close(fd);
}

static bool is_known(uint64_t pc)
{
	for (size_t i = 0; i < known.n; i++) {
		if (pc >= known.code[i].start && pc < known.code[i].end)
			return true;
	}
	return false;
}

/*
 * The entry of maps that has the address.  New code, for instance of a library that was
 * loaded, makes a new entry.  A caller's address that is not code is not a return address.
 */
static uint64_t find_time(uint64_t pc, uint64_t *caller)
{
	if (!is_known(pc))
		write_maps();
	if (!is_known(*caller))
		*caller = 0;
	return known.time;
}

/* Another library may be mapped at the same address. */
EXPORTED int dlclose(void *lib)
{
	static int (*next)(void *);
	sigset_t old;
	int rc;

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "dlclose");
	rc = next(lib);
	lock_out_handlers(&old);
	known.n = 0;
	let_handlers_in(&old);
	return rc;
}

/* ---- samples -------------------------------------------------------------------------- */

/* Reads a word of the program's memory; 0: it is not mapped. */
static uint64_t peek(uintptr_t address)
{
	uintptr_t word = 0;
	const struct iovec to = {&word, sizeof(word)}, from = {(void *)address, sizeof(word)};

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(word) ? word : 0;
}

/*
 * Finds possible return addresses: ovfprof later selects one by the unwinding tables of the
 * program.  Code without a frame pointer has some other value there, usually not an address
 * in the stack.
 */
static void find_callers(const ucontext_t *uc, struct slot *at)
{
#if defined(__x86_64__)
	uintptr_t fp = (uintptr_t)uc->uc_mcontext.gregs[REG_RBP];
	uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];

	at->top = peek(sp);
#else
	uintptr_t fp = uc->uc_mcontext.regs[29], sp = uc->uc_mcontext.sp;

	at->top = uc->uc_mcontext.regs[30];
#endif
	if (fp >= sp && fp % sizeof(fp) == 0)
		at->caller = peek(fp + sizeof(fp));
}

static void record(struct lwp *lwp, struct slot at, uint64_t count)
{
	uint64_t hash = (at.pc * 0x9e3779b97f4a7c15) ^ (at.caller * 0xc2b2ae3d27d4eb4f) ^ at.top;

	lwp->samples++;
	for (unsigned tries = 0; tries < 64; tries++, hash += 1ULL << 32) {
		struct slot *slot = &lwp->slot[(hash >> 32) % SLOTS];

		if (slot->pc == 0)
			*slot = at;
		if (slot->pc == at.pc && slot->caller == at.caller && slot->top == at.top &&
		    slot->time == at.time) {
			slot->count += count;
			slot->samples++;
			return;
		}
	}
	lwp->no_room++;
}

/* ---- LWPs ------------------------------------------------------------------------------ */

/*
 * Allocates space in the file, which other LWPs extend at the same time.  `nobody`: there is
 * none, which the file records.
 */
static struct lwp *new_lwp(void)
{
	const uint64_t tid = (uint64_t)_lwp_self();
	off_t at = atomic_fetch_add(&nlwps, 1) * (off_t)sizeof(struct lwp);
	struct lwp *lwp = MAP_FAILED;
	uint64_t error;

	if (pwrite(lwps_fd, "", 1, at + (off_t)sizeof(*lwp) - 1) == 1)
		lwp = mmap(NULL, sizeof(*lwp), PROT_READ | PROT_WRITE, MAP_SHARED, lwps_fd, at);
	error = lwp == MAP_FAILED ? (uint64_t)errno : 0;
	if (pwrite(lwps_fd, &tid, sizeof(tid), at) != sizeof(tid) ||
	    pwrite(lwps_fd, &error, sizeof(error), at + (off_t)offsetof(struct lwp, error)) !=
		    sizeof(error) ||
	    lwp == MAP_FAILED)
		return &nobody;
	return lwp;
}

/* Not in the middle of its signal handler. */
static void end_lwp(void *arg)
{
	struct lwp *lwp = me;

	(void)arg;
	me = &nobody;
	atomic_signal_fence(memory_order_seq_cst);
	if (lwp != NULL && lwp != &nobody)
		munmap(lwp, sizeof(*lwp));
}

static void begin_lwp(void)
{
	me = new_lwp();
	pthread_setspecific(key, &key);
}

/* Starts the set that a new LWP inherited. */
static int on_birth(void)
{
	begin_lwp();
	return cpc_request_preset(cpc, 0, preset);
}

static int on_overflow(uint64_t pc, const void *context)
{
	struct slot at = {.pc = pc};
	uint64_t val;
	int rc = -1;

	if (with_callers)
		find_callers(context, &at);
	lock();
	if (cpc_set_sample(cpc, set, buf) == 0 && cpc_buf_get(cpc, buf, 0, &val) == 0) {
		at.time = find_time(at.pc, &at.top);
		record(me, at, val - preset);
		rc = 0;
	}
	unlock();
	return rc;
}

/* What the program wants SIGEMT, and the library's own signal, to do. */
static struct sigaction wanted_emt = {.sa_handler = SIG_DFL},
			wanted_notice = {.sa_handler = SIG_DFL};
static int notice;    /* the library's own signal; 0: not known */
static bool binding;  /* the library handles its own signal during the first bind */
static bool given_up; /* the program has a handler, which must not get our signals */

static int next_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	static int (*next)(int, const struct sigaction *, struct sigaction *);

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "sigaction");
	return next(sig, act, old);
}

/* A signal that the program or another one sent. */
static void on_other_signal(int sig)
{
	if (wanted_emt.sa_handler == SIG_DFL) {
		next_sigaction(sig, &wanted_emt, NULL);
		raise(sig); /* when the handler has returned */
	}
}

static void on_emt(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code != EMT_CPCOVF)
		on_other_signal(sig);
	if (info->si_code != EMT_CPCOVF || me == &nobody)
		return;
	if ((me == NULL ? on_birth() : on_overflow((uintptr_t)info->si_addr, context)) == -1 ||
	    cpc_set_restart(cpc, set) == -1)
		me->error = (uint64_t)errno;
	errno = saved;
}

static void give_up(void)
{
	sigset_t old;

	lock_out_handlers(&old);
	cpc_unbind(cpc, set);
	given_up = true;
	if (me != NULL)
		me->given_up = 1;
	let_handlers_in(&old);
}

/*
 * Programs reset all signals in a child before they execute another program in it, as libuv
 * and git do.  The next overflow would kill the child, so the handlers stay.
 */
EXPORTED int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction *wanted = sig == SIGEMT ? &wanted_emt : &wanted_notice;
	const struct sigaction before = *wanted;

	if (binding && act != NULL)
		notice = sig;
	if ((sig != SIGEMT && sig != notice) || set == NULL || binding || given_up)
		return next_sigaction(sig, act, old);
	if (act != NULL)
		*wanted = *act;
	if (old != NULL)
		*old = before;
	if (wanted->sa_handler == SIG_DFL || wanted->sa_handler == SIG_IGN)
		return 0;
	give_up();
	return next_sigaction(sig, wanted, NULL);
}

EXPORTED sighandler_t signal(int sig, sighandler_t handler)
{
	static sighandler_t (*next)(int, sighandler_t);
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "signal");
	if (sig != SIGEMT && sig != notice)
		return next(sig, handler);
	return sigaction(sig, &act, &old) == -1 ? SIG_ERR : old.sa_handler;
}

/* ---- the process --------------------------------------------------------------------- */

static int create(int n, const char *suffix)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d.%d.%s", dir, (int)getpid(), n, suffix);
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static void begin_process(void)
{
	int n = 0;

	/* The id may exist already: the process had it before an exec. */
	while ((lwps_fd = create(n, "lwps")) == -1 && errno == EEXIST)
		n++;
	maps_fd = create(n, "maps");
	nlwps = 0;
	known.time = 0;
	known.n = 0;
	unlock();
	if (lwps_fd == -1 || maps_fd == -1)
		return;
	begin_lwp();
	if (given_up) {
		me->given_up = 1;
		return;
	}
	binding = notice == 0;
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == -1)
		me->error = (uint64_t)errno;
	binding = false;
}

/* A forked child has no set bound, and writes to files of its own. */
static void in_child(void)
{
	close(lwps_fd);
	close(maps_fd);
	end_lwp(NULL);
	begin_process();
}

/* LWPs that got no counters are not in the file, but their counts are missing in the sum. */
__attribute__((destructor)) static void end(void)
{
	sigset_t old;

	if (me == NULL || me == &nobody)
		return;
	lock_out_handlers(&old);
	me->others = !given_up && cpc_set_sample_all(cpc, set, buf) == -1 && errno == EAGAIN;
	let_handlers_in(&old);
}

static void quiet(const char *fn, int subcode, const char *fmt, va_list ap)
{
	(void)fn;
	(void)subcode;
	(void)fmt;
	(void)ap;
}

static bool make_set(const char *event, uint_t flags)
{
	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL)
		return false;
	cpc_seterrhndlr(cpc, quiet); /* ovfprof has tried it and printed messages */
	set = cpc_set_create(cpc);
	if (set == NULL || cpc_set_add_request(cpc, set, event, preset, flags, 0, NULL) == -1)
		return false;
	buf = cpc_buf_create(cpc, set);
	return buf != NULL;
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction act = {.sa_sigaction = on_emt,
				.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	const char *period = getenv("OVFPROF_PERIOD"), *event = getenv("CPC_PROF_EVENT");
	uint_t flags = CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT;

	dir = getenv("OVFPROF_DIR");
	if (dir == NULL || event == NULL || period == NULL)
		return;
	preset = 0 - strtoull(period, NULL, 10);
	if (getenv("OVFPROF_SYS") != NULL)
		flags |= CPC_COUNT_SYSTEM;
	with_callers = getenv("OVFPROF_CALLERS") != NULL;
	sigfillset(&act.sa_mask);
	if (make_set(event, flags) && pthread_key_create(&key, end_lwp) == 0 &&
	    next_sigaction(SIGEMT, &act, NULL) == 0 && pthread_atfork(NULL, NULL, in_child) == 0)
		begin_process();
}
