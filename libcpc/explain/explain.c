/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* explain.c - why a request cannot be counted, and how to fix it. */
#include "explain.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Returns -1, like all functions that explain. */
static int refuse(struct cpci_diag *diag, int err, int subcode, const char *name, const char *why)
{
	return cpci_diag(diag, err, subcode, "cannot count '%s': %s", name, why);
}

/* Is it a breakpoint on an address in the kernel, which has the upper half? */
static bool is_in_kernel(const struct cpci_term *term)
{
	return term->attr.type == PERF_TYPE_BREAKPOINT && term->symbol[0] == '\0' &&
	       (term->attr.bp_addr >> 63) != 0;
}

/* Explains EACCES and EPERM: does the sysctl deny it, and which value would permit it? */
static int explain_denied(struct cpci_diag *diag, int err, const char *name,
			  const struct cpci_term *term, struct cpci_target target)
{
	int level = cpci_paranoid(), enough = INT_MAX;
	bool privileged = cpci_privileged_here();
	const char *what = "";

	/* No value of the sysctl permits function events.  Is it the only event that is denied? */
	if (cpci_perf_is_uprobe(&term->attr) &&
	    (!privileged ||
	     (!cpci_have_cap(0, CAP_SYS_ADMIN) && cpci_perf_probe(&cpci_perf_dummy) == 0)))
		return cpci_diag(
			diag, EACCES, 0,
			"cannot count '%s': this kernel sets probes of functions for root, with "
			"CAP_SYS_ADMIN, only%s; a breakpoint on the function requires no privilege",
			name, privileged ? " (older ones also with CAP_PERFMON)" : "");
	/* 3 on Debian and 4 on Ubuntu deny everything, unlike the upstream kernel. */
	if (level >= 3)
		enough = 2;
	if (!term->attr.exclude_kernel && level > 1) {
		what = " in kernel mode";
		enough = 1;
	}
	if (target.tid == -1 && level > 0) {
		what = " on a whole CPU";
		enough = 0;
	}
	if (enough != INT_MAX && !privileged)
		return cpci_diag(diag, EACCES, 0,
				 "cannot count '%s'%s: kernel.perf_event_paranoid is %d; root and "
				 "CAP_PERFMON may, and any user after: sysctl "
				 "kernel.perf_event_paranoid=%d",
				 name, what, level, enough);
	if (target.tid > 0 && !privileged)
		return refuse(diag, EACCES, 0, name,
			      "its process belongs to another user, runs a set-id or unreadable "
			      "program, or made itself undumpable (prctl(2)); root may");
	if (is_in_kernel(term) && !cpci_have_cap(0, CAP_SYS_ADMIN))
		return refuse(diag, EACCES, 0, name,
			      "a breakpoint in the kernel requires CAP_SYS_ADMIN");
	return cpci_diag(
		diag, EACCES, 0,
		"cannot count '%s': perf_event_open(2) is denied (%s): a container's seccomp "
		"profile, a security module or kernel lockdown forbids it",
		name, strerror(err));
}

static int explain_no_files(struct cpci_diag *diag, int err, const char *name)
{
	struct rlimit lim;

	if (err == EMFILE && getrlimit(RLIMIT_NOFILE, &lim) == 0)
		return cpci_diag(
			diag, err, 0,
			"cannot count '%s': each counter takes a file, and RLIMIT_NOFILE is %llu; "
			"%s raise it (ulimit -n)",
			name, (unsigned long long)lim.rlim_cur,
			lim.rlim_cur < lim.rlim_max ? "you can" : "root can");
	return refuse(diag, err, 0, name,
		      "the system's limit of open files is reached; raise it with sysctl "
		      "fs.file-max");
}

/* Why this event of the scheduler cannot be counted. */
static const char *sched_reason(const struct perf_event_attr *attr)
{
	switch (attr->config) {
	case CPC_SCHED_BUSY_TIME:
		return "it is the time that a CPU is not idle; task-clock is the time of an LWP on "
		       "a CPU";
	case CPC_SCHED_PREEMPTIONS_BY_OTHERS:
		return "it is counted only by cgroup, user, command or the like; preemptions are "
		       "those by all LWPs";
	case CPC_SCHED_THROTTLED_TIME:
		return "it is counted only by cgroup, service or container";
	default:
		return "perf_event_open(2) cannot, but BPF programs at context switches can";
	}
}

