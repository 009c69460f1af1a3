/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * loader.c - run the loader of a light skeleton.
 *
 * That is a BPF program, made by libbpf to be run in the kernel, which would take a millisecond
 * to verify it: a tenth of what a short run of cputrack costs.  All that it does can be done with
 * bpf(2) from here, so it is interpreted.  Programs that are not wanted are then left out, and a
 * thread loads one program while the loader goes on to the next.
 *
 * See gen_loader.c of libbpf for what loaders consist of, and bpf-helpers(7).
 */
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_WORDS (512 / 8) /* of a BPF program */
#define MAX_TARGETS 16
#define NAME_SIZE 64

/* A type in the kernel's BTF: what a program is to be attached to. */
struct target {
	char name[NAME_SIZE];
	uint64_t kind, id; /* id: negative if there is none */
};

/* A program that a thread loads. */
struct load {
	pthread_t thread;
	bool running;
	union bpf_attr *attr;
	uint32_t size;
	int fd; /* what the loader has for it: it becomes that of the program */
	int error;
};

struct run {
	const struct loader *loader;
	struct bpf_insn *insns;
	char *data;
	int finder; /* the program; -1: not loaded yet */
	int error;  /* that the loader does not see */
	unsigned ntargets;
	struct target target[MAX_TARGETS];
	struct load load;
};

/* All of these return -errno, as the functions do that the loader calls. */

static int sys_bpf(int command, union bpf_attr *attr, uint32_t size)
{
	long result = syscall(SYS_bpf, command, attr, size);

	return result < 0 ? -errno : (int)result;
}

/* ---- targets ---- */

#define REG_OP(op, dst, src)                                                         \
	{                                                                            \
		.code = BPF_ALU64 | (op) | BPF_X, .dst_reg = (dst), .src_reg = (src) \
	}
#define IMM_OP(op, dst, i)                                                     \
	{                                                                      \
		.code = BPF_ALU64 | (op) | BPF_K, .dst_reg = (dst), .imm = (i) \
	}
#define LOAD(dst, src, o)                                                                          \
	{                                                                                          \
		.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = (dst), .src_reg = (src), .off = (o) \
	}
#define STORE(dst, o, src)                                                                         \
	{                                                                                          \
		.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = (dst), .src_reg = (src), .off = (o) \
	}
#define COPY(at) LOAD(BPF_REG_1, BPF_REG_6, (at)), STORE(BPF_REG_10, (at)-NAME_SIZE, BPF_REG_1)

/* The kernel looks for names in its BTF only for programs: this one, for a struct target. */
static const struct bpf_insn find_target[] = {
	REG_OP(BPF_MOV, BPF_REG_6, BPF_REG_1),
	COPY(0),
	COPY(8),
	COPY(16),
	COPY(24),
	COPY(32),
	COPY(40),
	COPY(48),
	COPY(56),
	REG_OP(BPF_MOV, BPF_REG_1, BPF_REG_10),
	IMM_OP(BPF_ADD, BPF_REG_1, -NAME_SIZE),
	IMM_OP(BPF_MOV, BPF_REG_2, NAME_SIZE),
	LOAD(BPF_REG_3, BPF_REG_6, offsetof(struct target, kind)),
	IMM_OP(BPF_MOV, BPF_REG_4, 0),
	{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_btf_find_by_name_kind},
	STORE(BPF_REG_6, offsetof(struct target, id), BPF_REG_0),
	IMM_OP(BPF_MOV, BPF_REG_0, 0),
	{.code = BPF_JMP | BPF_EXIT},
};

#define LOAD_TRIES 10000 /* of a millisecond or less: signals that never end are an error */

/* The verifier breaks off with EAGAIN when a signal comes, be it only one to stop and go on. */
static int load_program(union bpf_attr *attr, uint32_t size)
{
	int fd, tries = 0;

	do
		fd = sys_bpf(BPF_PROG_LOAD, attr, size);
	while (fd == -EAGAIN && ++tries < LOAD_TRIES);
	return fd;
}

