/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * change-keys cgroup|user|command REST A B ROUNDS FAULTS - has page faults in a cgroup, as a user
 * or under a name, and changes that in the middle of its time on a CPU.
 * change-keys names FIRST LAST FAULTS - the same with the names FIRST to LAST, which are numbers.
 *
 * REST, A and B are files cgroup.procs, user ids (REST is 0: root) or names.  It begins and ends
 * as REST.  Known: FAULTS page faults as A and as many as B in each of the rounds, or under each of
 * the names.
 */
#include "work.h"

#include <fcntl.h>
#include <sys/prctl.h>

#define PAGES 64UL

static char *memory;
static size_t page;

/* Exactly that many.  No page is larger. */
static void fault(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		if (i % PAGES == 0)
			madvise(memory, PAGES * page, MADV_DONTNEED);
		((volatile char *)memory)[i % PAGES * page] = 1;
	}
}

static void be_in_cgroup(const char *procs)
{
	int fd = open(procs, O_WRONLY | O_CLOEXEC);

	must(fd != -1 && write(fd, "0", 1) == 1, procs);
	close(fd);
}

/* Its saved id stays 0, so that it may change again. */
static void be_user(const char *id)
{
	must(syscall(SYS_setresuid, -1, 0, -1) == 0, "root");
	must(syscall(SYS_setresuid, -1, number(id), -1) == 0, id);
}

static void be_named(const char *name)
{
	must(prctl(PR_SET_NAME, name) == 0, name);
}

static void map_memory(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	must(memory != MAP_FAILED, "mmap");
	madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
}

static void use_names(long first, long last, unsigned long faults)
{
	char name[16];

	fault(PAGES + 1);
	for (long i = first; i <= last; i++) {
		snprintf(name, sizeof(name), "%ld", i);
		be_named(name);
		fault(faults);
	}
	be_named("change-keys");
}

int main(int argc, char *argv[])
{
	void (*be)(const char *);
	unsigned long faults;
	long rounds;

	map_memory();
	if (argc == 5 && strcmp(argv[1], "names") == 0) {
		use_names(number(argv[2]), number(argv[3]), (unsigned long)number(argv[4]));
		return 0;
	}
	if (argc != 7)
		broken("operands");
	be = strcmp(argv[1], "cgroup") == 0 ? be_in_cgroup
	     : strcmp(argv[1], "user") == 0 ? be_user
					    : be_named;
	rounds = number(argv[5]);
	faults = (unsigned long)number(argv[6]);
	/* All of our own pages are there from now on. */
	be(argv[2]);
	be(argv[3]);
	be(argv[4]);
	be(argv[2]);
	fault(PAGES + 1);
	for (long i = 0; i < rounds; i++) {
		be(argv[3]);
		fault(faults);
		be(argv[2]);
		be(argv[4]);
		fault(faults);
		be(argv[2]);
	}
	return 0;
}
