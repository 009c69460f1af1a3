/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * process.c - the program and the libraries that a process has mapped.  The process can write to
 * its auxiliary vector and its list of libraries, so they are believed only where the kernel's
 * mappings agree.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NS 1000000000LL
#define MAX_AUXV_SIZE 1024

/* Reads /proc/PID/mem, because seccomp may forbid process_vm_readv(2). */
static bool read_memory(void *arg, uint64_t addr, void *buf, size_t n)
{
	const struct cpci_process *process = arg;
	int fd = cpci_open_proc(process->tid, "mem");
	ssize_t got;

	if (fd == -1)
		return false;
	got = addr <= INT64_MAX ? pread(fd, buf, n, (off_t)addr) : 0;
	if (got != -1 || errno == EIO)
		errno = EFAULT;
	cpci_close(fd);
	return got == (ssize_t)n;
}

/* Reads AT_ENTRY, or returns 0.  The process may have changed it. */
static uint64_t read_entry(pid_t tid, unsigned width)
{
	char buf[MAX_AUXV_SIZE] = {0}, *end = buf + sizeof(buf) - 2UL * width;

	if (!cpci_read_proc(tid, "auxv", buf, sizeof(buf)))
		return 0;
	for (const char *p = buf; p <= end; p += 2UL * width) {
		if (cpci_elf_word(p, width) == AT_ENTRY)
			return cpci_elf_word(p + width, width);
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
									    : CPCI_PROCESS_ADDRESS;
}

enum cpci_process_error cpci_process_open(struct cpci_process *process, struct cpci_symfiles *files,
					  pid_t tid)
{
	char path[64];
	ssize_t n;
	int rc;

	*process = (struct cpci_process){
		.tid = tid,
		.files = files,
		.exe_fd = -1,
		.deadline = cpci_cpu_time() + MAX_NS,
	};
	if (cpci_maps_open(&process->maps, tid) == -1)
		return CPCI_PROCESS_MAPS;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
	n = readlink(path, process->exe_path, sizeof(process->exe_path) - 1);
	process->exe_path[n > 0 ? n : 0] = '\0';
	process->exe = cpci_symfile_open(files, path, NULL, &process->exe_fd);
	if (process->exe == NULL)
		return CPCI_PROCESS_PROGRAM;
	process->memory = (struct cpci_memory){read_memory, process, process->exe->elf.width};
	rc = cpci_symfile_is_linker(process->exe, process->exe_fd);
	if (rc == -1)
		return CPCI_PROCESS_PROGRAM;
	process->runs_linker = rc == 1;
	return find_program(process);
}

void cpci_process_close(struct cpci_process *process)
{
	cpci_maps_close(&process->maps);
	cpci_close(process->exe_fd);
	free(process->object);
}

/* Decodes newlines, which /proc/PID/maps writes as \012.  False: the path has no newline. */
static bool decode_newlines(char *path)
{
	bool found = false;

	for (char *at; (at = strstr(path, "\\012")) != NULL; found = true) {
		*at = '\n';
		memmove(at + 1, at + 4, strlen(at + 4) + 1);
	}
	return found;
}

/*
 * Opens a mapped file.  The kernel's own link to it requires privilege, but also works for deleted
 * files.  Otherwise uses its path, in the process's view or in ours.
 */
static struct cpci_symfile *open_mapped(struct cpci_process *process, const struct cpci_mapping *m,
					int *fd)
{
	struct cpci_symfile *file;
	char path[PATH_MAX + 128];
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
	if (file == NULL && decode_newlines(path)) {
		file = cpci_symfile_open(process->files, path, &m->file, fd);
		err = errno;
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
	if (rc == 1 && cpci_cpu_time() > process->deadline) {
		errno = ETIME;
		return NULL;
	}
	return rc == 1 ? open_mapped(process, m, fd) : NULL;
}

static int add_object(struct cpci_process *process, const struct cpci_object *object)
{
	struct cpci_object *p = cpci_grow(process->object, process->n, &process->room, sizeof(*p));

	if (p == NULL)
		return -1;
	process->object = p;
	p[process->n++] = *object;
	return 0;
}

/* Adds an object of the list: a library, the vDSO, or a forged entry. */
static enum cpci_process_error add_listed(struct cpci_process *process,
					  const struct cpci_linked *linked)
{
	struct cpci_object object = {.at = linked->dynamic, .bias = linked->bias, .listed = true};
	struct cpci_mapping m;
	int rc;

	if (!process->runs_linker &&
	    linked->dynamic == process->exe_bias + process->exe->elf.dynamic)
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

	*addr = 0;
	if (elf->interpreted && elf->dynamic != 0)
		return cpci_linkmap_find(&process->memory, process->exe_bias + elf->dynamic,
					 elf->ndynamic, addr);
	if (!process->runs_linker)
		return 0;
	if (cpci_symfile_find(process->exe, process->exe_fd, CPCI_ELF_DYNAMIC, "_r_debug", 0,
			      &symbol) == -1)
		return -1;
	if (symbol.kind == CPCI_SYM_FOUND) {
		*addr = process->exe_bias + symbol.value;
		return 0;
	}
	/* musl has a pointer to it. */
	if (cpci_symfile_find(process->exe, process->exe_fd, CPCI_ELF_DYNAMIC, "_dl_debug_addr", 0,
			      &symbol) == -1)
		return -1;
	return cpci_linkmap_words(&process->memory, process->exe_bias + symbol.value, addr, 1) ? 0
											       : -1;
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
	size_t nlisted = process->nlisted, n = nlisted;
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

enum cpci_process_error cpci_process_libraries(struct cpci_process *process)
{
	enum cpci_process_error error;

	if (process->have_libraries)
		return CPCI_PROCESS_OK;
	error = add_list(process);
	process->nlisted = process->n;
	if (error == CPCI_PROCESS_OK && process->runs_linker && process->state == CPCI_LINKMAP_NONE)
		error = CPCI_PROCESS_LINKER;
	if (error == CPCI_PROCESS_OK)
		error = add_unlisted(process);
	process->have_libraries = error == CPCI_PROCESS_OK;
	return error;
}