static int load_finder(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SYSCALL;
	attr.prog_flags = BPF_F_SLEEPABLE;
	attr.insns = (uintptr_t)find_target;
	attr.insn_cnt = sizeof(find_target) / sizeof(*find_target);
	attr.license = (uintptr_t) "Dual BSD/GPL";
	memcpy(attr.prog_name, "find_target", sizeof("find_target"));
	return load_program(&attr, offsetof(union bpf_attr, prog_ifindex));
}

/* The loader gets a number to go on with: many a program is not loaded at all. */
static int64_t name_target(struct run *run, const char *name, uint64_t kind)
{
	struct target *target = &run->target[run->ntargets];

	if (run->ntargets == MAX_TARGETS || strlen(name) >= NAME_SIZE)
		return -E2BIG;
	strcpy(target->name, name);
	target->kind = kind;
	return ++run->ntargets;
}

static int resolve_target(struct run *run, union bpf_attr *program)
{
	struct target *target;
	union bpf_attr attr;
	int error;

	if (program->attach_btf_id == 0)
		return 0;
	if (run->finder < 0)
		run->finder = load_finder();
	if (run->finder < 0)
		return run->finder;
	target = &run->target[program->attach_btf_id - 1];
	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)run->finder;
	attr.test.ctx_in = (uintptr_t)target;
	attr.test.ctx_size_in = sizeof(*target);
	error = sys_bpf(BPF_PROG_RUN, &attr, sizeof(attr.test));
	if (error < 0)
		return error;
	if ((int64_t)target->id < 0)
		return (int)target->id;
	program->attach_btf_id = (uint32_t)target->id;
	program->attach_btf_obj_fd = (uint32_t)(target->id >> 32);
	return 0;
}

/* ---- programs ---- */

/* Opens a file whose descriptor stands for a program that is not loaded, or not yet. */
static int open_stand_in(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	return fd == -1 ? -errno : fd;
}

static void *load_beside(void *argument)
{
	struct load *load = argument;
	int fd = load_program(load->attr, load->size);

	if (fd < 0) {
		load->error = fd;
		return NULL;
	}
	if (dup3(fd, load->fd, O_CLOEXEC) == -1)
		load->error = -errno;
	close(fd);
	return NULL;
}

/* It gets no signals: those are for the thread that we were called in. */
static bool start_thread(struct load *load)
{
	sigset_t all, mask;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	error = pthread_create(&load->thread, NULL, load_beside, load);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return error == 0;
}

static int load_wanted(struct run *run, union bpf_attr *attr, uint32_t size)
{
	struct load *load = &run->load;
	int fd, error;

	if (!run->loader->wanted(run->loader->context, attr->prog_name))
		return open_stand_in();
	error = resolve_target(run, attr);
	if (error < 0)
		return error;
	if (load->running)
		return load_program(attr, size);
	fd = open_stand_in();
	if (fd < 0)
		return fd;
	*load = (struct load){.attr = attr, .size = size, .fd = fd};
	load->running = start_thread(load);
	if (load->running)
		return fd;
	close(fd);
	return load_program(attr, size);
}

/* Before what it works with is closed or freed. */
static void wait_for_thread(struct run *run)
{
	struct load *load = &run->load;

	if (!load->running)
		return;
	pthread_join(load->thread, NULL);
	load->running = false;
	if (run->error == 0)
		run->error = load->error;
}

/* ---- the loader ---- */

static void copy(uint64_t to, uint64_t size, uint64_t from)
{
	if (from == 0)
		memset((void *)to, 0, size);
	else
		memcpy((void *)to, (void *)from, size);
}

static int64_t call(struct run *run, int helper, const uint64_t *reg)
{
	void *memory = (void *)reg[2];

	switch (helper) {
	case BPF_FUNC_probe_read_kernel: /* of nothing, to clear memory */
	case BPF_FUNC_copy_from_user:
		copy(reg[1], reg[2], reg[3]);
		return 0;
	case BPF_FUNC_sys_bpf:
		return reg[1] == BPF_PROG_LOAD ? load_wanted(run, memory, (uint32_t)reg[3])
					       : sys_bpf((int)reg[1], memory, (uint32_t)reg[3]);
	case BPF_FUNC_btf_find_by_name_kind:
		return name_target(run, (const char *)reg[1], reg[3]);
	case BPF_FUNC_sys_close:
		wait_for_thread(run);
		return close((int)reg[1]) == -1 ? -errno : 0;
	default:
		return run->error = -EOPNOTSUPP;
	}
}

