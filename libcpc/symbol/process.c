/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * process.c - what a process has mapped.  The process can write to its auxiliary vector and
 * its list of libraries, so they are believed only where the kernel's mappings agree.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_NS 1000000000LL
#define MAX_AUXV_SIZE 1024

/* Falls back to /proc/PID/mem, which works even if seccomp forbids process_vm_readv(2). */
static bool read_memory(void *arg, uint64_t addr, void *buf, size_t n)
{
	const struct cpci_process *process = arg;
	struct iovec to = {.iov_base = buf, .iov_len = n};
	struct iovec from = {.iov_base = (void *)(uintptr_t)addr, .iov_len = n};
	ssize_t got;
	int fd, err;

	got = process_vm_readv(process->tid, &to, 1, &from, 1, 0);
	if (got == (ssize_t)n)
		return true;
	if (got != -1)
		errno = EFAULT; /* a part of it is not mapped */
	if (errno == EFAULT)
		return false;
	fd = cpci_open_proc(process->tid, "mem");
	if (fd == -1)
		return false;
	got = addr <= INT64_MAX ? pread(fd, buf, n, (off_t)addr) : 0;
	err = got == -1 && errno != EIO ? errno : EFAULT;
	close(fd);
	errno = err;
	return got == (ssize_t)n;
}

/* Reads AT_ENTRY, or returns 0.  The process may have changed it. */
static uint64_t read_entry(pid_t tid, unsigned width)
{
	int fd = cpci_open_proc(tid, "auxv");
	unsigned char buf[MAX_AUXV_SIZE];
	ssize_t n = -1;

	if (fd != -1) {
		n = read(fd, buf, sizeof(buf));
		close(fd);
	}
	for (ssize_t at = 0; at + 2 * (ssize_t)width <= n; at += 2 * (ssize_t)width) {
		uint64_t wide[2] = {0};
		uint32_t narrow[2] = {0};

		memcpy(width == 8 ? (void *)wide : (void *)narrow, buf + at, 2UL * width);
		if (width == 4) {
			wide[0] = narrow[0];
			wide[1] = narrow[1];
		}
		if (wide[0] == AT_ENTRY)
			return wide[1];
	}
	return 0;
}

/* The bias of a file by a mapping of its code.  False: that mapping is not code of the file. */
static bool mapped_bias(const struct cpci_symfile *file, const struct cpci_mapping *m,
			uint64_t *bias)
{
	uint64_t addr;

	if (!m->exec || !cpci_same_file_id(m->file, file->id) ||
	    !cpci_elf_code(&file->elf, m->offset, &addr))
		return false;
	*bias = m->start - addr;
	return true;
}

int cpci_process_has_code(struct cpci_process *process, const struct cpci_symfile *file,
			  uint64_t bias, uint64_t addr)
{
	struct cpci_mapping m;
	uint64_t offset;
	int rc = cpci_maps_at(&process->maps, addr, &m);

	if (rc != 1)
		return rc;
	if (!m.exec)
		return 0;
	/* Programs may move their code to anonymous huge pages. */
	if (m.file.ino == 0)
		return 1;
	return cpci_same_file_id(m.file, file->id) &&
	       cpci_elf_offset(&file->elf, addr - bias, &offset) &&
	       m.offset + (addr - m.start) == offset;
}

bool cpci_process_bias(const struct cpci_process *process, const struct cpci_symfile *file,
		       uint64_t *bias)
{
	uint64_t at = 0, other;
	struct cpci_mapping m;
	bool found = false;

	while (cpci_maps_next_code(&process->maps, at, &m)) {
		at = m.end;
		if (!mapped_bias(file, &m, &other))
			continue;
		if (found && other != *bias)
			return false;
		*bias = other;
		found = true;
	}
	return found;
}

/* Finds where the program is mapped, by AT_ENTRY if its code is mapped there. */
static enum cpci_process_error find_program(struct cpci_process *process)
{
	const struct cpci_elf *elf = &process->exe->elf;
	uint64_t entry = elf->shared ? read_entry(process->tid, elf->width) : elf->entry;
	struct cpci_mapping m;
	int rc;

	rc = cpci_maps_at(&process->maps, entry, &m);
	if (rc == 1 && mapped_bias(process->exe, &m, &process->exe_bias) &&
	    process->exe_bias + elf->entry == entry)
		return CPCI_PROCESS_OK;
	if (rc == -1)
		return CPCI_PROCESS_MAPS;
	return cpci_process_bias(process, process->exe, &process->exe_bias) ? CPCI_PROCESS_OK
									    : CPCI_PROCESS_PLACE;
}

