/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * why.c - why a request could not be counted, and what would help.
 */
#include "cpc_impl.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* linux/capability.h since 5.8 */
#endif

int cpci_paranoid(void)
{
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
	char text[16], *end;
	ssize_t n;
	long level;

	if (fd == -1)
		return errno == ENOENT ? INT_MIN : INT_MAX;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	level = strtol(text, &end, 10);
	return end != text ? (int)level : INT_MAX;
}

static bool have_cap(pid_t pid, int cap)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = pid};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &hdr, data) == -1)
		return false;
	return (data[cap / 32].effective >> (cap % 32) & 1U) != 0;
}

bool cpci_privileged(pid_t pid)
{
	return have_cap(pid, CAP_PERFMON) || have_cap(pid, CAP_SYS_ADMIN);
}

/* For perf_event_open(2), capabilities in a user namespace of one's own are none. */
static bool privileged(void)
{
	unsigned long first = 0, outside = 0, n = UINT32_MAX;
	FILE *f = fopen("/proc/self/uid_map", "re");

	if (f != NULL) {
		if (fscanf(f, "%lu %lu %lu", &first, &outside, &n) != 3)
			n = 0;
		fclose(f);
	}
	return first == 0 && outside == 0 && n == UINT32_MAX && cpci_privileged(0);
}

/* A breakpoint on an address of the kernel: the upper half is its own. */
static bool is_in_kernel(const struct cpci_term *term)
{
	return term->type == PERF_TYPE_BREAKPOINT && term->symbol[0] == '\0' &&
	       (term->config1 >> 63) != 0;
}

/* EACCES, EPERM: is it the sysctl, and at which value would it be allowed? */
static void why_denied(struct cpci_diag *diag, int err, const char *name,
		       const struct cpci_term *term, struct cpci_target target)
{
	int level = cpci_paranoid(), enough = INT_MAX;
	const char *what = "";

	/* Debian's 3 and Ubuntu's 4 are not upstream's: they deny everything. */
	if (level >= 3)
		enough = 2;
	if (!term->exclude_kernel && level > 1) {
		what = " in kernel mode";
		enough = 1;
	}
	if (target.tid == -1 && level > 0) {
		what = " on a whole CPU";
		enough = 0;
	}
	if (enough != INT_MAX && !privileged()) {
		cpci_diag(diag, EACCES, 0,
			  "cannot count '%s'%s: kernel.perf_event_paranoid is %d; root and "
			  "CAP_PERFMON may, and everybody after: sysctl "
			  "kernel.perf_event_paranoid=%d",
			  name, what, level, enough);
		return;
	}
	if (target.tid > 0 && !privileged()) {
		cpci_diag(
			diag, EACCES, 0,
			"cannot count '%s': its process belongs to another user, runs a "
			"set-id or unreadable program, or made itself undumpable (prctl(2)); root may",
			name);
		return;
	}
	if (is_in_kernel(term) && !have_cap(0, CAP_SYS_ADMIN)) {
		cpci_diag(diag, EACCES, 0,
			  "cannot count '%s': a breakpoint in the kernel takes CAP_SYS_ADMIN",
			  name);
		return;
	}
	cpci_diag(diag, EACCES, 0,
		  "cannot count '%s': perf_event_open(2) is denied (%s): a container's seccomp "
		  "profile, a security module or kernel lockdown forbids it",
		  name, strerror(err));
}

static void why_no_files(struct cpci_diag *diag, int err, const char *name)
{
	struct rlimit lim;

	if (err == EMFILE && getrlimit(RLIMIT_NOFILE, &lim) == 0)
		cpci_diag(
			diag, err, 0,
			"cannot count '%s': each counter takes a file, and RLIMIT_NOFILE is %llu; "
			"%s raise it (ulimit -n)",
			name, (unsigned long long)lim.rlim_cur,
			lim.rlim_cur < lim.rlim_max ? "you can" : "root can");
	else
		cpci_diag(diag, err, 0,
			  "cannot count '%s': the system's limit of open files is reached; raise "
			  "it with sysctl fs.file-max",
			  name);
}

