/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* lwp.c - the event of the calling LWP. */
#include "v1.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/*
 * The set bound to the calling LWP.  Other LWPs may have inherited it, and may use it at any
 * time.  So an inheritable set is never freed: when it is released, the next LWP that binds
 * the same event with the same flags takes it.
 */
struct set {
	struct set *next; /* in the list of inheritable sets */
	cpc_set_t *set;
	uint_t spec;
	int flags;
	bool taken;
	bool orphan; /* the LWP that bound it has exited; its heirs may still count with it */
};

static _Thread_local struct lwp {
	struct set *set; /* NULL: no event is bound */
	cpc_buf_t *buf;
	bool heir;	/* another LWP has bound the set */
	uint_t on, off; /* modes switched since the bind */
	uint64_t tick;	/* its cycles before the last switch of modes */
} self __attribute__((tls_model("initial-exec")));

/* Lets a sample notice that a signal handler has overwritten `self.buf`. */
static _Thread_local volatile unsigned nsamples;

static _Atomic(struct set *) inherited; /* sets are only added */
static pthread_key_t key;		/* its destructor runs when an LWP exits */
static int no_key;

/* ---- sets ----------------------------------------------------------------------- */

static void set_presets(struct set *set, const cpc_event_t *event)
{
	const struct cpci_v1_spec *spec = cpci_v1_spec(event);

	for (uint_t i = 0; i < spec->nreqs; i++)
		cpc_set_request_preset(cpci_v1_handle(), set->set, (int)i,
				       event->ce_pic[spec->req[i].slot]);
}

/* Releases orphans without heirs.  The caller holds the lock. */
static void release_orphans(void)
{
	cpc_t *cpc = cpci_v1_handle();

	for (struct set *set = inherited; set != NULL; set = set->next) {
		if (!set->orphan || cpc_set_ncopies(cpc, set->set) > 0)
			continue;
		cpc_unbind(cpc, set->set);
		set->orphan = false;
		set->taken = false;
	}
}

/* Finds a released set for reuse. */
static struct set *find_old(const cpc_event_t *event, int flags)
{
	struct set *set;

	cpci_lock();
	release_orphans();
	for (set = inherited; set != NULL; set = set->next) {
		if (!set->taken && set->spec == event->ce_spec && set->flags == flags)
			break;
	}
	if (set != NULL)
		set->taken = true;
	cpci_unlock();
	return set;
}

/* A set for an event with its presets, unbound.  NULL and errno. */
static struct set *take_set(const cpc_event_t *event, int flags, uint_t on, uint_t off)
{
	struct set *set = (flags & CPC_BIND_LWP_INHERIT) != 0 ? find_old(event, flags) : NULL;

	if (set != NULL) {
		set_presets(set, event);
		return set;
	}
	set = calloc(1, sizeof(*set));
	if (set == NULL)
		return NULL;
	*set = (struct set){.spec = event->ce_spec, .flags = flags, .taken = true};
	if ((flags & CPC_BIND_EMT_OVF) != 0)
		on |= CPC_OVF_NOTIFY_EMT;
	set->set = cpci_v1_set(cpci_v1_spec(event), on, off, event);
	if (set->set == NULL) {
		free(set);
		return NULL;
	}
	if ((flags & CPC_BIND_LWP_INHERIT) != 0) {
		cpci_lock();
		set->next = inherited;
		inherited = set;
		cpci_unlock();
	}
	return set;
}

static void give_back(struct set *set)
{
	if ((set->flags & CPC_BIND_LWP_INHERIT) == 0) {
		cpc_set_destroy(cpci_v1_handle(), set->set);
		free(set);
		return;
	}
	cpci_lock();
	set->taken = false;
	cpci_unlock();
}

/* ---- the calling LWP -------------------------------------------------------------- */

/* The set that other LWPs inherited counts on. */
static void leave_to_heirs(struct set *set)
{
	cpci_lock();
	set->orphan = true;
	release_orphans();
	cpci_unlock();
}

static void lwp_ends(void *arg)
{
	struct lwp *lwp = arg;

	if (lwp->set == NULL)
		return;
	if (!lwp->heir && (lwp->set->flags & CPC_BIND_LWP_INHERIT) != 0)
		leave_to_heirs(lwp->set);
	else if (!lwp->heir)
		give_back(lwp->set);
	cpc_buf_destroy(cpci_v1_handle(), lwp->buf);
	lwp->set = NULL;
}

