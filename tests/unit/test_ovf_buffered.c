/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Buffered overflows: each is recorded with the right PC, or counted as lost.
 *
 * With the name of a test as argument, it runs only that one.
 */
#include "ovf.h"

/* Is it in a function that begins there? */
static bool is_in(uint64_t pc, uintptr_t function)
{
	return pc >= function && pc < function + 512;
}

/* The records, one by one. */
static struct {
	unsigned n, wrong;
	cpc_ovf_t ovf[PAGES];
	uintptr_t page; /* of the one whose call stack is kept */
	uint64_t frame[CPC_OVF_MAX_FRAMES];
	uint_t nframes;
} seen;

static void see(void *arg, const cpc_ovf_t *ovf)
{
	(void)arg;
	if (seen.n == ARRAY_SIZE(seen.ovf)) {
		seen.wrong++;
		return;
	}
	if (seen.page != 0 && ovf->co_vaddr == seen.page &&
	    (ovf->co_valid & CPC_OVF_HAS_STACK) != 0) {
		memcpy(seen.frame, ovf->co_frame, ovf->co_nframes * sizeof(*seen.frame));
		seen.nframes = ovf->co_nframes;
		seen.wrong += ovf->co_nkernel;
	}
	seen.ovf[seen.n++] = *ovf;
}

static void see_all(void)
{
	seen.n = seen.wrong = 0;
	assert_int_equal(cpc_set_sample_ovf(cpc, self.set, self.buf, NULL, see), 0);
	assert_int_equal(cpc_buf_npcs(cpc, self.buf), seen.n);
	assert_int_equal(seen.wrong, 0);
}

/* Each touched page has a record, in order, with the PC of the instruction. */
static void records(void **state)
{
	char *p = map_pages();
	hrtime_t last = 0;
	unsigned n = 0;
	sigset_t old;

	(void)state;
	use_faults(EVERY(1), FLAGS);
	old = block();
	bind_set();
	see_all();
	touch(p, 1000);
	see_all();
	assert_int_equal(cpc_unbind(cpc, self.set), 0);
	unblock(old);
	for (unsigned i = 0; i < seen.n; i++) {
		const cpc_ovf_t *ovf = &seen.ovf[i];

		assert_true(ovf->co_hrtime >= last);
		last = ovf->co_hrtime;
		assert_int_equal(ovf->co_valid & ~(uint_t)CPC_OVF_HAS_PADDR,
				 CPC_OVF_HAS_PC | CPC_OVF_HAS_TRIGGER_PC | CPC_OVF_HAS_VADDR);
		assert_int_equal(ovf->co_index, 0);
		assert_int_equal(ovf->co_lwp, _lwp_self());
		assert_int_equal(ovf->co_nframes, 0);
		assert_null(ovf->co_frame);
		if (ovf->co_vaddr < (uintptr_t)p || ovf->co_vaddr >= (uintptr_t)p + 1000 * PAGE)
			continue; /* some page of the library's */
		assert_int_equal(ovf->co_vaddr, (uintptr_t)p + PAGE * n++);
		assert_true(is_in(ovf->co_pc, (uintptr_t)touch));
		assert_int_equal(ovf->co_pc, ovf->co_trigger_pc);
	}
	assert_int_equal(n, 1000);
	munmap(p, PAGES * PAGE);
}

/* It calls functions before and after the fault, so the compiler keeps its frame. */
__attribute__((noinline, no_sanitize("address"))) static void innermost(volatile char *p)
{
	getppid();
	*p = 1;
	getppid();
}

