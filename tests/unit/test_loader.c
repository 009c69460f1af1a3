/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The loader of a light skeleton, run here: its instructions, what it calls, programs that are
 * loaded, left out or refused, and the files that are open afterwards.
 */
#include "unit.h"

#include "../../cmd/cputrack/kernel/loader.h"

#include <linux/bpf.h>
#include <linux/btf.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define WORDS 8

/* ---- a loader ---- */

#define INSN(c, d, s, o, i)                                                         \
	(struct bpf_insn)                                                           \
	{                                                                           \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) \
	}
#define MOV(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_REG(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define DATA(d, i) INSN(BPF_LD | BPF_IMM | BPF_DW, d, 6, 0, 0), INSN(0, 0, 0, 0, i)
#define CALL(i) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, i)
#define JUMP(op, d, i, o) INSN(BPF_JMP | (op), d, 0, o, i)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* r0 into a word of the context, whose address is kept in r6. */
#define KEEP_CONTEXT MOV_REG(6, 1)
#define RESULT(word) INSN(BPF_STX | BPF_MEM | BPF_DW, 6, 0, (word)*8, 0)
/* bpf(2) with the attributes at `offset` of the data. */
#define BPF(command, offset) \
	MOV(1, command), DATA(2, offset), MOV(3, sizeof(union bpf_attr)), CALL(BPF_FUNC_sys_bpf)

static bool all_wanted(const void *context, const char *program)
{
	(void)context, (void)program;
	return true;
}

static bool few_wanted(const void *context, const char *program)
{
	(void)context;
	return strcmp(program, "left_out") != 0;
}

/* The instructions are where bpftool's may be: anywhere. */
static int run_bytes(const void *insns, size_t insns_size, const void *data, size_t size,
		     int64_t *words, bool (*wanted)(const void *, const char *))
{
	char *odd = test_malloc(1 + insns_size);
	int rc;

	memcpy(odd + 1, insns, insns_size);
	memset(words, 0, WORDS * sizeof(*words));
	errno = 0;
	rc = loader_run(&(struct loader){.insns = odd + 1,
					 .insns_size = insns_size,
					 .data = data,
					 .data_size = size,
					 .context = words,
					 .wanted = wanted});
	test_free(odd);
	return rc;
}

#define run(insns, ...) run_bytes(insns, sizeof(insns), __VA_ARGS__)

/* ---- without the kernel ---- */

static void instructions(void **state)
{
	const uint64_t data[] = {0x1122334455667788, 0};
	const struct bpf_insn insns[] = {
		KEEP_CONTEXT,
		MOV(0, -5),
		RESULT(0),
		DATA(7, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 7, 0, 0),
		RESULT(1),
		INSN(BPF_LDX | BPF_MEM | BPF_W, 0, 7, 4, 0),
		RESULT(2),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 7, 0, 0),
		INSN(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 48),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, -0x1122),
		RESULT(3),
		/* A word into the stack of the program, and half of it into its data. */
		MOV(0, -1),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 0, -8, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 8, 10, -8, 0),
		INSN(BPF_STX | BPF_MEM | BPF_W, 7, 8, 8, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 7, 8, 0),
		RESULT(4),
		/* Each of these jumps over what would change the result, or does not. */
		MOV(0, 0),
		MOV(1, -1),
		JUMP(BPF_JSLT, 1, 0, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 1),
		JUMP(BPF_JSLT, 0, 0, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 2),
		JUMP(BPF_JSLE, 1, -1, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 4),
		JUMP(BPF_JSLE, 0, 0, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 8),
		JUMP(BPF_JEQ, 1, -1, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 16),
		JUMP(BPF_JEQ, 1, 1, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 32),
		JUMP(BPF_JSET, 1, 1, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 64),
		JUMP(BPF_JSET, 6, 1, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 128),
		JUMP(BPF_JA, 0, 0, 1),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 256),
		RESULT(5),
		/* Memory that is copied, and cleared. */
		MOV_REG(1, 6),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, 6 * 8),
		MOV(2, 8),
		MOV_REG(3, 7),
		CALL(BPF_FUNC_copy_from_user),
		MOV_REG(1, 6),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, 6 * 8),
		MOV(2, 4),
		MOV(3, 0),
		CALL(BPF_FUNC_probe_read_kernel),
		MOV(0, 0),
		EXIT,
	};
	int64_t words[WORDS];

	(void)state;
	assert_int_equal(run(insns, data, sizeof(data), words, all_wanted), 0);
	assert_int_equal(words[0], -5);
	assert_int_equal(words[1], 0x1122334455667788);
	assert_int_equal(words[2], 0x11223344);
	assert_int_equal(words[3], 0);
	assert_int_equal(words[4], 0xffffffff);
	assert_int_equal(words[5], 2 + 8 + 32 + 128);
	assert_int_equal(words[6], 0x1122334400000000);
	assert_int_equal(data[1], 0);
}

