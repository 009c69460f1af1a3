/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* explain.c - why a request cannot be counted, and how to fix it. */
#include "explain.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's ENOTSUPP: for uprobes on instructions that it cannot single-step. */
#define ENOTSUP_KERNEL 524

/* A breakpoint on an address in the kernel, which is the upper half. */
static bool is_in_kernel(const struct cpci_term *term)
{
	return term->attr.type == PERF_TYPE_BREAKPOINT && term->symbol[0] == '\0' &&
	       (term->attr.bp_addr >> 63) != 0;
}

/* EACCES or EPERM for a uprobe: no sysctl permits these. */
static bool explain_denied_function(struct cpci_diag *diag, const char *name,
				    const struct cpci_term *term)
{
	if (!cpci_perf_is_uprobe(&term->attr) || cpci_privileged_here())
		return false;
	cpci_diag(diag, EACCES, 0,
		  "cannot count '%s': the kernel sets probes of functions for root and "
		  "CAP_PERFMON only; a breakpoint on the function requires no privilege",
		  name);
	return true;
}

/* EACCES or EPERM: is it because of the sysctl, and which value would permit it? */
static void explain_denied(struct cpci_diag *diag, int err, const char *name,
			   const struct cpci_term *term, struct cpci_target target)
{
	int level = cpci_paranoid(), enough = INT_MAX;
	const char *what = "";

	if (explain_denied_function(diag, name, term))
		return;
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
	if (enough != INT_MAX && !cpci_privileged_here()) {
		cpci_diag(diag, EACCES, 0,
			  "cannot count '%s'%s: kernel.perf_event_paranoid is %d; root and "
			  "CAP_PERFMON may, and any user after: sysctl "
			  "kernel.perf_event_paranoid=%d",
			  name, what, level, enough);
		return;
	}
	if (target.tid > 0 && !cpci_privileged_here()) {
		cpci_diag(
			diag, EACCES, 0,
			"cannot count '%s': its process belongs to another user, runs a "
			"set-id or unreadable program, or made itself undumpable (prctl(2)); root may",
			name);
		return;
	}
	if (is_in_kernel(term) && !cpci_have_cap(0, CAP_SYS_ADMIN)) {
		cpci_diag(diag, EACCES, 0,
			  "cannot count '%s': a breakpoint in the kernel requires CAP_SYS_ADMIN",
			  name);
		return;
	}
	cpci_diag(diag, EACCES, 0,
		  "cannot count '%s': perf_event_open(2) is denied (%s): a container's seccomp "
		  "profile, a security module or kernel lockdown forbids it",
		  name, strerror(err));
}

static void explain_no_files(struct cpci_diag *diag, int err, const char *name)
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

static void explain_unsupported(struct cpci_diag *diag, const char *name,
				const struct cpci_term *term)
{
	if (cpci_perf_is_core(&term->attr) && !cpci_perf_have_core_pmu())
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel has no hardware counters on this machine "
			  "(a virtual machine without a PMU, perhaps); software events and "
			  "tracepoints can be counted",
			  name);
	else if (!cpci_pmu_implements(&term->attr))
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

/* Could the target have this term alone?  A topdown metric needs the same counter as slots. */
static bool fits_alone(const struct cpci_term *term, struct cpci_target target)
{
	struct cpci_term alone = *term;
	int fd;

	if (cpci_topdown_is_metric(&term->attr))
		cpci_topdown_make_slots(&alone.attr);
	fd = cpci_term_open(&alone, target, -1, true);

	if (fd == -1)
		return false;
	close(fd);
	return true;
}

