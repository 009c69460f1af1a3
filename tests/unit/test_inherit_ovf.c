/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * CPC_BIND_LWP_INHERIT with CPC_OVF_BUFFERED: every LWP has a buffer of its own.
 *
 * With the name of a test as argument, it runs only that one.
 */
#include "ovf.h"

#include <malloc.h>
#include <stdatomic.h>
#include <time.h>

#define PERIOD 10
#define MAX_THREADS 100

static cpc_set_t *set;
static cpc_buf_t *all;
static cpc_buf_t *bufs[MAX_THREADS];
static unsigned rounds = 20;

/* A thread, what it does, and what it saw. */
struct job {
	pthread_t thread;
	cpc_buf_t *buf;
	unsigned long faults; /* that it makes */
	unsigned leave;	      /* records that it does not take */
	pthread_barrier_t *barrier;
	int err; /* of the last sample */
	char lost[256];
	uint64_t counted, nlost;
};

static struct job jobs[MAX_THREADS];

/* A thread gets a signal at its birth, too: its set has not counted then. */
static _Thread_local unsigned births;
static _Thread_local bool idle; /* it does not begin */
static atomic_uint next_buf;

static void begin(int sig, siginfo_t *info, void *context)
{
	uint64_t val;
	int err = errno;

	if (self.sigbuf == NULL) {
		self.set = set;
		self.sigbuf = bufs[next_buf++ % MAX_THREADS];
	}
	if (cpc_set_sample(cpc, set, self.sigbuf) == -1 ||
	    cpc_buf_get(cpc, self.sigbuf, 0, &val) == -1) {
		self.wrong++;
	} else if (cpc_buf_tick(cpc, self.sigbuf) != 0) {
		on_emt(sig, info, context);
	} else {
		births++;
		self.wrong +=
			info->si_code != EMT_CPCOVF || info->si_addr == NULL || val != UINT64_MAX;
		if (!idle && (cpc_request_preset(cpc, 0, EVERY(PERIOD)) == -1 ||
			      cpc_set_restart(cpc, set) == -1))
			self.wrong++;
	}
	errno = err;
}

static void start(unsigned n, void *(*function)(void *))
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(pthread_create(&jobs[i].thread, NULL, function, &jobs[i]), 0);
}

static void join(unsigned n)
{
	void *failed;

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(pthread_join(jobs[i].thread, &failed), 0);
		if (failed != NULL)
			fail_msg("thread %u: %s", i, (const char *)failed);
	}
}

static void bind_all(uint_t flags)
{
	const struct sigaction act = {.sa_sigaction = begin, .sa_flags = SA_SIGINFO | SA_RESTART};

	use_faults(EVERY(1000000000), FLAGS | flags);
	set = self.set;
	all = cpc_buf_create(cpc, set);
	for (size_t i = 0; i < ARRAY_SIZE(bufs); i++) {
		bufs[i] = cpc_buf_create(cpc, set);
		jobs[i].buf = cpc_buf_create(cpc, set);
	}
	next_buf = 0;
	births = 0;
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == -1)
		fail_msg("%s: %s", strerror(errno), last_error.text);
}

/* From the last sample. */
static uint64_t get(cpc_buf_t *buf, int index)
{
	uint64_t val = UINT64_MAX;

	cpc_buf_get(cpc, buf, index, &val);
	return val;
}