static void unknown(void **state)
{
	const struct bpf_insn insn[] = {INSN(BPF_ALU64 | BPF_XOR | BPF_K, 0, 0, 0, 1), EXIT};
	const struct bpf_insn helper[] = {CALL(BPF_FUNC_ktime_get_ns), MOV(0, 0), EXIT};
	const struct bpf_insn number[] = {INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 0),
					  INSN(0, 0, 0, 0, 0), MOV(0, 0), EXIT};
	const struct bpf_insn fails[] = {MOV(0, -ENODEV), EXIT};
	int64_t words[WORDS];

	(void)state;
	assert_int_equal(run(insn, "", 1, words, all_wanted), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(run(helper, "", 1, words, all_wanted), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(run(number, "", 1, words, all_wanted), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(run(fails, "", 1, words, all_wanted), -1);
	assert_int_equal(errno, ENODEV);
}

/* ---- with it ---- */

static const struct bpf_insn returns_0[] = {MOV(0, 0), EXIT};
static const struct bpf_insn reads_r2[] = {MOV_REG(0, 2), EXIT}; /* which has no value */

static union bpf_attr program(const char *name, const struct bpf_insn *insns, uint32_t type)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "GPL";
	strcpy(attr.prog_name, name);
	return attr;
}

/* Of an open file that is a program; or false. */
static bool information(int64_t fd, struct bpf_prog_info *info)
{
	union bpf_attr attr;

	memset(info, 0, sizeof(*info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info = (uintptr_t)info;
	attr.info.info_len = sizeof(*info);
	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0;
}

static bool is_program(int64_t fd, const char *name)
{
	struct bpf_prog_info info;

	return information(fd, &info) && strcmp(info.name, name) == 0;
}

static void need_bpf(void)
{
	union bpf_attr attr = program("try", returns_0, BPF_PROG_TYPE_TRACEPOINT);
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd == -1)
		skip_because("no BPF here: %s", strerror(errno));
	close(fd);
}

/* Beside the loader and by it; one that nobody wants has a file, but is not loaded. */
static void programs(void **state)
{
	union bpf_attr data[] = {
		program("first", returns_0, BPF_PROG_TYPE_TRACEPOINT),
		program("second", returns_0, BPF_PROG_TYPE_TRACEPOINT),
		program("left_out", reads_r2, BPF_PROG_TYPE_TRACEPOINT),
	};
	const struct bpf_insn insns[] = {
		KEEP_CONTEXT,
		BPF(BPF_PROG_LOAD, 0),
		RESULT(0),
		BPF(BPF_PROG_LOAD, sizeof(*data)),
		RESULT(1),
		BPF(BPF_PROG_LOAD, 2 * sizeof(*data)),
		RESULT(2),
		MOV(1, 100000),
		CALL(BPF_FUNC_sys_close),
		RESULT(3),
		MOV(0, 0),
		EXIT,
	};
	int64_t words[WORDS];
	int open_before = count_files();

	(void)state;
	need_bpf();
	assert_int_equal(run(insns, data, sizeof(data), words, few_wanted), 0);
	assert_true(is_program(words[0], "first"));
	assert_true(is_program(words[1], "second"));
	assert_false(is_program(words[2], "left_out"));
	assert_int_equal(words[3], -EBADF);
	assert_int_equal(count_files(), open_before + 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fcntl((int)words[i], F_GETFD), FD_CLOEXEC);
		close((int)words[i]);
	}
}

/* The verifier's word counts, whichever thread heard it. */
static void refused(void **state)
{
	const struct bpf_insn insns[] = {
		KEEP_CONTEXT, BPF(BPF_PROG_LOAD, 0),
		RESULT(0),    BPF(BPF_PROG_LOAD, sizeof(union bpf_attr)),
		RESULT(1),    MOV(0, 0),
		EXIT,
	};
	int64_t words[WORDS];
	int open_before = count_files();

	(void)state;
	need_bpf();
	for (int bad = 0; bad < 2; bad++) {
		union bpf_attr data[2];

		for (int i = 0; i < 2; i++)
			data[i] = program("program", i == bad ? reads_r2 : returns_0,
					  BPF_PROG_TYPE_TRACEPOINT);
		if (bad == 0) {
			assert_int_equal(run(insns, data, sizeof(data), words, all_wanted), -1);
			assert_int_equal(errno, EACCES);
		} else {
			/* Whether that is an error is for the loader to say. */
			assert_int_equal(run(insns, data, sizeof(data), words, all_wanted), 0);
			assert_int_equal(words[1], -EACCES);
		}
		for (int i = 0; i < 2; i++) {
			if (words[i] > 0)
				close((int)words[i]);
		}
		assert_int_equal(count_files(), open_before);
	}
}

/* Also when the loader waited for the thread, and another was started since. */
static void refused_before(void **state)
{
	union bpf_attr data[] = {
		program("first", reads_r2, BPF_PROG_TYPE_TRACEPOINT),
		program("second", returns_0, BPF_PROG_TYPE_TRACEPOINT),
	};
	const struct bpf_insn insns[] = {
		KEEP_CONTEXT,
		BPF(BPF_PROG_LOAD, 0),
		RESULT(0),
		MOV(1, 100000),
		CALL(BPF_FUNC_sys_close),
		BPF(BPF_PROG_LOAD, sizeof(*data)),
		RESULT(1),
		MOV(0, 0),
		EXIT,
	};
	int64_t words[WORDS];

	(void)state;
	need_bpf();
	assert_int_equal(run(insns, data, sizeof(data), words, all_wanted), -1);
	assert_int_equal(errno, EACCES);
	close((int)words[0]);
	close((int)words[1]);
}

#define LONG 20000 /* instructions: they take some milliseconds to verify */
#define NSIGNALS 100

static void on_signal(int sig)
{
	(void)sig;
}

/* They come from elsewhere, so that they end whatever is done here. */
static pid_t send_signals(void)
{
	pid_t test = getpid(), pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid != 0)
		return pid;
	for (int i = 0; i < NSIGNALS && getppid() == test; i++) {
		kill(test, SIGUSR1);
		usleep(100);
	}
	_exit(0);
}

