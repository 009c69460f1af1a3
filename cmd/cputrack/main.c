/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cputrack - count CPU events of a process, its LWPs and its children.
 */
#include "../common/caps.h"
#include "../common/opts.h"
#include "../common/util.h"
#include "track.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPT_VERSION = 256, OPT_START_DISABLED, OPT_TID };

/* What a shell returns for a command that it cannot execute, and cannot find. */
enum { STATUS_CANNOT_EXECUTE = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };

static const struct opt opts[] = {
	{'c', "events", "SPEC", "count these events; several -c take turns"},
	{'e', "follow-exec", NULL, "go on after exec"},
	{'f', "follow-fork", NULL, "follow children, too"},
	{'T', "interval", "SECS", "seconds between samples (1); 0: none"},
	{'N', "count", "COUNT", "stop after so many samples"},
	{'o', "output", "FILE", "write the table to FILE"},
	{'p', "pid", "PID", "track a running process; may be repeated"},
	{OPT_TID, "tid", NULL, "name LWPs by the kernel's thread ids"},
	{OPT_START_DISABLED, "start-disabled", NULL, "count only after cpc_enable(3)"},
	{'n', "no-header", NULL, "leave the header out"},
	{'t', "cycles", NULL, "a column of CPU cycles"},
	{'v', "verbose", NULL, "rows for init_lwp and fini_lwp, too"},
	{'D', "debug", NULL, "tell how events are found, name failed calls"},
	{'h', "help", NULL, "this text, and what can be counted here"},
	{OPT_VERSION, "version", NULL, "print the version"},
	{0},
};

struct config {
	struct track_config track;
	struct setgrp grp;
	const char **spec;
	size_t nspecs;
	const char *output;
	char **command; /* NULL: -p */
	pid_t *pid;	/* of -p */
	size_t npids;
	bool header, tids, cycles, debug, help, version;
	struct about about; /* -h and --version */
};

/* What the signal handlers need. */
static struct {
	struct track *track;
	pctx_t *pctx;
	int pidfd;		     /* the command's, or -1 */
	bool interrupted;	     /* the command died of SIGINT */
	volatile sig_atomic_t early; /* a signal that came before there was anything to stop */
} running = {.pidfd = -1};

static void print_usage(FILE *f)
{
	fputs("usage: cputrack -c SPEC [-c SPEC]... [-efntvD] [-N COUNT] [-o FILE]\n"
	      "                [-T SECS] COMMAND [ARG]...\n"
	      "       cputrack -c SPEC [-c SPEC]... -p PID [-p PID]... [-efntvD] [-N COUNT]\n"
	      "                [-o FILE] [-T SECS]\n"
	      "       cputrack -h [PATTERN]\n\n",
	      f);
	opts_print(f, opts);
}

static int usage_error(const char *what)
{
	warnx("%s; cputrack -h tells more", what);
	return STATUS_USAGE;
}

/* A whole number from an option's argument; 0 and a message when it is none. */
static unsigned parse_count(const char *opt, const char *text, unsigned max)
{
	const char *bad;
	long long n = strtonum(text, 1, max, &bad);

	if (bad != NULL)
		warnx("%s '%s': a number from 1 to %u is wanted", opt, text, max);
	return (unsigned)n;
}

static int parse_interval(const char *text, uint_t *ms)
{
	int64_t ns;

	if (!parse_seconds(text, &ns) || (ns > 0 && ns < 1000000) || ns / 1000000 > UINT_MAX) {
		warnx("-T '%s': seconds are wanted, 0 or from 0.001 to 1000000", text);
		return STATUS_USAGE;
	}
	*ms = (uint_t)((ns + 500000) / 1000000);
	return STATUS_OK;
}

