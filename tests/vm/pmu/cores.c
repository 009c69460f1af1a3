// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Copyright (c) 2026 The cpc authors */
/*
 * cores.c - the PMUs of the cores.  Scheduling follows arch/x86/events/core.c: constraints,
 * validation of groups in event_init(), and add() fails if there is no assignment.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>

#include "fakepmu.h"

#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("PMUs that programs drive");

static char *atom = "";
module_param(atom, charp, 0444);
MODULE_PARM_DESC(atom,
		 "CPUs of the PMU cpu_atom; the others are cpu_core's (default: all are cpu's)");
static unsigned int general = 4;
module_param(general, uint, 0444);
MODULE_PARM_DESC(general, "general counters of a CPU");
static unsigned int fixed = 3;
module_param(fixed, uint, 0444);
MODULE_PARM_DESC(fixed, "fixed counters: instructions, cycles, ref-cycles");
static unsigned int atom_general = 6;
module_param(atom_general, uint, 0444);
MODULE_PARM_DESC(atom_general, "general counters of a CPU of cpu_atom");
static unsigned int only0 = 0x48;
module_param(only0, uint, 0444);
MODULE_PARM_DESC(only0, "event code that only counter 0 counts");
static bool amd;
module_param(amd, bool, 0444);
MODULE_PARM_DESC(amd, "codes and format of AMD Zen, no fixed counters");
static unsigned int precise = 3;
module_param(precise, uint, 0444);
MODULE_PARM_DESC(precise, "largest precise_ip");

#define MAX_COUNTERS 32

struct core_pmu {
	struct pmu pmu;
	struct cpumask cpus;
	unsigned int general, fixed;
	bool is_atom;
};

static struct core_pmu core[2];
static unsigned int ncores;

struct counters {
	unsigned int n;
	struct perf_event *event[MAX_COUNTERS];
};

static DEFINE_PER_CPU(struct counters, counters);

static struct core_pmu *core_of(const struct perf_event *event)
{
	for (unsigned int i = 0; i < ncores; i++) {
		if (event->pmu == &core[i].pmu)
			return &core[i];
	}
	return NULL;
}

/* On which counters can it be?  The fixed ones follow the general ones. */
static u64 allowed(const struct core_pmu *c, u64 config)
{
	const u64 all = (1ULL << c->general) - 1;

	if ((config & 0xff) == only0)
		return all & 1;
	if (config == 0x0300)
		return c->fixed > 2 ? 1ULL << (c->general + 2) : 0;
	if (config == 0xc0 && c->fixed > 0)
		return all | 1ULL << c->general;
	if (config == 0x3c && c->fixed > 1)
		return all | 1ULL << (c->general + 1);
	return all;
}

/* Finds a counter for event `i`, moving others. */
static bool place(const u64 *mask, int *owner, unsigned int i, u64 *tried)
{
	for (unsigned int k = 0; k < MAX_COUNTERS; k++) {
		if (!(mask[i] >> k & 1) || (*tried >> k & 1))
			continue;
		*tried |= 1ULL << k;
		if (owner[k] == -1 || place(mask, owner, owner[k], tried)) {
			owner[k] = i;
			return true;
		}
	}
	return false;
}

/* Is there a counter for each of the events? */
static bool fit(const struct core_pmu *c, struct perf_event **event, unsigned int n)
{
	u64 mask[MAX_COUNTERS];
	int owner[MAX_COUNTERS];

	memset(owner, -1, sizeof(owner));
	for (unsigned int i = 0; i < n; i++) {
		u64 tried = 0;

		mask[i] = allowed(c, event[i]->hw.config);
		if (!place(mask, owner, i, &tried))
			return false;
	}
	return true;
}

static int validate(struct perf_event *event)
{
	struct perf_event *list[MAX_COUNTERS], *leader = event->group_leader, *sibling;
	const struct core_pmu *c = core_of(event);
	unsigned int n = 0;

	if (leader != event) {
		if (core_of(leader))
			list[n++] = leader;
		for_each_sibling_event(sibling, leader)
		{
			if (!core_of(sibling) || sibling->state <= PERF_EVENT_STATE_OFF)
				continue;
			if (n == c->general + c->fixed)
				return -EINVAL;
			list[n++] = sibling;
		}
	}
	list[n++] = event;
	for (unsigned int i = 0; i < n; i++) {
		if (core_of(list[i]) != c) /* another kind of cores */
			return -EINVAL;
	}
	return n <= c->general + c->fixed && fit(c, list, n) ? 0 : -EINVAL;
}