/* The verifier breaks off for each of them. */
static void signals(void **state)
{
	static struct bpf_insn slow[LONG];
	union bpf_attr data[] = {
		program("first", returns_0, BPF_PROG_TYPE_TRACEPOINT),
		program("second", slow, BPF_PROG_TYPE_TRACEPOINT),
	};
	const struct bpf_insn insns[] = {
		KEEP_CONTEXT, BPF(BPF_PROG_LOAD, 0),
		RESULT(0),    BPF(BPF_PROG_LOAD, sizeof(*data)),
		RESULT(1),    MOV(0, 0),
		EXIT,
	};
	const struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	int64_t words[WORDS];
	pid_t pid;

	(void)state;
	need_bpf();
	for (int i = 0; i < LONG - 1; i++)
		slow[i] = MOV(0, 0);
	slow[LONG - 1] = EXIT;
	data[1].insn_cnt = LONG;
	assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
	pid = send_signals();
	assert_int_equal(run(insns, data, sizeof(data), words, all_wanted), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(is_program(words[0], "first"));
	assert_true(is_program(words[1], "second"));
	close((int)words[0]);
	close((int)words[1]);
}

/* By its type of BTF; what nobody wants is not even looked for. */
static void targets(void **state)
{
	struct {
		union bpf_attr attr[2];
		char name[2][64];
	} data = {
		.attr = {program("left_out", returns_0, BPF_PROG_TYPE_TRACING),
			 program("on_exec", returns_0, BPF_PROG_TYPE_TRACING)},
		.name = {"btf_trace_no_such_tracepoint", "btf_trace_sched_process_exec"},
	};
	const int id = offsetof(union bpf_attr, attach_btf_id);
#define FIND(i)                                                                                  \
	DATA(1, (int)offsetof(__typeof__(data), name[i])), MOV(2, 64), MOV(3, BTF_KIND_TYPEDEF), \
		MOV(4, 0), CALL(BPF_FUNC_btf_find_by_name_kind),                                 \
		DATA(1, (i) * (int)sizeof(union bpf_attr)),                                      \
		INSN(BPF_STX | BPF_MEM | BPF_W, 1, 0, (short)id, 0),                             \
		BPF(BPF_PROG_LOAD, (i) * (int)sizeof(union bpf_attr))
	const struct bpf_insn insns[] = {
		KEEP_CONTEXT, FIND(0), RESULT(0), FIND(1), RESULT(1), MOV(0, 0), EXIT,
	};
	struct bpf_prog_info info;
	int64_t words[WORDS];

	(void)state;
	need_bpf();
	data.attr[0].expected_attach_type = BPF_TRACE_RAW_TP;
	data.attr[1].expected_attach_type = BPF_TRACE_RAW_TP;
	assert_int_equal(run(insns, &data, sizeof(data), words, few_wanted), 0);
	assert_true(information(words[1], &info));
	assert_string_equal(info.name, "on_exec");
	assert_int_equal(info.type, BPF_PROG_TYPE_TRACING);
	assert_true(info.attach_btf_id > 0);
	close((int)words[0]);
	close((int)words[1]);
	assert_int_equal(run(insns, &data, sizeof(data), words, all_wanted), 0);
	assert_int_equal(words[0], -ENOENT);
	close((int)words[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions),	  cmocka_unit_test(unknown),
		cmocka_unit_test(programs),	  cmocka_unit_test(refused),
		cmocka_unit_test(refused_before), cmocka_unit_test(signals),
		cmocka_unit_test(targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