static int parse_option(struct config *cfg, int c)
{
	switch (c) {
	case 'c':
		cfg->spec[cfg->nspecs++] = optarg;
		return STATUS_OK;
	case 'e':
		cfg->track.follow_exec = true;
		return STATUS_OK;
	case 'f':
		cfg->track.follow_fork = true;
		return STATUS_OK;
	case 'T':
		return parse_interval(optarg, &cfg->track.interval_ms);
	case 'N':
		cfg->track.count = parse_count("-N", optarg, INT_MAX);
		return cfg->track.count != 0 ? STATUS_OK : STATUS_USAGE;
	case 'o':
		cfg->output = optarg;
		return STATUS_OK;
	case 'p':
		cfg->pid[cfg->npids] = (pid_t)parse_count("-p", optarg, INT_MAX);
		return cfg->pid[cfg->npids++] != 0 ? STATUS_OK : STATUS_USAGE;
	case OPT_TID:
		cfg->tids = true;
		return STATUS_OK;
	case 'n':
		cfg->header = false;
		return STATUS_OK;
	case 't':
		cfg->cycles = true;
		return STATUS_OK;
	case 'v':
		cfg->track.verbose = true;
		return STATUS_OK;
	case 'D':
		cfg->debug = cfg->track.debug = true;
		return STATUS_OK;
	case OPT_START_DISABLED:
		cfg->track.start_off = true;
		return STATUS_OK;
	case 'h':
		cfg->help = true;
		return STATUS_OK;
	case OPT_VERSION:
		cfg->version = cfg->about.version = true;
		return STATUS_OK;
	default:
		return STATUS_USAGE;
	}
}

static int parse(struct config *cfg, int argc, char **argv)
{
	int c, status = STATUS_OK;

	cfg->about.program = "cputrack";
	cfg->spec = xcalloc((size_t)argc, sizeof(*cfg->spec));
	cfg->pid = xcalloc((size_t)argc, sizeof(*cfg->pid));
	while (status == STATUS_OK && (c = opts_next(argc, argv, opts)) != -1)
		status = parse_option(cfg, c);
	if (cfg->help && optind < argc)
		cfg->about.pattern = argv[optind];
	if (status != STATUS_OK || cfg->help || cfg->version)
		return status;
	if (optind < argc)
		cfg->command = argv + optind;
	cfg->track.created = cfg->command != NULL;
	if (cfg->nspecs == 0)
		return usage_error("no events: -c is missing");
	if (cfg->command == NULL && cfg->npids == 0)
		return usage_error("nothing to track: a command or -p is missing");
	if (cfg->command != NULL && cfg->npids != 0)
		return usage_error("either a command or -p, not both");
	return STATUS_OK;
}

/* Can these events be counted, here and now?  Better known before anything starts. */
static int try_sets(const struct setgrp *grp, cpc_t *cpc)
{
	for (size_t i = 0; i < grp->n; i++) {
		cpc_set_t *set = grp->set[i].set;

		if (cpc_bind_curlwp(cpc, set, CPC_BIND_LATE) == -1) {
			warnx("%s", cpcerr_text());
			return STATUS_FAILED;
		}
		cpc_unbind(cpc, set);
	}
	return STATUS_OK;
}

/*
 * Does the program have the symbols of the sets?  One that was started may get them with
 * its libraries, or another program may have them.
 */
static int try_symbols(const struct config *cfg, cpc_t *cpc, pctx_t *pctx)
{
	for (size_t i = 0; i < cfg->grp.n; i++) {
		cpc_set_t *set = cfg->grp.set[i].set;

		if (!cfg->grp.set[i].symbols)
			continue;
		if (cpc_bind_pctx(cpc, pctx, 1, set, 0) == 0) {
			cpc_unbind(cpc, set);
		} else if (errno != ESRCH && (errno != ENOENT || cfg->command == NULL)) {
			warnx("%s", cpcerr_text());
			return STATUS_FAILED;
		}
	}
	return STATUS_OK;
}

static void tell(const char *fn, const char *fmt, va_list ap)
{
	(void)fn;
	vwarnx(fmt, ap);
}

static void tell_debug(const char *fn, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	warnx("pctx_%s: %s", fn, text);
}

