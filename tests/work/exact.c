/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * exact SCENARIO [ROUNDS [WAIT]] - processes and threads without libc whose counts are known
 * exactly.
 *
 * Work comes in units.  A unit is 7 fresh pages written by the program, that is 7 page
 * faults in user mode, 3 by the kernel, 3 in kernel mode, and a loop of ROUNDS (1000; always
 * four digits) rounds of 2 instructions.
 * Beside its units, these cost an LWP one fault each, in user mode:
 *   an image, the first use of its code, and that of its stack;
 *   a process by fork, the use of its code, and the first write to its stack;
 *   the one that forked, its next write to its stack;
 *   a thread, and a child in its parent's memory, the first use of a stack of its own.
 * An LWP ends another, or waits for its end, only after that one has executed its last
 * instruction.  So counts do not depend on scheduling; exact.rows has those of each LWP,
 * image and process, by scenario.
 *
 * With WAIT, it says "ready" and waits for the end of standard input before anything else
 * than the 2 faults of its image.
 */
#include "exact.h"
#include "machine.h"

enum { PAGE = 4096, USER_PAGES = 7, KERNEL_PAGES = 3, UNITS = 3, SLICES = 16 };
enum { SIG_KILL = 9, SIG_TERM = 15, SIG_CHLD = 17, SET_PIPE_SIZE = 1031, NO_HUGE_PAGES = 41 };
enum { THREAD = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };

/* Memory of one LWP: the first one has this and its stack, the rest have a stack only. */
struct slice {
	union {
		char stack[PAGE];
		struct {
			long rounds;
			char mode[16];
			char *again[4];
			int pipe[2];
			int next;
			char byte;
		} of;
	};
	char pages[UNITS][USER_PAGES + KERNEL_PAGES][PAGE];
};

/* In .bss: the pages of a slice are fresh until its LWP uses it.  The first LWP has the first. */
__attribute__((aligned(PAGE), used)) struct slice slices[SLICES];
#define own (slices[0].of)

/* ---- what LWPs do ----------------------------------------------------------- */

/* Ends the process, or else the LWP. */
__attribute__((noreturn)) static void leave(int nr, long status)
{
	for (;;)
		call(nr, status, 0, 0, 0);
}

/* Failures show in the exit status. */
static void must(int good)
{
	if (!good)
		leave(__NR_exit_group, 111);
}

static void work(long slice, int units)
{
	for (int u = 0; u < units; u++) {
		for (int i = 0; i < USER_PAGES; i++)
			*(volatile char *)slices[slice].pages[u][i] = 1;
		for (int i = USER_PAGES; i < USER_PAGES + KERNEL_PAGES; i++)
			call(__NR_times, (long)slices[slice].pages[u][i], 0, 0, 0);
		loop_rounds((unsigned long)own.rounds);
	}
}

/* 2, 3, 1, 2, 3, ... units, so that counts tell LWPs apart. */
static int units_of(long slice)
{
	return 1 + (int)(slice % UNITS);
}

static void execute(const char *path, const char *mode)
{
	own.again[1] = (char *)mode;
	call(__NR_execve, (long)path, (long)own.again, 0, 0);
}

static void execute_again(const char *mode)
{
	execute("/proc/self/exe", mode);
	must(0);
}

static void new_pipe(void)
{
	must(call(__NR_pipe2, (long)own.pipe, 0, 0, 0) == 0);
	must(call(__NR_fcntl, own.pipe[1], SET_PIPE_SIZE, PAGE, 0) == PAGE);
}

/*
 * Tells the reader of the pipe, and stays in this system call, or in its second try: a tracer that
 * attaches ends a write of which a part is done.
 */
static void stay(long slice)
{
	for (;;)
		call(__NR_write, own.pipe[1], (long)slices[slice].pages, PAGE + 1, 0);
}

/* Wait until an LWP is in stay(). */
static void wait_stay(void)
{
	must(call(__NR_read, own.pipe[0], (long)&own.byte, 1, 0) == 1);
}

/* Wait until all others that have the pipe ended; threads have descriptors of their own. */
static void wait_gone(void)
{
	call(__NR_close, own.pipe[1], 0, 0, 0);
	must(call(__NR_read, own.pipe[0], (long)&own.byte, 1, 0) == 0);
}

static void wait_child(long pid)
{
	must(call(__NR_wait4, pid, 0, 0, 0) == pid);
}

/* ---- how LWPs begin ------------------------------------------------------------ */

static long forked(void (*fn)(long))
{
	long pid = spawn(SIG_CHLD, 0, fn, own.next++);

	must(pid > 0);
	return pid;
}

static long vforked(void (*fn)(long))
{
	long i = own.next++;
	long pid = spawn(CLONE_VM | CLONE_VFORK | SIG_CHLD, slices[i].pages[0][0], fn, i);

	must(pid > 0);
	return pid;
}

static void thread(void (*fn)(long))
{
	long i = own.next++;

	must(spawn(THREAD, slices[i].pages[0][0], fn, i) > 0);
}

/* Waits for one that stays. */
static void staying_thread(void (*fn)(long))
{
	new_pipe();
	thread(fn);
	wait_stay();
}

static void worker(long slice)
{
	work(slice, units_of(slice));
	leave(__NR_exit, 0);
}

static void stayer(long slice)
{
	work(slice, units_of(slice));
	stay(slice);
}

static void late_worker(long slice)
{
	wait_gone();
	worker(slice);
}

/* ---- scenarios -------------------------------------------------------------- */

static void fork_one_by_one(void)
{
	for (int i = 0; i < 3; i++)
		wait_child(forked(worker));
}

