/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * preload.c - the half of ovfprof that is in the program: each LWP binds a set whose overflows
 * it counts by the place where they happen.
 */
#include "profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libcpc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <threads.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static cpc_t *cpc; /* NULL: this process is not profiled */
static const char *event, *dir;
static uint64_t preset;
static uint_t modes = CPC_COUNT_USER;
static bool with_callers;
static int lwps_fd = -1, maps_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key; /* calls us when an LWP ends */
static off_t nlwps;

/* Of each LWP, for its handler. */
static _Thread_local struct {
	struct lwp *lwp;
	cpc_set_t *set;
	cpc_buf_t *buf;
	uintptr_t stack_end;
} me __attribute__((tls_model("initial-exec")));

/* ---- what is mapped -------------------------------------------------------------------- */

/*
 * Where there is code, as the last entry in the file of maps has it.  In handlers, too, which
 * nothing interrupts: who waits for `busy` waits for a handler or for the start of the process.
 */
static struct {
	atomic_flag busy;
	uint64_t time;
	size_t n;
	struct {
		uint64_t start, end;
	} code[4096];
} known = {.busy = ATOMIC_FLAG_INIT};

/* A line of /proc/PID/maps: "START-END rwxp ...". */
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

/* What is mapped now, for samples from now on. */
static void write_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char buf[4096], line[32], head[32] = "= ";
	size_t len = 0, at = sizeof(head);
	ssize_t n;

	known.time++;
	known.n = 0;
	head[--at] = '\n';
	for (uint64_t t = known.time; t > 0; t /= 10)
		head[--at] = (char)('0' + t % 10);
	n = write(maps_fd, head, 2) + write(maps_fd, head + at, sizeof(head) - at);
	while (n > 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (len < sizeof(line) - 1 && buf[i] != '\n') {
				line[len++] = buf[i];
			} else if (buf[i] == '\n') {
				line[len] = '\0';
				know_line(line);
				len = 0;
			}
		}
		n = write(maps_fd, buf, (size_t)n);
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
 * Which entry has the address; what is new, a library that was loaded, makes another one.
 * What is no code is no return address.
 */
static uint64_t find_time(uint64_t pc, uint64_t *caller)
{
	uint64_t time;

	while (atomic_flag_test_and_set(&known.busy))
		sched_yield();
	if (!is_known(pc))
		write_maps();
	if (!is_known(*caller))
		*caller = 0;
	time = known.time;
	atomic_flag_clear(&known.busy);
	return time;
}

/* Another library may take its place. */
EXPORTED int dlclose(void *lib)
{
	static int (*next)(void *);
	sigset_t all, old;
	int rc;

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "dlclose");
	rc = next(lib);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (atomic_flag_test_and_set(&known.busy))
		sched_yield();
	known.n = 0;
	atomic_flag_clear(&known.busy);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

/* ---- samples -------------------------------------------------------------------------- */

/*
 * Return addresses: which one holds, the unwinding tables of the program tell later.  Code that
 * keeps no frame pointer has something else there, mostly no place of the stack.
 */
static void find_callers(const ucontext_t *uc, struct slot *at)
{
#if defined(__x86_64__)
	uintptr_t fp = (uintptr_t)uc->uc_mcontext.gregs[REG_RBP];
	uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];

	at->top = sp + sizeof(sp) <= me.stack_end ? *(const uint64_t *)sp : 0;
#else
	uintptr_t fp = uc->uc_mcontext.regs[29], sp = uc->uc_mcontext.sp;

	at->top = uc->uc_mcontext.regs[30];
#endif
	if (fp >= sp && fp % sizeof(fp) == 0 && fp + 2 * sizeof(fp) <= me.stack_end)
		at->caller = ((const uint64_t *)fp)[1];
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

static void on_emt(int sig, siginfo_t *info, void *context)
{
	struct slot at = {.pc = (uintptr_t)info->si_addr};
	int saved = errno;
	uint64_t val;

	(void)sig;
	if (me.lwp == NULL || info->si_code != EMT_CPCOVF)
		return;
	if (cpc_set_sample(cpc, me.set, me.buf) == 0 && cpc_buf_get(cpc, me.buf, 0, &val) == 0) {
		if (with_callers)
			find_callers(context, &at);
		at.time = find_time(at.pc, &at.top);
		record(me.lwp, at, val - preset);
		if (cpc_set_restart(cpc, me.set) == 0) {
			errno = saved;
			return;
		}
	}
	me.lwp->error = (uint64_t)errno;
	errno = saved;
}

/* ---- LWPs ------------------------------------------------------------------------------ */

/* A struct in the file; NULL: the LWP goes unprofiled, and the file tells that. */
static struct lwp *new_lwp(void)
{
	const uint64_t tid = (uint64_t)_lwp_self();
	struct lwp *lwp = MAP_FAILED;
	uint64_t error;
	off_t at;