static uint64_t read_word(uint64_t address, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)address, size);
	return value;
}

static void write_word(uint64_t address, uint64_t value, size_t size)
{
	memcpy((void *)address, &value, size);
}

/*
 * What libbpf makes loaders of; see instruction-set.rst of the kernel.  The skeleton is for
 * machines that store the lowest byte first, as read_word() has it.
 */
static int interpret(struct run *run)
{
	uint64_t stack[STACK_WORDS], reg[MAX_BPF_REG] = {0};
	const struct bpf_insn *i;

	reg[BPF_REG_1] = (uintptr_t)run->loader->context;
	reg[BPF_REG_10] = (uintptr_t)&stack[STACK_WORDS];
	for (i = run->insns;; i++) {
		const uint64_t imm = (uint64_t)(int64_t)i->imm, off = (uint64_t)(int64_t)i->off;
		const uint64_t src = reg[i->src_reg];
		uint64_t *dst = &reg[i->dst_reg];

		switch (i->code) {
		case BPF_ALU64 | BPF_MOV | BPF_K:
			*dst = imm;
			break;
		case BPF_ALU64 | BPF_MOV | BPF_X:
			*dst = src;
			break;
		case BPF_ALU64 | BPF_ADD | BPF_K:
			*dst += imm;
			break;
		case BPF_ALU64 | BPF_RSH | BPF_K:
			*dst >>= imm;
			break;
		case BPF_LD | BPF_IMM | BPF_DW:
			if (i->src_reg != BPF_PSEUDO_MAP_IDX_VALUE)
				return -EOPNOTSUPP;
			*dst = (uintptr_t)&run->data[(++i)->imm];
			break;
		case BPF_LDX | BPF_MEM | BPF_W:
			*dst = read_word(src + off, sizeof(uint32_t));
			break;
		case BPF_LDX | BPF_MEM | BPF_DW:
			*dst = read_word(src + off, sizeof(uint64_t));
			break;
		case BPF_STX | BPF_MEM | BPF_W:
			write_word(*dst + off, src, sizeof(uint32_t));
			break;
		case BPF_STX | BPF_MEM | BPF_DW:
			write_word(*dst + off, src, sizeof(uint64_t));
			break;
		case BPF_JMP | BPF_JA:
			i += i->off;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			i += *dst == imm ? i->off : 0;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			i += *dst & imm ? i->off : 0;
			break;
		case BPF_JMP | BPF_JSLT | BPF_K:
			i += (int64_t)*dst < i->imm ? i->off : 0;
			break;
		case BPF_JMP | BPF_JSLE | BPF_K:
			i += (int64_t)*dst <= i->imm ? i->off : 0;
			break;
		case BPF_JMP | BPF_CALL:
			reg[BPF_REG_0] = (uint64_t)call(run, i->imm, reg);
			break;
		case BPF_JMP | BPF_EXIT:
			return (int)reg[BPF_REG_0];
		default:
			return -EOPNOTSUPP;
		}
	}
}

/* To change it, and aligned: bpftool writes strings, which may be anywhere. */
static void *copy_of(const void *bytes, size_t size)
{
	void *copied = malloc(size);

	return copied != NULL ? memcpy(copied, bytes, size) : NULL;
}

int loader_run(const struct loader *loader)
{
	struct run run = {
		.loader = loader,
		.insns = copy_of(loader->insns, loader->insns_size),
		.data = copy_of(loader->data, loader->data_size),
		.finder = -1,
	};
	int result = -ENOMEM;

	if (run.insns != NULL && run.data != NULL)
		result = interpret(&run);
	wait_for_thread(&run);
	if (run.finder >= 0)
		close(run.finder);
	free(run.insns);
	free(run.data);
	if (result >= 0)
		result = run.error;
	if (result >= 0)
		return 0;
	errno = -result;
	return -1;
}