/*
 * From the terminal the command gets its signals itself; what is sent to us alone
 * is meant for it.
 */
static void pass_on(int sig, siginfo_t *info, void *ctx)
{
	int saved = errno;

	(void)ctx;
	if (info->si_code > 0)
		return;
	if (running.pctx == NULL)
		running.early = sig;
	else if (running.pidfd == -1) /* before Linux 5.3 */
		kill(pctx_pid(running.pctx), sig);
	else
		syscall(SYS_pidfd_send_signal, running.pidfd, sig, NULL, 0);
	errno = saved;
}

static void stop_tracking(int sig, siginfo_t *info, void *ctx)
{
	(void)info;
	(void)ctx;
	if (running.pctx == NULL)
		running.early = sig;
	else if (running.track != NULL)
		track_stop(running.track, running.pctx);
}

/* The terminal's ^Z; a SIGCONT that comes before we have stopped takes it back. */
static void suspend(int sig)
{
	if (running.track != NULL)
		track_suspend(running.track, sig == SIGTSTP);
}

static void catch_signals(const struct config *cfg)
{
	const struct sigaction tstp = {
		/* Stopped, we would hold up an attached process. */
		.sa_handler = cfg->command != NULL ? suspend : SIG_IGN,
		.sa_flags = SA_RESTART,
	};
	static const int sigs[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_flags = SA_SIGINFO | SA_RESTART}, old;

	act.sa_sigaction = cfg->command != NULL ? pass_on : stop_tracking;
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		/*
		 * What is ignored, as under nohup(1), stays so, also for the command.  But a
		 * script's shell ignores SIGINT for what it starts with &.
		 */
		if (sigaction(sigs[i], NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || (cfg->command == NULL && sigs[i] == SIGINT)))
			sigaction(sigs[i], &act, NULL);
	}
	if (sigaction(SIGTSTP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
		sigaction(SIGTSTP, &tstp, NULL);
		sigaction(SIGCONT, &tstp, NULL);
	}
}

static int cannot_start(void)
{
	switch (errno) {
	case ENOENT:
		return STATUS_NOT_FOUND;
	case EPERM:
	case EAGAIN:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EINTR:
		return STATUS_FAILED;
	default:
		return STATUS_CANNOT_EXECUTE;
	}
}

/* Ends as others do whom this signal ends. */
static void die_of(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
}

