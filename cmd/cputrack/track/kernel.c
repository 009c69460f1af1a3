/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * kernel.c - the engine that counts LWPs in the kernel, without stopping them.
 *
 * The sets are bound to each CPU, and BPF programs charge their counts to the LWP that runs there.
 * Sets that take turns have separate columns, which count only during their turns.
 *
 * Births, execs and exits of LWPs arrive as records, some time after they happened.  The final
 * counts of an LWP stay in its slot until records.c has read the record of its exit.
 */
#include "../../../libcpc/set/counter.h"
#include "../../../libpctx/untraced.h"
#include "engine.h"

#include "../../base/progress.h"
#include "../../base/say.h"
#include "../../base/util.h"
#include "../../program/cgroups.h"
#include "../../program/percpu.h"
#include "children.h"
#include "losses.h"
#include "pace.h"
#include "probed.h"
#include "records.h"
#include "targets.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000LL	    /* ns */
#define LOOK_NS (2000 * MS) /* between checks whether LWPs exist */
#define RENEW_NS (100 * MS) /* between checks for lost counters, at least */
#define SPARE_FILES 16	    /* descriptors for the start or the attach */

_Static_assert((int)LWPS_REQUEST == PCTX_REQUEST_CODE, "one request in the kernel and here");
_Static_assert((int)LWPS_REQUEST_OFF == CPC_REQUEST_DISABLE, "cpc_disable() in the kernel");
_Static_assert((int)LWPS_REQUEST_ON == CPC_REQUEST_ENABLE, "cpc_enable() in the kernel");

struct counting {
	struct engine engine;
	struct records records;
	struct percpu *cpus; /* by set */
	struct probed probed;
	pid_t pid; /* of the command; 0: attached, or it was waited for */
	struct children children;
	int64_t tick_ns; /* when the next is due */
	unsigned nticks;
	int64_t look_ns;  /* when to check next whether LWPs exist */
	int64_t renew_ns; /* when to check next whether counters were lost */
	bool gone_before; /* no LWP existed at the last check */
	bool released;
	bool stale; /* the counts of running LWPs could not be read */
	int wake;   /* eventfd(2) */
	volatile sig_atomic_t stop;
};

static struct counting *counting_of(const struct engine *engine)
{
	return engine->own;
}

/* Do --all, --cgroup or --user choose the processes? */
static bool has_choice(const struct counting *k)
{
	return k->engine.config.choice.kind != CHOICE_NONE;
}

/* ---- the run ----------------------------------------------------------------------------- */

static bool has_turns(const struct counting *k)
{
	return k->engine.grp->n > 1;
}

/* `rc`: -1 and errno if the counts of running LWPs could not be read. */
static void check_read(struct counting *k, int rc)
{
	if (rc == 0)
		return;
	if (!k->stale)
		say("cannot read the counts of running LWPs: %s", strerror(errno));
	k->stale = k->engine.lost = true;
}

/* Brings the counts of running LWPs up to date, for a sample.  If sets take turns, ends a turn. */
static void flush(struct counting *k)
{
	/* Before counting begins, samples end no turn: the first set has the first turn. */
	check_read(k, has_turns(k) && !k->engine.waiting ? lwps_turn(k->records.lwps, LWPS_NO_TURN)
							 : lwps_flush(k->records.lwps));
}

/* After flush().  No set counts while the counters are switched. */
static void begin_next_turn(struct counting *k)
{
	size_t set = records_turn_set(&k->records);

	percpu_switch(&k->cpus[set], k->engine.cpc, false);
	records_turn(&k->records);
	set = records_turn_set(&k->records);
	percpu_switch(&k->cpus[set], k->engine.cpc, true);
	check_read(k, lwps_turn(k->records.lwps, (unsigned)set));
	k->renew_ns = 0; /* its counters may have been lost before */
}

/* Finds the descriptors of set `i` on a CPU, by column.  The last one has none. */
static void find_fds(const struct counting *k, size_t i, unsigned cpu, int *fd)
{
	const struct fit *fit = &k->records.set[i].fit;
	const cpc_set_t *set = k->cpus[i].set[cpu];
	struct cpc_counter *counter = NULL;
	unsigned n;

	if (set != NULL)
		counter = fit_counters(k->engine.cpc, set, &n);
	for (unsigned j = 0; j < fit->ncolumns - 1; j++)
		fd[j] = set != NULL ? counter[fit->counter[j]].fd : -1;
	free(counter);
}

/* ---- CPUs whose counters were lost ---- */