static void explain_filter(struct cpci_diag *diag, const char *name, const struct cpci_term *term)
{
	char tracepoint[256], fields[512] = "";

	if (cpci_tracepoint_name(&term->attr, tracepoint, sizeof(tracepoint)))
		cpci_tracepoint_fields(tracepoint, fields, sizeof(fields));
	if (*fields != '\0')
		cpci_diag(
			diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': the kernel does not accept the filter '%s' of %s, whose "
			"fields are: %s",
			name, term->filter, tracepoint, fields);
	else
		cpci_diag(
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

static void explain_invalid(struct cpci_diag *diag, const char *name, const struct cpci_term *term,
			    struct cpci_target target)
{
	if (target.tid == -1 && !is_cpu(target.cpu))
		cpci_diag(diag, EINVAL, 0, "no CPU %d", target.cpu);
	else if (cpci_term_is_filtered(term) && fits_alone(term, target))
		explain_filter(diag, name, term);
	else if (cpci_perf_is_uprobe(&term->attr))
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel cannot probe this instruction, or files "
			  "of this file system",
			  name);
	else if (is_in_kernel(term) && term->attr.exclude_kernel)
		cpci_diag(diag, EINVAL, CPC_NEEDS_SYSTEM,
			  "cannot count '%s': addr is in the kernel, whose mode is not counted",
			  name);
	else if (is_in_kernel(term))
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel accepts no such breakpoint there: only on "
			  "code that may be probed, and only where addr is a multiple of len",
			  name);
	else if (term->attr.type == PERF_TYPE_BREAKPOINT)
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': this CPU has no such breakpoint: is addr a multiple "
			  "of len?%s",
			  name, term->attr.bp_type == HW_BREAKPOINT_R ? "  Try rw=rw" : "");
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
	else if (counts_cpus_only(term))
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' for an LWP: its PMU counts whole CPUs only", name);
	else
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' for an LWP: its PMU does not know this code, or "
			  "counts no LWPs",
			  name);
}

static void explain_no_debugreg(struct cpci_diag *diag, const char *name,
				const struct cpci_plan *plan, const struct cpci_term *term)
{
	uint_t n;

	if (cpci_debugreg_suffice(plan, term, &n))
		cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': this CPU has %u registers for breakpoints of this "
			  "kind, and another program, perhaps a debugger, uses some of them",
			  name, n);
	else if (n == 0)
		cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': other programs, which count whole CPUs or debug, use "
			  "this CPU's registers for breakpoints of this kind",
			  name);
	else
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' together with the other events: this CPU has %u "
			  "registers for breakpoints of this kind; count some of them in a set of "
			  "their own",
			  name, n);
}

void cpci_explain_held(struct cpci_diag *diag, const char *name)
{
	bool watched = cpci_read_number("/proc/sys/kernel/nmi_watchdog", 0) != 0;
	pid_t holder = 0;
	char seen[96] = "", process[64];

	if (cpci_count_openers("anon_inode:[perf_event]", 1, &holder) > 0) {
		cpci_process_name(holder, process, sizeof(process));
		snprintf(seen, sizeof(seen), "; %s has counters open", process);
	}
	cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
		  "cannot count '%s': other programs use the counters that it needs%s%s%s", name,
		  seen,
		  watched ? "; the NMI watchdog has one, root can stop it with: sysctl "
			    "kernel.nmi_watchdog=0"
			  : "",
		  !watched && *seen == '\0' ? "; they cannot be seen from here" : "");
}

void cpci_explain(struct cpci_diag *diag, int err, const char *name, const struct cpci_term *term,
		  struct cpci_target target)
{
	switch (err) {
	case EACCES:
	case EPERM:
		explain_denied(diag, err, name, term, target);
		break;
	case ENOSYS:
		cpci_diag(diag, EACCES, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': perf_event_open(2) is not there: a container's "
			  "seccomp profile hides it",
			  name);
		break;
	case ENOENT:
	case EOPNOTSUPP:
		explain_unsupported(diag, name, term);
		break;
	case ENOTSUP_KERNEL:
	case EINVAL:
		explain_invalid(diag, name, term, target);
		break;
	case E2BIG:
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': it requires config3, which Linux supports since 6.3",
			  name);
		break;
	case ENODEV:
		if (target.tid == -1)
			cpci_diag(diag, ENOSYS, 0, "CPU %d is offline", target.cpu);
		else
			explain_unsupported(diag, name, term);
		break;
	case CPCI_ENOBREAK:
		cpci_diag(
			diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s': breakpoints never fire on this machine; its hypervisor "
			"does not support debug registers",
			name);
		break;
	case ENOSPC:
		cpci_diag(diag, EAGAIN, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': there is no room for another event of its kind",
			  name);
		break;
	case EAGAIN:
	case EBUSY:
		cpci_explain_held(diag, name);
		break;
	case EMFILE:
	case ENFILE:
		explain_no_files(diag, err, name);
		break;
	case ESRCH:
		/*
		 * A caller would take ESRCH for the exit of the LWP, and its counts for
		 * complete.
		 */
		if (target.tid > 0 && cpci_lwp_ended(target.tid))
			cpci_diag(diag, ESRCH, 0, "the LWP has ended");
		else
			cpci_diag(
				diag, EIO, 0,
				"cannot count '%s': the kernel reports that the LWP has ended, but it "
				"is alive",
				name);
		break;
	default:
		cpci_diag(diag, err, 0, "cannot count '%s': %s", name, strerror(err));
		break;
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

void cpci_explain_plan(struct cpci_diag *diag, int err, const struct cpci_plan *plan,
		       struct cpci_term_ref bad, struct cpci_target target)
{
	const struct cpci_term *term = cpci_plan_term(plan, bad);
	const char *name = plan->req[bad.req].name;
	struct cpci_term_ref other;

