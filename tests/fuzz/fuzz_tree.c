/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Records of births, execs and ends, as BPF programs put them into the ring, in any order and
 * with any slots: what cputrack then has in its tables.  The kernel's part is played by the
 * input: each 4 bytes of it are a record, or counts of a slot, or a call of the engine.
 * Whatever comes, each LWP begins and ends once, and the totals have all that was counted.
 */
#include "fuzz.h"

#include "../../cmd/cputrack/track/tree.h"
#include "../../liblwps/ring.h"

#include <cpc_counter.h>
#include <linux/bpf.h>

enum { RING_SIZE = 16384, NSLOTS = 12, NPIDS = 6, FIRST_PID = 1000 };

/* Numbers that fit each other often, and some that never do. */
static unsigned slot_number(unsigned x)
{
	static const unsigned odd[] = {LWPS_SHARED, LWPS_NONE, TREE_SLOTS, LWPS_NONE - 1};

	x %= NSLOTS + 4;
	return x < NSLOTS ? x + 1 : odd[x - NSLOTS];
}

static unsigned pid_number(unsigned x)
{
	return FIRST_PID + x % NPIDS;
}

struct lwps {
	struct ring ring;
};

static struct {
	struct lwps lwps;
	unsigned long consumer;
	struct {
		unsigned long position;
		char data[RING_SIZE];
	} producer;
	unsigned long busy;	 /* 1 + where there is a record that is being written */
	struct lwps_record told; /* the last */
	struct {
		const struct lwp *lwp; /* that counts there */
		pid_t pid;
		uint64_t value, ticked;
		bool flawed;
	} slot[NSLOTS + 1];
	union {
		struct lwps_slot slot;
		uint64_t word[LWPS_HEADER_WORDS];
	} head[NSLOTS + 2]; /* whose a slot is; the last is of all odd ones */
	bool flawed[NPIDS]; /* some LWP of the process is */
	bool invalid;
	uint64_t counted, total;
	unsigned nbegun, nended;
} kernel;

static struct lwps_slot *head_of(unsigned slot)
{
	return &kernel.head[slot <= NSLOTS ? slot : NSLOTS + 1].slot;
}

/* ---- in place of lwps.c ------------------------------------------------------------------ */

bool lwps_next(struct lwps *lwps, struct lwps_record *record)
{
	const struct lwps_raw *raw = ring_next(&lwps->ring);

	if (raw == NULL)
		return false;
	ring_translate(raw, head_of(raw->slot), record);
	kernel.told = *record;
	return true;
}

bool lwps_changed(struct lwps *lwps, unsigned slot, uint64_t *state)
{
	const uint64_t before = *state;

	(void)lwps;
	must(slot <= NSLOTS);
	*state = kernel.slot[slot].value + kernel.slot[slot].flawed;
	return *state != before;
}

unsigned lwps_read(struct lwps *lwps, unsigned slot, uint64_t *values)
{
	(void)lwps;
	must(slot <= NSLOTS);
	values[0] = values[1] = kernel.slot[slot].value;
	return kernel.slot[slot].flawed ? LWPS_NOT_RUN : 0;
}

void lwps_release(struct lwps *lwps, unsigned slot)
{
	(void)lwps;
	if (slot != LWPS_SHARED && slot <= NSLOTS)
		memset(&kernel.slot[slot], 0, sizeof(kernel.slot[slot]));
}

struct lwps_losses lwps_losses(const struct lwps *lwps)
{
	(void)lwps;
	return (struct lwps_losses){0};
}

void lwps_close(struct lwps *lwps)
{
	(void)lwps;
}

/* ---- in place of those of the libraries and of cputrack; see --wrap of ld(1) ------------ */

int __wrap_cpc_set_holds(cpc_t *cpc, const cpc_set_t *set, hrtime_t now);
void __wrap_say(const char *fmt, ...);
void comm_read(pid_t tid, char comm[COMM_SIZE]);

int __wrap_cpc_set_holds(cpc_t *cpc, const cpc_set_t *set, hrtime_t now)
{
	(void)cpc, (void)set, (void)now;
	return !kernel.invalid;
}

void __wrap_say(const char *fmt, ...)
{
	must(fmt != NULL);
}

void comm_read(pid_t tid, char comm[COMM_SIZE])
{
	(void)tid;
	strcpy(comm, "comm");
}

/* ---- who is told ------------------------------------------------------------------------- */

static uint64_t count_of(const struct tree *tree, cpc_buf_t *buf)
{
	uint64_t count = 0;

	must(buf != NULL && cpc_buf_get(tree->engine->cpc, buf, 0, &count) == 0);
	return count;
}