/* Binds the set whose turn it is to a CPU again.  If that fails, its counters stay lost. */
static void renew_cpu(struct counting *k, unsigned cpu)
{
	const size_t i = records_turn_set(&k->records);
	int fd[LWPS_MAX_COLUMNS];
	struct rlimit limit;
	bool bound;

	getrlimit(RLIMIT_NOFILE, &limit);
	raise_file_limit();
	bound = percpu_bind_cpu(&k->cpus[i], k->engine.cpc, k->engine.grp->set[i].set,
				CPC_BIND_CPU_LWPS, cpu);
	setrlimit(RLIMIT_NOFILE, &limit); /* the next command may inherit it */
	if (!bound)
		return;
	for (unsigned j = 0; j < LWPS_MAX_COLUMNS; j++)
		fd[j] = -1;
	find_fds(k, i, cpu, &fd[k->records.set[i].first]);
	check_read(k, lwps_renew(k->records.lwps, cpu, fd));
}

/*
 * Counts again on CPUs that have come back, or whose counters another program has released.  Other
 * sets than the current one are off, and are renewed in their own turns.
 */
static void renew_cpus(struct counting *k)
{
	const int64_t now = now_ns();

	if (now < k->renew_ns || k->records.invalid)
		return;
	k->renew_ns = now + RENEW_NS;
	for (unsigned cpu = 0; cpu < k->cpus[0].n; cpu++) {
		if (lwps_lost(k->records.lwps, cpu))
			renew_cpu(k, cpu);
	}
}

/* ---- the loop ---- */

/* Takes a sample if one is due.  Returns the time to the next, in ms; 0: no samples are taken. */
static uint_t sample_if_due(struct counting *k)
{
	const struct engine_config *config = &k->engine.config;
	int64_t now = now_ns(), interval_ns = config->interval_ms * MS;

	if (interval_ns == 0)
		return 0;
	if (now >= k->tick_ns) {
		flush(k);
		records_read(&k->records); /* births up to here are in the sample */
		records_tick(&k->records);
		if (++k->nticks == config->count)
			k->stop = 1;
		else if (has_turns(k) && !k->engine.waiting)
			begin_next_turn(k);
		now = now_ns();
		k->tick_ns = next_on_grid(k->tick_ns, interval_ns);
	}
	return (uint_t)((k->tick_ns - now + MS - 1) / MS);
}

/*
 * Have all LWPs exited that are alive by their records?  A safety net: we know of no way in which
 * the record of an exit is lost.
 */
static bool all_gone(struct counting *k)
{
	int64_t now = now_ns();

	if (has_choice(k) || now < k->look_ns)
		return false;
	k->look_ns = now + LOOK_NS;
	if (k->pid != 0 && !k->children.ended)
		return false;
	if (records_any_exists(&k->records)) {
		k->gone_before = false;
		return false;
	}
	/* Their last records may not be readable yet: look twice. */
	if (!k->gone_before) {
		k->gone_before = true;
		return false;
	}
	say("all LWPs have exited, and %u exit%s not reported by the kernel",
	    lwps_live(k->records.lwps), lwps_live(k->records.lwps) == 1 ? " was" : "s were");
	k->engine.lost = true;
	return true;
}

static int run(struct engine *engine)
{
	struct counting *k = counting_of(engine);
	struct pollfd fds[] = {{.fd = lwps_fd(k->records.lwps), .events = POLLIN},
			       {.fd = k->wake, .events = POLLIN}};
	sigset_t mask;
	uint_t wait_ms;
	int rc = 0;

	children_hold(&mask);
	k->tick_ns = now_ns() + engine->config.interval_ms * MS;
	while (!k->stop) {
		/* Check this first: if no LWP is alive, records_read() finds all records. */
		bool last = !has_choice(k) && lwps_live(k->records.lwps) == 0;

		children_look(&k->children, k->pid);
		lwps_drop_sched_exit(k->records.lwps);
		lwps_find_entered(k->records.lwps);
		records_read(&k->records);
		renew_cpus(k); /* after records_read() has checked claims: binding forgets them */
		if (last || all_gone(k))
			break;
		wait_ms = sample_if_due(k);
		if (k->stop) /* the last sample is written together with the end */
			break;
		wait_ms = pace_sooner(wait_ms, pace_idle(engine));
		wait_ms = pace_sooner(wait_ms, lwps_timeout(k->records.lwps));
		wait_ms = pace_sooner(wait_ms, LOOK_NS / MS);
		/* Do not sleep if the last record has been taken: no other will wake us. */
		if (!k->stop && (has_choice(k) || lwps_live(k->records.lwps) > 0) &&
		    children_sleep(fds, 2, wait_ms, &mask) == -1) {
			say("cannot wait for the next event: %s", strerror(errno));
			rc = -1;
			break;
		}
	}
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	flush(k);
	records_read(&k->records);
	records_detach(&k->records);
	engine->lost |= losses_lack(&k->records);
	engine->lost |= probed_find_changed(&k->probed); /* now: the totals that follow say so */
	return rc;
}