enum cpci_process_error cpci_process_open(struct cpci_process *process, struct cpci_symfiles *files,
					  pid_t tid)
{
	char path[64];
	int rc;

	*process = (struct cpci_process){
		.tid = tid,
		.files = files,
		.exe_fd = -1,
		.deadline = cpci_now() + MAX_NS,
	};
	if (cpci_maps_open(&process->maps, tid) == -1)
		return CPCI_PROCESS_MAPS;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
	process->exe = cpci_symfile_open(files, path, NULL, &process->exe_fd);
	if (process->exe == NULL)
		return CPCI_PROCESS_PROGRAM;
	process->memory = (struct cpci_memory){read_memory, process, process->exe->elf.width};
	rc = cpci_symfile_is_linker(process->exe, process->exe_fd);
	if (rc == -1)
		return CPCI_PROCESS_PROGRAM;
	process->by_hand = rc == 1;
	return find_program(process);
}

void cpci_process_exe_path(pid_t tid, char *path, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)tid);
	n = readlink(link, path, size - 1);
	path[n > 0 ? n : 0] = '\0';
}

void cpci_process_close(struct cpci_process *process)
{
	cpci_maps_close(&process->maps);
	if (process->exe_fd != -1)
		close(process->exe_fd);
	free(process->object);
}

/*
 * Opens a mapped file: by the kernel's own link to it, which requires privilege but also
 * works for deleted files; or else by its path, in the process's view or in ours.  In
 * /proc/PID/maps a newline is \012.
 */
static struct cpci_symfile *open_mapped(struct cpci_process *process, const struct cpci_mapping *m,
					int *fd)
{
	char path[PATH_MAX + 128], name[PATH_MAX + 64], *at = name;
	struct cpci_symfile *file;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)process->tid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	file = cpci_symfile_open(process->files, path, &m->file, fd);
	if (file != NULL || (errno != EPERM && errno != EACCES && errno != ENOENT))
		return file;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)process->tid, m->path);
	file = cpci_symfile_open(process->files, path, &m->file, fd);
	err = errno;
	if (file == NULL)
		file = cpci_symfile_open(process->files, m->path, &m->file, fd);
	for (const char *p = m->path; file == NULL && *p != '\0'; at++) {
		bool newline = strncmp(p, "\\012", 4) == 0;

		*at = newline ? '\n' : *p;
		p += newline ? 4 : 1;
	}
	*at = '\0';
	if (file == NULL && strcmp(name, m->path) != 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)process->tid, name);
		file = cpci_symfile_open(process->files, path, &m->file, fd);
		err = file == NULL ? errno : 0;
	}
	errno = err == ENOENT ? ESTALE : err;
	return file;
}

struct cpci_symfile *cpci_process_file(struct cpci_process *process, uint64_t addr,
				       struct cpci_mapping *m, int *fd)
{
	int rc = cpci_maps_at(&process->maps, addr, m);

	*fd = -1;
	if (rc == 0 || (rc == 1 && m->file.ino == 0)) {
		errno = EBADMSG;
		return NULL;
	}
	if (rc == 1 && cpci_now() > process->deadline) {
		errno = ETIME;
		return NULL;
	}
	return rc == 1 ? open_mapped(process, m, fd) : NULL;
}

static int add_object(struct cpci_process *process, const struct cpci_object *object)
{
	if (process->n == process->room) {
		size_t room = process->room != 0 ? 2 * process->room : 32;
		struct cpci_object *p = reallocarray(process->object, room, sizeof(*p));

		if (p == NULL)
			return -1;
		process->object = p;
		process->room = room;
	}
	process->object[process->n++] = *object;
	return 0;
}

/* Adds an object of the list: a library, the vDSO, or a forged entry. */
static enum cpci_process_error add_listed(struct cpci_process *process,
					  const struct cpci_linked *linked)
{
	struct cpci_object object = {.at = linked->dynamic, .bias = linked->bias, .listed = true};
	struct cpci_mapping m;
	int rc;

	if (!process->by_hand && linked->dynamic == process->exe_bias + process->exe->elf.dynamic)
		return CPCI_PROCESS_OK; /* the program itself */
	rc = cpci_maps_at(&process->maps, linked->dynamic, &m);
	if (rc == -1)
		return CPCI_PROCESS_MAPS;
	if (rc == 1 && m.file.ino == 0 && strcmp(m.path, "[vdso]") == 0)
		return CPCI_PROCESS_OK;
	if (rc == 0 || m.file.ino == 0) {
		errno = EBADMSG;
		return CPCI_PROCESS_LIST;
	}
	object.file = m.file;
	return add_object(process, &object) == 0 ? CPCI_PROCESS_OK : CPCI_PROCESS_LIST;
}

