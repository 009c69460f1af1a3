/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * replay.c - what libFuzzer's main does with files, for compilers that have none: each
 * file of the directories in the command line is an input.
 */
#include "fuzz.h"

#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#define LARGEST 65536

static void replay(const char *dir, const char *name)
{
	static uint8_t buf[LARGEST];
	char path[4096];
	uint8_t *input;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (f == NULL)
		err(1, "%s", path);
	n = fread(buf, 1, sizeof(buf), f);
	if (ferror(f) || n == sizeof(buf))
		errx(1, "%s: cannot be read, or too long", path);
	fclose(f);
	/* A copy of just that size, so that sanitizers see what is read behind it. */
	input = malloc(n + (n == 0));
	if (input == NULL)
		err(1, NULL);
	for (size_t i = 0; i < n; i++)
		input[i] = buf[i];
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(input, n);
	free(input);
}

int main(int argc, char **argv)
{
	struct dirent *de;
	unsigned n = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);

		if (dir == NULL)
			err(1, "%s", argv[i]);
		while ((de = readdir(dir)) != NULL) {
			if (de->d_name[0] != '.') {
				replay(argv[i], de->d_name);
				n++;
			}
		}
		closedir(dir);
	}
	if (n == 0)
		errx(1, "no inputs");
	printf("%u inputs\n", n);
	return 0;
}