static int explain_unsupported(struct cpci_diag *diag, const char *name,
			       const struct cpci_term *term)
{
	const char *why = "the kernel does not support it on this machine";

	if (cpc_is_sched_event(&term->attr))
		why = sched_reason(&term->attr);
	else if (cpci_perf_is_core(&term->attr) && !cpci_perf_have_core_pmu())
		why = "the kernel has no hardware counters on this machine (a virtual machine "
		      "without a PMU, perhaps); software events and tracepoints can be counted";
	else if (!cpci_pmu_implements(&term->attr))
		why = "the CPU of this machine does not have this event";
	return refuse(diag, EINVAL, CPC_RESOURCE_UNAVAIL, name, why);
}

static bool is_cpu(int cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	return access(path, F_OK) == 0;
}

/* Can the target count this term alone? */
static bool fits_alone(const struct cpci_term *term, struct cpci_target target)
{
	const struct perf_event_attr attr = cpci_term_event(term, NULL);

	return cpci_perf_probe_target(&attr, target) == 0;
}

static int explain_filter(struct cpci_diag *diag, const char *name, const struct cpci_term *term)
{
	char tracepoint[256], fields[512] = "", place[CPCI_MAX_SYMBOL + 128] = "";
	const char *why = NULL;
	size_t at;

	if (cpci_tracepoint_name(&term->attr, tracepoint, sizeof(tracepoint))) {
		cpci_tracepoint_fields(tracepoint, fields, sizeof(fields));
		why = cpci_filter_wrong(tracepoint, term->filter, &at);
	}
	if (why != NULL)
		snprintf(place, sizeof(place), " (at character %zu%s%s%s: %s)", at + 1,
			 term->filter[at] != '\0' ? ", '" : "", term->filter + at,
			 term->filter[at] != '\0' ? "'" : "", why);
	if (*fields != '\0')
		return cpci_diag(
			diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': the kernel does not accept the filter '%s' of %s%s, "
			"whose fields are: %s",
			name, term->filter, tracepoint, place, fields);
	return cpci_diag(
		diag, EINVAL, CPC_INVALID_EVENT,
		"cannot count '%s': the kernel does not accept the filter '%s': is it made "
		"of fields of this tracepoint, which its file format names?",
		name, term->filter);
}

static bool counts_cpus_only(const struct cpci_term *term)
{
	char pmu[CPCI_PMU_NAME];

	return cpci_pmu_name(term->attr.type, pmu) && cpci_pmu_cpu(pmu) != -1;
}

static int explain_invalid(struct cpci_diag *diag, const char *name, const struct cpci_term *term,
			   struct cpci_target target)
{
	if (target.tid == -1 && !is_cpu(target.cpu))
		return cpci_diag(diag, EINVAL, 0, "no CPU %d", target.cpu);
	if (cpci_term_is_filtered(term) && fits_alone(term, target))
		return explain_filter(diag, name, term);
	if (cpci_perf_is_uprobe(&term->attr))
		return refuse(diag, EINVAL, CPC_RESOURCE_UNAVAIL, name,
			      "the kernel cannot probe this instruction, or files of this file "
			      "system");
	if (is_in_kernel(term) && term->attr.exclude_kernel)
		return refuse(diag, EINVAL, CPC_NEEDS_SYSTEM, name,
			      "addr is in the kernel, whose mode is not counted");
	if (is_in_kernel(term))
		return refuse(diag, EINVAL, CPC_RESOURCE_UNAVAIL, name,
			      "the kernel accepts no such breakpoint there: only on code that "
			      "may be probed, and only where addr is a multiple of len");
	if (term->attr.type == PERF_TYPE_BREAKPOINT)
		return cpci_diag(
			diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s': this CPU has no such breakpoint: is addr a multiple "
			"of len?%s",
			name, term->attr.bp_type == HW_BREAKPOINT_R ? "  Try rw=rw" : "");
	if (fits_alone(term, target))
		return cpci_diag(
			diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s' together with the other events: the PMU has too few "
			"counters for all of them; count some of them in a set of their own",
			name);
	if (target.tid == -1)
		return cpci_diag(
			diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s' on CPU %d: its PMU does not know this code, or does "
			"not count on that CPU",
			name, target.cpu);
	return cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			 "cannot count '%s' for an LWP: its PMU %s", name,
			 counts_cpus_only(term) ? "counts whole CPUs only"
						: "does not know this code, or counts no LWPs");
}

