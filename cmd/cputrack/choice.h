/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * choice.h - the processes of --all, --cgroup and --user.
 */
#ifndef CHOICE_H
#define CHOICE_H

#include <stdbool.h>
#include <stdint.h>

enum choice_kind { CHOICE_NONE, CHOICE_ALL, CHOICE_CGROUP, CHOICE_USER };

struct choice {
	enum choice_kind kind;
	const char *name;  /* of the option, "--all" */
	uint64_t id;	   /* of the cgroup or user */
	uint64_t root_id;  /* CHOICE_CGROUP: of the root of its hierarchy... */
	unsigned depth;	   /* ...and its levels below it */
	unsigned nchoices; /* options that were given */
};

/* Parses the argument of an option.  False after a message. */
bool choice_parse(struct choice *choice, enum choice_kind kind, const char *text);

#endif /* CHOICE_H */
