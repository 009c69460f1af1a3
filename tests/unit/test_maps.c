/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The mappings of a process: those of this program; the lines of /proc/PID/maps; processes
 * that ended.
 */
#include "unit.h"

#include "../../libcpc/symbol/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The mapping of `addr` in this program.  A path is valid as long as `maps` is open. */
static int at(struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m)
{
	assert_int_equal(cpci_maps_open(maps, getpid()), 0);
	return cpci_maps_at(maps, addr, m);
}

static void of_this_program(void **state)
{
	struct cpci_maps maps;
	struct cpci_mapping m;
	char own[PATH_MAX] = "";

	(void)state;
	assert_int_equal(at(&maps, (uintptr_t)&of_this_program, &m), 1);
	assert_true(m.exec);
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	assert_string_equal(m.path, own);
	cpci_maps_close(&maps);
	assert_int_equal(at(&maps, (uintptr_t)&m, &m), 1);
	assert_false(m.exec);
	assert_true(m.file.ino == 0);
	cpci_maps_close(&maps);
	assert_int_equal(at(&maps, 16, &m), 0);
	cpci_maps_close(&maps);
}

/* Finds a mapping that is younger than the list. */
static void mapped_later(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct cpci_maps maps;
	struct cpci_mapping m;
	void *p;

	(void)state;
	assert_int_equal(cpci_maps_open(&maps, getpid()), 0);
	p = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(cpci_maps_at(&maps, (uintptr_t)p, &m), 1);
	assert_true(m.exec && m.start == (uintptr_t)p && m.end == (uintptr_t)p + page);
	munmap(p, page);
	cpci_maps_close(&maps);
}

static void all_code(void **state)
{
	struct cpci_mapping m = {0}, same;
	struct cpci_maps maps;
	int n = 0;

	(void)state;
	assert_int_equal(cpci_maps_open(&maps, getpid()), 0);
	for (; cpci_maps_next_code(&maps, m.end, &m); n++) {
		assert_true(m.exec && m.file.ino != 0);
		assert_int_equal(cpci_maps_at(&maps, m.start, &same), 1);
		assert_true(same.end == m.end && same.offset == m.offset);
	}
	assert_true(n >= 1);
	cpci_maps_close(&maps);
}

static void identity(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct cpci_file_id id;
	struct cpci_maps maps;
	struct cpci_mapping m;

	(void)state;
	assert_true(fd != -1);
	assert_int_equal(cpci_maps_identify(fd, &id), 0);
	close(fd);
	assert_int_equal(at(&maps, (uintptr_t)&identity, &m), 1);
	assert_true(cpci_same_file_id(id, m.file));
	cpci_maps_close(&maps);
}

static void lines(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "1000-",
					  "1000-2000",
					  "1000-2000 r-xp",
					  "1000-2000 r-xp 0 fe:01",
					  "2000-1000 r-xp 0 fe:01 1 /x",
					  "1000-2000 r-xp 0 fe01 1 /x",
					  "1000-2000 r-xp 0 fe:01 x /x",
					  "1000-2000 r-x",
					  "10000000000000000-20000000000000000 r-xp 0 fe:01 1 /x"};
	char line[128] = "7f00a000-7f00b000 r-xp 00001000 fe:01 1234      /a b\\012c (deleted)\n";
	struct cpci_mapping m;

	(void)state;
	assert_true(cpci_maps_parse(line, &m));
	assert_true(m.start == 0x7f00a000 && m.end == 0x7f00b000 && m.offset == 0x1000);
	assert_true(m.exec && m.file.ino == 1234);
	assert_string_equal(m.path, "/a b\\012c (deleted)");
	strcpy(line, "1000-2000 rw-p 00000000 00:00 0 \n");
	assert_true(cpci_maps_parse(line, &m));
	assert_true(!m.exec && m.file.ino == 0);
	assert_string_equal(m.path, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		strcpy(line, bad[i]);
		assert_false(cpci_maps_parse(line, &m));
	}
}

static void ended(void **state)
{
	struct cpci_maps maps;
	siginfo_t info;
	pid_t child;

	(void)state;
	assert_false(cpci_lwp_ended(getpid()));
	child = fork();
	assert_true(child != -1);
	if (child == 0)
		for (;;)
			pause();
	assert_false(cpci_lwp_ended(child));
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_true(cpci_lwp_ended(child)); /* a zombie */
	assert_int_equal(cpci_maps_open(&maps, child), -1);
	cpci_maps_close(&maps);
	waitpid(child, NULL, 0);
	assert_true(cpci_lwp_ended(child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_this_program), cmocka_unit_test(mapped_later),
		cmocka_unit_test(all_code),	   cmocka_unit_test(identity),
		cmocka_unit_test(lines),	   cmocka_unit_test(ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