static int command_status(int status)
{
	return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Takes all processes of -p that can be had; NULL: none.  *status tells of the others. */
static pctx_t *attach(const struct config *cfg, struct track *track, cpc_t *cpc,
		      pctx_errfn_t *errfn, int *status)
{
	pctx_t *pctx = pctx_open(track, errfn), *added;
	size_t n = 0;

	if (pctx == NULL || track_watch(pctx, cfg->track.follow_fork) == -1)
		return NULL;
	for (size_t i = 0; i < cfg->npids; i++) {
		added = pctx_add(pctx, cfg->pid[i]);
		n += added != NULL;
		if (added != NULL && try_symbols(cfg, cpc, added) != STATUS_OK) {
			n = 0;
			break;
		}
	}
	if (n < cfg->npids)
		*status = STATUS_FAILED;
	if (n > 0)
		return pctx;
	pctx_release(pctx);
	return NULL;
}

static pctx_t *start(const struct config *cfg, struct track *track, cpc_t *cpc, pctx_errfn_t *errfn,
		     int *status)
{
	pctx_t *pctx = pctx_create(cfg->command[0], cfg->command, track, 0, errfn);
	int wstatus;

	if (pctx == NULL) {
		*status = cannot_start();
		return NULL;
	}
	running.pidfd = (int)syscall(SYS_pidfd_open, pctx_pid(pctx), 0);
	track_watch(pctx, cfg->track.follow_fork); /* events that there are */
	if (try_symbols(cfg, cpc, pctx) == STATUS_OK)
		return pctx;
	*status = STATUS_FAILED;
	kill(pctx_pid(pctx), SIGKILL); /* it has not run yet */
	pctx_wait(pctx, &wstatus);
	pctx_release(pctx);
	return NULL;
}

/* Tracks until the end and returns the exit status. */
static int run(const struct config *cfg, struct track *track, const struct out *out)
{
	pctx_errfn_t *errfn = cfg->debug ? tell_debug : tell;
	int status = STATUS_OK, rc, wstatus;
	pctx_t *pctx;

	running.track = track;
	catch_signals(cfg);
	pctx = (cfg->command != NULL ? start : attach)(cfg, track, out->cpc, errfn, &status);
	if (pctx == NULL)
		return status != STATUS_OK ? status : STATUS_FAILED;
	/* What follows is not for the command, which has started. */
	raise_file_limit();
	running.pctx = pctx;
	if (running.early != 0)
		raise(running.early); /* its handler can act on it now */
	/* A table that cannot be written is to end, not the command. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	out_begin(out);
	if (cfg->header)
		out_header(out);

	rc = track_run(track, pctx);
	if (cfg->command != NULL) {
		if (pctx_wait(pctx, &wstatus) == 0) {
			status = command_status(wstatus);
			running.interrupted = WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGINT;
		}
		running.pctx = NULL;
		pctx_release(pctx);
	} else {
		running.pctx = NULL;
		pctx_abandon(pctx); /* an LWP in a long system call is not waited for */
	}
	running.track = NULL; /* signals find nothing to act on any more */
	if (track_never_on(track))
		warnx("the counters were never on: no tracked LWP called cpc_enable(3)");
	if (track_lacks_symbols(track) || track_lost(track) || rc == -1)
		status = STATUS_FAILED;
	return status;
}

/* Opens the table and tracks.  Returns the exit status. */
static int track(const struct config *cfg, cpc_t *cpc)
{
	struct out out = {.file = stdout, .cpc = cpc, .grp = &cfg->grp};
	struct track *track;
	int status, error, closing;

	if (cfg->output != NULL && out_open(&out, cfg->output) == -1) {
		warn("cannot write '%s'", cfg->output);
		return STATUS_FAILED;
	}
	if (!isatty(fileno(out.file)))
		setvbuf(out.file, NULL, _IOFBF, 1 << 16);
	out.pids = cfg->track.follow_fork || cfg->npids > 1;
	out.tids = cfg->tids;
	out.cycles = cfg->cycles;
	track = track_new(&cfg->track, &out);
	status = run(cfg, track, &out);
	error = track_output_error(track);
	closing = out_close(&out);
	track_free(track);
	if (error == 0 && closing != 0)
		out_tell(error = closing);
	if (error == EPIPE)
		die_of(SIGPIPE); /* as it ends others that write there */
	if (error == 0 && status != STATUS_FAILED && running.interrupted)
		die_of(SIGINT); /* a shell ends its loop only when its child ended so */
	return error != 0 ? STATUS_FAILED : status;
}

static int count(struct config *cfg, cpc_t *cpc)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < cfg->nspecs; i++)
		status = setgrp_add(&cfg->grp, cpc, cfg->spec[i], cfg->debug);
	if (status == STATUS_OK)
		status = try_sets(&cfg->grp, cpc);
	if (status == STATUS_OK)
		status = track(cfg, cpc);
	setgrp_free(&cfg->grp);
	return status;
}

int main(int argc, char **argv)
{
	struct config cfg = {.track = {.interval_ms = 1000}, .header = true};
	int status;
	cpc_t *cpc;

	guard_streams();
	status = parse(&cfg, argc, argv);
	if (status == STATUS_OK) {
		cpc = xcpc_open();
		cpcerr_install(cpc, cfg.debug);
		status = cfg.version || cfg.help ? caps_tell(cpc, &cfg.about, print_usage)
						 : count(&cfg, cpc);
		cpc_close(cpc);
	}
	free(cfg.spec);
	free(cfg.pid);
	return status;
}