static int explain_no_debugreg(struct cpci_diag *diag, const char *name,
			       const struct cpci_plan *plan, const struct cpci_term *term)
{
	uint_t n;

	if (cpci_debugreg_suffice(plan, term, &n))
		return cpci_diag(
			diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s': this CPU has %u registers for breakpoints of this "
			"kind, and another program, perhaps a debugger, uses some of them",
			name, n);
	if (n == 0)
		return refuse(diag, EAGAIN, CPC_RESOURCE_UNAVAIL, name,
			      "other programs, which count whole CPUs or debug, use this CPU's "
			      "registers for breakpoints of this kind");
	return cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			 "cannot count '%s' together with the other events: this CPU has %u "
			 "registers for breakpoints of this kind; count some of them in a set of "
			 "their own",
			 name, n);
}

int cpci_explain_held(struct cpci_diag *diag, const char *name)
{
	bool watched = cpci_read_number("/proc/sys/kernel/nmi_watchdog", 0) != 0;
	pid_t holder = 0;
	char seen[96] = "", process[64];

	if (cpci_count_openers("anon_inode:[perf_event]", 1, &holder) > 0) {
		cpci_process_name(holder, process, sizeof(process));
		snprintf(seen, sizeof(seen), "; %s has counters open", process);
	}
	return cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
			 "cannot count '%s': other programs use the counters that it needs%s%s%s",
			 name, seen,
			 watched ? "; the NMI watchdog has one, root can stop it with: sysctl "
				   "kernel.nmi_watchdog=0"
				 : "",
			 !watched && *seen == '\0' ? "; they cannot be seen from here" : "");
}

int cpci_explain(struct cpci_diag *diag, int err, const char *name, const struct cpci_term *term,
		 struct cpci_target target)
{
	switch (err) {
	case EACCES:
	case EPERM:
		return explain_denied(diag, err, name, term, target);
	case ENOSYS:
		return refuse(diag, EACCES, CPC_RESOURCE_UNAVAIL, name,
			      "perf_event_open(2) is not there: a container's seccomp profile "
			      "hides it");
	case ENOENT:
	case EOPNOTSUPP:
		return explain_unsupported(diag, name, term);
	case CPCI_ENOTSUPP:
	case EINVAL:
		return explain_invalid(diag, name, term, target);
	case E2BIG:
		return refuse(diag, EINVAL, CPC_RESOURCE_UNAVAIL, name,
			      "it requires config3, which Linux supports since 6.3");
	case ENODEV:
		if (target.tid == -1)
			return cpci_diag(diag, ENOSYS, 0, "CPU %d is offline", target.cpu);
		return explain_unsupported(diag, name, term);
	case CPCI_ENOBREAK:
		return refuse(diag, EINVAL, CPC_RESOURCE_UNAVAIL, name,
			      "breakpoints never fire on this machine; its hypervisor does not "
			      "support debug registers");
	case ENOSPC:
		return refuse(diag, EAGAIN, CPC_RESOURCE_UNAVAIL, name,
			      "there is no room for another event of its kind");
	case EAGAIN:
	case EBUSY:
		return cpci_explain_held(diag, name);
	case EMFILE:
	case ENFILE:
		return explain_no_files(diag, err, name);
	case ESRCH:
		/* At ESRCH the caller would assume that the counts are complete. */
		if (target.tid > 0 && cpci_lwp_ended(target.tid))
			return cpci_diag(diag, ESRCH, 0, "the LWP has ended");
		return refuse(diag, EIO, 0, name,
			      "the kernel reports that the LWP has ended, but it is alive");
	default:
		return refuse(diag, err, 0, name, strerror(err));
	}
}

