/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Every call on a set in every state that a set can be in: it works, or fails with the
 * errno that the manual says.  Each cell of the table has a handle of its own.
 */
#include "unit.h"

#include <errno.h>
#include <libcpc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum state { FREE, EMPTY, OWN, OTHERS, CPU, CONTROLLED, FOREIGN, INHERITED, NSTATES };

static const char *const names[] = {
	[FREE] = "unbound",
	[EMPTY] = "without requests",
	[OWN] = "bound to the calling LWP",
	[OTHERS] = "bound by another LWP to itself",
	[CPU] = "bound to a CPU",
	[CONTROLLED] = "bound to an LWP of another process",
	[FOREIGN] = "of another handle",
	[INHERITED] = "bound to the calling LWP, and to be inherited",
};

struct world {
	cpc_t *cpc, *other;
	cpc_set_t *set;
	cpc_buf_t *buf;	  /* of that set */
	cpc_buf_t *alien; /* of another one, which has one request */
	pctx_t *pctx;
	pid_t child;
};

/* ---- the calls: 0, or -1 and errno ---------------------------------------------- */

static int bind_curlwp(struct world *w)
{
	return cpc_bind_curlwp(w->cpc, w->set, 0);
}

static int bind_curlwp_flags(struct world *w)
{
	return cpc_bind_curlwp(w->cpc, w->set, 0x4000);
}

static int bind_no_cpu(struct world *w)
{
	return cpc_bind_cpu(w->cpc, 100000, w->set, CPC_BIND_CPU_REMOTE);
}

static int bind_pctx(struct world *w)
{
	return cpc_bind_pctx(w->cpc, w->pctx, 1, w->set, 0);
}

static int bind_pctx_no_lwp(struct world *w)
{
	return cpc_bind_pctx(w->cpc, w->pctx, 2, w->set, 0);
}

static int unbind(struct world *w)
{
	return cpc_unbind(w->cpc, w->set);
}

static int sample(struct world *w)
{
	return cpc_set_sample(w->cpc, w->set, w->buf);
}

static int sample_alien(struct world *w)
{
	return cpc_set_sample(w->cpc, w->set, w->alien);
}

static int sample_all(struct world *w)
{
	return cpc_set_sample_all(w->cpc, w->set, w->buf);
}

static int ncopies(struct world *w)
{
	return cpc_set_ncopies(w->cpc, w->set);
}

static int add_request(struct world *w)
{
	int i = cpc_set_add_request(w->cpc, w->set, "minor-faults", 0, CPC_COUNT_USER, 0, NULL);

	return i < 0 ? -1 : 0;
}

static int preset(struct world *w)
{
	return cpc_set_request_preset(w->cpc, w->set, 0, 5);
}

static int preset_none(struct world *w)
{
	return cpc_set_request_preset(w->cpc, w->set, 1, 5);
}

static int describe(struct world *w)
{
	char text[128];

	return cpc_set_describe(w->cpc, w->set, 0, text, sizeof(text));
}

static int dup_set(struct world *w)
{
	return cpc_set_dup(w->cpc, w->set) != NULL ? 0 : -1;
}

static int create_buf(struct world *w)
{
	return cpc_buf_create(w->cpc, w->set) != NULL ? 0 : -1;
}

static int lost(struct world *w)
{
	char text[128];

	return cpc_set_lost(w->cpc, w->set, text, sizeof(text));
}

static int buf_sub(struct world *w)
{
	return cpc_buf_sub(w->cpc, w->buf, w->buf, w->buf);
}

static int buf_sub_alien(struct world *w)
{
	return cpc_buf_sub(w->cpc, w->buf, w->alien, w->buf);
}

static int buf_get(struct world *w)
{
	uint64_t val;

	return cpc_buf_get(w->cpc, w->buf, 0, &val);
}

static int enable(struct world *w)
{
	return cpc_enable(w->cpc);
}

