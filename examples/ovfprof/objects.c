/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * objects.c - finds the function of a program or library at an address of a process, by
 * libdw.
 */
#include "ovfprof.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <err.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program or library on disk. */
struct object {
	char *path;
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: it cannot be read, or is not an ELF file */
	struct object *next;
};

static struct object *objects;

/*
 * libdw searches a debug file by build id below /usr/lib/debug, by .gnu_debuglink beside the file,
 * in .debug there and below /usr/lib/debug, and at the servers of DEBUGINFOD_URLS.
 */
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static struct object *find_object(const char *path)
{
	struct object *o;

	for (o = objects; o != NULL; o = o->next) {
		if (strcmp(o->path, path) == 0)
			return o;
	}
	o = calloc(1, sizeof(*o));
	if (o == NULL || (o->path = strdup(path)) == NULL)
		err(1, NULL);
	o->next = objects;
	objects = o;
	if (path[0] != '/' || (o->dwfl = dwfl_begin(&callbacks)) == NULL)
		return o;
	dwfl_report_begin(o->dwfl);
	o->module = dwfl_report_offline(o->dwfl, path, path, -1);
	dwfl_report_end(o->dwfl, NULL, NULL);
	return o;
}

void read_maps(const char *path, struct maps *maps)
{
	FILE *f = fopen(path, "re");
	uint64_t time = 0;
	char *line = NULL;
	size_t room = 0;

	*maps = (struct maps){0};
	while (f != NULL && getline(&line, &room, f) != -1) {
		struct map m = {.time = time};
		int at = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "= %" SCNu64, &time) == 1)
			continue;
		/* A line may be incomplete if the process was killed while it wrote it. */
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &m.start,
			   &m.end, &m.offset, &at) != 3 ||
		    at == 0)
			continue;
		m.path = strdup(line[at] != '\0' ? line + at : "[anon]");
		maps->map = reallocarray(maps->map, maps->n + 1, sizeof(m));
		if (m.path == NULL || maps->map == NULL)
			err(1, NULL);
		maps->map[maps->n++] = m;
	}
	free(line);
	if (f != NULL)
		fclose(f);
}

void free_maps(struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		free(maps->map[i].path);
	free(maps->map);
}

static const struct map *find_map(const struct maps *maps, uint64_t time, uint64_t pc)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct map *m = &maps->map[i];

		if (m->time == time && pc >= m->start && pc < m->end)
			return m;
	}
	return NULL;
}

/* The address of an offset in a file, by the program headers; false: none. */
static bool to_address(Elf *elf, uint64_t offset, uint64_t *address)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, (int)i, &ph) == NULL || ph.p_type != PT_LOAD ||
		    offset < ph.p_offset || offset >= ph.p_offset + ph.p_filesz)
			continue;
		*address = offset - ph.p_offset + ph.p_vaddr;
		return true;
	}
	return false;
}

static bool has_symtab(Elf *elf)
{
	GElf_Shdr header;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;) {
		if (gelf_getshdr(scn, &header) != NULL && header.sh_type == SHT_SYMTAB)
			return true;
	}
	return false;
}

/* libdw has already looked for a debug file: here it searches for a missing symbol. */
static bool is_stripped(Dwfl_Module *module, Elf *elf)
{
	const char *debug_file = NULL;

	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, &debug_file);
	return debug_file == NULL && !has_symtab(elf);
}

void find_function(const struct maps *maps, uint64_t time, uint64_t pc, struct function *fn)
{
	const struct map *m = find_map(maps, time, pc);
	const struct object *object;
	const char *name = NULL, *slash;
	uint64_t address, where;
	GElf_Addr bias;
	GElf_Off off = 0;
	GElf_Sym sym;
	Elf *elf;

	fn->stripped = false;
	if (m == NULL) {
		snprintf(fn->object, sizeof(fn->object), "?");
		snprintf(fn->name, sizeof(fn->name), "0x%" PRIx64, pc);
		return;
	}
	slash = strrchr(m->path, '/');
	snprintf(fn->object, sizeof(fn->object), "%s", slash != NULL ? slash + 1 : m->path);
	where = pc - m->start + m->offset;
	object = find_object(m->path);
	elf = object->module != NULL ? dwfl_module_getelf(object->module, &bias) : NULL;
	if (elf != NULL && to_address(elf, where, &address)) {
		where = address;
		name = dwfl_module_addrinfo(object->module, address + bias, &off, &sym, NULL, NULL,
					    NULL);
	}
	/* In a stripped file the nearest symbol may be that of another function. */
	if (name != NULL && (sym.st_size == 0 || off < sym.st_size)) {
		snprintf(fn->name, sizeof(fn->name), "%.*s", (int)strcspn(name, "@"), name);
		return;
	}
	snprintf(fn->name, sizeof(fn->name), "0x%" PRIx64, where);
	fn->stripped = elf != NULL && is_stripped(object->module, elf);
}

/* Registers of the unwinding tables (the ABIs of x86-64 and AArch64, DWARF). */
#if defined(__x86_64__)
enum { FRAME_POINTER = 6, STACK_POINTER = 7, ON_ENTRY = 8 };
#else
enum { FRAME_POINTER = 29, STACK_POINTER = 31, ON_ENTRY = 0 };
#endif

/* Where the frame of the function begins at that place: a register and an offset. */
static bool find_frame(const struct maps *maps, uint64_t time, uint64_t pc, unsigned *reg,
		       uint64_t *offset)
{
	const struct map *m = find_map(maps, time, pc);
	const struct object *object = m != NULL ? find_object(m->path) : NULL;
	Dwarf_Frame *frame = NULL;
	uint64_t address;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;
	Dwarf_Op *op;
	GElf_Addr elf_bias;
	bool found;
	size_t n;

	if (object == NULL || object->module == NULL ||
	    !to_address(dwfl_module_getelf(object->module, &elf_bias), pc - m->start + m->offset,
			&address))
		return false;
	cfi = dwfl_module_eh_cfi(object->module, &bias);
	if (cfi == NULL || dwarf_cfi_addrframe(cfi, address + elf_bias - bias, &frame) != 0)
		return false;
	found = dwarf_frame_cfa(frame, &op, &n) == 0 && n == 1 &&
		((op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) || op->atom == DW_OP_bregx);
	if (found) {
		*reg = op->atom == DW_OP_bregx ? (unsigned)op->number
					       : (unsigned)op->atom - DW_OP_breg0;
		*offset = op->atom == DW_OP_bregx ? op->number2 : op->number;
	}
	free(frame);
	return found;
}

uint64_t find_caller(const struct maps *maps, const struct slot *slot)
{
	unsigned reg;
	uint64_t offset;

	if (!find_frame(maps, slot->time, slot->pc, &reg, &offset))
		return 0;
	if (reg == FRAME_POINTER)
		return slot->caller;
	return reg == STACK_POINTER && offset == ON_ENTRY ? slot->top : 0;
}

void free_objects(void)
{
	while (objects != NULL) {
		struct object *o = objects;

		objects = o->next;
		if (o->dwfl != NULL)
			dwfl_end(o->dwfl);
		free(o->path);
		free(o);
	}
}
