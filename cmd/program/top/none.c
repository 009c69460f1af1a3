/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * none.c - stands for top.c in programs that are built without ncurses.
 */
#include "top.h"

#include "../../base/say.h"

bool top_possible(const char *path)
{
	(void)path;
	say("cannot use --top: this program was built without ncurses");
	return false;
}

const struct format top_format = {.name = "top"}; /* never opened */