static int set_disable(struct world *w)
{
	return cpc_set_disable(w->cpc, w->set);
}

static int destroy(struct world *w)
{
	return cpc_set_destroy(w->cpc, w->set);
}

static const struct {
	const char *name;
	int (*call)(struct world *w);
	bool silent; /* may be called in signal handlers: tells by errno only */
	int err[NSTATES];
} calls[] = {
#define BAD EINVAL
	/*	FREE EMPTY OWN OTHERS CPU CONTROLLED FOREIGN INHERITED */
	{"cpc_bind_curlwp", bind_curlwp, false, {0, BAD, 0, 0, 0, 0, BAD, 0}},
	{"cpc_bind_curlwp, flags",
	 bind_curlwp_flags,
	 false,
	 {BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD}},
	{"cpc_bind_cpu, no CPU", bind_no_cpu, false, {BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD}},
	{"cpc_bind_pctx", bind_pctx, false, {0, BAD, 0, 0, 0, 0, BAD, 0}},
	{"cpc_bind_pctx, no LWP",
	 bind_pctx_no_lwp,
	 false,
	 {ESRCH, BAD, ESRCH, ESRCH, ESRCH, ESRCH, BAD, ESRCH}},
	{"cpc_unbind", unbind, false, {BAD, BAD, 0, 0, 0, 0, BAD, 0}},
	{"cpc_set_sample", sample, true, {BAD, BAD, 0, BAD, 0, 0, BAD, 0}},
	{"cpc_set_sample_all", sample_all, true, {BAD, BAD, BAD, BAD, BAD, BAD, BAD, 0}},
	{"cpc_set_ncopies", ncopies, false, {BAD, BAD, BAD, BAD, BAD, BAD, BAD, 0}},
	{"cpc_set_lost", lost, false, {BAD, BAD, 0, 0, 0, 0, BAD, 0}},
	{"cpc_set_sample, alien", sample_alien, true, {BAD, BAD, 0, BAD, 0, 0, BAD, 0}},
	{"cpc_set_add_request", add_request, false, {0, 0, BAD, BAD, BAD, BAD, BAD, BAD}},
	{"cpc_set_request_preset", preset, false, {0, BAD, 0, 0, 0, 0, BAD, 0}},
	{"cpc_set_request_preset, none",
	 preset_none,
	 false,
	 {BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD}},
	{"cpc_set_describe", describe, false, {0, BAD, 0, 0, 0, 0, BAD, 0}},
	{"cpc_set_dup", dup_set, false, {0, 0, 0, 0, 0, 0, BAD, 0}},
	{"cpc_buf_create", create_buf, false, {0, 0, 0, 0, 0, 0, BAD, 0}},
	{"cpc_buf_sub", buf_sub, true, {0, 0, 0, 0, 0, 0, BAD, 0}},
	{"cpc_buf_sub, alien", buf_sub_alien, true, {0, BAD, 0, 0, 0, 0, BAD, 0}},
	{"cpc_buf_get", buf_get, true, {0, BAD, 0, 0, 0, 0, BAD, 0}},
	{"cpc_enable", enable, true, {BAD, BAD, 0, BAD, BAD, BAD, BAD, 0}},
	{"cpc_set_disable", set_disable, false, {BAD, BAD, BAD, BAD, BAD, 0, BAD, BAD}},
	{"cpc_set_destroy", destroy, false, {0, 0, 0, 0, 0, 0, BAD, 0}},
};

/* ---- the states ------------------------------------------------------------------ */

static cpc_set_t *make_set(cpc_t *cpc, bool empty)
{
	cpc_set_t *set = cpc_set_create(cpc);

	assert_non_null(set);
	if (!empty)
		assert_int_equal(
			cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL),
			0);
	return set;
}

