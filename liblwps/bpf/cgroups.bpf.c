/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroups.bpf.c - find the offset in a css_set (the cgroups of a task) of the pointer for one
 * hierarchy: see cgroup_of() in task.bpf.h.
 *
 * Only this file has relocations of css_set and enum cgroup_subsys_id, as each costs 0.3 ms: the
 * kernel searches all its types.  Its cache of the results (cand_cache in kernel/bpf/btf.c) does
 * not help, since both names and mm_struct share an entry.
 */
#include "../types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "../shared.h"

#define POINTER sizeof(void *)

const volatile __u32 hierarchy = 0; /* enum lwps_hierarchy */

/* Never attached: user space runs it.  Returns the offset in bytes. */
SEC("raw_tp/lwps_cgroups")
int cgroup_offset(void *ctx)
{
	const __u32 unified = bpf_core_field_offset(struct css_set, dfl_cgrp);
	const __u32 states = bpf_core_field_offset(struct css_set, subsys);

	switch (hierarchy) {
	case LWPS_MEMORY:
		return states +
		       POINTER * bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	case LWPS_CPUACCT:
		return states +
		       POINTER * bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id);
	case LWPS_PIDS:
		return states + POINTER * bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id);
	case LWPS_PERF_EVENT:
		return states +
		       POINTER * bpf_core_enum_value(enum cgroup_subsys_id, perf_event_cgrp_id);
	default:
		return unified;
	}
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
