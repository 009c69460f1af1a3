/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ring.c - take records out of the ring that the kernel fills.
 */
#include "ring.h"

#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int ring_open(struct ring *ring, int fd, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	ring->page = page;
	ring->size = size;
	memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -1;
	ring->consumer = memory;
	memory = mmap(NULL, page + size, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (memory == MAP_FAILED)
		return -1;
	ring->producer = memory;
	return 0;
}

void ring_close(struct ring *ring)
{
	if (ring->consumer)
		munmap(ring->consumer, ring->page);
	if (ring->producer)
		munmap((void *)(uintptr_t)ring->producer, ring->page + ring->size);
}

static unsigned long produced(const struct ring *ring)
{
	return __atomic_load_n((const unsigned long *)(const void *)ring->producer,
			       __ATOMIC_ACQUIRE);
}

bool ring_is_empty(const struct ring *ring)
{
	return *ring->consumer >= produced(ring);
}

static const void *data(const struct ring *ring, size_t begin)
{
	return ring->producer + ring->page + begin;
}

/* Copy the record at `at`, which may wrap around to the start of the ring. */
static void copy_record(struct ring *ring, unsigned long at, size_t size)
{
	const size_t begin = at & (ring->size - 1);
	const size_t first = size < ring->size - begin ? size : ring->size - begin;

	memcpy(&ring->record, data(ring, begin), first);
	memcpy((char *)&ring->record + first, data(ring, 0), size - first);
}

const struct lwps_raw *ring_next(struct ring *ring)
{
	unsigned long at = *ring->consumer;
	const uint32_t *header;
	uint32_t length, size;
	bool taken;

	do {
		if (at >= produced(ring))
			return NULL;
		/* Records are aligned to 8 bytes, so that no header wraps around. */
		header = data(ring, at & (ring->size - 1));
		length = __atomic_load_n(header, __ATOMIC_ACQUIRE);
		if (length & BPF_RINGBUF_BUSY_BIT)
			return NULL; /* still being written, on another CPU */
		taken = !(length & BPF_RINGBUF_DISCARD_BIT);
		size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (taken)
			copy_record(ring, at + LWPS_RING_HEADER, size);
		at += (size + LWPS_RING_HEADER + 7) & ~7UL;
		__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
	} while (!taken);
	return &ring->record.exec.raw;
}

static void translate_exec(const struct lwps_raw_exec *raw, struct lwps_record *record)
{
	record->next = raw->raw.other;
	record->tid = record->tgid = raw->raw.extra;
	memcpy(record->old_comm, record->comm, sizeof(record->old_comm));
	memcpy(record->comm, raw->comm, sizeof(record->comm));
	record->args = (const char *)(raw + 1);
	record->args_size = raw->args_size;
	record->elsewhere = raw->exe_dev != 0;
	/* The kernel's numbers of devices have 20 bits for the minor one. */
	record->exe_dev = makedev(raw->exe_dev >> 20, raw->exe_dev & 0xfffff);
	record->exe_ino = raw->exe_ino;
}

void ring_translate(const struct lwps_raw *raw, const struct lwps_slot *slot,
		    struct lwps_record *record)
{
	*record = (struct lwps_record){
		.event = (enum lwps_event)raw->event,
		.time_ns = (int64_t)raw->time_ns,
		.slot = raw->slot,
		.creator = LWPS_NONE,
		.next = LWPS_NONE,
	};
	if (slot) {
		record->tid = (pid_t)slot->tid;
		record->tgid = (pid_t)slot->tgid;
		memcpy(record->comm, slot->comm, sizeof(record->comm));
	}
	switch (record->event) {
	case LWPS_ATTACH:
		record->elsewhere = raw->extra != 0;
		break;
	case LWPS_THREAD:
	case LWPS_FORK:
		record->creator = raw->other;
		record->creator_tgid = raw->extra;
		break;
	case LWPS_EXEC:
		translate_exec((const struct lwps_raw_exec *)raw, record);
		break;
	case LWPS_EXIT:
		record->status = raw->extra & ~LWPS_ALL_END;
		record->all_end = (raw->extra & LWPS_ALL_END) != 0;
		break;
	}
}
