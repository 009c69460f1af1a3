/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Intel's slots and topdown metrics: the order of opening, the errors, and the results of each, on
 * a simulated machine whose sysfs and kernel follow the rules of arch/x86/events/intel/core.c;
 * also with two kinds of cores.  And fields in all words of config.
 */
#include "faults.h"
#include "unit.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"
#define GENERAL 4 /* counters */
#define MAX_FILES 1024

static cpc_t *cpc;
static char root[] = "/tmp/cpc-topdown.XXXXXX"; /* the made-up DEVICES */

/* By file: the event that the simulated kernel opened, and its leader. */
static struct opened {
	uint32_t type;
	uint64_t code;
	bool samples;
	unsigned n; /* of a leader: counters taken in its group */
} opened[MAX_FILES];
static char order[256];	   /* of the codes opened last, in groups */
static uint64_t config[4]; /* of the core's event that was opened last */
static bool old_kernel;	   /* from before config3 */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
int __real_scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **));
int __wrap_scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **));
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

static const char *redirect(const char *path, char *to, size_t size)
{
	if (strncmp(path, DEVICES, strlen(DEVICES)) != 0)
		return path;
	snprintf(to, size, "%s%s", root, path + strlen(DEVICES));
	return to;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	char to[600];

	return __real_fopen(redirect(path, to, sizeof(to)), mode);
}

DIR *__wrap_opendir(const char *path)
{
	char to[600];

	return __real_opendir(redirect(path, to, sizeof(to)));
}

/*
 * Debian 13's libpfm4 lists DEVICES with scandir and access, and crashes if the type of a listed
 * PMU is missing.
 */
int __wrap_scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **))
{
	char to[600];

	return __real_scandir(redirect(path, to, sizeof(to)), list, filter, compare);
}

int __wrap_access(const char *path, int mode)
{
	char to[600];

	return __real_access(redirect(path, to, sizeof(to)), mode);
}

static bool is_metric(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_RAW && attr->config >= 0x8000 && attr->config <= 0x8700;
}

static bool is_slots(uint32_t type, uint64_t code)
{
	return type == PERF_TYPE_RAW && code == 0x0400;
}

/* The errno of the simulated kernel for it; 0: success. */
static int check(const struct perf_event_attr *attr, int leader)
{
	struct opened *lead = leader != -1 ? &opened[leader] : NULL;

	if (is_metric(attr) && (lead == NULL || !is_slots(lead->type, lead->code) ||
				lead->samples || attr->sample_period != 0))
		return EINVAL;
	if (is_metric(attr) || is_slots(attr->type, attr->config))
		return 0;
	if (lead != NULL && lead->type != attr->type && attr->type != PERF_TYPE_SOFTWARE)
		return EINVAL;
	return lead != NULL && attr->type != PERF_TYPE_SOFTWARE && ++lead->n > GENERAL ? EINVAL : 0;
}

/* Slots count the CPU's time, the metric 0x8000 page faults, the other metrics nothing. */
static uint64_t stand_in(const struct perf_event_attr *attr)
{
	if (is_slots(attr->type, attr->config))
		return PERF_COUNT_SW_TASK_CLOCK;
	return is_metric(attr) && attr->config == 0x8000 ? PERF_COUNT_SW_PAGE_FAULTS
							 : PERF_COUNT_SW_DUMMY;
}

static void note_words(const struct perf_event_attr *attr)
{
	config[0] = attr->config;
	config[1] = attr->config1;
	config[2] = attr->config2;
	config[3] = attr->size > 128 ? ((const uint64_t *)attr)[16] : 0;
}