static unsigned slot_of(const struct lwp *lwp)
{
	for (unsigned i = 1; i <= NSLOTS; i++) {
		if (kernel.slot[i].lwp == lwp)
			return i;
	}
	return LWPS_SHARED;
}

static void on_init(void *arg, struct proc *proc, struct lwp *lwp)
{
	unsigned slot = kernel.told.event == LWPS_EXEC ? kernel.told.next : kernel.told.slot;

	must(arg != NULL && (lwp->id == 1 || (lwp->id > 1 && lwp->link.tqe_next == NULL)));
	must(slot != LWPS_SHARED && slot <= NSLOTS && kernel.slot[slot].lwp == NULL);
	lwps_release(NULL, slot);
	kernel.slot[slot].lwp = lwp;
	kernel.slot[slot].pid = proc->pid;
	kernel.nbegun++;
}

static void on_lwp(void *arg, struct proc *proc, struct lwp *lwp)
{
	must(arg != NULL && proc->pid >= FIRST_PID && lwp->id > 0);
}

static void on_fini(void *arg, struct proc *proc, struct lwp *lwp)
{
	unsigned slot = slot_of(lwp);

	on_lwp(arg, proc, lwp);
	lwps_release(NULL, slot); /* if it has any yet */
	kernel.nended++;
}

static void on_tick(void *arg, struct proc *proc, struct lwp *lwp)
{
	unsigned slot = slot_of(lwp);
	cpc_buf_t *buf = counts_sample_tick(arg, lwp);

	must(slot != LWPS_SHARED && proc->pid == kernel.slot[slot].pid);
	must((buf == NULL) == (kernel.invalid || kernel.slot[slot].flawed));
	if (buf == NULL)
		return;
	kernel.slot[slot].ticked += count_of(arg, buf);
	must(kernel.slot[slot].ticked == kernel.slot[slot].value);
}

static void on_fork(void *arg, pid_t pid, id_t id, struct lwp *lwp, pid_t child)
{
	(void)pid, (void)child;
	must(arg != NULL && id >= 1 && (lwp == NULL || lwp->id == id));
}

static void end(struct tree *tree, const struct proc *proc)
{
	cpc_buf_t *total = counts_of_proc(tree, proc);
	bool *flawed = &kernel.flawed[proc->pid - FIRST_PID];

	must((total == NULL) == kernel.invalid);
	if (total != NULL)
		kernel.total += count_of(tree, total);
	must(!*flawed || proc->incomplete);
	*flawed = false;
}

static void on_exec(void *arg, struct proc *proc, id_t id, struct lwp *lwp)
{
	must(lwp == NULL || lwp->id == id);
	end(arg, proc);
}

static void on_image(void *arg, pid_t pid, const char *comm, const char *command)
{
	(void)pid;
	must(arg != NULL && strlen(comm) < LWPS_COMM && strlen(command) <= LWPS_ARGS);
}

static void on_exit_of(void *arg, struct proc *proc, id_t id, struct lwp *lwp, int status)
{
	(void)status;
	on_exec(arg, proc, id, lwp);
}

static const struct watcher watcher = {
	.init_lwp = on_init,
	.lwp_create = on_lwp,
	.tick = on_tick,
	.fini_lwp = on_fini,
	.lwp_exit = on_lwp,
	.fork = on_fork,
	.exec = on_exec,
	.image = on_image,
	.exit = on_exit_of,
};

/* ---- what the kernel does ---------------------------------------------------------------- */

static uint32_t *header_at(unsigned long at)
{
	return (uint32_t *)(void *)(kernel.producer.data + at % RING_SIZE);
}

/* Puts a record into the ring, if there is room; some are given up, or are not finished yet. */
static void put(const void *record, size_t size, unsigned how)
{
	const unsigned long at = kernel.producer.position;
	const uint32_t header[2] = {(uint32_t)size | (how == 1 ? BPF_RINGBUF_DISCARD_BIT : 0) |
				    (how == 2 ? BPF_RINGBUF_BUSY_BIT : 0)};
	const char *from = (const char *)header;

	if (at + sizeof(header) + size > kernel.consumer + RING_SIZE ||
	    (how == 2 && kernel.busy != 0))
		return;
	for (size_t i = 0; i < sizeof(header) + size; i++) {
		if (i == sizeof(header))
			from = (const char *)record - sizeof(header);
		kernel.producer.data[(at + i) % RING_SIZE] = from[i];
	}
	kernel.producer.position = at + ((sizeof(header) + size + 7) & ~7UL);
	if (how == 2)
		kernel.busy = 1 + at;
}

