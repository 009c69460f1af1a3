/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Records of births, execs and exits, as BPF programs put them into the ring, in any order and
 * with any slots: the rows that cputrack makes of them.  The input plays the kernel's part: each
 * 4 bytes of it are a record, or counts of a slot, or a call of the engine.  Whatever comes, each
 * LWP begins and ends once, and the totals have all that was counted.
 */
#include "fuzz.h"

#include "../../cmd/cputrack/track/losses.h"
#include "../../cmd/cputrack/track/owners.h"
#include "../../cmd/cputrack/track/records.h"
#include "../../liblwps/ring.h"

#include <linux/bpf.h>

enum { RING_SIZE = 16384, NSLOTS = 12, NPIDS = 6, FIRST_PID = 1000 };

/* Numbers that fit each other often, and some that never do. */
static unsigned slot_number(unsigned x)
{
	static const unsigned odd[] = {LWPS_SHARED, LWPS_NONE, LWPS_MAX_SLOTS, LWPS_NONE - 1};

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
	unsigned long busy; /* 1 + where there is a record that is being written */
	struct {
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

uint64_t lwps_skipped(const struct lwps *lwps)
{
	(void)lwps;
	return 0;
}

/* Of some slots both owners are unknown, of some the path of the cgroup. */
bool lwps_owner(struct lwps *lwps, unsigned slot, enum lwps_owners kind, uint64_t *owner)
{
	(void)lwps, (void)kind;
	*owner = slot % 4;
	return *owner != 0;
}

int lwps_note_owners(struct lwps *lwps)
{
	(void)lwps;
	return 0;
}

bool lwps_path(struct lwps *lwps, uint64_t cgroup, struct lwps_path *path)
{
	(void)lwps;
	*path = (struct lwps_path){.nparts = 1, .parts = "a.service"};
	return cgroup != 3;
}

void lwps_close(struct lwps *lwps)
{
	(void)lwps;
}

/* ---- in place of those of the libraries and of cputrack; see --wrap of ld(1) ------------ */

bool __wrap_percpu_holds(const struct percpu *cpus, cpc_t *cpc, hrtime_t now);
void __wrap_say(const char *fmt, ...);
struct sink *__wrap_output_sink(struct output *output);
bool __wrap_output_has_reader(const struct output *output);
int __wrap_output_flush(struct output *output);
void __wrap_pid_read_comm(pid_t tid, char comm[COMM_SIZE]);

bool __wrap_percpu_holds(const struct percpu *cpus, cpc_t *cpc, hrtime_t now)
{
	(void)cpus, (void)cpc, (void)now;
	return !kernel.invalid;
}

void __wrap_say(const char *fmt, ...)
{
	must(fmt != NULL);
}

void __wrap_pid_read_comm(pid_t tid, char comm[COMM_SIZE])
{
	(void)tid;
	strcpy(comm, "comm");
}

bool __wrap_output_has_reader(const struct output *output)
{
	(void)output;
	return false;
}

int __wrap_output_flush(struct output *output)
{
	(void)output;
	return 0;
}

/* ---- rows -------------------------------------------------------------------------------- */

static struct track track;
static struct records records;

static const struct lwp *lwp_of(const struct row *row)
{
	struct proc *proc = tree_find(&track.tree, row->pid);
	const struct lwp *lwp;

	must(proc != NULL);
	TAILQ_FOREACH(lwp, &proc->lwps, link) {
		if (lwp->id == (id_t)row->lwp)
			return lwp;
	}
	abort();
}

static void on_tick(const struct row *row)
{
	const struct lwp *lwp = lwp_of(row);
	const struct slot_user *user = lwp->own;
	unsigned slot = (unsigned)(user - records.slot);

	must(slot != LWPS_SHARED && slot <= NSLOTS);
	must((row->valid == 0) == (kernel.invalid || kernel.slot[slot].flawed));
	if (row->valid == 0)
		return;
	kernel.slot[slot].ticked += row->val[0];
	must(kernel.slot[slot].ticked == kernel.slot[slot].value);
}

static void on_total(const struct row *row)
{
	bool *flawed = &kernel.flawed[row->pid - FIRST_PID];

	if (row->valid != 0)
		kernel.total += row->val[0];
	must(kernel.total <= kernel.counted);
	must(!*flawed || row->incomplete);
	*flawed = false;
}

static void on_row(struct sink *sink, const struct row *row)
{
	must(sink != NULL && row->lwp > 0);
	must(row->pid >= FIRST_PID || row->kind == ROW_FORK);
	switch (row->kind) {
	case ROW_INIT_LWP:
		must((row->valid == 0) == kernel.invalid);
		must(lwp_of(row)->id == 1 || lwp_of(row)->link.tqe_next == NULL);
		kernel.nbegun++;
		break;
	case ROW_FINI_LWP:
		kernel.nended++;
		break;
	case ROW_TICK:
		on_tick(row);
		break;
	case ROW_EXEC:
	case ROW_EXIT:
	case ROW_DETACH:
		on_total(row);
		break;
	case ROW_IMAGE:
		must(strlen(row->command) <= LWPS_ARGS);
		break;
	default:
		break;
	}
}

struct sink *__wrap_output_sink(struct output *output)
{
	static const struct sink_ops ops = {.row = on_row};
	static struct sink sink = {.ops = &ops};

	(void)output;
	return &sink;
}

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

	if (records.slot[slot].lwp == NULL)
		return;
	if (op[3] == 255) {
		kernel.slot[slot].flawed = true;
		kernel.flawed[records.slot[slot].lwp->proc->pid - FIRST_PID] = true;
	}
	kernel.slot[slot].value += op[2];
	kernel.counted += op[2];
}

static void step(const uint8_t *op)
{
	switch (op[0] >> 4) {
	case 15:
		kernel.invalid |= op[1] == 255;
		finish_record();
		break;
	case 14:
		records_read(&records);
		records_tick(&records);
		break;
	case 13:
	case 12:
		count(op);
		break;
	case 11:
		records_read(&records);
		break;
	default:
		put_record(op);
		break;
	}
}

/* ---- the run ----------------------------------------------------------------------------- */

/* What counts page faults. */
static struct setgrp *open_group(struct engine *engine, struct run *run)
{
	static struct setgrp_set set = {.text = (char *)(uintptr_t) "page-faults"};
	static struct setgrp grp = {.n = 1, .set = &set};
	static struct run_event event = {.label = (char *)(uintptr_t) "page-faults"};
	static struct run_set run_set = {.nevents = 1, .event = &event};
	static cpc_t *handle;

	if (handle == NULL) {
		handle = cpc_open(CPC_VER_CURRENT);
		if (handle == NULL)
			err(1, "cpc_open");
		set.set = cpc_set_create(handle);
		if (set.set == NULL || cpc_set_add_request(handle, set.set, "page-faults", 0,
							   CPC_COUNT_USER, 0, NULL) == -1)
			err(1, "page-faults");
		set.spec.nreqs = 1;
	}
	engine->cpc = handle;
	engine->grp = &grp;
	*run = (struct run){.nsets = 1, .set = &run_set};
	return &grp;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fit fit = {.ncounters = 1, .ncolumns = 2, .kind = {LWPS_CPU, LWPS_CLOCK}};
	const struct track_config config = {.verbose = true, .follow_exec = true};
	struct engine engine = {.track = &track, .config.owners = owners_new(SCOPE_SERVICE)};
	struct probed probed = {.inotify = -1};
	struct setgrp *grp;
	struct run run;

	memset(&kernel, 0, sizeof(kernel));
	kernel.lwps.ring = (struct ring){.consumer = &kernel.consumer,
					 .producer = (const char *)&kernel.producer,
					 .page = sizeof(kernel.producer.position),
					 .size = RING_SIZE};
	grp = open_group(&engine, &run);
	track_init(&track, &config, &run, grp, NULL, NULL);
	track_start(&track);
	records_init(&records, &engine, &fit, &probed);
	records.lwps = &kernel.lwps;
	for (; size >= 4; data += 4, size -= 4)
		step(data);
	finish_record();
	records_read(&records);
	must(ring_is_empty(&kernel.lwps.ring));
	records_detach(&records);
	track_end(&track, engine.lost, false);
	must(kernel.nbegun == kernel.nended);
	must(kernel.invalid || kernel.total == kernel.counted);
	must(!kernel.invalid || engine.lost);
	losses_print(&records);
	records_free(&records);
	owners_free(engine.config.owners);
	return 0;
}
