/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * probeable.c - can the kernel probe an instruction of a file?
 *
 * The kernel decodes the instruction when a process first maps its page.  A probe that was opened
 * before then stays open if the kernel cannot probe it, and counts nothing.  So libcpc tries the
 * instruction first, in a mapping of its own.
 *
 * The kernel steps over a probed instruction out of place, or emulates it.  It accepts some
 * instructions that it steps wrongly, which changes what the program computes.
 */
#include "lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define INSN 16 /* bytes: at least the longest instruction */

enum verdict {
	GOOD,	 /* every kernel steps it */
	REFUSED, /* no kernel does */
	WRONG,	 /* some kernels accept it, and step it wrongly */
	UNKNOWN, /* the kernel must be asked */
};

#if defined(__x86_64__)

/*
 * The position of the opcode after prefixes; with `rex`, REX is one of them.  `vex`: the prefix is
 * VEX or EVEX.
 */
static size_t opcode_at(const uint8_t *insn, bool rex, bool *vex)
{
	size_t i = 0;

	*vex = false;
	while (i < INSN / 2 && strchr("\x64\x65\x66\x67\xf2\xf3", insn[i]) != NULL && insn[i] != 0)
		i++;
	if (rex && (insn[i] & 0xf0) == 0x40)
		return i + 1;
	/* 32-bit code has other instructions there, whose operand is always in memory. */
	if ((insn[i] != 0xc4 && insn[i] != 0xc5 && insn[i] != 0x62) ||
	    (!rex && (insn[i + 1] & 0xc0) != 0xc0))
		return i;
	*vex = true;
	return i + (insn[i] == 0xc5 ? 2 : insn[i] == 0xc4 ? 3 : 4);
}

static bool is_bad_prefix(uint8_t byte)
{
	return byte == 0xf0 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26;
}

/* Is `byte` one of a list that ends with 0? */
static bool is_among(uint8_t byte, const uint8_t *list)
{
	while (*list != 0 && *list != byte)
		list++;
	return *list != 0;
}

/*
 * Would the kernel take it for a jump, call or return?  It overlooks the prefix of AVX
 * instructions, whose opcodes mean something else.
 */
static bool is_mistaken(uint8_t opcode)
{
	static const uint8_t other[] = {0x90, 0x9a, 0x9d, 0xc2, 0xc3, 0xca, 0xcb,
					0xcf, 0xe8, 0xe9, 0xea, 0xeb, 0xff, 0};

	return (opcode & 0xf0) == 0x70 || is_among(opcode, other);
}

static enum verdict decode64(const uint8_t *insn)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t good[] = {0x29, 0x2b, 0x31, 0x33, 0x39, 0x3b, 0x81,
				       0x83, 0x85, 0x89, 0x8b, 0x8d, 0x90, 0};
	bool vex, prefixed;
	uint8_t opcode;
	size_t at;

	if (memcmp(insn, endbr, sizeof(endbr)) == 0)
		return GOOD;
	at = opcode_at(insn, true, &vex);
	opcode = insn[at];
	if (vex)
		return is_mistaken(opcode) ? WRONG : UNKNOWN;
	/* The kernel steps by the trap flag, and pushf stores it. */
	if (opcode == 0x9c)
		return WRONG;
	prefixed = at > 0 && (at > 1 || (insn[0] & 0xf0) != 0x40);
	return !prefixed && ((opcode & 0xf0) == 0x50 || (opcode & 0xf8) == 0xb8 ||
			     is_among(opcode, good))
		       ? GOOD
		       : UNKNOWN;
}

/*
 * Of 32-bit code.  The kernel cannot be asked: it would decode the instruction as the 64-bit code
 * of this process, once for all processes.  Refuses what any kernel since 5.10 refuses.
 */
static enum verdict decode32(const uint8_t *insn)
{
	static const uint8_t bad[] = {0x63, 0x6c, 0x6d, 0x6e, 0x6f, 0xcc, 0xcd, 0xce, 0xcf,
				      0xd6, 0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef,
				      0xf1, 0xf4, 0xfa, 0xfb, 0x07, 0x17, 0x1f, 0};
	bool vex;
	size_t at = opcode_at(insn, false, &vex);
	uint8_t opcode = insn[at], second = insn[at + 1];

	if (vex && is_mistaken(opcode))
		return WRONG;
	if (opcode == 0x9c)
		return WRONG;
	if (vex || is_bad_prefix(opcode) || is_among(opcode, bad))
		return REFUSED;
	if (opcode != 0x0f)
		return GOOD;
	return second < 0x10 || (second >= 0x20 && second < 0x28) || second == 0x30 ||
			       (second >= 0x32 && second < 0x40) ||
			       (second >= 0x78 && second < 0x7e) || (second & 0xf7) == 0xa6 ||
			       second == 0xa7 || second == 0xaa || second == 0xff
		       ? REFUSED
		       : GOOD;
}

static enum verdict decode(const uint8_t *insn, unsigned width)
{
	return width == 8 ? decode64(insn) : decode32(insn);
}