static bool is_core(const struct cpci_term *term)
{
	return term->type == PERF_TYPE_HARDWARE || term->type == PERF_TYPE_HW_CACHE ||
	       term->type == PERF_TYPE_RAW;
}

/*
 * The kernel then counts cycles, or says why not, whatever CPUID says.  Whom it does not
 * permit to count it does not tell; what it exports does.
 */
bool cpci_have_core_pmu(void)
{
	char pmu[CPCI_PMU_NAME];
	const struct cpci_term cycles = {.type = PERF_TYPE_HARDWARE,
					 .config = PERF_COUNT_HW_CPU_CYCLES,
					 .exclude_kernel = true,
					 .exclude_hv = true};
	int err = cpci_group_probe(&cycles);

	if (err == EACCES || err == EPERM)
		return cpci_pmu_name(PERF_TYPE_RAW, pmu);
	return err != ENOENT && err != EOPNOTSUPP && err != ENODEV;
}

static void why_unsupported(struct cpci_diag *diag, const char *name, const struct cpci_term *term)
{
	if (is_core(term) && !cpci_have_core_pmu())
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel has no hardware counters on this machine "
			  "(a virtual machine without a PMU, perhaps); software events and "
			  "tracepoints can be counted",
			  name);
	else if (!cpci_pmu_implements(term))
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the CPU of this machine does not have this event",
			  name);
	else
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel does not support it on this machine",
			  name);
}

static bool is_cpu(int cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	return access(path, F_OK) == 0;
}

/* Would the target take that term alone? */
static bool fits_alone(const struct cpci_term *term, struct cpci_target target)
{
	int fd = cpci_group_reserve(term, target);

	if (fd == -1)
		return false;
	close(fd);
	return true;
}

static void why_invalid(struct cpci_diag *diag, const char *name, const struct cpci_term *term,
			struct cpci_target target)
{
	if (target.tid == -1 && !is_cpu(target.cpu))
		cpci_diag(diag, EINVAL, 0, "no CPU %d", target.cpu);
	else if (is_in_kernel(term) && term->exclude_kernel)
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': addr is in the kernel, where nothing is counted "
			  "without sys",
			  name);
	else if (is_in_kernel(term))
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel takes no such breakpoint there: only on "
			  "code that may be probed, and only where addr is a multiple of len",
			  name);
	else if (term->type == PERF_TYPE_BREAKPOINT)
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': this CPU has no such breakpoint: is addr a multiple "
			  "of len?%s",
			  name, term->bp_type == HW_BREAKPOINT_R ? "  Try rw=rw" : "");
	else if (fits_alone(term, target))
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' together with the other events: the PMU has too few "
			  "counters for all of them; count some of them in a set of their own",
			  name);
	else if (target.tid == -1)
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' on CPU %d: its PMU does not know this code, or does "
			  "not count on that CPU",
			  name, target.cpu);
	else
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' for an LWP: its PMU counts whole CPUs only, or does "
			  "not know this code",
			  name);
}

void cpci_why_no_register(struct cpci_diag *diag, const char *name, const struct cpci_plan *plan,
			  const struct cpci_term *term)
{
	uint_t n;

	if (cpci_registers_suffice(plan, term, &n))
		cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': this CPU has %u registers for breakpoints of this "
			  "kind, and others, a debugger perhaps, have taken some of them",
			  name, n);
	else if (n == 0)
		cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': others, who count on whole CPUs or debug, have taken "
			  "this CPU's registers for breakpoints of this kind",
			  name);
	else
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' together with the other events: this CPU has %u "
			  "registers for breakpoints of this kind; count some of them in a set of "
			  "their own",
			  name, n);
}

static bool have_nmi_watchdog(void)
{
	FILE *f = fopen("/proc/sys/kernel/nmi_watchdog", "re");
	int on = 0;

	if (f == NULL)
		return false;
	if (fscanf(f, "%d", &on) != 1)
		on = 0;
	fclose(f);
	return on != 0;
}

