/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ovfprof - runs a program and prints in which functions its events happened, by overflows of
 * the counters of libcpc(3).  See README.md and ovfprof(1).
 */
#include "ovfprof.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <libcpc.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
	"usage: ovfprof [-cls] [-e EVENT] [-p PERIOD] [-m PERCENT] [-o FILE] COMMAND...\n"
	"  -e EVENT    what to profile by (CPC_PROF_EVENT; cycles, or else task-clock)\n"
	"  -p PERIOD   events between two samples, of clocks at least 100000 ns\n"
	"  -c          callers, too\n"
	"  -l          a profile of each LWP, too\n"
	"  -s          kernel mode, too\n"
	"  -m PERCENT  leave out what is less (0.1)\n"
	"  -o FILE     write there, not to standard error\n";

static char dir[4096];

/* The default period: at most some thousand samples per second of CPU time. */
static uint64_t period_of(const struct options *o, const char *event)
{
	if (o->period != 0)
		return o->period;
	if (strstr(event, "clock") != NULL || strstr(event, "cycles") != NULL ||
	    strstr(event, "instructions") != NULL)
		return 1000000;
	return 100;
}

/* Binds the event once, so that an unsupported one is refused before the program runs. */
static bool try_event(const struct options *o, const char *event, cpc_errhndlr_t *errhndlr)
{
	uint_t flags = CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT | (o->system ? CPC_COUNT_SYSTEM : 0);
	uint64_t preset = 0 - period_of(o, event);
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set;
	bool good;

	if (cpc == NULL)
		err(1, "cannot count");
	cpc_seterrhndlr(cpc, errhndlr);
	signal(SIGEMT, SIG_IGN); /* it may overflow meanwhile */
	set = cpc_set_create(cpc);
	good = set != NULL && cpc_set_add_request(cpc, set, event, preset, flags, 0, NULL) == 0 &&
	       cpc_bind_curlwp(cpc, set, 0) == 0;
	cpc_close(cpc);
	signal(SIGEMT, SIG_DFL);
	return good;
}

static void quiet(const char *fn, int subcode, const char *fmt, va_list ap)
{
	(void)fn;
	(void)subcode;
	(void)fmt;
	(void)ap;
}

static void report_refusal(const char *fn, int subcode, const char *fmt, va_list ap)
{
	(void)fn;
	(void)subcode;
	fprintf(stderr, "%s: ", getprogname());
	vfprintf(stderr, fmt, ap);
}

static uint64_t to_period(const char *s)
{
	const char *wrong;
	long long n = strtonum(s, 1, INT64_MAX, &wrong);

	if (wrong != NULL)
		errx(2, "invalid -p '%s': a period is a number of events, and no process", s);
	return (uint64_t)n;
}

/* Options of perf record, which are others here. */
static const struct {
	char letter;
	const char *instead;
} foreign[] = {
	{'F', "-p PERIOD sets the events between two samples"},
	{'g', "-c shows callers"},
	{'a', "ovfprof profiles a command that it starts"},
};

static void refuse_option(const char *word)
{
	bool is_long = strncmp(word, "--", 2) == 0;

	for (size_t i = 0; !is_long && i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		if (foreign[i].letter == optopt)
			errx(2, "unknown option '-%c'; %s", optopt, foreign[i].instead);
	}
	if (is_long)
		errx(2, "unknown option '%s'; ovfprof -h lists the options", word);
	errx(2, "unknown option '-%c'; ovfprof -h lists the options", optopt);
}

static void read_options(int argc, char *argv[], struct options *o)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	int opt;
	char *end;

	while ((opt = getopt_long(argc, argv, "+:e:p:clsm:o:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'e':
			o->event = optarg;
			break;
		case 'p':
			o->period = to_period(optarg);
			break;
		case 'c':
			o->callers = true;
			break;
		case 'l':
			o->per_lwp = true;
			break;
		case 's':
			o->system = true;
			break;
		case 'm':
			o->least = strtod(optarg, &end);
			if (end == optarg || *end != '\0' || !(o->least >= 0))
				errx(2, "invalid -m '%s': expected a percentage", optarg);
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case ':':
			errx(2, "missing argument of option '-%c'", optopt);
		default:
			refuse_option(argv[optind - 1]);
		}
	}
	if (optind == argc)
		errx(2, "missing command: ovfprof profiles a command that it starts; ovfprof -h "
			"lists the options");
}

/* Where ovfprof-preload.so is, from the directory of this program: beside it, or installed. */
static const char *const places[] = {
	"ovfprof-preload.so",
#ifdef OVFPROF_INSTALLED
	OVFPROF_INSTALLED "/ovfprof-preload.so",
#endif
};

static char preload_path[4096];