__attribute__((noinline)) static void inner(volatile char *p)
{
	innermost(p);
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer(volatile char *p)
{
	inner(p);
	__asm__ volatile("");
}

/* The innermost frame is the PC; then come its callers. */
static void call_stacks(void **state)
{
	char *p = map_pages();
	sigset_t old;

	(void)state;
	use_faults(EVERY(1), FLAGS | CPC_OVF_RECORD);
	seen.page = (uintptr_t)p;
	old = block();
	bind_set();
	see_all();
	outer(p);
	see_all();
	assert_int_equal(cpc_unbind(cpc, self.set), 0);
	unblock(old);
	munmap(p, PAGES * PAGE);
	seen.page = 0;
	assert_true(seen.nframes >= 3);
	assert_true(is_in(seen.frame[0], (uintptr_t)innermost));
	assert_true(is_in(seen.frame[1], (uintptr_t)inner));
	assert_true(is_in(seen.frame[2], (uintptr_t)outer));
}

static volatile uint64_t watched;

__attribute__((noinline)) static void write_it(unsigned long n)
{
	while (n-- > 0)
		watched = n;
}

static uint64_t pcs[1000];
static unsigned npcs;

static void note_pc(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (npcs < ARRAY_SIZE(pcs))
		pcs[npcs++] = (uint64_t)(uintptr_t)info->si_addr;
	cpc_set_restart(cpc, self.set);
}

/* On other machines the access is repeated after the signal, and counted again. */
#if defined(__x86_64__)
#define UNBUFFERED 0
#else
#define UNBUFFERED 1
#endif

/* A hardware counter: the same PCs as with a signal for each overflow. */
static void as_unbuffered(void **state)
{
	const struct sigaction act = {.sa_sigaction = note_pc, .sa_flags = SA_SIGINFO};
	const uint_t flags[] = {FLAGS & ~(uint_t)CPC_OVF_BUFFERED, FLAGS};
	uint64_t pc[CPC_PCBUF_SIZE];
	char event[64];

	(void)state;
	skip_under_tsan("counts more");
	snprintf(event, sizeof(event), "breakpoint/addr=%p,len=8,rw=w/",
		 (void *)(uintptr_t)&watched);
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	for (int i = UNBUFFERED; i < 2; i++) {
		self.set = cpc_set_create(cpc);
		assert_int_equal(
			cpc_set_add_request(cpc, self.set, event, EVERY(10), flags[i], 0, NULL), 0);
		self.buf = cpc_buf_create(cpc, self.set);
		if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
			skip_lacking("breakpoints");
		write_it(1005);
		assert_int_equal(value(0), EVERY(10) + 5);
	}
	assert_int_equal(cpc_set_sample_pcbuf(cpc, self.set, self.buf, pc), 0);
	assert_int_equal(cpc_buf_npcs(cpc, self.buf), 100);
	assert_int_equal(pc[100], 0);
	for (int i = 0; i < 100; i++)
		assert_true(is_in(pc[i], (uintptr_t)write_it));
	if (UNBUFFERED == 0) {
		assert_int_equal(npcs, 100);
		assert_memory_equal(pc, pcs, 100 * sizeof(*pc));
	}
}

/* Where a variable is in physical memory; 0: only root may know. */
static uint64_t physical(const volatile void *p)
{
	const uint64_t at = (uint64_t)(uintptr_t)p;
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd != -1) {
		if (pread(fd, &entry, sizeof(entry), (off_t)(at / PAGE * sizeof(entry))) == -1)
			entry = 0;
		close(fd);
	}
	entry &= (1ULL << 55) - 1; /* the number of its page */
	return entry != 0 ? entry * PAGE + at % PAGE : 0;
}

/* The address of an access, in virtual and in physical memory, and who did it. */
static void accessed(void **state)
{
	char event[64];
	uint64_t where;
	sigset_t old;

	(void)state;
	skip_under_tsan("counts more");
	snprintf(event, sizeof(event), "breakpoint/addr=%p,len=8,rw=w/",
		 (void *)(uintptr_t)&watched);
	self.set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, self.set, event, EVERY(1), FLAGS | CPC_OVF_RECORD,
					     0, NULL),
			 0);
	self.buf = cpc_buf_create(cpc, self.set);
	old = block();
	if (cpc_bind_curlwp(cpc, self.set, 0) == -1) {
		unblock(old);
		skip_lacking("breakpoints");
	}
	do {
		where = physical(&watched);
		write_it(3);
		see_all();
	} while (physical(&watched) != where); /* the kernel may move a page */
	assert_int_equal(cpc_unbind(cpc, self.set), 0);
	unblock(old);
	assert_int_equal(seen.n, 3);
	for (unsigned i = 0; i < seen.n; i++) {
		const cpc_ovf_t *ovf = &seen.ovf[i];

		assert_true((ovf->co_valid & CPC_OVF_HAS_VADDR) != 0);
		assert_int_equal(ovf->co_vaddr, (uintptr_t)&watched);
		assert_true((ovf->co_valid & CPC_OVF_HAS_STACK) != 0);
		if (where != 0) {
			assert_true((ovf->co_valid & CPC_OVF_HAS_PADDR) != 0);
			assert_int_equal(ovf->co_paddr, where);
		}
	}
}

