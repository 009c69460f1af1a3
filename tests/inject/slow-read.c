/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * slow-read.so - for LD_PRELOAD: each read(2) of a counter takes 0.3 s longer, as on a busy
 * machine; so does each run of a BPF program on CPU 0.
 */
#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void)
{
	unsetenv("LD_PRELOAD"); /* the command reads as ever */
}

static int is_counter(int fd)
{
	char link[32], name[32] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, name, sizeof(name) - 1) > 0 &&
	       strcmp(name, "anon_inode:[perf_event]") == 0;
}

static const struct timespec delay = {.tv_nsec = 300000000};

ssize_t read(int fd, void *buf, size_t size)
{
	if (size > 0 && is_counter(fd))
		nanosleep(&delay, NULL);
	return syscall(SYS_read, fd, buf, size);
}

static int is_run_on_cpu0(long number, long command, const union bpf_attr *attr)
{
	return number == SYS_bpf && command == BPF_PROG_TEST_RUN &&
	       (attr->test.flags & BPF_F_TEST_RUN_ON_CPU) && attr->test.cpu == 0;
}

long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (is_run_on_cpu0(number, arg[0], (const union bpf_attr *)arg[1]))
		nanosleep(&delay, NULL);
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