	if (err == ENOSPC && term->attr.type == PERF_TYPE_BREAKPOINT) {
		explain_no_debugreg(diag, name, plan, term);
		return;
	}
	if ((plan->req[bad.req].flags & CPC_OVF_NOTIFY_EMT) != 0 &&
	    (err == EINVAL || err == EOPNOTSUPP) && cpci_perf_probe(&term->attr) == 0 &&
	    !cpci_perf_overflows(&term->attr)) {
		cpci_diag(diag, ENOTSUP, CPC_RESOURCE_UNAVAIL,
			  "cannot report overflows of '%s': its counter does not interrupt", name);
		return;
	}
	if (err == EACCES || err == EPERM) {
		const char *attr = find_privileged(&plan->req[bad.req], bad.term, target);

		if (attr != NULL) {
			cpci_diag(
				diag, EACCES, CPC_ATTR_REQUIRES_PRIVILEGE,
				"cannot count '%s' with the attribute '%s': root and CAP_PERFMON may; "
				"kernel.perf_event_paranoid is %d",
				name, attr, cpci_paranoid());
			return;
		}
	}
	cpci_explain(diag, err, name, term, target);
	if (diag->subcode == CPC_RESOURCE_UNAVAIL && err == EINVAL &&
	    cpci_group_conflict(plan, target, bad, &other))
		cpci_diag(diag, EINVAL, CPC_CONFLICTING_REQS,
			  "cannot count '%s' together with '%s': they need the same counter; count "
			  "them in sets of their own",
			  name, plan->req[other.req].name);
}

/* The kernel limits the locked memory of ring buffers per user and per process. */
static void explain_locked(struct cpci_diag *diag)
{
	struct rlimit lim = {0};

	getrlimit(RLIMIT_MEMLOCK, &lim);
	cpci_diag(
		diag, ENOMEM, 0,
		"cannot lock memory for the ring buffer of overflows: the kernel permits %ld kB of "
		"ring buffers per user and CPU (sysctl kernel.perf_event_mlock_kb), and %llu kB "
		"more per process (ulimit -l)",
		cpci_read_number("/proc/sys/kernel/perf_event_mlock_kb", 0),
		(unsigned long long)lim.rlim_cur / 1024);
}

void cpci_explain_pcbuf(struct cpci_diag *diag, int err, enum cpci_pcbuf_step step)
{
	static const char *const doing[] = {
		[CPCI_PCBUF_OPEN] = "cannot open a ring buffer for overflows",
		[CPCI_PCBUF_MAP] = "cannot map the ring buffer of overflows",
		[CPCI_PCBUF_SHARE] = "cannot write overflows into one ring buffer",
		[CPCI_PCBUF_POLLER] = "cannot start the thread that waits for buffered overflows",
	};

	if (step == CPCI_PCBUF_MAP && err == EPERM)
		explain_locked(diag);
	else if (step == CPCI_PCBUF_SHARE && err == EINVAL)
		cpci_diag(diag, ENOTSUP, CPC_CONFLICTING_REQS,
			  "this kernel cannot buffer overflows of hardware counters and of its own "
			  "events together; count them in sets of their own");
	else
		cpci_diag(diag, err, 0, "%s: %s", doing[step], strerror(err));
}