/* 100,000 overflows, one for each fault: each has a record, or is counted as lost. */
static void none_lost(void **state)
{
	(void)state;
	catch_emt();
	use_faults(EVERY(1), FLAGS);
	bind_set();
	fault(many(100000));
	assert_int_equal(cpc_disable(cpc), 0);
	take_rest();
	assert_int_equal(self.taken + cpc_buf_nlost(cpc, self.buf), value(1));
	assert_int_equal(cpc_buf_nthrottled(cpc, self.buf), 0);
	assert_int_equal(self.wrong, 0);
}

/* No call takes the records: each one that found no room is counted as lost. */
static void told_lost(void **state)
{
	uint64_t lost;
	sigset_t old;

	(void)state;
	skip_under_tsan("counts more");
	use_faults(EVERY(1), FLAGS);
	for (int i = 0; i < 3; i++) {
		old = block();
		bind_set();
		self.taken = 0;
		fault(20000);
		if (i == 1)
			assert_int_equal(cpc_disable(cpc), 0);
		take_rest();
		lost = cpc_buf_nlost(cpc, self.buf);
		assert_true(lost > 0);
		if (i == 1)
			assert_int_equal(cpc_enable(cpc), 0);
		/* After that, none is lost. */
		fault(1000);
		take_rest();
		assert_int_equal(cpc_buf_nlost(cpc, self.buf), lost);
		assert_int_equal(self.taken + lost, value(1));
		assert_int_equal(cpc_unbind(cpc, self.set), 0);
		unblock(old);
	}
}

/* A restart begins the period again; a set that is switched off starts nothing. */
static void restarted(void **state)
{
	sigset_t old;

	(void)state;
	skip_under_tsan("counts more");
	old = block();
	use_faults(EVERY(1000), FLAGS);
	bind_set();
	memset(&seen, 0, sizeof(seen)); /* none of its pages is to fault later */
	fault(1000);
	see_all();
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	fault(1500);
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	fault(999);
	assert_int_equal(value(0), EVERY(1000) + 999);
	assert_int_equal(value(1), 999);
	see_all();
	assert_int_equal(seen.n, 1);
	fault(1);
	see_all();
	assert_int_equal(seen.n, 1);
	assert_int_equal(cpc_request_preset(cpc, 0, EVERY(100)), 0);
	fault(500);
	see_all();
	assert_int_equal(seen.n, 0);
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	fault(550);
	assert_int_equal(value(0), EVERY(100) + 50);
	assert_int_equal(cpc_disable(cpc), 0);
	fault(1000);
	assert_int_equal(cpc_enable(cpc), 0);
	assert_int_equal(value(0), EVERY(100) + 50);
	fault(49);
	see_all();
	assert_int_equal(seen.n, 5);
	fault(1);
	see_all();
	assert_int_equal(seen.n, 1);
	unblock(old);
}

/* Any set of the calling LWP can be restarted. */
static void restarted_plain(void **state)
{
	uint64_t requests = 1;

	(void)state;
	skip_under_tsan("counts more");
	self.set = cpc_set_create(cpc);
	assert_int_equal(
		cpc_set_add_request(cpc, self.set, "page-faults", 5, CPC_COUNT_USER, 0, NULL), 0);
	self.buf = cpc_buf_create(cpc, self.set);
	bind_set();
	fault(100);
	assert_true(value(0) >= 105);
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	fault(100);
	assert_int_equal(value(0), 105);
	assert_int_equal(cpc_request_preset(cpc, 0, 1000), 0);
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	fault(100);
	assert_int_equal(value(0), 1100);
	assert_int_equal(cpc_set_overflowed(cpc, self.set, &requests), 0);
	assert_int_equal(requests, 0);
}

/* A handler may call these functions, which leave errno unchanged. */
static void errno_is_kept(void **state)
{
	const uint_t flags[] = {FLAGS & ~(uint_t)CPC_OVF_BUFFERED, FLAGS};
	uint64_t pc[CPC_PCBUF_SIZE], requests;
	sigset_t old = block();

	(void)state;
	for (int i = 0; i < 2; i++) {
		use_faults(EVERY(10), flags[i]);
		bind_set();
		fault(100);
		errno = ERANGE;
		assert_int_equal(cpc_set_sample(cpc, self.set, self.buf), 0);
		assert_int_equal(cpc_set_overflowed(cpc, self.set, &requests), 0);
		assert_int_equal(cpc_request_preset(cpc, 0, EVERY(20)), 0);
		assert_int_equal(cpc_set_restart(cpc, self.set), 0);
		assert_int_equal(cpc_disable(cpc), 0);
		assert_int_equal(cpc_enable(cpc), 0);
		if (i == 1) {
			assert_int_equal(cpc_set_sample_pcbuf(cpc, self.set, self.buf, pc), 0);
			assert_int_equal(cpc_set_sample_ovf(cpc, self.set, self.buf, NULL, see), 0);
		}
		assert_int_equal(cpc_unbind(cpc, self.set), 0);
		assert_int_equal(errno, ERANGE);
	}
	unblock(old);
}