static void make_key(void)
{
	no_key = pthread_key_create(&key, lwp_ends);
}

static int watch_end(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_key);
	errno = no_key != 0 ? no_key : pthread_setspecific(key, &self);
	return errno == 0 ? 0 : -1;
}

/* The set of the calling LWP, bound or inherited.  NULL and errno: EINVAL, it has none. */
static struct set *own_set(void)
{
	cpc_t *cpc = cpci_v1_handle();
	cpc_buf_t *buf;

	for (struct set *set = inherited; self.set == NULL && set != NULL; set = set->next) {
		buf = cpc_buf_create(cpc, set->set);
		if (buf == NULL)
			return NULL;
		if ((cpc_set_sample(cpc, set->set, buf) == 0 || errno != EINVAL) &&
		    watch_end() == 0)
			self = (struct lwp){.set = set, .buf = buf, .heir = true};
		else
			cpc_buf_destroy(cpc, buf);
	}
	if (self.set == NULL)
		errno = EINVAL;
	return self.set;
}

/* Replaces the LWP's set.  The new one has already taken the counters of the old one. */
static void replace(struct set *set, cpc_buf_t *buf)
{
	struct lwp before = self;

	self = (struct lwp){.set = set, .buf = buf};
	if (before.set == NULL)
		return;
	cpc_buf_destroy(cpci_v1_handle(), before.buf);
	if (!before.heir && before.set != set)
		give_back(before.set);
}

static int bind_set(const cpc_event_t *event, int flags, uint_t on, uint_t off)
{
	cpc_t *cpc = cpci_v1_handle();
	struct set *set = take_set(event, flags, on, off);
	cpc_buf_t *buf = set != NULL ? cpc_buf_create(cpc, set->set) : NULL;

	if (buf != NULL &&
	    cpc_bind_curlwp(cpc, set->set, (uint_t)flags & CPC_BIND_LWP_INHERIT) == 0) {
		replace(set, buf);
		return 0;
	}
	if (buf != NULL)
		cpc_buf_destroy(cpc, buf);
	if (set != NULL)
		give_back(set);
	return -1;
}

static int bind(const char *fn, const cpc_event_t *event, int flags, uint_t on, uint_t off)
{
	sigset_t old;
	int rc;

	if (watch_end() == -1)
		return cpci_v1_fail(fn, "%s", strerror(errno));
	/* A handler of overflows finds either the old event or the new one. */
	cpci_block_signals(&old);
	rc = bind_set(event, flags, on, off);
	cpci_unblock_signals(&old);
	return rc == 0 ? 0 : cpci_v1_fail_libcpc(fn);
}

/* Restarts with new presets, in the handler of an overflow. */
static int restart(const struct set *set, const cpc_event_t *event)
{
	const struct cpci_v1_spec *spec = cpci_v1_spec(event);
	cpc_t *cpc = cpci_v1_handle();

	for (uint_t i = 0; i < spec->nreqs; i++) {
		if (cpc_request_preset(cpc, (int)i, event->ce_pic[spec->req[i].slot]) == -1)
			return -1;
	}
	return cpc_set_restart(cpc, set->set);
}

int cpc_bind_event(cpc_event_t *event, int flags)
{
	struct set *set;

	if (event == NULL)
		return cpc_rele();
	if ((flags & ~(CPC_BIND_EMT_OVF | CPC_BIND_LWP_INHERIT)) != 0)
		return cpci_errno(EINVAL);
	if (cpci_v1_spec(event) == NULL)
		return -1;
	if ((flags & CPC_BIND_EMT_OVF) != 0) {
		set = own_set();
		if (set != NULL && set->spec == event->ce_spec &&
		    (set->flags & CPC_BIND_EMT_OVF) != 0 && (flags & ~set->flags) == 0)
			return restart(set, event);
	}
	return bind("cpc_bind_event", event, flags, 0, 0);
}

/*
 * Marks the event of an LWP that has just inherited it: all its values are UINT64_MAX.
 * Programs check the first two values, even if they use only one of them.
 */