#else

static enum verdict decode(const uint8_t *insn, unsigned width)
{
	if (width != sizeof(long))
		return REFUSED;
#if defined(__aarch64__)
	/*
	 * A load relative to the program counter: before Linux 6.12, the kernel loads in its own
	 * mode.
	 */
	if ((insn[3] & 0x3b) == 0x18)
		return WRONG;
#endif
	(void)insn;
	return UNKNOWN;
}

#endif

/*
 * Maps the page of the instruction, so that the kernel decodes it, and opens a probe for this
 * process.  0; an errno of perf_event_open(2), or of reading the page.
 */
static int try_probe(const struct perf_event_attr *attr, int file, uint64_t offset)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset & ~(page - 1);
	struct statvfs fs;
	int fd, err = 0;
	char byte;
	void *p;

	/* The kernel does not decode what no process can execute from there. */
	if (fstatvfs(file, &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0)
		return ENOEXEC;
	/* The kernel warns in its log if it must read the page first. */
	if (pread(file, &byte, 1, (off_t)offset) != 1)
		return EIO;
	p = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, (off_t)start);
	if (p == MAP_FAILED)
		return errno;
	fd = cpci_uprobe_open(attr, file, offset, CPCI_TARGET_SELF, true);
	if (fd == -1)
		err = errno;
	else
		cpci_closer_close(fd);
	munmap(p, page);
	return err;
}

static int refuse(const struct cpci_lookup *look, const struct cpci_found *found, int fd,
		  const char *why)
{
	const char *name = look->term->symbol;
	uint8_t insn[4] = {0};
	char other[2 * CPCI_MAX_SYMBOL + 64] = "";

	(void)!pread(fd, insn, sizeof(insn), (off_t)look->at->offset);
	if (!look->term->probe)
		snprintf(other, sizeof(other), ": count breakpoint/addr=%s/, or func=%s+OFFSET",
			 name, name);
	return cpci_diag(look->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			 "cannot count '%s': the kernel %s this instruction of '%s' "
			 "(%02x %02x %02x %02x...)%s",
			 look->req->name, why, found->path, insn[0], insn[1], insn[2], insn[3],
			 other);
}

/*
 * Finds out whether the kernel can probe an instruction: an answer of cpci_verdict; -1 and errno:
 * it cannot be read, or there is no memory.
 */
static int judge(const struct cpci_lookup *look, struct cpci_symfile *file, int fd)
{
	const struct perf_event_attr attr = cpci_term_event(look->term, look->at);
	struct cpci_verdict *verdict;
	uint8_t insn[INSN] = {0};
	enum verdict answer;
	int err = 0;

	errno = EIO;
	if (pread(fd, insn, sizeof(insn), (off_t)look->at->offset) <= 0)
		return -1;
	answer = decode(insn, file->elf.width);
	if (answer == UNKNOWN)
		err = try_probe(&attr, fd, look->at->offset);
	if (err != 0 && err != CPCI_ENOTSUPP && err != EINVAL && err != EOPNOTSUPP &&
	    err != ENOEXEC)
		return CPCI_PROBEABLE; /* unknown: opening the event itself reports the error */
	verdict = calloc(1, sizeof(*verdict));
	if (verdict == NULL)
		return -1;
	verdict->offset = look->at->offset;
	if (answer == WRONG)
		verdict->answer = CPCI_MISSTEPPED;
	else if (err == ENOEXEC)
		verdict->answer = CPCI_NOEXEC;
	else if (answer == REFUSED || err != 0)
		verdict->answer = CPCI_NOT_PROBEABLE;
	LIST_INSERT_HEAD(&file->verdicts, verdict, link);
	return (int)verdict->answer;
}

int cpci_function_check(const struct cpci_lookup *look, const struct cpci_found *found,
			struct cpci_symfile *file, int fd)
{
	const struct cpci_segment *segment = cpci_elf_segment(&file->elf, found->symbol.value);
	const struct cpci_verdict *verdict;

	if (segment->write)
		return cpci_diag(look->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
				 "cannot count '%s': '%s' has writable code (a segment RWE), in "
				 "which the kernel sets no probes; breakpoint/addr=NAME/ counts it",
				 look->req->name, found->path);
	LIST_FOREACH(verdict, &file->verdicts, link) {
		if (verdict->offset == look->at->offset)
			break;
	}
	switch (verdict != NULL ? (int)verdict->answer : judge(look, file, fd)) {
	case -1:
		return cpci_lookup_cannot_read(look, found->path, errno);
	case CPCI_NOT_PROBEABLE:
		return refuse(look, found, fd, "cannot probe");
	case CPCI_MISSTEPPED:
		return refuse(look, found, fd, "would wrongly execute");
	case CPCI_NOEXEC:
		return cpci_diag(
			look->diag, EACCES, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s': '%s' is on a file system that is mounted noexec, "
			"where the kernel does not check whether it can probe an instruction",
			look->req->name, found->path);
	default:
		return 1;
	}
}
