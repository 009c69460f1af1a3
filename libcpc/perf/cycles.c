/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cycles.c - converts the time that a set was on the hardware to cycles of the CPU's
 * clock: the time-stamp counter on x86.
 */
#include "perf.h"

#include <time.h>

#define NSEC 1000000000LL

#if defined(__x86_64__)
#include <x86intrin.h>

/* The shortest time over which the two clocks are compared: precise to 1 in 10,000. */
#define MEASURE_NS 1000000

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

void cpci_clock_start(struct cpci_clock *clock)
{
	clock->ns = now_ns();
	clock->tsc = __rdtsc();
}

/*
 * Measures the frequency: the kernel's own figure (perf_event_open(2), cap_user_time) is
 * missing in most virtual machines, and so is that of CPUID.
 */
void cpci_clock_stop(struct cpci_clock *clock)
{
	int64_t ns = now_ns() - clock->ns;
	uint64_t tsc;

	if (clock->rate != 0)
		return;
	if (ns < MEASURE_NS) {
		const struct timespec rest = {.tv_nsec = MEASURE_NS - ns};

		nanosleep(&rest, NULL);
	}
	ns = now_ns() - clock->ns;
	tsc = __rdtsc() - clock->tsc;
	clock->rate = (uint64_t)(((unsigned __int128)tsc << CPCI_RATE_SHIFT) / (uint64_t)ns);
}
#else

/*
 * The CPU's nominal frequency in kHz, which is that of x86's time-stamp counter
 * (Documentation/ABI/testing/sysfs-devices-system-cpu).  0: the kernel does not know it.
 */
static uint64_t nominal_khz(void)
{
	static const struct {
		const char *path;
		uint64_t khz; /* the unit of the file, in kHz */
	} files[] = {
		{"/sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq", 1000},
		{"/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", 1},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		long val = cpci_read_number(files[i].path, 0);

		if (val > 0)
			return (uint64_t)val * files[i].khz;
	}
	return 0;
}

void cpci_clock_start(struct cpci_clock *clock)
{
	uint64_t khz = nominal_khz();

	/* Fall back to nanoseconds. */
	if (khz == 0)
		khz = 1000000;
	clock->rate = (uint64_t)(((unsigned __int128)khz << CPCI_RATE_SHIFT) / 1000000);
}

void cpci_clock_stop(struct cpci_clock *clock)
{
	(void)clock;
}
#endif

uint64_t cpci_cycles(const struct cpci_clock *clock, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * clock->rate >> CPCI_RATE_SHIFT);
}
