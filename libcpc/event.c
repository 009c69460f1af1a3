/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event.c - from the name of an event to the counter of the kernel.
 */
#include "cpc_impl.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

/* A non-zero number is a code of the core PMU. */
static int resolve_raw(const char *name, uint_t flags, struct cpci_term *term,
		       struct cpci_diag *diag)
{
	unsigned long long code;
	char *end;

	(void)diag;
	if (*name < '0' || *name > '9')
		return 0;
	errno = 0;
	code = strtoull(name, &end, 0);
	if (*end != '\0' || code == 0 || errno != 0)
		return 0;
	*term = (struct cpci_term){.type = PERF_TYPE_RAW, .config = code};
	cpci_term_modes(term, flags);
	return 1;
}

/* The first that knows the name wins. */
static const struct {
	const char *name;
	cpci_resolver *resolve;
} resolvers[] = {
	{"libpfm4", cpci_event_pfm},
	{"tracepoint", cpci_event_trace},
	{"raw code", resolve_raw},
};

void cpci_term_modes(struct cpci_term *term, uint_t flags)
{
	term->exclude_user = (flags & CPC_COUNT_USER) == 0;
	term->exclude_kernel = (flags & CPC_COUNT_SYSTEM) == 0;
	term->exclude_hv = term->exclude_kernel;
}

bool cpci_term_is_software(const struct cpci_term *term)
{
	return term->type == PERF_TYPE_SOFTWARE || term->type == PERF_TYPE_TRACEPOINT ||
	       term->type == PERF_TYPE_BREAKPOINT;
}

/*
 * The kernel raises these with its own registers: leaving out kernel mode makes
 * them count nothing, ever.
 */
static bool happens_in_kernel_only(const struct cpci_term *term)
{
	if (term->type == PERF_TYPE_TRACEPOINT)
		return true;
	return term->type == PERF_TYPE_SOFTWARE &&
	       (term->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		term->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		term->config == PERF_COUNT_SW_CGROUP_SWITCHES);
}

int cpci_event_resolve(struct cpci_req *req, struct cpci_diag *diag)
{
	struct cpci_term *term = &req->term;
	int known = 0;

	for (size_t i = 0; known == 0 && i < sizeof(resolvers) / sizeof(*resolvers); i++) {
		req->resolver = resolvers[i].name;
		known = resolvers[i].resolve(req->name, req->flags, term, diag);
	}
	if (known == 0)
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "unknown event '%s'", req->name);
	if (known != 1)
		return -1;
	if (cpci_term_is_software(term)) {
		/* Guests have kernels of their own; some kernels refuse to be told so. */
		term->exclude_guest = term->exclude_host = false;
	}
	if (happens_in_kernel_only(term))
		term->exclude_user = term->exclude_kernel = term->exclude_hv = false;
	return 0;
}