/* Which attribute of the term's request requires privilege?  NULL: none. */
static const char *find_privileged(const struct cpci_req *req, uint_t term,
				   struct cpci_target target)
{
	for (uint_t i = 0; i < req->nattrs; i++) {
		struct cpci_event event = {.defs = req->event.defs};
		struct cpci_diag diag;
		bool good = strcmp(req->attrs[i].ca_name, "picnum") != 0 &&
			    cpci_event_resolve(req->name, req->flags, &event, &diag) == 0;

		for (uint_t k = 0; good && k < req->nattrs; k++)
			good = k == i || strcmp(req->attrs[k].ca_name, "picnum") == 0 ||
			       cpci_attr_apply(&event, req->name, &req->attrs[k], &diag) == 0;
		good = good && fits_alone(&event.term[term], target);
		cpci_event_free(&event);
		if (good)
			return req->attrs[i].ca_name;
	}
	return NULL;
}

int cpci_explain_plan(struct cpci_diag *diag, int err, const struct cpci_plan *plan,
		      struct cpci_term_ref bad, struct cpci_target target)
{
	const struct cpci_term *term = cpci_plan_term(plan, bad);
	const char *name = plan->req[bad.req].name;
	struct cpci_term_ref other;

	if (err == ENOSPC && term->attr.type == PERF_TYPE_BREAKPOINT)
		return explain_no_debugreg(diag, name, plan, term);
	if ((plan->req[bad.req].flags & CPC_OVF_NOTIFY_EMT) != 0 &&
	    (err == EINVAL || err == EOPNOTSUPP) && cpci_perf_probe(&term->attr) == 0 &&
	    !cpci_perf_overflows(&term->attr))
		return cpci_diag(diag, ENOTSUP, CPC_RESOURCE_UNAVAIL,
				 "cannot report overflows of '%s': its counter does not interrupt",
				 name);
	if (err == EACCES || err == EPERM) {
		const char *attr = find_privileged(&plan->req[bad.req], bad.term, target);

		if (attr != NULL)
			return cpci_diag(
				diag, EACCES, CPC_ATTR_REQUIRES_PRIVILEGE,
				"cannot count '%s' with the attribute '%s': root and CAP_PERFMON may; "
				"kernel.perf_event_paranoid is %d",
				name, attr, cpci_paranoid());
	}
	cpci_explain(diag, err, name, term, target);
	if (diag->subcode == CPC_RESOURCE_UNAVAIL && err == EINVAL &&
	    cpci_group_conflict(plan, target, bad, &other))
		cpci_diag(diag, EINVAL, CPC_CONFLICTING_REQS,
			  "cannot count '%s' together with '%s': they need the same counter; count "
			  "them in sets of their own",
			  name, plan->req[other.req].name);
	return -1;
}

/* The kernel limits the locked memory of ring buffers per user and per process. */
static int explain_locked(struct cpci_diag *diag)
{
	struct rlimit lim = {0};

	getrlimit(RLIMIT_MEMLOCK, &lim);
	return cpci_diag(
		diag, ENOMEM, 0,
		"cannot lock memory for the ring buffer of overflows: the kernel permits %ld kB of "
		"ring buffers per user and CPU (sysctl kernel.perf_event_mlock_kb), and %llu kB "
		"more per process (ulimit -l)",
		cpci_read_number("/proc/sys/kernel/perf_event_mlock_kb", 0),
		(unsigned long long)lim.rlim_cur / 1024);
}

int cpci_explain_pcbuf(struct cpci_diag *diag, int err, enum cpci_pcbuf_step step)
{
	static const char *const doing[] = {
		[CPCI_PCBUF_OPEN] = "cannot open a ring buffer for overflows",
		[CPCI_PCBUF_MAP] = "cannot map the ring buffer of overflows",
		[CPCI_PCBUF_SHARE] = "cannot write overflows into one ring buffer",
		[CPCI_PCBUF_POLLER] = "cannot start the thread that waits for buffered overflows",
	};

	if (step == CPCI_PCBUF_MAP && err == EPERM)
		return explain_locked(diag);
	if (step == CPCI_PCBUF_SHARE && err == EINVAL)
		return cpci_diag(
			diag, ENOTSUP, CPC_CONFLICTING_REQS,
			"this kernel cannot buffer overflows of hardware counters and of its own "
			"events together; count them in sets of their own");
	return cpci_diag(diag, err, 0, "%s: %s", doing[step], strerror(err));
}