/* The counts of all, after those of the caller. */
static uint64_t others(int index)
{
	uint64_t own, unused;

	/* Twice, so that first calls cause no page faults in between. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cpc_set_sample(cpc, set, self.buf), 0);
		assert_int_equal(cpc_set_sample_all(cpc, set, all), 0);
	}
	own = get(self.buf, index);
	unused = get(all, index);
	return unused - own;
}

/* Did the thread get the signal of its birth, once? */
static bool is_born(void)
{
	while (MAY_LOSE && births == 0)
		await_more();
	return births == 1;
}

/* Takes its overflows, leaves some, and then checks that its counts are frozen. */
static void *overflow(void *arg)
{
	struct job *job = arg;
	uint64_t left[CPC_PCBUF_SIZE];
	unsigned long total, signals;

	self.buf = job->buf;
	if (!is_born())
		return "no birth";
	fault(job->faults);
	if (cpc_disable(cpc) == -1 || cpc_set_sample(cpc, set, self.buf) == -1)
		return "no sample";
	job->counted = get(self.buf, 1);
	total = job->counted / PERIOD;
	if (job->counted < job->faults || get(self.buf, 0) != EVERY(PERIOD) + job->counted % PERIOD)
		return "not these values";
	/* Records that a full ring lacks have no signals, and are known when the others are taken.
	 */
	for (time_t end = time(NULL) + 60;
	     !MAY_LOSE && self.signals < total / CPC_PCBUF_SIZE && time(NULL) < end;) {
		await_more();
		if (cpc_set_sample(cpc, set, self.buf) == -1)
			return "no more samples";
	}
	signals = self.signals;
	do {
		if (cpc_set_sample_pcbuf(cpc, set, self.buf, left) == -1)
			return "no records";
		self.taken += cpc_buf_npcs(cpc, self.buf);
	} while (cpc_buf_npcs(cpc, self.buf) > 0);
	job->nlost = cpc_buf_nlost(cpc, self.buf);
	if (self.taken + job->nlost != total || self.wrong != 0 || births != 1)
		return "not all records";
	if (!MAY_LOSE && job->nlost == 0 && signals < total / CPC_PCBUF_SIZE)
		return "not all signals";
	/* No call takes these. */
	if (cpc_set_restart(cpc, set) == -1)
		return "no restart";
	block();
	cpc_enable(cpc);
	fault(1000);
	cpc_disable(cpc);
	if (cpc_set_sample(cpc, set, self.buf) == -1)
		return "no last sample";
	job->counted = get(self.buf, 1);
	job->leave = (unsigned)(job->counted / PERIOD);
	return job->leave >= 100 ? NULL : "no records left";
}

/* Overflows in `n` new threads, which reuse files and buffers of ended threads. */
static void overflow_in(unsigned n, unsigned long faults)
{
	uint64_t counted = 0, nlost = 0;

	/* The first bind touches its pages: a fault between two of its counters is in one only. */
	bind_all(0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	bind_all(0);
	for (unsigned i = 0; i < n; i++)
		jobs[i].faults = faults + i;
	start(n, overflow);
	join(n);
	for (unsigned i = 0; i < n; i++) {
		counted += jobs[i].counted;
		nlost += jobs[i].nlost + jobs[i].leave;
	}
	/* The preset of the bind, once, and all counts since the last restart. */
	assert_int_equal(others(1), counted);
	assert_int_equal(others(0), counted);
	assert_int_equal(get(all, 0) - EVERY(1000000000), get(all, 1));
	assert_int_equal(cpc_buf_nlost(cpc, all), nlost);
	assert_int_equal(cpc_buf_npcs(cpc, all), 0);
	assert_int_equal(births + self.signals + self.wrong, 0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

static void eight_threads(void **state)
{
	(void)state;
	overflow_in(8, many(40000));
}

static void hundred_threads(void **state)
{
	(void)state;
	overflow_in(100, is_emulated() ? 100 : many(10000));
}

/* ---- records have the LWP's id ---------------------------------------------------------- */

struct seen {
	unsigned n, wrong;
};

static void see(void *arg, const cpc_ovf_t *ovf)
{
	struct seen *seen = arg;

	seen->n++;
	if (ovf->co_lwp != _lwp_self() || ovf->co_index != 0 || ovf->co_nframes == 0 ||
	    (ovf->co_valid & CPC_OVF_HAS_STACK) == 0 || ovf->co_frame[0] != ovf->co_pc)
		seen->wrong++;
}

static void *look_at_records(void *arg)
{
	struct seen seen = {0};
	unsigned before;

	self.buf = ((struct job *)arg)->buf;
	if (!is_born())
		return "no birth";
	block();
	/* The faults since its birth, some of which ThreadSanitizer causes. */
	if (cpc_disable(cpc) == -1 || cpc_set_sample_ovf(cpc, set, self.buf, &seen, see) == -1)
		return "no first records";
	seen = (struct seen){0};
	if (cpc_set_restart(cpc, set) == -1 || cpc_enable(cpc) == -1)
		return "no restart";
	fault(2000);
	if (cpc_disable(cpc) == -1)
		return "not off";
	if (cpc_set_sample_ovf(cpc, set, self.buf, &seen, see) == -1 || seen.wrong != 0)
		return "no records";
	if (seen.n != cpc_buf_npcs(cpc, self.buf) ||
	    seen.n + cpc_buf_nlost(cpc, self.buf) != get(self.buf, 1) / PERIOD ||
	    (!MAY_LOSE && cpc_buf_nlost(cpc, self.buf) != 0))
		return "not all records";
	before = seen.n;
	if (cpc_set_sample_ovf(cpc, set, self.buf, &seen, see) == -1 || seen.n != before)
		return "records came twice";
	return NULL;
}

static void records(void **state)
{
	(void)state;
	bind_all(CPC_OVF_RECORD);
	start(8, look_at_records);
	join(8);
}

/* ---- nothing remains, nothing is left out --------------------------------------------------- */

static void *be_short(void *arg)
{
	if (!is_born())
		return arg;
	fault(100);
	return births == 1 && self.wrong == 0 ? NULL : arg;
}

static void run_short(unsigned n)
{
	pthread_t thread;
	void *failed;

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(pthread_create(&thread, NULL, be_short, set), 0);
		assert_int_equal(pthread_join(thread, &failed), 0);
		assert_null(failed);
	}
}

/* Many short threads: the sum has all their counts. */
static void short_threads(void **state)
{
	unsigned n = (unsigned)many(10000);
	int files = count_files();
	uint64_t before, lost;
	size_t memory;

	(void)state;
	bind_all(0);
	run_short(100);
	memory = mallinfo2().uordblks;
	before = others(1);
	lost = cpc_buf_nlost(cpc, all);
	run_short(n);
	/* A leak takes 32 bytes per thread; the caches of malloc(3) take a few chunks at most. */
	assert_true(mallinfo2().uordblks < memory + 32UL * n);
	assert_true(others(1) >= before + 100UL * n);
	/* No call took the records of these threads. */
	assert_true(cpc_buf_nlost(cpc, all) >= lost + 100UL / PERIOD * n);
	assert_true(are_lwps(2));
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_true(are_lwps(1));
	assert_int_equal(count_files(), files);
}

/* ---- an end at any time --------------------------------------------------------------------- */

/* Until another LWP unbinds the set. */
static void *overflow_until_unbound(void *arg)
{
	struct job *job = arg;
	uint64_t pc[CPC_PCBUF_SIZE];

	for (;;) {
		fault(10);
		if (cpc_set_sample_pcbuf(cpc, set, job->buf, pc) == -1)
			return errno == EINVAL || errno == EAGAIN ? NULL : "another error";
	}
}

static void unbound_meanwhile(void **state)
{
	int files = count_files();

	(void)state;
	bind_all(0);
	for (unsigned round = 0; round < rounds; round++) {
		assert_int_equal(cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT), 0);
		start(8, overflow_until_unbound);
		fault(100UL * round);
		assert_int_equal(cpc_unbind(cpc, set), 0);
		join(8);
		assert_true(are_lwps(1));
		assert_int_equal(count_files(), files);
	}
}

static atomic_bool over;

static void *overflow_until_over(void *arg)
{
	(void)arg;
	while (!over)
		fault(100);
	return self.wrong == 0 ? NULL : "wrong signals";
}

/* A forked child inherits no set, poller or records; it can make its own. */
static void child(int files, int how)
{
	cpc_buf_t *buf = self.buf;

	if (cpc_set_sample(cpc, set, buf) != -1 || errno != EINVAL || !are_lwps(1) ||
	    count_files() != files)
		_exit(1);
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == -1) {
		print_error("%s: %s\n", strerror(errno), last_error.text);
		_exit(2);
	}
	over = false;
	for (unsigned i = 0; i < 4; i++) {
		if (pthread_create(&jobs[i].thread, NULL, overflow_until_over, &jobs[i]) != 0)
			_exit(3);
	}
	fault(1000);
	if (how == 0) /* all of them are there still */
		_exit(0);
	if (how == 1) {
		block();
		execl("/bin/true", "true", (char *)NULL);
	}
	over = true;
	for (unsigned i = 0; i < 4; i++)
		pthread_join(jobs[i].thread, NULL);
	if (cpc_unbind(cpc, set) == -1 || !are_lwps(1) || count_files() != files)
		_exit(4);
	exit(0);
}

static void children(void **state)
{
	int files = count_files();
	int status;
	pid_t pid;

	(void)state;
	skip_under_tsan("knows no threads of a child");
	bind_all(0);
	over = false;
	start(4, overflow_until_over);
	for (unsigned round = 0; round < rounds; round++) {
		pid = fork();
		if (pid == 0)
			child(files, (int)round % 3);
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	over = true;
	join(4);
	assert_int_equal(cpc_set_sample_all(cpc, set, all), 0);
}

/* ---- less memory than threads --------------------------------------------------------------- */

static void *stay(void *arg)
{
	struct job *job = arg;

	job->err = cpc_set_sample(cpc, set, job->buf) == -1 ? errno : 0;
	if (job->err != 0 && cpc_set_lost(cpc, set, job->lost, sizeof(job->lost)) != 1)
		job->lost[0] = '\0';
	pthread_barrier_wait(job->barrier);
	return NULL;
}

/* There is memory for some buffers; the other threads run, and are reported as missing. */
static int use_up_memory(void)
{
	unsigned n = MAX_THREADS, refusals = 0;
	pthread_barrier_t all_there;

	use_faults(EVERY(1000000000), FLAGS);
	set = self.set;
	all = cpc_buf_create(cpc, set);
	block();
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == -1)
		return errno == EACCES ? MAY_NOT_COUNT : 1;
	pthread_barrier_init(&all_there, NULL, n);
	for (unsigned i = 0; i < n; i++) {
		jobs[i] = (struct job){.buf = cpc_buf_create(cpc, set), .barrier = &all_there};
		if (pthread_create(&jobs[i].thread, NULL, stay, &jobs[i]) != 0)
			return 2;
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(jobs[i].thread, NULL);
		refusals += jobs[i].err != 0;
		if (jobs[i].err != 0 &&
		    (jobs[i].err != EAGAIN ||
		     strstr(jobs[i].lost, "kernel.perf_event_mlock_kb") == NULL))
			return 3;
	}
	if (refusals == 0 || refusals == n)
		return 4;
	if (cpc_set_sample(cpc, set, all) == -1 || cpc_set_sample_all(cpc, set, all) != -1 ||
	    errno != EAGAIN)
		return 5;
	/* All memory is free again. */
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == -1 ||
	    cpc_set_sample_all(cpc, set, all) == -1)
		return 6;
	return 0;
}

static void little_memory(void **state)
{
	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) > 2)
		skip_because("memory for more buffers than there are threads");
	with_little_memory(use_up_memory);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(eight_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(hundred_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(records, setup, teardown),
		cmocka_unit_test_setup_teardown(short_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(unbound_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(children, setup, teardown),
		cmocka_unit_test_setup_teardown(little_memory, setup, teardown),
	};

	if (UNDER_TSAN || is_emulated())
		rounds = 3;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
