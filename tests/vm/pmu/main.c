// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Copyright (c) 2026 The cpc authors */
/*
 * main.c - PMUs of x86 CPUs for machines without one, whose events programs drive: /dev/fakepmu.
 *
 * Writing "CODE N u" or "CODE N k" to it lets N events of that code happen in user or kernel mode
 * on the CPU on which the writer runs; "uncore BOX CODE N" lets them happen in a box outside the
 * cores.  CODE is the whole config of the event.  Reading shows the counters in use.
 */
#include <linux/cpu.h>
#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "fakepmu.h"

MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("PMUs that programs drive");

static bool watchdog;
module_param(watchdog, bool, 0444);
MODULE_PARM_DESC(watchdog, "hold cycles on each CPU, as the NMI watchdog does");

int (*fake_overflow)(struct perf_event *, struct perf_sample_data *, struct pt_regs *);

/* ---- the device ---- */

static ssize_t device_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	unsigned long long code, n;
	unsigned int which;
	char text[80], mode;

	if (size >= sizeof(text) || copy_from_user(text, from, size))
		return -EINVAL;
	text[size] = '\0';
	if (sscanf(text, "uncore %u %lli %llu", &which, &code, &n) == 3) {
		return boxes_happen(which, code, n) ? size : -EINVAL;
	}
	if (sscanf(text, "%lli %llu %c", &code, &n, &mode) != 3 || (mode != 'u' && mode != 'k'))
		return -EINVAL;
	cores_drive(code, n, mode == 'u');
	return size;
}

static ssize_t device_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	char *text = kzalloc(PAGE_SIZE, GFP_KERNEL);
	ssize_t n = 0;
	int cpu;

	if (!text)
		return -ENOMEM;
	for_each_online_cpu(cpu) n +=
		scnprintf(text + n, PAGE_SIZE - n, "cpu %d: %u\n", cpu, cores_in_use(cpu));
	n = simple_read_from_buffer(to, size, at, text, n);
	kfree(text);
	return n;
}

static const struct file_operations device_ops = {
	.owner = THIS_MODULE, .write = device_write, .read = device_read};
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR, .name = "fakepmu", .fops = &device_ops, .mode = 0666};
/* ---- the NMI watchdog ---- */

static DEFINE_PER_CPU(struct perf_event *, watched);

static void watch_overflow(struct perf_event *event, struct perf_sample_data *data,
			   struct pt_regs *regs)
{
}

static void watch(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
				       .config = PERF_COUNT_HW_CPU_CYCLES,
				       .size = sizeof(attr),
				       .pinned = 1,
				       .sample_period = 1ULL << 40};
	struct perf_event *event;
	int cpu;

	for_each_online_cpu(cpu)
	{
		event = perf_event_create_kernel_counter(&attr, cpu, NULL, watch_overflow, NULL);
		if (IS_ERR(event))
			pr_err("fakepmu: no watchdog on CPU %d: %ld\n", cpu, PTR_ERR(event));
		else
			per_cpu(watched, cpu) = event;
	}
}

static void unwatch(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		if (per_cpu(watched, cpu))
			perf_event_release_kernel(per_cpu(watched, cpu));
	}
}
/* ---- loading ---- */

/* It is not exported. */
static int find_overflow(void)
{
	struct kprobe probe = {.symbol_name = "perf_event_overflow"};
	int err = register_kprobe(&probe);

	if (err)
		return err;
	fake_overflow = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}
static int hotplug;

static void unload(void)
{
	unwatch();
	if (hotplug > 0)
		cpuhp_remove_state_nocalls(hotplug);
	boxes_unregister();
	cores_unregister();
}

static int __init load(void)
{
	int err = find_overflow();

	if (!err)
		err = cores_register();
	if (!err)
		err = boxes_register();
	if (!err) {
		hotplug = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "fakepmu", NULL,
						    boxes_go_offline);
		err = min(hotplug, 0);
	}
	if (!err)
		err = misc_register(&device);
	if (err) {
		unload();
		return err;
	}
	if (watchdog)
		watch();
	return 0;
}

static void __exit leave(void)
{
	misc_deregister(&device);
	unload();
}

module_init(load);
module_exit(leave);
