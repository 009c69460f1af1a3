/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ring.c - take records out of the ring that the kernel fills.
 */
#include "ring.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_open(struct ring *ring, int fd, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *consumer, *producer;

	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED)
		return -1;
	producer = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (producer == MAP_FAILED) {
		munmap(consumer, page);
		return -1;
	}
	ring->consumer = consumer;
	ring->producer = producer;
	ring->data = (char *)producer + page;
	ring->size = size;
	return 0;
}

void ring_close(struct ring *ring)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!ring->consumer)
		return;
	munmap(ring->consumer, page);
	munmap((void *)ring->producer, page + 2 * ring->size);
}

static void birth(const struct lwps_raw *raw, struct lwps_record *record)
{
	record->creator = raw->other;
	record->creator_tgid = raw->extra;
}

static void exec(struct ring *ring, const struct lwps_raw_exec *raw, struct lwps_record *record)
{
	record->next = raw->raw.other;
	record->old_tid = raw->raw.extra;
	memcpy(record->old_comm, raw->old_comm, sizeof(record->old_comm));
	memcpy(record->comm, raw->comm, sizeof(record->comm));
	memcpy(ring->args, raw + 1, raw->args_size);
	record->args = ring->args;
	record->args_size = raw->args_size;
	record->args_length = raw->args_length;
}

static void translate(struct ring *ring, const void *data, struct lwps_record *record)
{
	const struct lwps_raw *raw = data;

	*record = (struct lwps_record){
		.event = (enum lwps_event)raw->event,
		.time_ns = (int64_t)raw->time_ns,
		.tid = (pid_t)raw->tid,
		.tgid = (pid_t)raw->tgid,
		.slot = raw->slot,
		.creator = LWPS_NONE,
		.next = LWPS_NONE,
	};
	switch (record->event) {
	case LWPS_ATTACH:
	case LWPS_THREAD:
	case LWPS_FORK:
		birth(raw, record);
		break;
	case LWPS_EXEC:
		exec(ring, data, record);
		break;
	case LWPS_EXIT:
		record->status = raw->extra;
		memcpy(record->comm, ((const struct lwps_raw_exit *)data)->comm,
		       sizeof(record->comm));
		break;
	}
}

static unsigned long produced(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
}

bool ring_is_empty(const struct ring *ring)
{
	return *ring->consumer >= produced(ring);
}

bool ring_next(struct ring *ring, struct lwps_record *record)
{
	unsigned long at = *ring->consumer;
	const uint32_t *header;
	uint32_t length, size;
	bool taken;

	do {
		if (at >= produced(ring))
			return false;
		header = (const void *)(ring->data + (at & (ring->size - 1)));
		length = __atomic_load_n(header, __ATOMIC_ACQUIRE);
		if (length & BPF_RINGBUF_BUSY_BIT)
			return false; /* still being written, on another CPU */
		taken = !(length & BPF_RINGBUF_DISCARD_BIT);
		if (taken)
			translate(ring, header + LWPS_RING_HEADER / sizeof(*header), record);
		size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		at += (size + LWPS_RING_HEADER + 7) & ~7UL;
		__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
	} while (!taken);
	return true;
}