/* A controlled process that waits to be killed. */
static void make_child(struct world *w)
{
	w->child = fork();
	if (w->child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the parent may end by a failed assertion */
		for (;;)
			pause();
	}
	assert_true(w->child > 0);
	w->pctx = pctx_capture(w->child, NULL, 0, NULL);
	assert_non_null(w->pctx);
}

static pthread_barrier_t bound, done;

static void *bind_in_thread(void *arg)
{
	struct world *w = arg;

	assert_int_equal(cpc_bind_curlwp(w->cpc, w->set, 0), 0);
	pthread_barrier_wait(&bound);
	pthread_barrier_wait(&done);
	return NULL;
}

/* False: the state is impossible for this user or machine, last_error says why. */
static bool enter(struct world *w, enum state state)
{
	switch (state) {
	case OWN:
		assert_int_equal(cpc_bind_curlwp(w->cpc, w->set, 0), 0);
		break;
	case INHERITED:
		assert_int_equal(cpc_bind_curlwp(w->cpc, w->set, CPC_BIND_LWP_INHERIT), 0);
		break;
	case CPU:
		if (cpc_bind_cpu(w->cpc, sched_getcpu(), w->set, CPC_BIND_CPU_REMOTE) == -1) {
			assert_int_equal(errno, EACCES);
			return false;
		}
		break;
	case CONTROLLED:
		assert_int_equal(cpc_bind_pctx(w->cpc, w->pctx, 1, w->set, 0), 0);
		break;
	default:
		break;
	}
	return true;
}

static void try(struct world *w, size_t i, enum state state)
{
	int want = calls[i].err[state], rc;

	last_error.calls = 0;
	errno = 0;
	rc = calls[i].call(w);
	if (rc != (want == 0 ? 0 : -1) || (want != 0 && errno != want))
		fail_msg("%s on a set %s: %d, %s", calls[i].name, names[state], rc,
			 strerror(errno));
	if (last_error.calls != (want != 0 && !calls[i].silent))
		fail_msg("%s on a set %s: the handler was called %u times", calls[i].name,
			 names[state], last_error.calls);
}

/* A call on a set in a state; false: the state is impossible here. */
static bool cell(size_t i, enum state state)
{
	struct world w = {.cpc = cpc_open(CPC_VER_CURRENT), .other = cpc_open(CPC_VER_CURRENT)};
	cpc_t *maker = state == FOREIGN ? w.other : w.cpc;
	pthread_t thread;
	bool entered;

	assert_true(w.cpc != NULL && w.other != NULL);
	cpc_seterrhndlr(w.cpc, hear);
	w.set = make_set(maker, state == EMPTY);
	w.buf = cpc_buf_create(maker, w.set);
	w.alien = cpc_buf_create(w.cpc, make_set(w.cpc, false));
	make_child(&w);
	if (state == OTHERS) {
		assert_int_equal(pthread_create(&thread, NULL, bind_in_thread, &w), 0);
		pthread_barrier_wait(&bound);
	}
	entered = enter(&w, state);
	if (entered)
		try(&w, i, state);
	if (state == OTHERS) {
		pthread_barrier_wait(&done);
		pthread_join(thread, NULL);
	}
	cpc_close(w.cpc);
	cpc_close(w.other);
	pctx_release(w.pctx);
	kill(w.child, SIGKILL);
	waitpid(w.child, NULL, 0);
	return entered;
}

/* Every call in one state. */
static void column(void **initial)
{
	const enum state *state = *initial;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!cell(i, *state))
			skip_because("cannot make a set %s here: %s", names[*state],
				     last_error.text);
	}
}

int main(void)
{
	struct CMUnitTest tests[NSTATES] = {0};
	enum state states[NSTATES];

	pthread_barrier_init(&bound, NULL, 2);
	pthread_barrier_init(&done, NULL, 2);
	for (enum state state = 0; state < NSTATES; state++) {
		states[state] = state;
		tests[state].name = names[state];
		tests[state].test_func = column;
		tests[state].initial_state = &states[state];
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
