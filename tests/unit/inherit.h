/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * inherit.h - a set that threads inherit, and threads with known counts.
 */
#ifndef INHERIT_H
#define INHERIT_H

#include "faults.h"
#include "handle.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static cpc_set_t *set;

/* A thread's task and its results. */
struct job {
	pthread_t thread;
	cpc_buf_t *buf;
	unsigned long pages;  /* that it touches */
	uint64_t first, last; /* its counts before and after that */
	uint64_t total;	      /* in the end */
	int rc, err;	      /* of the last sample */
	char lost[80];	      /* why it failed */
	struct job *child;    /* it creates this one and waits for it */
	int wait;	      /* the end of a pipe: it does not end before that is closed */
};

/* ThreadSanitizer knows no threads of C11. */
#define NO_C11 UNDER_TSAN

static inline int setup(void **state)
{
	if (open_handle(state) == -1)
		return -1;
	set = cpc_set_create(cpc);
	return set != NULL ? 0 : -1;
}

static inline void add(const char *event, uint64_t preset, uint_t flags)
{
	assert_true(cpc_set_add_request(cpc, set, event, preset, CPC_COUNT_USER | flags, 0, NULL) >=
		    0);
}

static inline void bind(uint_t flags)
{
	assert_int_equal(cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT | flags), 0);
}

/* The value of the first request for the calling thread; UINT64_MAX and errno. */
static inline uint64_t sample(cpc_buf_t *buf)
{
	uint64_t val;

	if (cpc_set_sample(cpc, set, buf) == -1 || cpc_buf_get(cpc, buf, 0, &val) == -1)
		return UINT64_MAX;
	return val;
}

static inline uint64_t sample_all(cpc_buf_t *buf)
{
	uint64_t val;

	if (cpc_set_sample_all(cpc, set, buf) == -1 || cpc_buf_get(cpc, buf, 0, &val) == -1)
		return UINT64_MAX;
	return val;
}

static inline void *work(void *arg)
{
	struct job *job = arg;
	char c;

	sample(job->buf);
	job->first = sample(job->buf);
	touch(job->pages);
	job->last = sample(job->buf);
	if (job->child != NULL) {
		if (pthread_create(&job->child->thread, NULL, work, job->child) != 0)
			return arg;
		pthread_join(job->child->thread, NULL);
		job->last = sample(job->buf);
	}
	/* The sum may contain no more than this sample. */
	cpc_disable(cpc);
	job->rc = cpc_set_sample(cpc, set, job->buf);
	job->err = errno;
	cpc_buf_get(cpc, job->buf, 0, &job->total);
	if (job->rc == -1 && cpc_set_lost(cpc, set, job->lost, sizeof(job->lost)) != 1)
		job->lost[0] = '\0';
	while (read(job->wait, &c, 1) > 0)
		;
	return NULL;
}

static inline void start(struct job *job)
{
	job->buf = cpc_buf_create(cpc, set);
	assert_non_null(job->buf);
	assert_int_equal(pthread_create(&job->thread, NULL, work, job), 0);
}

static inline void finish(struct job *job)
{
	void *failed;

	assert_int_equal(pthread_join(job->thread, &failed), 0);
	assert_null(failed);
}

/* One thread after the other, so that what the library does first for a thread is done. */
static inline void warm_up(void)
{
	struct job job = {.pages = 1, .wait = -1};
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	for (int i = 0; i < 2; i++) {
		start(&job);
		finish(&job);
		assert_int_equal(job.rc, 0);
		assert_true(sample(buf) != UINT64_MAX && sample_all(buf) != UINT64_MAX);
	}
}

static struct job jobs[100];

#endif /* INHERIT_H */
