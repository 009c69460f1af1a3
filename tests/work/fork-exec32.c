/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * fork-exec32 - a 32-bit program without libc: it forks, its child executes it again, which
 * ends with status 7; both call getpriority(2).
 *
 * Known: 2 processes, 3 images, 10 calls by the first and 5 by the last image; exit status 0,
 * or 1 when something was not as it should be.
 */
static long call(long nr, long a, long b, long c)
{
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return rc;
}

enum { EXIT = 1, FORK = 2, WAITPID = 7, EXECVE = 11, GETPRIORITY = 96 };

__attribute__((used)) static void start(long *stack)
{
	char **argv = (char **)(stack + 1);
	char *again[] = {argv[0], argv[0], 0}, self[] = "/proc/self/exe";
	long n = stack[0] > 1 ? 5 : 10, pid, status = 0;

	while (n-- > 0)
		call(GETPRIORITY, 0, 0, 0);
	if (stack[0] > 1)
		call(EXIT, 7, 0, 0);
	pid = call(FORK, 0, 0, 0);
	if (pid == 0) {
		call(EXECVE, (long)self, (long)again, 0);
		call(EXIT, 1, 0, 0);
	}
	call(WAITPID, pid, (long)&status, 0);
	call(EXIT, status != 7 << 8, 0, 0);
}

__asm__(".globl _start\n_start:\n\tmovl %esp, %eax\n\tpushl %eax\n\tcall start\n");
