/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tracker COMMAND [ARGUMENT...] - a small cputrack: each LWP of the command and of its children has
 * a set of its own, made from one spec; at its end its buffer is added to one of the first set.
 * Prints the page faults of all, and the exit status of the command.  SIGINT ends it earlier,
 * and the command runs on.
 */
#include <libcpc.h>
#include <libpctx.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MAX_LWPS 100 /* at a time */

static cpc_t *cpc;
static cpc_buf_t *total;
static struct lwp {
	pid_t pid;
	id_t id; /* 0: free */
	cpc_set_t *set;
	cpc_buf_t *buf;
} lwps[MAX_LWPS];

/* An LWP has left when its id is 0: find(0, 0) is a free entry. */
static struct lwp *find(pid_t pid, id_t id)
{
	for (int i = 0; i < MAX_LWPS; i++) {
		if (lwps[i].id == id && (id == 0 || lwps[i].pid == pid))
			return &lwps[i];
	}
	return NULL;
}

static cpc_set_t *make_set(void)
{
	cpc_set_t *set = cpc_set_create(cpc);

	if (cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL) != 0)
		exit(1);
	return set;
}

static int init_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct lwp *lwp = find(0, 0);

	(void)arg;
	if (lwp == NULL)
		exit(1);
	lwp->pid = pid;
	lwp->id = id;
	lwp->set = make_set();
	lwp->buf = cpc_buf_create(cpc, lwp->set);
	if (cpc_bind_pctx(cpc, pctx, id, lwp->set, 0) == -1)
		exit(1);
	return 0;
}

static int fini_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct lwp *lwp = find(pid, id);

	(void)pctx;
	(void)arg;
	if (cpc_set_sample(cpc, lwp->set, lwp->buf) == 0)
		cpc_buf_add(cpc, total, total, lwp->buf);
	cpc_buf_destroy(cpc, lwp->buf);
	cpc_set_destroy(cpc, lwp->set);
	memset(lwp, 0, sizeof(*lwp));
	return 0;
}

static int execed(pctx_t *pctx, pid_t pid, id_t id, char *cmd, void *arg)
{
	(void)pctx;
	(void)pid;
	(void)id;
	(void)cmd;
	(void)arg;
	return 0;
}

/* Follows the child. */
static void forked(pctx_t *pctx, pid_t pid, id_t id, pid_t child, void *arg)
{
	(void)pid;
	(void)id;
	(void)child;
	(void)arg;
	pctx_run(pctx, 0, 0, NULL);
}

static void ended(pctx_t *pctx, pid_t pid, id_t id, int status, void *arg)
{
	pid_t *command = arg;

	(void)pctx;
	(void)id;
	if (pid == *command)
		printf("status %d\n", WEXITSTATUS(status));
}

static void interrupted(int sig)
{
	(void)sig;
	cpc_terminate(cpc);
}

int main(int argc, char **argv)
{
	uint64_t val;
	pid_t command;
	pctx_t *pctx;

	if (argc < 2)
		return 2;
	cpc = cpc_open(CPC_VER_CURRENT);
	total = cpc_buf_create(cpc, make_set());
	signal(SIGINT, interrupted);
	pctx = pctx_create(argv[1], argv + 1, &command, 0, NULL);
	if (pctx == NULL)
		return 1;
	command = pctx_pid(pctx);
	pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, init_lwp, PCTX_FINI_LWP_EVENT, fini_lwp,
			PCTX_SYSC_EXEC_EVENT, execed, PCTX_SYSC_FORK_EVENT, forked,
			PCTX_SYSC_EXIT_EVENT, ended, PCTX_NULL_EVENT);
	if (pctx_run(pctx, 0, 0, NULL) != 0)
		return 1;
	/* Those that run on. */
	for (int i = 0; i < MAX_LWPS; i++) {
		if (lwps[i].id != 0)
			fini_lwp(pctx, lwps[i].pid, lwps[i].id, NULL);
	}
	pctx_release(pctx);
	pctx_release(pctx); /* as some do */
	cpc_buf_get(cpc, total, 0, &val);
	printf("%llu\n", (unsigned long long)val);
	cpc_close(cpc);
	return 0;
}