	pthread_mutex_lock(&lock);
	at = nlwps++ * (off_t)sizeof(*lwp);
	if (ftruncate(lwps_fd, at + (off_t)sizeof(*lwp)) == 0)
		lwp = mmap(NULL, sizeof(*lwp), PROT_READ | PROT_WRITE, MAP_SHARED, lwps_fd, at);
	error = lwp == MAP_FAILED ? (uint64_t)errno : 0;
	pthread_mutex_unlock(&lock);
	if (pwrite(lwps_fd, &tid, sizeof(tid), at) != sizeof(tid) ||
	    pwrite(lwps_fd, &error, sizeof(error), at + (off_t)offsetof(struct lwp, error)) !=
		    sizeof(error))
		return NULL;
	return lwp != MAP_FAILED ? lwp : NULL;
}

static void end_lwp(void *arg)
{
	struct lwp *lwp = me.lwp;

	(void)arg;
	if (me.set != NULL)
		cpc_set_destroy(cpc, me.set);
	if (me.buf != NULL)
		cpc_buf_destroy(cpc, me.buf);
	me.lwp = NULL;
	me.set = NULL;
	me.buf = NULL;
	if (lwp != NULL)
		munmap(lwp, sizeof(*lwp));
}

static void find_stack(void)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (!with_callers || pthread_getattr_np(pthread_self(), &attr) != 0)
		return;
	if (pthread_attr_getstack(&attr, &low, &size) == 0)
		me.stack_end = (uintptr_t)low + size;
	pthread_attr_destroy(&attr);
}

/* From here on the calling LWP is profiled. */
static void begin_lwp(void)
{
	static const uint_t notify = CPC_OVF_NOTIFY_EMT;

	if (cpc == NULL || (me.lwp = new_lwp()) == NULL)
		return;
	pthread_setspecific(key, &me);
	find_stack();
	me.set = cpc_set_create(cpc);
	if (me.set != NULL &&
	    cpc_set_add_request(cpc, me.set, event, preset, modes | notify, 0, NULL) == 0 &&
	    (me.buf = cpc_buf_create(cpc, me.set)) != NULL && cpc_bind_curlwp(cpc, me.set, 0) == 0)
		return;
	me.lwp->error = (uint64_t)errno;
}

/* What a new thread runs, before what it was made for. */
struct start {
	void *(*fn)(void *);
	int (*c11)(void *);
	void *arg;
};

static void *begin_pthread(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	begin_lwp();
	return start.fn(start.arg);
}

static int begin_thrd(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	begin_lwp();
	return start.c11(start.arg);
}

static struct start *new_start(struct start with)
{
	struct start *start = malloc(sizeof(*start));

	if (start != NULL)
		*start = with;
	return start;
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			    void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct start *start = new_start((struct start){.fn = fn, .arg = arg});
	int err;

	if (start == NULL)
		return EAGAIN;
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	err = next(thread, attr, begin_pthread, start);
	if (err != 0)
		free(start);
	return err;
}

EXPORTED int thrd_create(thrd_t *thread, thrd_start_t fn, void *arg)
{
	static int (*next)(thrd_t *, thrd_start_t, void *);
	struct start *start = new_start((struct start){.c11 = fn, .arg = arg});
	int rc;

	if (start == NULL)
		return thrd_nomem;
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "thrd_create");
	rc = next(thread, begin_thrd, start);
	if (rc != thrd_success)
		free(start);
	return rc;
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

	/* An id may be there already: of this process before an exec. */
	while ((lwps_fd = create(n, "lwps")) == -1 && errno == EEXIST)
		n++;
	maps_fd = create(n, "maps");
	nlwps = 0;
	known.time = 0;
	known.n = 0;
	atomic_flag_clear(&known.busy);
	if (lwps_fd == -1 || maps_fd == -1)
		cpc = NULL;
	begin_lwp();
}

/* A child has no set bound, and writes to files of its own. */
static void in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	close(lwps_fd);
	close(maps_fd);
	end_lwp(NULL);
	begin_process();
}

static void quiet(const char *fn, int subcode, const char *fmt, va_list ap)
{
	(void)fn;
	(void)subcode;
	(void)fmt;
	(void)ap;
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction act = {.sa_sigaction = on_emt,
				.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	const char *period = getenv("OVFPROF_PERIOD"), *sys = getenv("OVFPROF_SYS");

	dir = getenv("OVFPROF_DIR");
	event = getenv("CPC_PROF_EVENT");
	if (dir == NULL || event == NULL || period == NULL)
		return;
	preset = 0 - strtoull(period, NULL, 10);
	if (sys != NULL)
		modes |= CPC_COUNT_SYSTEM;
	with_callers = getenv("OVFPROF_CALLERS") != NULL;
	sigfillset(&act.sa_mask);
	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL || pthread_key_create(&key, end_lwp) != 0 ||
	    sigaction(SIGEMT, &act, NULL) == -1 || pthread_atfork(NULL, NULL, in_child) != 0)
		return;
	cpc_seterrhndlr(cpc, quiet); /* ovfprof has tried it, and told */
	begin_process();
}
