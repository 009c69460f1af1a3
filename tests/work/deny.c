/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * deny CALL EPERM|EACCES|ENOSYS COMMAND... - run a command that may not make a system call, as
 * the seccomp(2) profiles of containers have it.
 *
 * Known: the exit status of the command.
 */
#include "work.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define CALL(name)                \
	{                         \
#name, SYS_##name \
	}

static const struct {
	const char *name;
	int number;
} calls[] =
	{
		CALL(bpf),
		CALL(clock_nanosleep),
		CALL(close),
		CALL(epoll_ctl),
		CALL(epoll_pwait),
		CALL(eventfd2),
		CALL(fcntl),
		CALL(futex),
		CALL(getdents64),
		CALL(ioctl),
		CALL(kill),
		CALL(lseek),
		CALL(memfd_create),
		CALL(mmap),
		CALL(munmap),
		CALL(openat),
		CALL(perf_event_open),
		{"pidfd_open", 434},
		{"pidfd_send_signal", 424},
		CALL(pipe2),
		CALL(ppoll),
		CALL(prctl),
		CALL(pread64),
		CALL(process_vm_readv),
		CALL(ptrace),
		CALL(read),
		CALL(rt_sigaction),
		CALL(rt_sigprocmask),
		CALL(rt_sigtimedwait),
		CALL(sched_getaffinity),
		CALL(sched_setaffinity),
		CALL(sched_yield),
		CALL(sigaltstack),
		CALL(tgkill),
		CALL(timerfd_create),
		CALL(timerfd_settime),
		CALL(wait4),
		CALL(waitid),
		CALL(write),
},
  errors[] = {{"EPERM", EPERM}, {"EACCES", EACCES}, {"ENOSYS", ENOSYS}};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

int main(int argc, char *argv[])
{
	unsigned call = 0, error = 0;

	if (argc < 4)
		return WORK_BROKEN;
	for (size_t i = 0; i < COUNT(calls); i++) {
		if (strcmp(calls[i].name, argv[1]) == 0)
			call = (unsigned)calls[i].number;
	}
	for (size_t i = 0; i < COUNT(errors); i++) {
		if (strcmp(errors[i].name, argv[2]) == 0)
			error = (unsigned)errors[i].number;
	}
	errno = EINVAL;
	if (call == 0 || error == 0)
		broken(argv[1]);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {COUNT(code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		broken("seccomp");
	execvp(argv[3], argv + 3);
	broken(argv[3]);
}
