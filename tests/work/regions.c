/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * regions MODE [N] - counts itself in regions (cpc_region(3)), as MODE says.
 *
 * Known: a region `touch-K` has K page faults at each entry.
 */
#include "work.h"

#include <cpc_region.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void touch(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *mem =
		mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		broken("mmap");
	madvise(mem, n * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		((volatile char *)mem)[i * page] = 1;
	munmap(mem, n * page);
}

/* Other events in the inner regions: the LWP's set changes while the outer ones count. */
static void nested(long n)
{
	for (long i = 0; i < n; i++) {
		CPC_REGION("touch-111", "page-faults")
		{
			touch(100);
			CPC_REGION("touch-11", "minor-faults,page-faults")
			{
				touch(10);
				CPC_REGION("touch-1", "task-clock,page-faults")
				{
					touch(1);
				}
			}
		}
	}
}

static void recurse(long n)
{
	CPC_REGION("recursive", "page-faults")
	{
		touch(1);
		if (n <= 1)
			return; /* leaves it */
		recurse(n - 1);
	}
}

static void *thread(void *arg)
{
	nested((long)(intptr_t)arg);
	CPC_REGION_BEGIN("open", "page-faults");
	return NULL;
}

static void threads(long n)
{
	pthread_t t[8];

	for (size_t i = 0; i < 8; i++) {
		if (pthread_create(&t[i], NULL, thread, (void *)(intptr_t)n) != 0)
			broken("pthread_create");
	}
	for (size_t i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

/* The child is in no region, and counts its own. */
static void forked(long n)
{
	CPC_REGION("touch-parent", "page-faults")
	{
		pid_t pid = fork();

		if (pid == 0)
			nested(n);
		else
			waitpid(pid, NULL, 0);
	}
}

static void jump(long n)
{
	static jmp_buf out;

	for (volatile long i = 0; i < n; i++) {
		CPC_REGION("outer", "page-faults")
		{
			touch(5);
			if (setjmp(out) == 0) {
				CPC_REGION_BEGIN("jumped", "page-faults");
				touch(2);
				longjmp(out, 1);
			}
		}
	}
}

static void refused(long n)
{
	for (long i = 0; i < n; i++) {
		CPC_REGION("touch-3", "page-faults")
		{
			touch(1);
			CPC_REGION("no such event", "page-fautls")
			{
				touch(1);
			}
			CPC_REGION("both modes", "page-faults,context-switches,sys")
			{
				touch(1);
			}
		}
	}
}

__attribute__((noinline)) static void call_1(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) static void call_2(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline)) static void call_3(void)
{
	__asm__ volatile("nop\n\tnop");
}

#define THREE_OF(a, b) "breakpoint/addr=" a "/,breakpoint/addr=" b "/,breakpoint/addr=" a "+0x0/"

/* Of four breakpoints, one after the other; six of them at once are two too many. */
static void limited(long n)
{
	for (long i = 0; i < n; i++) {
		CPC_REGION("first", THREE_OF("call_1", "call_2"))
		{
			call_1();
			call_2();
			CPC_REGION("too many", THREE_OF("call_3", "touch"))
			{
				call_1();
				call_3();
			}
		}
		CPC_REGION("second", THREE_OF("call_3", "call_2"))
		{
			call_2();
			call_3();
		}
	}
}

/* So many regions, each with nothing in it. */
static void empty(long n)
{
	for (long i = 0; i < n; i++) {
		CPC_REGION("empty", "page-faults")
		{
			__asm__ volatile("");
		}
	}
}

static void out(long n)
{
	CPC_REGION_SCOPE("left", "page-faults");
	nested(n);
	exit(3); /* in the region */
}

static void out_at_once(long n)
{
	nested(n);
	_exit(4);
}

static void executed(long n)
{
	nested(n);
	execl("/bin/true", "true", (char *)NULL);
	broken("execl");
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*run)(long n);
	} modes[] = {
		{"nested", nested}, {"recurse", recurse}, {"threads", threads},
		{"fork", forked},   {"jump", jump},	  {"refused", refused},
		{"empty", empty},   {"exit", out},	  {"_exit", out_at_once},
		{"exec", executed}, {"limited", limited},
	};

	touch(1); /* outside of all regions, so that none counts the cost of the first use */
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		modes[i].run(argc > 2 ? number(argv[2]) : 1);
		return 0;
	}
	return WORK_BROKEN;
}
