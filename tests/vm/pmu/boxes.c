// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Copyright (c) 2026 The cpc authors */
/* boxes.c - PMUs outside the cores: uncore_fake_0, .... */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "fakepmu.h"

static unsigned int boxes;
module_param(boxes, uint, 0444);
MODULE_PARM_DESC(boxes, "number of PMUs uncore_fake_0, ...");

#define MAX_BOXES 4
#define BOX_COUNTERS 4

struct box {
	struct pmu pmu;
	char name[32];
	unsigned int n; /* events on counters */
	atomic64_t total[256];
};

static struct box *box;
static unsigned int nboxes;
static int box_cpu; /* of the file cpumask */

static struct box *box_of(const struct perf_event *event)
{
	return container_of(event->pmu, struct box, pmu);
}

static int box_init(struct perf_event *event)
{
	struct perf_event *sibling, *leader = event->group_leader;
	unsigned int n = 1;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (is_sampling_event(event) || event->cpu < 0)
		return -EINVAL;
	if (leader != event) {
		n += leader->pmu == event->pmu;
		for_each_sibling_event(sibling, leader) n += sibling->pmu == event->pmu;
	}
	if (n > BOX_COUNTERS)
		return -EINVAL;
	event->hw.config = event->attr.config & 0xff;
	event->cpu = box_cpu;
	return 0;
}

static void box_update(struct perf_event *event)
{
	u64 now = atomic64_read(&box_of(event)->total[event->hw.config]);

	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void box_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, atomic64_read(&box_of(event)->total[event->hw.config]));
	event->hw.state = 0;
}

static void box_stop(struct perf_event *event, int flags)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		box_update(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int box_add(struct perf_event *event, int flags)
{
	if (box_of(event)->n == BOX_COUNTERS)
		return -EAGAIN;
	box_of(event)->n++;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		box_start(event, 0);
	return 0;
}

static void box_del(struct perf_event *event, int flags)
{
	box_stop(event, PERF_EF_UPDATE);
	box_of(event)->n--;
}

static void box_read(struct perf_event *event)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		box_update(event);
}

bool boxes_happen(unsigned int which, u64 code, u64 n)
{
	if (which >= nboxes || code > 0xff)
		return false;
	atomic64_add(n, &box[which].total[code]);
	return true;
}

int boxes_go_offline(unsigned int cpu)
{
	int to = cpumask_any_but(cpu_online_mask, cpu);

	if (cpu != box_cpu || to >= nr_cpu_ids)
		return 0;
	box_cpu = to;
	for (unsigned int i = 0; i < nboxes; i++)
		perf_pmu_migrate_context(&box[i].pmu, cpu, to);
	return 0;
}

/* ---- sysfs ---- */

PMU_FORMAT_ATTR(event, "config:0-7");

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(cpumask_of(box_cpu)));
}
static DEVICE_ATTR_RO(cpumask);
static struct attribute *cpumask_attrs[] = {&dev_attr_cpumask.attr, NULL};
static const struct attribute_group cpumask_group = {.attrs = cpumask_attrs};

PMU_EVENT_ATTR_STRING(clockticks, box_clock, "event=0xff");
PMU_EVENT_ATTR_STRING(data_reads, box_reads, "event=0x01");
PMU_EVENT_ATTR_STRING(data_reads.scale, box_scale, "6.103515625e-5");
PMU_EVENT_ATTR_STRING(data_reads.unit, box_unit, "MiB");
static struct attribute *box_format_attrs[] = {&format_attr_event.attr, NULL};
static struct attribute *box_event_attrs[] = {&box_clock.attr.attr, &box_reads.attr.attr,
					      &box_scale.attr.attr, &box_unit.attr.attr, NULL};
static const struct attribute_group box_format = {.name = "format", .attrs = box_format_attrs};
static const struct attribute_group box_events = {.name = "events", .attrs = box_event_attrs};
static const struct attribute_group *box_groups[] = {&box_format, &box_events, &cpumask_group,
						     NULL};

/* ---- loading ---- */

int boxes_register(void)
{
	int err = 0;

	if (boxes > MAX_BOXES)
		return -EINVAL;
	box = kcalloc(boxes, sizeof(*box), GFP_KERNEL);
	if (!box)
		return -ENOMEM;
	for (; !err && nboxes < boxes; nboxes += !err) {
		struct box *b = &box[nboxes];

		snprintf(b->name, sizeof(b->name), "uncore_fake_%u", nboxes);
		b->pmu = (struct pmu){
			.module = THIS_MODULE,
			.attr_groups = box_groups,
			.task_ctx_nr = perf_invalid_context,
			.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
			.event_init = box_init,
			.add = box_add,
			.del = box_del,
			.start = box_start,
			.stop = box_stop,
			.read = box_read,
		};
		err = perf_pmu_register(&b->pmu, b->name, -1);
	}
	return err;
}

void boxes_unregister(void)
{
	while (nboxes > 0)
		perf_pmu_unregister(&box[--nboxes].pmu);
	kfree(box);
}