static void fork_storm(void)
{
	for (int i = 0; i < 12; i++)
		forked(worker);
	for (int i = 0; i < 12; i++)
		must(call(__NR_wait4, -1, 0, 0, 0) > 0);
}

static void vfork_one_by_one(void)
{
	for (int i = 0; i < 3; i++)
		wait_child(vforked(worker));
}

/* As posix_spawn(3) does. */
static void plain_executer(long slice)
{
	work(slice, units_of(slice));
	execute_again("plain");
}

static void vfork_and_exec(void)
{
	for (int i = 0; i < 3; i++)
		wait_child(vforked(plain_executer));
}

static void threads_joined(void)
{
	new_pipe();
	for (int i = 0; i < 6; i++)
		thread(worker);
	wait_gone();
}

static void exit_group(void)
{
	for (int i = 0; i < 4; i++)
		staying_thread(stayer);
}

/* The first LWP stays, and this one ends the process. */
static void ender(long slice)
{
	wait_stay();
	work(slice, units_of(slice));
	leave(__NR_exit_group, 0);
}

static void exit_group_by_thread(void)
{
	exit_group();
	new_pipe();
	thread(ender);
	stay(0);
}

static void leader_first(void)
{
	new_pipe();
	for (int i = 0; i < 4; i++)
		thread(late_worker);
	leave(__NR_exit, 0);
}

/* exec3, exec2, exec1, exec0 */
static void exec_chain(void)
{
	if (own.mode[4]-- != '0')
		execute_again(own.mode);
}

static void exec_fails(void)
{
	execute("/nonexistent", "plain");
	execute("/proc", "plain");
	work(own.next++, 2);
}

static void failing_executer(long slice)
{
	exec_fails();
	worker(slice);
}

static void exec_fails_in_thread(void)
{
	new_pipe();
	thread(failing_executer);
	wait_gone();
	exec_fails();
}

static void thread_executer(long slice)
{
	wait_stay();
	plain_executer(slice);
}

static void exec_by_thread(void)
{
	staying_thread(stayer);
	staying_thread(stayer);
	new_pipe();
	thread(thread_executer);
	stay(0);
}

static void middle(long slice)
{
	forked(late_worker);
	worker(slice);
}

/* The grandchild works when both others have ended. */
static void daemon(void)
{
	new_pipe();
	wait_child(forked(middle));
}

static void suicide(long slice)
{
	work(slice, units_of(slice));
	call(__NR_kill, call(__NR_getpid, 0, 0, 0, 0), SIG_TERM, 0, 0);
}

/* It stays at a pipe of its parent. */
static void group(long slice)
{
	int ends[2] = {own.pipe[0], own.pipe[1]};

	work(slice, units_of(slice));
	staying_thread(stayer);
	staying_thread(stayer);
	own.pipe[0] = ends[0];
	own.pipe[1] = ends[1];
	stay(slice);
}

static void killed(void)
{
	long pid;

	wait_child(forked(suicide));
	new_pipe();
	pid = forked(stayer);
	wait_stay();
	call(__NR_kill, pid, SIG_KILL, 0, 0);
	wait_child(pid);
	new_pipe();
	pid = forked(group);
	wait_stay();
	call(__NR_kill, pid, SIG_KILL, 0, 0);
	wait_child(pid);
}

static void nest(long slice)
{
	work(slice, units_of(slice));
	threads_joined();
	wait_child(vforked(plain_executer));
	execute_again("thread-exec");
}

static void nested(void)
{
	staying_thread(stayer);
	wait_child(forked(nest));
	threads_joined();
}

static void wait_input(const char *word)
{
	call(__NR_write, 1, (long)word, 6, 0);
	while (call(__NR_read, 0, (long)&own.byte, 1, 0) > 0)
		;
}

static void halves(void)
{
	wait_input("ready\n");
	work(own.next++, 2);
}

static void plain(void)
{
}

/* ---- the first LWP --------------------------------------------------------------- */

static int same(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

__attribute__((used, noreturn)) static void run(long *args)
{
	static const struct {
		char name[16];
		void (*fn)(void);
	} modes[] = {
		{"plain", plain},
		{"fork", fork_one_by_one},
		{"storm", fork_storm},
		{"vfork", vfork_one_by_one},
		{"spawn", vfork_and_exec},
		{"threads", threads_joined},
		{"exit-group", exit_group},
		{"thread-exit", exit_group_by_thread},
		{"leader-first", leader_first},
		{"exec0", exec_chain},
		{"exec1", exec_chain},
		{"exec2", exec_chain},
		{"exec3", exec_chain},
		{"exec-fails", exec_fails},
		{"thread-fails", exec_fails_in_thread},
		{"thread-exec", exec_by_thread},
		{"daemon", daemon},
		{"killed", killed},
		{"nested", nested},
		{"halves", halves},
	};
	char **argv = (char **)(args + 1);
	char *digits = args[0] > 2 ? argv[2] : (char *)"1000";

	must(args[0] > 1);
	own.next = 1;
	for (int i = 0; i < 15 && argv[1][i] != '\0'; i++)
		own.mode[i] = argv[1][i];
	own.again[0] = argv[0];
	own.again[2] = digits;
	for (int i = 0; i < 4; i++)
		own.rounds = own.rounds * 10 + digits[i] - '0';
	call(__NR_prctl, NO_HUGE_PAGES, 1, 0, 0);
	if (args[0] > 3)
		wait_input("ready\n");
	work(0, 1);
	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (same(modes[i].name, own.mode)) {
			modes[i].fn();
			leave(__NR_exit_group, 0);
		}
	}
	must(0);
	leave(__NR_exit_group, 0);
}
