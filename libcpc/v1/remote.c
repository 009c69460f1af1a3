/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* remote.c - events of LWPs of controlled processes, and of CPUs. */
#include "v1.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct binding {
	LIST_ENTRY(binding) entry;
	pctx_t *pctx; /* NULL: the binding is to a CPU */
	int id;	      /* the LWP's id, or the file descriptor that stands for the CPU */
	uint_t spec;
	cpc_set_t *set;
	cpc_buf_t *buf;
};

static LIST_HEAD(, binding) bindings = LIST_HEAD_INITIALIZER(bindings);

/* Finds a binding.  NULL and errno: EINVAL. */
static struct binding *find_binding(const pctx_t *pctx, int id)
{
	struct binding *b;

	cpci_lock();
	LIST_FOREACH(b, &bindings, entry) {
		if (b->pctx == pctx && b->id == id)
			break;
	}
	cpci_unlock();
	if (b == NULL)
		errno = EINVAL;
	return b;
}

static void free_binding(struct binding *b)
{
	if (b->buf != NULL)
		cpc_buf_destroy(cpci_v1_handle(), b->buf);
	if (b->set != NULL)
		cpc_set_destroy(cpci_v1_handle(), b->set);
	free(b);
}

static int release(const pctx_t *pctx, int id)
{
	struct binding *b = find_binding(pctx, id);

	if (b == NULL)
		return -1;
	cpci_lock();
	LIST_REMOVE(b, entry);
	cpci_unlock();
	free_binding(b);
	return 0;
}

/* `b` NULL: there is no such binding, see errno. */
static int sample(const struct binding *b, cpc_event_t *event)
{
	return b != NULL ? cpci_v1_sample(b->set, b->buf, b->spec, event) : -1;
}

/* Makes an unbound set for an event.  NULL: the error function was called. */
static struct binding *prepare_binding(const char *fn, pctx_t *pctx, int id,
				       const cpc_event_t *event, int flags)
{
	const struct cpci_v1_spec *spec = cpci_v1_spec(event);
	struct binding *b;

	if (spec == NULL || flags != 0) {
		errno = EINVAL;
		cpci_v1_fail(fn,
			     spec == NULL ? "not an event of cpc_strtoevent()" : "unknown flags");
		return NULL;
	}
	b = calloc(1, sizeof(*b));
	if (b == NULL) {
		cpci_v1_fail(fn, "%s", strerror(errno));
		return NULL;
	}
	*b = (struct binding){.pctx = pctx, .id = id, .spec = event->ce_spec};
	b->set = cpci_v1_set(spec, 0, 0, event);
	b->buf = b->set != NULL ? cpc_buf_create(cpci_v1_handle(), b->set) : NULL;
	if (b->buf != NULL)
		return b;
	cpci_v1_fail_libcpc(fn);
	free_binding(b);
	return NULL;
}

/* Keeps a binding in place of the previous one, or frees it if binding failed. */
static int keep_binding(const char *fn, struct binding *b, int rc)
{
	if (rc == -1) {
		cpci_v1_fail_libcpc(fn);
		free_binding(b);
		return -1;
	}
	release(b->pctx, b->id);
	cpci_lock();
	LIST_INSERT_HEAD(&bindings, b, entry);
	cpci_unlock();
	return 0;
}

/* ---- LWPs of controlled processes ---------------------------------------------------- */

int cpc_pctx_bind_event(pctx_t *pctx, id_t lwpid, cpc_event_t *event, int flags)
{
	static const char fn[] = "cpc_pctx_bind_event";
	struct binding *b = prepare_binding(fn, pctx, (int)lwpid, event, flags);

	if (b == NULL)
		return -1;
	return keep_binding(fn, b, cpc_bind_pctx(cpci_v1_handle(), pctx, lwpid, b->set, 0));
}

int cpc_pctx_take_sample(pctx_t *pctx, id_t lwpid, cpc_event_t *event)
{
	struct binding *b = find_binding(pctx, (int)lwpid);

	if (b != NULL && cpc_set_enabled(cpci_v1_handle(), b->set) == -1)
		return cpci_errno(EAGAIN); /* it was invalidated */
	return sample(b, event);
}

int cpc_pctx_rele(pctx_t *pctx, id_t lwpid)
{
	return release(pctx, (int)lwpid);
}

int cpc_pctx_invalidate(pctx_t *pctx, id_t lwpid)
{
	struct binding *b = find_binding(pctx, (int)lwpid);

	if (b == NULL)
		return -1;
	cpc_unbind(cpci_v1_handle(), b->set); /* no effect if it was unbound already */
	return 0;
}

/* ---- CPUs ------------------------------------------------------------------------------ */

/* The only CPU that the calling LWP may run on; -1 and errno: there are several. */
static int only_cpu(void)
{
	unsigned long mask[65536 / 8 / sizeof(long)] = {0};

	if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)mask) == -1)
		return -1;
	if (CPU_COUNT_S(sizeof(mask), (cpu_set_t *)mask) == 1)
		return sched_getcpu();
	return cpci_errno(EINVAL);
}

int cpc_shared_open(void)
{
	if (cpci_v1_handle() == NULL || only_cpu() == -1)
		return -1;
	return eventfd(0, EFD_CLOEXEC);
}

int cpc_shared_bind_event(int fd, cpc_event_t *event, int flags)
{
	static const char fn[] = "cpc_shared_bind_event";
	struct binding *b;
	int cpu = only_cpu();

	if (cpu == -1 || fcntl(fd, F_GETFD) == -1)
		return cpci_v1_fail(fn, "%s",
				    cpu == -1 ? "the calling LWP is not bound to a CPU"
					      : strerror(errno));
	b = prepare_binding(fn, NULL, fd, event, flags);
	if (b == NULL)
		return -1;
	return keep_binding(fn, b, cpc_bind_cpu(cpci_v1_handle(), cpu, b->set, 0));
}

int cpc_shared_take_sample(int fd, cpc_event_t *event)
{
	return sample(find_binding(NULL, fd), event);
}

int cpc_shared_rele(int fd)
{
	return release(NULL, fd);
}

void cpc_shared_close(int fd)
{
	release(NULL, fd);
	close(fd);
}
