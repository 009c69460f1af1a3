/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * self-count [-s] [-p] N EVENT... - counts the events in itself with libcpc, in user mode or with
 * -s in kernel mode, too, and prints for each what it counted between three samples, with nothing
 * and with a loop of N rounds in between.  With -p, the samples are those of cpc_read_pic() of the
 * last event, and alone printed; the exit status is 3 if no register is read.
 *
 * Known: a loop is 2 * N instructions in user mode.
 */
#include "machine.h"
#include "work.h"

#include <cpc_pic.h>

static uint64_t difference(cpc_t *cpc, cpc_buf_t *later, cpc_buf_t *earlier, int i)
{
	uint64_t a, b;

	if (cpc_buf_get(cpc, later, i, &a) == -1 || cpc_buf_get(cpc, earlier, i, &b) == -1)
		broken("cpc_buf_get");
	return a - b;
}

/* The same of one request, read by cpc_read_pic(). */
static int count_by_pic(cpc_t *cpc, cpc_set_t *set, int index, unsigned long n)
{
	const cpc_pic_t *pic = cpc_set_pic(cpc, set, index);
	uint64_t v[3];

	if (pic == NULL)
		broken("cpc_set_pic");
	for (int warm = 0; warm < 2; warm++) {
		if (cpc_read_pic(pic, &v[0]) == -1 || cpc_read_pic(pic, &v[1]) == -1)
			broken("cpc_read_pic");
		if (n > 0)
			loop_rounds(n);
		if (cpc_read_pic(pic, &v[2]) == -1)
			broken("cpc_read_pic");
	}
	printf("%llu %llu\n", (unsigned long long)(v[1] - v[0]), (unsigned long long)(v[2] - v[1]));
	return pic->page != NULL ? 0 : 3;
}

int main(int argc, char *argv[])
{
	uint_t flags = CPC_COUNT_USER;
	cpc_buf_t *buf[3];
	unsigned long n;
	cpc_set_t *set;
	cpc_t *cpc;
	int opt, by_pic = 0, rc;

	while ((opt = getopt(argc, argv, "sp")) != -1) {
		if (opt == 's')
			flags |= CPC_COUNT_SYSTEM;
		else if (opt == 'p')
			by_pic = 1;
		else
			return WORK_BROKEN;
	}
	if (argc < optind + 2)
		return WORK_BROKEN;
	n = (unsigned long)number(argv[optind++]);
	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL)
		broken("cpc_open");
	set = cpc_set_create(cpc);
	for (int i = optind; i < argc; i++) {
		if (set == NULL || cpc_set_add_request(cpc, set, argv[i], 0, flags, 0, NULL) == -1)
			return WORK_BROKEN;
	}
	for (int i = 0; i < 3; i++)
		buf[i] = cpc_buf_create(cpc, set);
	if (cpc_bind_curlwp(cpc, set, 0) == -1)
		return 1;
	if (by_pic) {
		rc = count_by_pic(cpc, set, argc - optind - 1, n);
		cpc_close(cpc);
		return rc;
	}
	for (int warm = 0; warm < 2; warm++) {
		cpc_set_sample(cpc, set, buf[0]);
		cpc_set_sample(cpc, set, buf[1]);
		if (n > 0)
			loop_rounds(n);
		if (cpc_set_sample(cpc, set, buf[2]) == -1)
			broken("cpc_set_sample");
	}
	for (int i = 0; i < argc - optind; i++)
		printf("%llu %llu\n", (unsigned long long)difference(cpc, buf[1], buf[0], i),
		       (unsigned long long)difference(cpc, buf[2], buf[1], i));
	cpc_close(cpc);
	return 0;
}