static long open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int leader,
		       unsigned long flags)
{
	struct perf_event_attr soft = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(soft),
				       .config = stand_in(attr),
				       .read_format = attr->read_format,
				       .exclude_kernel = 1,
				       .exclude_hv = 1,
				       .pinned = attr->pinned,
				       .disabled = attr->disabled};
	int err = check(attr, leader);
	char word[32];
	long fd;

	if (old_kernel && attr->size > 128)
		err = E2BIG;
	if (err != 0) {
		errno = err;
		return -1;
	}
	if (attr->type == PERF_TYPE_SOFTWARE)
		soft.config = attr->config;
	else
		note_words(attr);
	fd = __real_syscall(SYS_perf_event_open, &soft, pid, cpu, leader, flags);
	if (fd == -1 || fd >= MAX_FILES)
		return fd;
	opened[fd] = (struct opened){.type = attr->type,
				     .code = attr->config,
				     .samples = attr->sample_period != 0,
				     .n = !is_slots(attr->type, attr->config)};
	snprintf(word, sizeof(word), "%s%x/%llx", leader == -1 ? "; " : " ", attr->type,
		 (unsigned long long)attr->config);
	if (strlen(order) + strlen(word) < sizeof(order))
		strcat(order, word);
	return fd;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_perf_event_open)
		return open_event((struct perf_event_attr *)a, (pid_t)b, (int)c, (int)d,
				  (unsigned long)e);
	return __real_syscall(number, a, b, c, d, e, f);
}

/* ---- the machine ------------------------------------------------------------- */

static void make_dir(const char *path)
{
	char full[300];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	if (mkdir(full, 0755) == -1)
		fail_msg("%s: %s", full, strerror(errno));
}

static void make_file(const char *pmu, const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", root, pmu, name);
	f = __real_fopen(path, "w");
	if (f == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	fprintf(f, "%s\n", text);
	fclose(f);
}

static void make_pmu(const char *pmu, const char *type, const char *cpus)
{
	char path[100];

	make_dir(pmu);
	snprintf(path, sizeof(path), "%s/events", pmu);
	make_dir(path);
	snprintf(path, sizeof(path), "%s/format", pmu);
	make_dir(path);
	make_file(pmu, "type", type);
	make_file(pmu, "perf_event_mux_interval_ms", "4");
	make_file(pmu, "format/event", "config:0-7");
	make_file(pmu, "format/umask", "config:8-15");
	make_file(pmu, "format/offcore_rsp", "config1:0-63");
	make_file(pmu, "format/acr_mask", "config2:0-63");
	make_file(pmu, "format/precious", "config3:4-7");
	if (cpus != NULL)
		make_file(pmu, "cpus", cpus);
}

static void make_topdown(const char *pmu)
{
	make_file(pmu, "events/slots", "event=0x00,umask=0x4");
	make_file(pmu, "events/topdown-retiring", "event=0x00,umask=0x80");
	make_file(pmu, "events/topdown-bad-spec", "event=0x00,umask=0x81");
	make_file(pmu, "events/topdown-fe-bound", "event=0x00,umask=0x82");
	make_file(pmu, "events/topdown-be-bound", "event=0x00,umask=0x83");
}

static int setup(void **state)
{
	(void)state;
	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL)
		return -1;
	cpc_seterrhndlr(cpc, hear);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return cpc_close(cpc);
}

/* A set of events, up to NULL. */
static cpc_set_t *make_set(const char *const *event)
{
	cpc_set_t *set = cpc_set_create(cpc);

	for (; *event != NULL; event++) {
		if (cpc_set_add_request(cpc, set, *event, 0, CPC_COUNT_USER, 0, NULL) == -1)
			fail_msg("%s: %s", *event, last_error.text);
	}
	return set;
}

