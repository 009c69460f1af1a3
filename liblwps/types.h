/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * types.h - the kernel types that the BPF programs use, with only the members they read.  At load
 * time the offsets are replaced by those of the running kernel (CO-RE).
 */
#ifndef TYPES_H
#define TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16; /* for declarations in libbpf's headers */
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define false 0
#define true 1

/* Numbers of the system call interface; <linux/bpf.h> needs headers that BPF does not have. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};

enum {
	INIT_TGID = 1,
	CLONE_THREAD = 0x10000,
	TASK_DEAD = 0x80, /* both from sched.h of the kernel */
	TASK_NEW = 0x800,
	PF_EXITING = 0x4,
	PF_KTHREAD = 0x200000,
	SIGNAL_GROUP_EXIT = 0x4,
	SI_VALUE = 24, /* offset of si_value in the siginfo_t of a queued signal, on 64 bits */
};

struct bpf_perf_event_value {
	__u64 counter, enabled, running;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned level;
	struct upid numbers[1];
};

struct signal_struct {
	unsigned flags;
	int group_exit_code;
};

struct super_block {
	unsigned s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
	struct file *exe_file;
};

struct kernfs_node {
	__u64 id;
	const char *name;
	struct kernfs_node *parent;
};

struct kernfs_node___renamed { /* since Linux 6.15 */
	struct kernfs_node *__parent;
};

struct cgroup_root;

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
	int level;
	struct cgroup *ancestors[1]; /* by level, up to itself; since Linux 6.1 */
};

struct cgroup___ids { /* before Linux 6.1 */
	__u64 ancestor_ids[1];
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

enum cgroup_subsys_id {
	cpuacct_cgrp_id,
	memory_cgrp_id,
	perf_event_cgrp_id,
	pids_cgrp_id,
	CGROUP_SUBSYS_COUNT,
};

struct css_set {
	struct cgroup_subsys_state *subsys[CGROUP_SUBSYS_COUNT];
	struct cgroup *dfl_cgrp;
};

typedef struct {
	unsigned val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct nsproxy {
	void *mnt_ns;
};

struct fs_struct {
	struct {
		void *mnt, *dentry;
	} root;
};

struct uprobe_task {
	int depth; /* the return addresses that are replaced now */
};

struct sched_info {
	unsigned long long run_delay; /* ns on runqueues; with CONFIG_SCHED_INFO */
};

struct cfs_bandwidth {
	__u64 quota; /* ns in each period; ~0: none */
	__u64 throttled_time;
};

struct task_group { /* a cgroup, for the scheduler */
	struct cgroup_subsys_state css;
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth; /* with CONFIG_CFS_BANDWIDTH */
};

struct task_struct {
	unsigned __state;
	unsigned flags;
	int pid, tgid;
	int exit_code;
	unsigned in_execve : 1;
	__u64 self_exec_id;
	unsigned long nvcsw, nivcsw;
	__u64 start_time;
	struct sched_info sched_info;
	struct task_group *sched_task_group;
	char comm[16];
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct nsproxy *nsproxy;
	struct fs_struct *fs;
	const struct cred *real_cred;
	struct css_set *cgroups;
	struct uprobe_task *utask;
	struct {
		void *next;
	} perf_event_list; /* the events that this task has opened */
};

struct pt_regs___x86 {
	unsigned long ip;
};

struct pt_regs___arm64 {
	__u64 pc;
};

struct kernel_siginfo {
	int si_code;
};

enum perf_event_state { PERF_EVENT_STATE_ACTIVE = 1 };

struct perf_event {
	enum perf_event_state state;
	struct {
		__u64 value;
	} count;
	struct {
		void *next;
	} owner_entry;
	int cpu;
	__u64 id;
};

struct bpf_iter__task {
	struct task_struct *task;
};

#pragma clang attribute pop

#endif /* TYPES_H */