/* 0: no such event here. */
static const u64 intel_map[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES] = 0x003c,	      [PERF_COUNT_HW_INSTRUCTIONS] = 0x00c0,
	[PERF_COUNT_HW_CACHE_REFERENCES] = 0x4f2e,    [PERF_COUNT_HW_CACHE_MISSES] = 0x412e,
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = 0x00c4, [PERF_COUNT_HW_BRANCH_MISSES] = 0x00c5,
	[PERF_COUNT_HW_BUS_CYCLES] = 0x013c,	      [PERF_COUNT_HW_REF_CPU_CYCLES] = 0x0300,
};

static const u64 amd_map[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES] = 0x0076,
	[PERF_COUNT_HW_INSTRUCTIONS] = 0x00c0,
	[PERF_COUNT_HW_CACHE_REFERENCES] = 0xff60,
	[PERF_COUNT_HW_CACHE_MISSES] = 0x0964,
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = 0x00c2,
	[PERF_COUNT_HW_BRANCH_MISSES] = 0x00c3,
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND] = 0x0287,
	[PERF_COUNT_HW_STALLED_CYCLES_BACKEND] = 0x0187,
};

#define CACHE(cache, op, result)                                          \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 | \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static u64 cache_code(const struct core_pmu *c, u32 config)
{
	switch (config) {
	case CACHE(L1D, READ, ACCESS):
		return amd ? 0x0729 : 0x81d0;
	case CACHE(L1D, READ, MISS):
		return amd ? 0x0060 : c->is_atom ? 0 : 0x0151;
	case CACHE(L1D, WRITE, ACCESS):
		return amd ? 0 : 0x82d0;
	case CACHE(L1I, READ, MISS):
		return amd ? 0x0081 : 0x0283;
	case CACHE(LL, READ, ACCESS):
		return amd ? 0 : 0x4f2e;
	case CACHE(LL, READ, MISS):
		return amd ? 0 : 0x412e;
	case CACHE(DTLB, READ, MISS):
		return amd ? 0xf045 : 0x0e08;
	case CACHE(ITLB, READ, MISS):
		return amd ? 0xff85 : 0x0e85;
	case CACHE(BPU, READ, ACCESS):
		return amd ? 0x00c2 : 0x00c4;
	case CACHE(BPU, READ, MISS):
		return amd ? 0x00c3 : 0x00c5;
	default:
		return 0;
	}
}

#define RAW_INTEL 0xff8cffffULL /* event, umask, edge, pc, inv, cmask */
#define RAW_AMD 0xfff84ffffULL

static int core_init(struct perf_event *event)
{
	const struct core_pmu *c = core_of(event);
	u64 config = event->attr.config, code;

	switch (event->attr.type) {
	case PERF_TYPE_HARDWARE:
		config &= 0xffffffff;
		if (config >= PERF_COUNT_HW_MAX)
			return -EINVAL;
		code = amd ? amd_map[config] : intel_map[config];
		break;
	case PERF_TYPE_HW_CACHE:
		code = cache_code(c, config & 0xffffffff);
		break;
	default:
		if (event->attr.type != event->pmu->type)
			return -ENOENT;
		code = config & (amd ? RAW_AMD : RAW_INTEL);
	}
	if (event->cpu != -1 && ncores > 1 &&
	    !(cpumask_test_cpu(event->cpu, &c->cpus) && cpu_online(event->cpu)))
		return -ENOENT;
	if (code == 0 && event->attr.type != event->pmu->type)
		return -ENOENT;
	if (has_branch_stack(event))
		return -EOPNOTSUPP;
	if (event->attr.precise_ip > precise)
		return -EOPNOTSUPP;
	if (event->attr.precise_ip != 0 && !is_sampling_event(event))
		return -EINVAL;
	event->hw.config = code;
	event->hw.idx = -1;
	return validate(event);
}

/* Reloads the period, as x86_perf_event_set_period() does. */
static void set_period(struct hw_perf_event *hwc)
{
	s64 left = local64_read(&hwc->period_left), period = hwc->sample_period;

	if (left <= -period)
		left = period;
	else if (left <= 0)
		left += period;
	else
		return;
	local64_set(&hwc->period_left, left);
	hwc->last_period = period;
}

static void core_start(struct perf_event *event, int flags)
{
	if (is_sampling_event(event))
		set_period(&event->hw);
	event->hw.state = 0;
	perf_event_update_userpage(event);
}

