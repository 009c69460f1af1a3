/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_region/start.h - when a program starts, forks, and its LWPs end: a part of cpc_region.h.
 */
#ifndef CPC_REGION_START_H
#define CPC_REGION_START_H

#include <cpc_region/report.h>
#include <sys/auxv.h>

#ifdef __cplusplus
extern "C" {
#endif

CPC_REGION_ONE_ void cpc_region_before_fork(void)
{
	pthread_mutex_lock(&cpc_region_lock);
}

CPC_REGION_ONE_ void cpc_region_after_fork(void)
{
	pthread_mutex_unlock(&cpc_region_lock);
}

/* The child begins with nothing counted, and in no region; what was is its parent's. */
CPC_REGION_ONE_ void cpc_region_forked(void)
{
	if (cpc_region_last != NULL) {
		cpc_region_last->next = cpc_region_parents;
		cpc_region_parents = cpc_region_lwps;
	}
	cpc_region_lwps = cpc_region_last = NULL;
	cpc_region_self = NULL;
	pthread_setspecific(cpc_region_key, NULL);
	pthread_mutex_unlock(&cpc_region_lock);
}

CPC_REGION_ONE_ void cpc_region_drop_set(struct cpc_region_lwp *self)
{
	if (self->set == NULL)
		return;
	cpc_buf_destroy(cpc_region_cpc, self->buf);
	cpc_set_destroy(cpc_region_cpc, self->set);
	self->set = NULL;
}

/* The LWP ends; what it counted stays. */
CPC_REGION_ONE_ void cpc_region_lwp_ends(void *arg)
{
	struct cpc_region_lwp *self = (struct cpc_region_lwp *)arg;

	cpc_region_self = NULL;
	cpc_region_drop_set(self);
	free(self->frame);
	free(self->by_id);
	self->frame = NULL;
	self->by_id = NULL;
}

/* What the environment says; programs with privileges of their own do not ask it. */
CPC_REGION_ONE_ void cpc_region_read_mode(void)
{
	const char *mode = getenv("CPC_REGIONS");
	size_t n;

	if (mode == NULL || *mode == '\0')
		mode = "table";
	if (getauxval(AT_SECURE) != 0)
		mode = "off";
	n = strcspn(mode, ":");
	cpc_region_json = n == 4 && memcmp(mode, "json", n) == 0;
	if (!cpc_region_json && !(n == 5 && memcmp(mode, "table", n) == 0)) {
		if (strcmp(mode, "off") != 0)
			fprintf(stderr,
				"cpc_region: CPC_REGIONS is off, table or json, the last "
				"two with :FILE, not '%s'\n",
				mode);
		cpc_region_off = 1;
	}
	/* A copy: the program may change its environment. */
	if (mode[n] == ':' && mode[n + 1] != '\0')
		cpc_region_file = cpc_region_copy(mode + n + 1, strlen(mode + n + 1));
}

CPC_REGION_ONE_ __attribute__((constructor)) void cpc_region_init(void)
{
	pthread_mutex_lock(&cpc_region_lock);
	if (!cpc_region_ready) {
		cpc_region_ready = 1;
		cpc_region_read_mode();
		if (!cpc_region_off &&
		    pthread_key_create(&cpc_region_key, cpc_region_lwp_ends) != 0)
			cpc_region_off = 1;
		if (!cpc_region_off)
			atexit(cpc_region_report);
	}
	pthread_mutex_unlock(&cpc_region_lock);
}

/* With the first region, the library; with the lock held. */
CPC_REGION_ONE_ int cpc_region_open(void)
{
	if (cpc_region_cpc != NULL)
		return 0;
	cpc_region_cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc_region_cpc == NULL)
		return -1;
	cpc_seterrhndlr(cpc_region_cpc, cpc_region_hear);
	/* After those of libcpc: the child's sets are unbound first. */
	pthread_atfork(cpc_region_before_fork, cpc_region_after_fork, cpc_region_forked);
	cpc_region_all = cpc_set_create(cpc_region_cpc);
	return cpc_region_all != NULL ? 0 : -1;
}

#ifdef __cplusplus
}
#endif

#endif /* CPC_REGION_START_H */