static void assert_refused(int rc, int err)
{
	assert_int_equal(rc, -1);
	assert_int_equal(errno, err);
}

static void refused(void **state)
{
	cpc_set_t *plain = cpc_set_create(cpc);
	uint64_t pc[CPC_PCBUF_SIZE];
	cpc_buf_t *buf;

	(void)state;
	assert_refused(cpc_set_add_request(cpc, plain, "page-faults", 0,
					   CPC_COUNT_USER | CPC_OVF_BUFFERED, 0, NULL),
		       EINVAL);
	assert_int_equal(last_error.subcode, CPC_REQ_INVALID_FLAGS);
	assert_refused(cpc_set_add_request(cpc, plain, "page-faults", 0,
					   CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT | CPC_OVF_RECORD, 0,
					   NULL),
		       EINVAL);
	assert_int_equal(last_error.subcode, CPC_REQ_INVALID_FLAGS);
	use_faults(EVERY(1), FLAGS);
	assert_refused(cpc_set_sample_pcbuf(cpc, self.set, self.buf, pc), EINVAL);
	assert_refused(cpc_bind_cpu(cpc, 0, self.set, 0), EINVAL);
	assert_int_equal(last_error.subcode, CPC_REQ_INVALID_FLAGS);
	assert_int_equal(cpc_set_add_request(cpc, plain, "page-faults", 0, CPC_COUNT_USER, 0, NULL),
			 0);
	buf = cpc_buf_create(cpc, plain);
	assert_int_equal(cpc_bind_curlwp(cpc, plain, 0), 0);
	assert_refused(cpc_set_sample_pcbuf(cpc, plain, buf, pc), EINVAL);
	assert_refused(cpc_set_sample_ovf(cpc, plain, buf, NULL, see), EINVAL);
	bind_set();
	assert_refused(cpc_set_sample_pcbuf(cpc, self.set, buf, pc), EINVAL);
}

static void *bind_one(void *arg)
{
	pthread_barrier_t *all = arg;
	int err = 0;

	use_faults(EVERY(1000), FLAGS | CPC_OVF_RECORD);
	if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
		err = errno;
	pthread_barrier_wait(all);
	return (void *)(intptr_t)err;
}

/* The kernel limits the memory for rings; beyond that limit, the error says so. */
static int use_up_memory(void)
{
	long n = 2 * sysconf(_SC_NPROCESSORS_ONLN) + 2, refusals = 0;
	pthread_t *thread = calloc((size_t)n, sizeof(*thread));
	pthread_barrier_t all;
	void *err;

	if (thread == NULL)
		return 1;
	pthread_barrier_init(&all, NULL, (unsigned)n);
	for (long i = 0; i < n; i++) {
		if (pthread_create(&thread[i], NULL, bind_one, &all) != 0)
			return 2;
	}
	for (long i = 0; i < n; i++) {
		pthread_join(thread[i], &err);
		if (err != NULL && (intptr_t)err != ENOMEM)
			return (intptr_t)err == EACCES ? MAY_NOT_COUNT : 3;
		refusals += err != NULL;
	}
	if (refusals == 0 || refusals == n)
		return 4;
	return strstr(last_error.text, "kernel.perf_event_mlock_kb") != NULL ? 0 : 5;
}

static void little_memory(void **state)
{
	(void)state;
	with_little_memory(use_up_memory);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records, setup, teardown),
		cmocka_unit_test_setup_teardown(call_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(as_unbuffered, setup, teardown),
		cmocka_unit_test_setup_teardown(accessed, setup, teardown),
		cmocka_unit_test_setup_teardown(none_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(told_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(restarted, setup, teardown),
		cmocka_unit_test_setup_teardown(restarted_plain, setup, teardown),
		cmocka_unit_test_setup_teardown(errno_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(refused, setup, teardown),
		cmocka_unit_test_setup_teardown(little_memory, setup, teardown),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