static void assert_refused(int rc, const char *text)
{
	assert_int_equal(rc, -1);
	assert_int_equal(errno, EINVAL);
	if (strstr(last_error.text, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, last_error.text);
}

/* ---- tests ------------------------------------------------------------------- */

/* The groups of the last open that count; the first one only tests whether they fit. */
static const char *last_group(void)
{
	const char *last = strstr(order, ";"), *next;

	for (next = last; next != NULL; next = strstr(next + 1, ";")) {
		if (strchr(next, ' ') != strrchr(next, ' ')) /* of several */
			last = next;
	}
	return last;
}

static void any_order(void **state)
{
	static const char *const events[][6] = {
		{"slots", "topdown-retiring", "topdown-bad-spec"},
		{"topdown-retiring", "slots", "topdown-bad-spec"},
		{"topdown-retiring", "topdown-bad-spec", "cpu/slots/"},
		{"0xc0", "cpu/topdown-retiring/", "page-faults", "cpu/event=0,umask=4/"},
		{"page-faults", "0x8000", "0xc0", "0x0400", "0xc1"},
	};
	static const char *const orders[] = {
		"; 4/400 4/8000 4/8100",   "; 4/400 4/8000 4/8100",	   "; 4/400 4/8000 4/8100",
		"; 4/400 4/c0 4/8000 1/2", "; 4/400 4/8000 1/2 4/c0 4/c1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		cpc_set_t *set = make_set(events[i]);

		order[0] = '\0';
		if (cpc_bind_curlwp(cpc, set, 0) == -1)
			fail_msg("%s: %s", orders[i], last_error.text);
		assert_string_equal(last_group(), orders[i]);
		cpc_set_destroy(cpc, set);
	}
}

static uint64_t value(cpc_buf_t *buf, int i)
{
	uint64_t val;

	assert_int_equal(cpc_buf_get(cpc, buf, i, &val), 0);
	return val;
}

/* In any order in the kernel: the metric is page faults, slots is time. */
static void results(void **state)
{
	static const char *const events[] = {"topdown-bad-spec", "topdown-retiring", "0xc0",
					     "slots", NULL};
	cpc_set_t *set = make_set(events);
	cpc_buf_t *before = cpc_buf_create(cpc, set), *after = cpc_buf_create(cpc, set);

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	for (int i = 0; i < 2; i++) { /* whose own pages are there then */
		assert_int_equal(cpc_set_sample(cpc, set, before), 0);
		touch(1);
	}
	assert_int_equal(cpc_set_sample(cpc, set, after), 0);
	assert_int_equal(cpc_set_sample(cpc, set, before), 0);
	touch(10);
	assert_int_equal(cpc_set_sample(cpc, set, after), 0);
	cpc_buf_sub(cpc, after, after, before);
	assert_int_equal(value(after, 0), 0);
	assert_int_equal(value(after, 1), 10);
	assert_int_equal(value(after, 2), 0);
	assert_true(value(after, 3) > 100);
}

static void refused(void **state)
{
	static const char *const alone[] = {"cpu/topdown-retiring/", "0xc0", NULL};
	static const char *const slots[] = {"slots", NULL};
	static const char *const many[] = {
		"topdown-retiring", "slots", "0xc0", "0xc1", "0xc2", "0xc3", "0xc4", NULL};
	cpc_set_t *set = make_set(alone);

	(void)state;
	assert_refused(cpc_bind_curlwp(cpc, set, 0),
		       "cannot count 'cpu/topdown-retiring/': it is a "
		       "part of 'slots', which must be counted with it");
	assert_int_equal(last_error.subcode, CPC_CONFLICTING_REQS);
	set = make_set(slots);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0); /* alone it is an event as any */
	set = make_set(slots);
	assert_int_equal(cpc_set_add_request(cpc, set, "topdown-retiring", 0,
					     CPC_COUNT_USER | CPC_COUNT_SYSTEM, 0, NULL),
			 1);
	assert_refused(cpc_bind_curlwp(cpc, set, 0), "in the same modes");
	set = make_set(slots);
	assert_int_equal(
		cpc_set_add_request(cpc, set, "topdown-retiring", 0, CPC_COUNT_USER, 0, NULL), 1);
	assert_int_equal(cpc_set_add_request(cpc, set, "page-faults", UINT64_MAX,
					     CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL),
			 2);
	assert_refused(cpc_bind_curlwp(cpc, set, 0), "cannot count 'page-faults': its overflows");
	assert_refused(cpc_bind_curlwp(cpc, make_set(many), 0),
		       "cannot count '0xc4' together with the other events");
}

/* Core events that the kernel names itself are sums; those of a named PMU are not. */
static void two_kinds(void **state)
{
	static const char *const events[] = {"topdown-retiring", "page-faults", "slots", NULL};
	static const char *const core[] = {"cpu_core/event=0xc0/", NULL};
	static const char *const code[] = {"0xc0", NULL};
	cpc_set_t *set = make_set(events);

	(void)state;
	order[0] = '\0';
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	/* The kernel's own events are a separate group: they count on all cores. */
	assert_string_equal(last_group(), "; 4/400 4/8000; 1/2");
	set = make_set(core);
	order[0] = '\0';
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_string_equal(order, "; 4/c0");
	assert_true(cpc_set_counts_on(cpc, set, 0));
	assert_false(cpc_set_counts_on(cpc, set, 5));
	set = make_set(code);
	order[0] = '\0';
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_true(strstr(order, "4/c0") != NULL && strstr(order, "a/c0") != NULL);
}

