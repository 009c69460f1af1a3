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

int top_keys_fd(void)
{
	return -1;
}

enum top_result top_act(void)
{
	return TOP_GOES_ON;
}

bool top_is_behind(void)
{
	return false;
}

bool top_active(void)
{
	return false;
}

void top_suspend(void)
{
}

void top_resume(void)
{
}

const struct format top_format = {.name = "top"}; /* never opened */