static bool has_counters(const char *pid)
{
	static const char counter[] = "anon_inode:[perf_event]";
	char path[300], link[sizeof(counter)];
	struct dirent *de;
	bool has = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (!has && dir != NULL && (de = readdir(dir)) != NULL)
		has = readlinkat(dirfd(dir), de->d_name, link, sizeof(link)) ==
			      (ssize_t)sizeof(counter) - 1 &&
		      memcmp(link, counter, sizeof(counter) - 1) == 0;
	if (dir != NULL)
		closedir(dir);
	return has;
}

/* Another process that has counters open, among those whose files we may see. */
static bool find_holder(struct cpci_found *found)
{
	struct dirent *de;
	DIR *dir = opendir("/proc");

	*found = (struct cpci_found){0};
	while (found->pid == 0 && dir != NULL && (de = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtol(de->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && has_counters(de->d_name))
			found->pid = pid;
	}
	if (dir != NULL)
		closedir(dir);
	return found->pid != 0;
}

static void why_held(struct cpci_diag *diag, const char *name)
{
	bool watched = have_nmi_watchdog();
	struct cpci_found found;
	char seen[96] = "", who[64];

	if (find_holder(&found)) {
		cpci_place_who(&found, who, sizeof(who));
		snprintf(seen, sizeof(seen), "; %s has counters open", who);
	}
	cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
		  "cannot count '%s': others hold the counters that it needs%s%s%s", name, seen,
		  watched ? "; the NMI watchdog has one, root can stop it with: sysctl "
			    "kernel.nmi_watchdog=0"
			  : "",
		  !watched && *seen == '\0' ? "; who they are cannot be seen from here" : "");
}

int cpc_set_lost(cpc_t *cpc, const cpc_set_t *set, char *text, size_t size)
{
	const struct cpci_plan *plan = set->plan;
	struct cpci_diag diag;
	int group;

	if (set->cpc != cpc || set->bound == CPCI_UNBOUND)
		return cpci_failf(cpc, "cpc_set_lost", EINVAL, 0,
				  set->cpc != cpc ? "the set was made with another handle"
						  : "the set is not bound");
	group = cpci_group_lost(plan, set->fd);
	if (group == -1 && !cpci_pass_holds(&set->pass, cpci_now()))
		return 0;
	/* Of a dead LWP it is not known which one it was. */
	for (group = group != -1 ? group : 0; !plan->group[group].hardware; group++) {
		if ((uint_t)group + 1 == plan->ngroups)
			return 0;
	}
	why_held(&diag, plan->req[plan->member[plan->group[group].first].req].name);
	strlcpy(text, diag.text, size);
	return 1;
}

void cpci_why(struct cpci_diag *diag, int err, const char *name, const struct cpci_term *term,
	      struct cpci_target target)
{
	switch (err) {
	case EACCES:
	case EPERM:
		why_denied(diag, err, name, term, target);
		break;
	case ENOSYS:
		cpci_diag(diag, EACCES, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': perf_event_open(2) is not there: a container's "
			  "seccomp profile hides it",
			  name);
		break;
	case ENOENT:
	case EOPNOTSUPP:
		why_unsupported(diag, name, term);
		break;
	case EINVAL:
		why_invalid(diag, name, term, target);
		break;
	case ENODEV:
		if (target.tid == -1)
			cpci_diag(diag, ENOSYS, 0, "CPU %d is offline", target.cpu);
		else
			why_unsupported(diag, name, term);
		break;
	case ENOSPC:
		cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': there is no room for another event of its kind",
			  name);
		break;
	case EAGAIN:
	case EBUSY:
		why_held(diag, name);
		break;
	case EMFILE:
	case ENFILE:
		why_no_files(diag, err, name);
		break;
	case ESRCH:
		cpci_diag(diag, ESRCH, 0, "the LWP has ended");
		break;
	default:
		cpci_diag(diag, err, 0, "cannot count '%s': %s", name, strerror(err));
		break;
	}
}