static void find_preload(void)
{
	char *path = preload_path;
	const size_t size = sizeof(preload_path);
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *name;

	if (n == -1)
		err(1, "/proc/self/exe");
	path[n] = '\0';
	name = strrchr(path, '/') + 1;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(name, size - (size_t)(name - path), "%s", places[i]);
		if (access(path, R_OK) == 0)
			return;
	}
	err(1, "cannot find ovfprof-preload.so: %s", path);
}

/* Makes the dynamic linker load ovfprof-preload.so into the program. */
static void set_environment(const struct options *o)
{
	const char *before = getenv("LD_PRELOAD");
	char preload[16384], period[32];

	snprintf(preload, sizeof(preload), "%s%s%s", preload_path, before != NULL ? ":" : "",
		 before != NULL ? before : "");
	snprintf(period, sizeof(period), "%llu", (unsigned long long)o->period);
	setenv("OVFPROF_DIR", dir, 1);
	setenv("OVFPROF_PERIOD", period, 1);
	setenv("CPC_PROF_EVENT", o->event, 1);
	if (o->callers)
		setenv("OVFPROF_CALLERS", "1", 1);
	if (o->system)
		setenv("OVFPROF_SYS", "1", 1);
	setenv("LD_PRELOAD", preload, 1);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Runs the command as a shell does: ignores the terminal's signals meanwhile. */
static int run(char *argv[], const struct options *o)
{
	int status;
	pid_t pid = fork();

	if (pid == -1)
		err(1, "fork");
	if (pid == 0) {
		set_environment(o);
		execvp(argv[0], argv);
		if (errno == ENOENT) {
			warnx("cannot find program '%s'", argv[0]);
			_exit(127);
		}
		warn("cannot execute program '%s'", argv[0]);
		_exit(126);
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(pid, &status, 0) == -1) {
		if (errno != EINTR)
			err(1, "waitpid");
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Makes the directory in which programs leave their samples. */
static void make_directory(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/ovfprof.XXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL)
		err(1, "%s", dir);
}

/* Returns the exit status of the program. */
static int profile(char *argv[], const struct options *o, FILE *out)
{
	int status;

	make_directory();
	status = run(argv, o);
	/* As in a shell, 126 and 127 mean that there was no program: there is a message. */
	if (report(dir, o, out) == 0 && status != 126 && status != 127)
		warnx("nothing was profiled: statically linked programs, and those with "
		      "privileges of their own, do not load the profiler");
	if (fflush(out) == EOF || ferror(out))
		err(1, "cannot write '%s'", o->output != NULL ? o->output : "standard error");
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return status;
}

/*
 * Opens the output.  In a directory of another user, or where other users can write, a link can
 * lead to a file of ours, and the file can be theirs or have another name: then it is refused.
 */
static FILE *open_output(const char *path)
{
	char *copy = strdup(path);
	struct stat place, st;
	int at, fd, flags = O_WRONLY | O_CREAT | O_CLOEXEC;
	bool shared;

	if (copy == NULL)
		err(1, NULL);
	at = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at == -1 || fstat(at, &place) == -1)
		err(1, "cannot write '%s'", path);
	shared = (place.st_uid != 0 && place.st_uid != geteuid()) ||
		 (place.st_mode & (S_IWGRP | S_IWOTH)) != 0;
	strcpy(copy, path);
	fd = openat(at, basename(copy), shared ? flags | O_NOFOLLOW | O_NONBLOCK : flags, 0666);
	if (fd == -1 && errno == ELOOP && shared)
		errx(1,
		     "cannot write '%s': it is a link, and other users can change its directory; "
		     "name the file that it leads to",
		     path);
	if (fd == -1 || fstat(fd, &st) == -1)
		err(1, "cannot write '%s'", path);
	if (shared && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1))
		errx(1,
		     "cannot write '%s': other users can change its directory, and it is not your "
		     "file alone; remove it or choose another directory",
		     path);
	if (S_ISREG(st.st_mode) && ftruncate(fd, 0) == -1)
		err(1, "cannot write '%s'", path);
	close(at);
	free(copy);
	return fdopen(fd, "w");
}

int main(int argc, char *argv[])
{
	struct options o = {.event = getenv("CPC_PROF_EVENT"), .least = 0.1};
	const char *period = getenv("CPC_PROF_PERIOD");
	FILE *out = stderr;

	if (period != NULL)
		o.period = to_period(period);

	read_options(argc, argv, &o);
	find_preload();
	if (o.event == NULL)
		o.event = try_event(&o, "cycles", quiet) ? "cycles" : "task-clock";
	if (!try_event(&o, o.event, report_refusal))
		return 1;
	o.period = period_of(&o, o.event);
	if (o.output != NULL && (out = open_output(o.output)) == NULL)
		err(1, "cannot write '%s'", o.output);
	return profile(argv + optind, &o, out);
}