static void mark_birth(const struct set *set, cpc_event_t *event)
{
	const struct cpci_v1_spec *spec = cpci_v1_spec(event);

	for (uint_t i = 0; i < spec->nreqs; i++) {
		if (event->ce_pic[spec->req[i].slot] != UINT64_MAX)
			return;
	}
	if ((set->flags & CPC_BIND_EMT_OVF) != 0)
		event->ce_pic[0] = event->ce_pic[1] = UINT64_MAX;
}

int cpc_take_sample(cpc_event_t *event)
{
	struct set *set = own_set();
	unsigned before;

	if (set == NULL)
		return -1;
	do {
		before = nsamples;
		if (cpci_v1_sample(set->set, self.buf, set->spec, event) == -1)
			return -1;
	} while (before != nsamples);
	nsamples = before + 1;
	event->ce_tick += self.tick;
	if (self.heir)
		mark_birth(set, event);
	return 0;
}

int cpc_rele(void)
{
	struct set *set = own_set();
	struct lwp before = self;
	sigset_t old;

	if (set == NULL)
		return 0;
	cpci_block_signals(&old);
	cpc_unbind(cpci_v1_handle(), set->set);
	self = (struct lwp){0};
	cpci_unblock_signals(&old);
	cpc_buf_destroy(cpci_v1_handle(), before.buf);
	if (!before.heir)
		give_back(set);
	return 0;
}

/* ---- modes ------------------------------------------------------------------------- */

/* How many requests would count nothing in these modes? */
static uint_t count_silent(const struct cpci_v1_spec *spec, uint_t on, uint_t off)
{
	uint_t n = 0;

	for (uint_t i = 0; i < spec->nreqs; i++)
		n += ((spec->req[i].modes | on) & ~off) == 0;
	return n;
}

/* Binds another set with the new modes, which continues from the values of the old one. */
static int switch_mode(const char *fn, uint_t mode, bool enable)
{
	struct set *set = own_set();
	const struct cpci_v1_spec *spec;
	uint_t on, off, nsilent;
	cpc_event_t now;

	if (set == NULL)
		return -1;
	if (set->flags != 0) {
		errno = ENOTSUP;
		return cpci_v1_fail(fn, "an event that was bound with flags keeps its modes");
	}
	if (cpc_take_sample(&now) == -1)
		return -1;
	on = enable ? self.on | mode : self.on & ~mode;
	off = enable ? self.off & ~mode : self.off | mode;
	spec = cpci_v1_spec(&now);
	nsilent = count_silent(spec, on, off);
	if (nsilent == 0) {
		if (bind(fn, &now, 0, on, off) == -1)
			return -1;
		self.tick = now.ce_tick;
	} else if (nsilent < spec->nreqs) {
		errno = ENOTSUP;
		return cpci_v1_fail(fn, "some events would count nothing then, but others would");
	} else if (cpc_disable(cpci_v1_handle()) == -1) {
		return -1;
	}
	self.on = on;
	self.off = off;
	return 0;
}

int cpc_count_usr_events(int enable)
{
	return switch_mode("cpc_count_usr_events", CPC_COUNT_USER, enable != 0);
}

int cpc_count_sys_events(int enable)
{
	return switch_mode("cpc_count_sys_events", CPC_COUNT_SYSTEM, enable != 0);
}

/* Can an event be bound to the calling LWP?  -1 and errno. */
static int try_event(cpc_t *cpc, const char *event)
{
	cpc_set_t *set = cpc_set_create(cpc);
	int rc = -1;

	if (set != NULL && cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER, 0, NULL) != -1)
		rc = cpc_bind_curlwp(cpc, set, 0);
	if (set != NULL)
		cpc_set_destroy(cpc, set);
	return rc;
}

int cpc_access(void)
{
	static const char fn[] = "cpc_access";
	cpc_t *cpc = cpci_v1_handle();
	cpc_event_t now;

	if (cpc == NULL)
		return cpci_v1_fail(fn, "%s", strerror(errno));
	/* Binding another set may have unbound this one. */
	if (own_set() != NULL && cpc_take_sample(&now) == 0)
		return 0;
	if (self.set != NULL && errno != EINVAL)
		return cpci_v1_fail(fn, "%s", strerror(errno));
	/* Another program may hold the core PMU.  Without a core PMU there are other events. */
	if (try_event(cpc, "cycles") == 0 ||
	    (errno == EINVAL && try_event(cpc, "page-faults") == 0))
		return 0;
	return cpci_v1_fail_libcpc(fn);
}