static void core_stop(struct perf_event *event, int flags)
{
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int core_add(struct perf_event *event, int flags)
{
	struct counters *here = this_cpu_ptr(&counters);

	if (here->n == MAX_COUNTERS)
		return -EAGAIN;
	here->event[here->n] = event;
	if (!fit(core_of(event), here->event, here->n + 1))
		return -EAGAIN;
	here->n++;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		core_start(event, PERF_EF_RELOAD);
	return 0;
}

static void core_del(struct perf_event *event, int flags)
{
	struct counters *here = this_cpu_ptr(&counters);
	unsigned int i = 0;

	core_stop(event, PERF_EF_UPDATE);
	while (i < here->n && here->event[i] != event)
		i++;
	if (WARN_ON_ONCE(i == here->n))
		return;
	here->n--;
	memmove(&here->event[i], &here->event[i + 1], (here->n - i) * sizeof(event));
	perf_event_update_userpage(event);
}

static void core_read(struct perf_event *event)
{
}

#ifdef PERF_PMU_CAP_HETEROGENEOUS_CPUS
static int core_filter_match(struct perf_event *event)
{
	return cpumask_test_cpu(smp_processor_id(), &core_of(event)->cpus);
}
#else
static bool core_filter(struct pmu *pmu, int cpu)
{
	return !cpumask_test_cpu(cpu, &container_of(pmu, struct core_pmu, pmu)->cpus);
}
#endif

/* ---- driving them ---- */

static bool concerns(const struct perf_event *event, u64 code, bool user)
{
	return !(event->hw.state & PERF_HES_STOPPED) && event->hw.config == code &&
	       !(user ? event->attr.exclude_user : event->attr.exclude_kernel);
}

static void report_overflow(struct perf_event *event, bool user)
{
	struct perf_sample_data data;
	struct pt_regs regs, *where = task_pt_regs(current);

	if (!user) {
		memset(&regs, 0, sizeof(regs));
		perf_fetch_caller_regs(&regs);
		where = &regs;
	}
	perf_sample_data_init(&data, 0, event->hw.last_period);
	if (fake_overflow(event, &data, where))
		core_stop(event, 0);
}

/* Lets up to `n` events happen, and no more than up to the next overflow.  Interrupts are off. */
static u64 drive_some(u64 code, u64 n, bool user)
{
	struct counters *here = this_cpu_ptr(&counters);
	struct perf_event *full[MAX_COUNTERS];
	unsigned int nfull = 0;

	for (unsigned int i = 0; i < here->n; i++) {
		if (concerns(here->event[i], code, user) && is_sampling_event(here->event[i]))
			n = min_t(u64, n, local64_read(&here->event[i]->hw.period_left));
	}
	for (unsigned int i = 0; i < here->n; i++) {
		struct perf_event *event = here->event[i];

		if (!concerns(event, code, user))
			continue;
		local64_add(n, &event->count);
		if (is_sampling_event(event) && local64_sub_return(n, &event->hw.period_left) <= 0)
			full[nfull++] = event;
	}
	for (unsigned int i = 0; i < nfull; i++) {
		set_period(&full[i]->hw);
		report_overflow(full[i], user);
	}
	return n;
}

/* Between the overflows, interrupts are on: the kernel may disable an event. */
void cores_drive(u64 code, u64 n, bool user)
{
	unsigned long flags;

	preempt_disable();
	while (n > 0) {
		local_irq_save(flags);
		n -= drive_some(code, n, user);
		local_irq_restore(flags);
	}
	preempt_enable();
}
unsigned int cores_in_use(int cpu)
{
	return READ_ONCE(per_cpu_ptr(&counters, cpu)->n);
}

/* ---- sysfs ---- */

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_FORMAT_ATTR(umask, "config:8-15");
PMU_FORMAT_ATTR(edge, "config:18");
PMU_FORMAT_ATTR(pc, "config:19");
PMU_FORMAT_ATTR(inv, "config:23");
PMU_FORMAT_ATTR(cmask, "config:24-31");
PMU_FORMAT_ATTR(offcore_rsp, "config1:0-63");
PMU_FORMAT_ATTR(ldlat, "config1:0-15");

static struct attribute *intel_format[] = {
	&format_attr_event.attr, &format_attr_umask.attr,	&format_attr_edge.attr,
	&format_attr_pc.attr,	 &format_attr_inv.attr,		&format_attr_cmask.attr,
	&format_attr_ldlat.attr, &format_attr_offcore_rsp.attr, NULL};

static ssize_t amd_event_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "config:0-7,32-35\n");
}
static struct device_attribute amd_event_attr = __ATTR(event, 0444, amd_event_show, NULL);

static struct attribute *amd_format[] = {&amd_event_attr.attr,	  &format_attr_umask.attr,
					 &format_attr_edge.attr,  &format_attr_inv.attr,
					 &format_attr_cmask.attr, NULL};