/* Fields of all words are attributes, and so are the words themselves. */
static void words(void **state)
{
	static const struct {
		const char *event, *attr;
		uint64_t val, config[4];
	} cases[] = {
		{"0xc0", "umask", 0x5, {0x5c0, 0, 0, 0}},
		{"0xc0", "offcore_rsp", 0x123456789abcdef0, {0xc0, 0x123456789abcdef0, 0, 0}},
		{"0xc0", "acr_mask", 7, {0xc0, 0, 7, 0}},
		{"0xc0", "precious", 0xf, {0xc0, 0, 0, 0xf0}},
		{"0xc0", "config1", 1, {0xc0, 1, 0, 0}},
		{"0xc0", "config2", 2, {0xc0, 0, 2, 0}},
		{"0xc0", "config3", 3, {0xc0, 0, 0, 3}},
		{"cpu/event=0xc1,precious=2,acr_mask=1/", "umask", 1, {0x1c1, 0, 1, 0x20}},
		{"cpu/event=0xc1,config3=0x30,config1=5/", "umask", 2, {0x2c1, 5, 0, 0x30}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[32];
		cpc_attr_t attr = {.ca_name = name, .ca_val = cases[i].val};
		cpc_set_t *set = cpc_set_create(cpc);

		snprintf(name, sizeof(name), "%s", cases[i].attr);
		if (cpc_set_add_request(cpc, set, cases[i].event, 0, CPC_COUNT_USER, 1, &attr) ==
			    -1 ||
		    cpc_bind_curlwp(cpc, set, 0) == -1)
			fail_msg("%s,%s: %s", cases[i].event, name, last_error.text);
		assert_memory_equal(config, cases[i].config, sizeof(config));
		cpc_set_destroy(cpc, set);
	}
}

static void words_refused(void **state)
{
	cpc_attr_t attr = {.ca_name = (char[]){"precious"}, .ca_val = 0x10};
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	assert_refused(cpc_set_add_request(cpc, set, "0xc0", 0, CPC_COUNT_USER, 1, &attr),
		       "attribute 'precious' of event '0xc0' is at most 0xf, not 0x10");
	attr.ca_val = 1;
	assert_int_equal(cpc_set_add_request(cpc, set, "0xc0", 0, CPC_COUNT_USER, 1, &attr), 0);
	old_kernel = true;
	assert_refused(cpc_bind_curlwp(cpc, set, 0),
		       "cannot count '0xc0': it requires config3, which Linux supports since 6.3");
	old_kernel = false;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
}

static int test_machine_of(bool hybrid)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(results, setup, teardown),
		cmocka_unit_test_setup_teardown(refused, setup, teardown),
		cmocka_unit_test_setup_teardown(words, setup, teardown),
		cmocka_unit_test_setup_teardown(words_refused, setup, teardown),
	};
	const struct CMUnitTest hybrid_tests[] = {
		cmocka_unit_test_setup_teardown(two_kinds, setup, teardown),
	};

	return hybrid ? cmocka_run_group_tests(hybrid_tests, NULL, NULL)
		      : cmocka_run_group_tests(tests, NULL, NULL);
}

static void remove_machine(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", root);
	if (system(command) != 0)
		print_message("%s is left\n", root);
}

/* The library reads its machine once, so each simulated machine has a process. */
int main(void)
{
	int failed = 0;

	for (int hybrid = 0; hybrid < 2; hybrid++) {
		pid_t pid;
		int status = 0;

		strcpy(strrchr(root, '.'), ".XXXXXX");
		if (mkdtemp(root) == NULL)
			return 1;
		make_pmu(hybrid ? "cpu_core" : "cpu", "4", hybrid ? "0-3" : NULL);
		make_topdown(hybrid ? "cpu_core" : "cpu");
		if (hybrid)
			make_pmu("cpu_atom", "10", "4-7");
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			_exit(test_machine_of(hybrid));
		if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
			failed++;
		remove_machine();
	}
	return failed;
}
