/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * forks COMMAND [ARGUMENT...] - print how many children a command has.
 */
#include <libpctx.h>

#include <stdio.h>

static int on_exec(pctx_t *pctx, pid_t pid, id_t lwp, char *cmd, void *arg)
{
	(void)pctx, (void)pid, (void)lwp, (void)cmd, (void)arg;
	return 0;
}

static void on_fork(pctx_t *pctx, pid_t pid, id_t lwp, pid_t child, void *arg)
{
	int *forks = arg;

	(void)pctx, (void)pid, (void)lwp, (void)child;
	++*forks;
}

int main(int argc, char **argv)
{
	int forks = 0;
	pctx_t *pctx = argc > 1 ? pctx_create(argv[1], argv + 1, &forks, 0, NULL) : NULL;

	if (pctx == NULL ||
	    pctx_set_events(pctx, PCTX_SYSC_EXEC_EVENT, on_exec, PCTX_SYSC_FORK_EVENT, on_fork,
			    PCTX_NULL_EVENT) == -1 ||
	    pctx_run(pctx, 0, 0, NULL) == -1) {
		perror("forks");
		return 1;
	}
	pctx_release(pctx);
	printf("%d\n", forks);
	return 0;
}