static void put_record(const uint8_t *op)
{
	static struct {
		struct lwps_raw_exec exec;
		char args[LWPS_ARGS];
	} r;
	struct lwps_raw *raw = &r.exec.raw;
	unsigned how = op[3] >> 4 == 15 ? 1 : op[3] >> 4 == 14 ? 2 : 0;

	*raw = (struct lwps_raw){
		.time_ns = kernel.producer.position,
		.event = op[0] % 5,
		.slot = slot_number(op[1]),
		.other = slot_number(op[2]),
		.extra = op[0] % 5 == LWPS_EXEC ? (int)pid_number(op[3]) : op[2],
	};
	*head_of(raw->slot) =
		(struct lwps_slot){.tid = pid_number(op[3]), .tgid = pid_number(op[3])};
	if (raw->event == LWPS_EXEC) {
		memset(r.args, op[1] % 3, sizeof(r.args));
		r.exec.args_size = (op[2] & 128) == 0 ? 0 : op[1] < 250 ? op[1] : LWPS_ARGS;
		put(&r, sizeof(r.exec) + r.exec.args_size, how);
	} else {
		put(raw, sizeof(*raw), how);
	}
}

/* The last record that was being written is there. */
static void finish_record(void)
{
	if (kernel.busy == 0)
		return;
	*header_at(kernel.busy - 1) &= ~BPF_RINGBUF_BUSY_BIT;
	kernel.busy = 0;
}

static void count(const uint8_t *op)
{
	unsigned slot = 1 + op[1] % NSLOTS;

	if (kernel.slot[slot].lwp == NULL)
		return;
	if (op[3] == 255) {
		kernel.slot[slot].flawed = true;
		kernel.flawed[kernel.slot[slot].pid - FIRST_PID] = true;
	}
	kernel.slot[slot].value += op[2];
	kernel.counted += op[2];
}

static void step(struct tree *tree, const uint8_t *op)
{
	switch (op[0] >> 4) {
	case 15:
		kernel.invalid |= op[1] == 255;
		finish_record();
		break;
	case 14:
		tree_tell(tree);
		tree_tick(tree);
		break;
	case 13:
	case 12:
		count(op);
		break;
	case 11:
		tree_tell(tree);
		break;
	default:
		put_record(op);
		break;
	}
}

/* ---- the tree ------------------------------------------------------------------------------ */

/* What counts page faults, and the time. */
static const struct setgrp *group(cpc_t **cpc)
{
	static struct setgrp_set set;
	static struct setgrp grp = {.n = 1, .set = &set};
	static cpc_t *handle;

	if (handle == NULL) {
		handle = cpc_open(CPC_VER_CURRENT);
		if (handle == NULL)
			err(1, "cpc_open");
		set.set = cpc_set_create(handle);
		if (set.set == NULL || cpc_set_add_request(handle, set.set, "page-faults", 0,
							   CPC_COUNT_USER, 0, NULL) == -1)
			err(1, "page-faults");
	}
	*cpc = handle;
	return &grp;
}

/* As the end of the run: what still lives is left. */
static void leave_all(struct tree *tree)
{
	struct proc *proc;
	struct lwp *lwp;

	while ((proc = TAILQ_FIRST(&tree->engine->procs)) != NULL) {
		TAILQ_FOREACH(lwp, &proc->lwps, link) {
			counts_finalize(tree, counted(lwp));
			kernel.nended++;
		}
		end(tree, proc);
		tree_leave(tree, proc);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fit fit = {
		.ncounters = 1, .ncolumns = 2, .clock = 1, .kind = {LWPS_CPU, LWPS_CLOCK}};
	struct engine engine = {.watcher = &watcher};
	struct tree tree;

	memset(&kernel, 0, sizeof(kernel));
	kernel.lwps.ring = (struct ring){
		.consumer = &kernel.consumer,
		.producer = {.memory = (char *)&kernel.producer, .mapped = sizeof(kernel.producer)},
		.page = sizeof(kernel.producer.position),
		.size = RING_SIZE};
	engine.grp = group(&engine.cpc);
	engine.arg = &tree;
	tree_init(&tree, &engine, &fit);
	tree.lwps = &kernel.lwps;
	for (; size >= 4; data += 4, size -= 4)
		step(&tree, data);
	finish_record();
	tree_tell(&tree);
	must(ring_is_empty(&kernel.lwps.ring));
	leave_all(&tree);
	must(kernel.nbegun == kernel.nended);
	must(kernel.invalid || kernel.total == kernel.counted);
	must(!kernel.invalid || engine.lost);
	tree_tell_losses(&tree);
	tree_free(&tree);
	return 0;
}