static void stop(struct engine *engine)
{
	struct counting *k = counting_of(engine);

	k->stop = 1;
	eventfd_write(k->wake, 1);
}

static void begin(struct engine *engine)
{
	struct counting *k = counting_of(engine);

	k->records.begun_ns = now_ns();
	engine->waiting = false;
	if (lwps_begin(k->records.lwps) == 0)
		return;
	say("cannot begin to count the LWPs that run: %s", strerror(errno));
	engine->lost = true;
}

static bool stopped(const struct engine *engine)
{
	const struct counting *k = counting_of(engine);
	siginfo_t info = {0};

	return k->pid != 0 &&
	       waitid(P_PID, (id_t)k->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid != 0;
}

static int start(struct engine *engine, char **argv, struct command *command)
{
	struct counting *k = counting_of(engine);

	children_catch(&k->children);
	lwps_track_next_child(k->records.lwps);
	k->pid = pctx_spawn(argv[0], argv, &k->children.old, engine_errors(&engine->config));
	if (k->pid == -1) {
		k->pid = 0;
		return -1;
	}
	command->pid = k->pid;
	return 0;
}

static int attach(struct engine *engine)
{
	struct counting *k = counting_of(engine);
	size_t attached;

	if (has_choice(k)) {
		if (lwps_select(k->records.lwps) == -1) {
			say("%s: cannot track processes: %s", engine->config.choice.name,
			    strerror(errno));
			return -1;
		}
		k->records.attached_ns = now_ns();
		return 0;
	}
	attached = targets_attach(engine, k->records.lwps);
	k->records.attached_ns = now_ns();
	/* Descendants of a process that cannot be tracked may be tracked. */
	if (attached > 0 || lwps_live(k->records.lwps) > 0)
		return 0;
	if (!engine->lost)
		say(ENGINE_ALL_ENDED);
	return -1;
}

/*
 * Can the next run use the loaded programs and the bound sets?  Then nothing is left of this one:
 * all LWPs have ended and were reported, and no counter was lost.
 */
static bool can_renew(const struct counting *k)
{
	return k->engine.config.again && !k->engine.lost && !k->records.invalid && !has_turns(k) &&
	       k->probed.n == 0 && lwps_live(k->records.lwps) == 0;
}

static void release(struct engine *engine)
{
	struct counting *k = counting_of(engine);

	if (k->released)
		return;
	k->released = true;
	losses_print(&k->records);
	probed_report_changed(&k->probed);
	engine->nchildren = lwps_children(k->records.lwps);
	if (can_renew(k))
		return;
	lwps_close(k->records.lwps);
	k->records.lwps = NULL;
}

static bool renew(struct engine *engine, const struct engine_config *config)
{
	struct counting *k = counting_of(engine);

	if (k->records.lwps == NULL || !can_renew(k))
		return false;
	engine->config = *config;
	engine->waiting = engine->track->config.delay_ns > 0;
	engine->nchildren = 0;
	engine->suspend = engine->reopen = 0;
	records_renew(&k->records);
	lwps_renew_run(k->records.lwps, engine->waiting);
	children_leave(&k->children);
	k->children = (struct children){0};
	k->pid = 0;
	k->nticks = 0;
	k->look_ns = k->renew_ns = 0;
	k->gone_before = k->stale = k->released = false;
	k->stop = 0;
	eventfd_read(k->wake, &(eventfd_t){0});
	return true;
}

/* Releases all else first, since the command may run on for long.  ^Z still works. */
static int wait_for(struct engine *engine, int *wstatus)
{
	struct counting *k = counting_of(engine);
	siginfo_t info = {0};
	sigset_t mask;
	int rc;

	release(engine);
	children_hold(&mask);
	while (!k->children.ended &&
	       waitid(P_PID, (id_t)k->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
	       info.si_pid == 0) {
		children_look(&k->children, k->pid);
		if (children_sleep(NULL, 0, pace_idle(engine), &mask) == -1)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	*wstatus = k->children.wstatus;
	rc = k->children.ended ? 0 : pctx_spawn_wait(k->pid, wstatus, 1);
	k->pid = 0;
	return rc;
}

static void free_counting(struct engine *engine)
{
	struct counting *k = counting_of(engine);

	records_free(&k->records);
	probed_free(&k->probed);
	children_leave(&k->children);
	for (size_t i = 0; i < engine->grp->n; i++)
		percpu_unbind(&k->cpus[i], engine->cpc);
	free(k->cpus);
	if (k->wake != -1)
		close(k->wake);
	free(k);
}

static const struct engine_ops ops = {
	.name = "kernel",
	.start = start,
	.attach = attach,
	.run = run,
	.stop = stop,
	.stopped = stopped,
	.begin = begin,
	.wait = wait_for,
	.release = release,
	.renew = renew,
	.free = free_counting,
};

/* ---- the beginning ------------------------------------------------------------------------ */

/* Binds a set to all CPUs.  With turns, switches it off, so that the next set can be bound. */
static bool bind_set(struct counting *k, size_t i, char *why, size_t size)
{
	struct records_set *set = &k->records.set[i];
	cpc_t *cpc = k->engine.cpc;

	if (!percpu_bind(&k->cpus[i], cpc, k->engine.grp->set[i].set, CPC_BIND_CPU_LWPS,
			 CPC_BIND_CPU_FUNCTIONS | (lwps_has_sessions() ? CPC_BIND_CPU_SESSIONS : 0),
			 why, size))
		return false;
	set->cpus = &k->cpus[i];
	fit_leave_out(&set->fit, cpc, k->cpus[i].bound);
	setgrp_report_clones(cpc, &k->engine.grp->set[i], k->cpus[i].bound);
	if (has_turns(k))
		percpu_switch(&k->cpus[i], cpc, false);
	return true;
}

static bool bind_sets(struct counting *k, char *why, size_t size)
{
	const size_t n = k->engine.grp->n;

	progress_open(setgrp_events(k->engine.grp), (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < n; i++) {
		if (!bind_set(k, i, why, size))
			return false;
		if (i > 0)
			k->records.set[i].first =
				k->records.set[i - 1].first + k->records.set[i - 1].fit.ncolumns;
	}
	if (has_turns(k))
		percpu_switch(&k->cpus[0], k->engine.cpc, true);
	return true;
}

/* Adds a place of a function: its open event, or the file if a session counts its returns. */
static void add_place(struct lwps_column *column, int *fd, uint64_t *offset,
		      const struct cpc_counter *counter)
{
	const unsigned n = column->nplaces;

	column->returns = counter->returns != 0;
	if (counter->fd == -1 && counter->file == -1)
		return;
	column->session = counter->fd == -1;
	fd[n] = column->session ? counter->file : counter->fd;
	offset[n] = counter->offset;
	column->nplaces++;
}

/* Adds the descriptors of a column: one per CPU, or one per place of a function. */
static int *add_column(const struct counting *k, size_t i, unsigned j,
		       const struct cpc_counter *counter, struct lwps_column *column, int *fd,
		       uint64_t *offset)
{
	const struct fit *fit = &k->records.set[i].fit;
	const struct percpu *cpus = &k->cpus[i];
	int of_cpu[LWPS_MAX_COLUMNS];

	*column = (struct lwps_column){
		.kind = fit->kind[j], .fd = fd, .offset = offset, .turn = (unsigned)i};
	if (column->kind == LWPS_FUNCTION) {
		for (unsigned n = 0; n < fit->n[j]; n++)
			add_place(column, fd, offset, &counter[fit->counter[j] + n]);
		return &fd[column->nplaces];
	}
	for (unsigned cpu = 0; cpu < cpus->n; cpu++) {
		find_fds(k, i, cpu, of_cpu);
		fd[cpu] = of_cpu[j];
	}
	return &fd[cpus->n];
}

/*
 * Adds the columns of a set.  `fd`, `offset`: room for their descriptors, and offsets of places.
 * Returns the rest of the room for descriptors.
 */
static int *add_columns(const struct counting *k, size_t i, struct lwps_config *config, int *fd,
			uint64_t *offset)
{
	const unsigned ncolumns = k->records.set[i].fit.ncolumns;
	unsigned n;
	struct cpc_counter *counter = fit_counters(k->engine.cpc, k->cpus[i].bound, &n);
	struct lwps_column *column = &config->column[k->records.set[i].first];

	for (unsigned j = 0; j < ncolumns; j++) {
		int *next = add_column(k, i, j, counter, &column[j], fd, offset);

		offset += next - fd;
		fd = next;
	}
	free(counter);
	config->ncolumns += ncolumns;
	return fd;
}

/* At most how many descriptors the columns have. */
static size_t most_fds(const struct counting *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->engine.grp->n; i++)
		n += (size_t)k->cpus[i].n * (k->records.set[i].fit.ncounters + 1);
	return n;
}

/* Loads the programs, with the counters of each CPU. */
static bool load(struct counting *k, char *why, size_t size)
{
	static const enum lwps_select selects[] = {
		[CHOICE_NONE] = LWPS_SELECT_TREE,
		[CHOICE_ALL] = LWPS_SELECT_ALL,
		[CHOICE_CGROUP] = LWPS_SELECT_CGROUP,
		[CHOICE_USER] = LWPS_SELECT_USER,
	};
	const struct choice *choice = &k->engine.config.choice;
	const size_t nsets = k->engine.grp->n;
	const unsigned ncpus = k->cpus[0].n, owners = records_owners(&k->records);
	const bool by_cgroup = choice->kind == CHOICE_CGROUP || (owners & LWPS_OWNER_CGROUP) != 0;
	struct lwps_config config = {
		.nturns = (unsigned)nsets,
		.ncpus = ncpus,
		.nslots = k->records.nslots,
		.follow_fork = k->engine.config.follow_fork,
		.follow_exec = k->engine.config.follow_exec,
		.start_off = k->engine.config.start_off,
		.waiting = k->engine.waiting,
		.attaches = k->engine.config.pids != NULL,
		.descendants = k->engine.config.descendants,
		.select = selects[choice->kind],
		.selected = choice->id,
		.hierarchy = by_cgroup ? cgroups_hierarchy() : LWPS_UNIFIED,
		.owners = owners,
		.root_id = choice->root_id,
		.depth = choice->depth,
		.names = k->engine.config.comm,
	};
	int *fd = xcalloc(most_fds(k), sizeof(*fd)), *next = fd;
	uint64_t *offset = xcalloc(most_fds(k), sizeof(*offset));

	for (size_t i = 0; i < nsets; i++)
		next = add_columns(k, i, &config, next, &offset[next - fd]);
	k->records.lwps = lwps_open(&config, why, size);
	free(fd);
	free(offset);
	return k->records.lwps != NULL;
}

/*
 * We need a higher limit of open files than the command shall inherit.  So the limit is lowered
 * again before the start; then some descriptors below it must still be free.
 */
static bool open_all(struct counting *k, char *why, size_t size)
{
	int spare[SPARE_FILES];
	struct rlimit limit;
	unsigned n = 0;
	bool ok;

	while (n < SPARE_FILES && (spare[n] = fcntl(k->wake, F_DUPFD_CLOEXEC, 0)) != -1)
		n++;
	ok = n == SPARE_FILES;
	if (!ok)
		snprintf(why, size, "%s; ulimit -n raises the limit", strerror(errno));
	getrlimit(RLIMIT_NOFILE, &limit);
	raise_file_limit();
	ok = ok && bind_sets(k, why, size) && load(k, why, size);
	progress_opened();
	setrlimit(RLIMIT_NOFILE, &limit);
	while (n > 0)
		close(spare[--n]);
	return ok;
}

/* Do the processes to attach to have the files with the functions that are counted? */
static bool have_same_files(const struct counting *k, char *why, size_t size)
{
	const struct pids *pids = k->engine.config.pids;
	const char *path;

	for (size_t i = 0; pids != NULL && i < pids->n; i++) {
		path = probed_differs(&k->probed, pids->target[i].pid);
		if (path == NULL)
			continue;
		snprintf(why, size, "process %d has another file as '%s'", (int)pids->target[i].pid,
			 path);
		return false;
	}
	return true;
}

struct engine *engine_kernel(const struct engine *common, char *why, size_t size)
{
	struct fit *fit = fit_find(common->cpc, common->grp, why, size);
	struct counting *k;

	if (fit == NULL)
		return NULL;
	k = xcalloc(1, sizeof(*k));
	k->cpus = xcalloc(common->grp->n, sizeof(*k->cpus));
	k->engine = *common;
	k->engine.ops = &ops;
	k->engine.own = k;
	records_init(&k->records, &k->engine, fit, &k->probed);
	free(fit);
	k->probed.inotify = -1;
	k->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->wake == -1)
		strlcpy(why, strerror(errno), size);
	else if (probed_find(&k->probed, k->engine.cpc, k->engine.grp, why, size) &&
		 have_same_files(k, why, size) && open_all(k, why, size)) {
		for (size_t i = 0; i < common->grp->n && !lwps_has_sessions(); i++)
			percpu_warn_of_returns(common->cpc, common->grp->set[i].set,
					       common->grp->set[i].text);
		return &k->engine;
	}
	free_counting(&k->engine);
	return NULL;
}
