/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The mappings of a process: by ioctl(2) one by one, and from the text of /proc/PID/maps on
 * kernels before 6.11, which must be the same; the lines of that text; processes that ended.
 */
#include "unit.h"

#include "../../libcpc/symbol/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_old_kernel;

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, void *arg);

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	if (is_old_kernel && _IOC_TYPE(request) == 'f') {
		errno = ENOTTY;
		return -1;
	}
	return __real_ioctl(fd, request, arg);
}

static void same(const struct cpci_mapping *a, const struct cpci_mapping *b)
{
	assert_true(a->start == b->start && a->end == b->end && a->offset == b->offset);
	assert_true(cpci_same_file_id(a->file, b->file));
	assert_int_equal(a->exec, b->exec);
}

/* The mapping of `addr`, by both methods. */
static int both(uint64_t addr, struct cpci_mapping *m, char *path, size_t size)
{
	struct cpci_maps maps;
	struct cpci_mapping other;
	int rc;

	is_old_kernel = true;
	assert_int_equal(cpci_maps_open(&maps, getpid()), 0);
	rc = cpci_maps_at(&maps, addr, m);
	assert_true(maps.all);
	snprintf(path, size, "%s", rc == 1 ? m->path : "");
	cpci_maps_close(&maps);
	is_old_kernel = false;
	assert_int_equal(cpci_maps_open(&maps, getpid()), 0);
	assert_int_equal(cpci_maps_at(&maps, addr, &other), rc);
	if (rc == 1) {
		same(m, &other);
		assert_string_equal(path, other.path);
	}
	cpci_maps_close(&maps);
	return rc;
}

static void of_this_program(void **state)
{
	struct cpci_mapping m;
	char path[PATH_MAX], own[PATH_MAX] = "";

	(void)state;
	assert_int_equal(both((uintptr_t)&of_this_program, &m, path, sizeof(path)), 1);
	assert_true(m.exec);
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	assert_string_equal(path, own);
	assert_int_equal(both((uintptr_t)&m, &m, path, sizeof(path)), 1);
	assert_false(m.exec);
	assert_true(m.file.ino == 0);
	assert_int_equal(both(16, &m, path, sizeof(path)), 0);
}

static void all_code(void **state)
{
	struct cpci_maps asked, was_read;
	struct cpci_mapping a = {0}, b = {0};
	int rc, n = 0;

	(void)state;
	assert_int_equal(cpci_maps_open(&asked, getpid()), 0);
	assert_int_equal(cpci_maps_open(&was_read, getpid()), 0);
	for (;; n++) {
		is_old_kernel = true;
		rc = cpci_maps_next_code(&was_read, a.end, &a);
		is_old_kernel = false;
		assert_int_equal(cpci_maps_next_code(&asked, b.end, &b), rc);
		if (rc == 0)
			break;
		assert_int_equal(rc, 1);
		same(&a, &b);
		assert_true(a.exec && a.file.ino != 0);
	}
	assert_true(n >= 1);
	cpci_maps_close(&asked);
	cpci_maps_close(&was_read);
}

static void identity(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct cpci_file_id id;
	struct cpci_mapping m;
	char path[PATH_MAX];

	(void)state;
	assert_true(fd != -1);
	assert_int_equal(cpci_maps_identify(fd, &id), 0);
	close(fd);
	assert_int_equal(both((uintptr_t)&identity, &m, path, sizeof(path)), 1);
	assert_true(cpci_same_file_id(id, m.file));
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
	struct cpci_mapping m;
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
	is_old_kernel = true;
	if (cpci_maps_open(&maps, child) == 0) {
		assert_int_equal(cpci_maps_at(&maps, (uintptr_t)&ended, &m), -1);
		assert_int_equal(errno, ESRCH);
		cpci_maps_close(&maps);
	}
	is_old_kernel = false;
	waitpid(child, NULL, 0);
	assert_true(cpci_lwp_ended(child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_this_program), cmocka_unit_test(all_code),
		cmocka_unit_test(identity),	   cmocka_unit_test(lines),
		cmocka_unit_test(ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