/* Finds the address of r_debug.  -1 and errno. */
static int find_debug(struct cpci_process *process, uint64_t *addr)
{
	const struct cpci_elf *elf = &process->exe->elf;
	struct cpci_symbol symbol;
	uint64_t at;

	*addr = 0;
	if (elf->interpreted && elf->dynamic != 0)
		return cpci_linkmap_find(&process->memory, process->exe_bias + elf->dynamic,
					 elf->ndynamic, addr);
	if (!process->by_hand)
		return 0;
	if (cpci_symfile_find(process->exe, process->exe_fd, CPCI_ELF_DYNAMIC, "_r_debug",
			      &symbol) == -1)
		return -1;
	if (symbol.kind == CPCI_SYM_FOUND) {
		*addr = process->exe_bias + symbol.value;
		return 0;
	}
	/* musl has a pointer to it. */
	if (cpci_symfile_find(process->exe, process->exe_fd, CPCI_ELF_DYNAMIC, "_dl_debug_addr",
			      &symbol) == -1)
		return -1;
	at = 0;
	if (!read_memory(process, process->exe_bias + symbol.value, &at, elf->width))
		return -1;
	*addr = at;
	if (elf->width == 4) {
		uint32_t narrow;

		memcpy(&narrow, &at, sizeof(narrow));
		*addr = narrow;
	}
	return 0;
}

static enum cpci_process_error add_list(struct cpci_process *process)
{
	enum cpci_process_error error = CPCI_PROCESS_OK;
	struct cpci_linkmap map = {0};
	uint64_t debug;

	if (find_debug(process, &debug) == -1 ||
	    cpci_linkmap_read(&map, &process->memory, debug) == -1)
		return CPCI_PROCESS_LIST;
	process->state = map.state;
	for (size_t i = 0; error == CPCI_PROCESS_OK && i < map.n; i++) {
		/* Libraries of dlmopen(3) come last, and only after the list is complete. */
		if (map.object[i].space == 0 || map.state == CPCI_LINKMAP_DONE)
			error = add_listed(process, &map.object[i]);
	}
	cpci_linkmap_free(&map);
	return error;
}

/* Also compares objects, whose first member is their file. */
static int by_file(const void *a, const void *b)
{
	const struct cpci_file_id *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* Adds the files with code that are not in the list, each once. */
static enum cpci_process_error add_unlisted(struct cpci_process *process)
{
	size_t nlisted = process->n, n = nlisted;
	struct cpci_file_id *known = NULL;
	struct cpci_mapping m;
	uint64_t at = 0;
	int rc = 0;

	/* Sort the listed files and the program, for a binary search. */
	known = reallocarray(NULL, nlisted + 1, sizeof(*known));
	if (known == NULL)
		return CPCI_PROCESS_MAPS;
	for (size_t i = 0; i < nlisted; i++)
		known[i] = process->object[i].file;
	known[nlisted] = process->exe->id;
	qsort(known, nlisted + 1, sizeof(*known), by_file);
	while (rc == 0 && cpci_maps_next_code(&process->maps, at, &m)) {
		struct cpci_object object = {.file = m.file, .at = m.start};

		at = m.end;
		if (bsearch(&m.file, known, nlisted + 1, sizeof(*known), by_file) != NULL)
			continue;
		rc = add_object(process, &object);
	}
	free(known);
	if (process->n > nlisted)
		qsort(process->object + nlisted, process->n - nlisted, sizeof(*process->object),
		      by_file);
	for (size_t i = nlisted; i < process->n; i++) {
		if (n == nlisted ||
		    !cpci_same_file_id(process->object[n - 1].file, process->object[i].file))
			process->object[n++] = process->object[i];
	}
	process->n = n;
	return rc == -1 ? CPCI_PROCESS_MAPS : CPCI_PROCESS_OK;
}

enum cpci_process_error cpci_process_listed(struct cpci_process *process)
{
	enum cpci_process_error error = CPCI_PROCESS_OK;

	if (!process->have_listed)
		error = add_list(process);
	if (error == CPCI_PROCESS_OK && process->by_hand && process->state == CPCI_LINKMAP_NONE)
		return CPCI_PROCESS_BY_HAND;
	if (error == CPCI_PROCESS_OK && !process->have_listed) {
		process->nlisted = process->n;
		process->have_listed = true;
	}
	return error;
}

enum cpci_process_error cpci_process_unlisted(struct cpci_process *process)
{
	enum cpci_process_error error = CPCI_PROCESS_OK;

	if (!process->have_unlisted)
		error = add_unlisted(process);
	process->have_unlisted |= error == CPCI_PROCESS_OK;
	return error;
}

/* FNV-1a. */
static uint64_t sum_of(uint64_t sum, const void *p, size_t n)
{
	const unsigned char *byte = p;

	while (n-- > 0)
		sum = (sum ^ *byte++) * 0x100000001b3;
	return sum;
}

uint64_t cpci_process_sum(const struct cpci_process *process, const char *name)
{
	uint64_t sum = sum_of(0xcbf29ce484222325, name, strlen(name));

	sum = sum_of(sum, &process->exe->id, sizeof(process->exe->id));
	sum = sum_of(sum, &process->exe_bias, sizeof(process->exe_bias));
	for (size_t i = 0; i < process->nlisted; i++) {
		const struct cpci_object *object = &process->object[i];

		sum = sum_of(sum, &object->file, sizeof(object->file));
		sum = sum_of(sum, &object->at, sizeof(object->at));
	}
	return sum;
}