/* Their names have hyphens. */
/* clang-format off */
PMU_EVENT_ATTR_STRING(cpu-cycles, intel_cycles, "event=0x3c");
PMU_EVENT_ATTR_STRING(instructions, intel_instructions, "event=0xc0");
PMU_EVENT_ATTR_STRING(cache-references, intel_references, "event=0x2e,umask=0x4f");
PMU_EVENT_ATTR_STRING(cache-misses, intel_misses, "event=0x2e,umask=0x41");
PMU_EVENT_ATTR_STRING(branch-instructions, intel_branches, "event=0xc4");
PMU_EVENT_ATTR_STRING(branch-misses, intel_branch_misses, "event=0xc5");
PMU_EVENT_ATTR_STRING(bus-cycles, intel_bus, "event=0x3c,umask=0x01");
PMU_EVENT_ATTR_STRING(ref-cycles, intel_ref, "event=0x00,umask=0x03");
PMU_EVENT_ATTR_STRING(mem-loads, intel_loads, "event=0xcd,umask=0x1,ldlat=3");
/* clang-format on */

static struct attribute *intel_events[] = {
	&intel_cycles.attr.attr,     &intel_instructions.attr.attr,
	&intel_references.attr.attr, &intel_misses.attr.attr,
	&intel_branches.attr.attr,   &intel_branch_misses.attr.attr,
	&intel_bus.attr.attr,	     &intel_ref.attr.attr,
	&intel_loads.attr.attr,	     NULL};

/* clang-format off */
PMU_EVENT_ATTR_STRING(cpu-cycles, amd_cycles, "event=0x76");
PMU_EVENT_ATTR_STRING(instructions, amd_instructions, "event=0xc0");
PMU_EVENT_ATTR_STRING(cache-references, amd_references, "event=0x60,umask=0xff");
PMU_EVENT_ATTR_STRING(cache-misses, amd_misses, "event=0x64,umask=0x09");
PMU_EVENT_ATTR_STRING(branch-instructions, amd_branches, "event=0xc2");
PMU_EVENT_ATTR_STRING(branch-misses, amd_branch_misses, "event=0xc3");
/* clang-format on */

static struct attribute *amd_events[] = {&amd_cycles.attr.attr,
					 &amd_instructions.attr.attr,
					 &amd_references.attr.attr,
					 &amd_misses.attr.attr,
					 &amd_branches.attr.attr,
					 &amd_branch_misses.attr.attr,
					 NULL};

/* Each kind of cores has them, and no other machine. */
static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct core_pmu *c = container_of(dev_get_drvdata(dev), struct core_pmu, pmu);
	struct cpumask online;

	cpumask_and(&online, &c->cpus, cpu_online_mask);
	return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(&online));
}
static DEVICE_ATTR_RO(cpus);
static struct attribute *cpus_attrs[] = {&dev_attr_cpus.attr, NULL};
static const struct attribute_group cpus_group = {.attrs = cpus_attrs};

static struct attribute_group core_format = {.name = "format", .attrs = intel_format};
static struct attribute_group core_events = {.name = "events", .attrs = intel_events};
static const struct attribute_group *core_groups[] = {&core_format, &core_events, NULL, NULL};

/* ---- loading ---- */

static int register_core(const char *name, int type, unsigned int ngeneral)
{
	struct core_pmu *c = &core[ncores];
	int err;

	c->general = ngeneral;
	c->fixed = amd ? 0 : fixed;
	if (c->general == 0 || c->general + c->fixed > MAX_COUNTERS)
		return -EINVAL;
	c->pmu = (struct pmu){
		.module = THIS_MODULE,
		.attr_groups = core_groups,
		.task_ctx_nr = perf_hw_context,
		.event_init = core_init,
		.add = core_add,
		.del = core_del,
		.start = core_start,
		.stop = core_stop,
		.read = core_read,
	};
	if (*atom) {
		core_groups[2] = &cpus_group;
		c->pmu.capabilities = PERF_PMU_CAP_EXTENDED_HW_TYPE;
#ifdef PERF_PMU_CAP_HETEROGENEOUS_CPUS
		c->pmu.capabilities |= PERF_PMU_CAP_HETEROGENEOUS_CPUS;
		c->pmu.filter_match = core_filter_match;
#else
		c->pmu.filter = core_filter;
#endif
	}
	ncores++;
	err = perf_pmu_register(&c->pmu, name, type);
	if (err)
		ncores--;
	return err;
}

int cores_register(void)
{
	int err;

	if (amd) {
		core_format.attrs = amd_format;
		core_events.attrs = amd_events;
	}
	if (!*atom) {
		cpumask_copy(&core[0].cpus, cpu_possible_mask);
		return register_core("cpu", PERF_TYPE_RAW, general);
	}
	err = cpulist_parse(atom, &core[1].cpus);
	if (err)
		return err;
	core[1].is_atom = true;
	cpumask_andnot(&core[0].cpus, cpu_possible_mask, &core[1].cpus);
	err = register_core("cpu_core", PERF_TYPE_RAW, general);
	return err ? err : register_core("cpu_atom", -1, atom_general);
}

void cores_unregister(void)
{
	while (ncores > 0)
		perf_pmu_unregister(&core[--ncores].pmu);
}
