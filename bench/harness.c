/* SPDX-License-Identifier: MIT */
/*
 * The stopwatch. On a machine with other work a time alone means little, so all jobs whose figures are compared take
 * turns of 50 to 100 us (A B C A B C ...), short against a scheduler's time slice, and the fastest turn of each counts:
 * what else ran, and the clock's ups and downs, fall out of the ratios.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <stdio.h>
#include <time.h>

#include "bench.h"
#include "harness.h"
#include "probe.h"

/* The least duration of a turn in ns. Reading the clock takes some 50 ns. */
#define TURN 50e3

/* However slow a job is; 32 in all passes. */
enum { MIN_TURNS = 8 };

double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_calls(const struct job *j)
{
	double from = now_ns();

	j->run(j->arg, j->calls);
	return now_ns() - from;
}

/* As many calls as fill a turn; they warm caches and branch predictors on the way. */
static void warm_up(struct job *j)
{
	j->ns = j->spent = 0;
	j->turns = 0;
	j->calls = 1;
	while (time_calls(j) < TURN)
		j->calls *= 2;
}

static void take_turn(struct job *j)
{
	double took = time_calls(j), ns = took / (double)j->calls;

	j->spent += took;
	if (!j->turns++ || ns < j->ns)
		j->ns = ns;
}

static int all_had_turns(const struct job *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (jobs[i].turns < MIN_TURNS)
			return 0;
	return 1;
}

/* A job whose single call outlasts a turn sits out until the others have caught up, but not when the time is over. */
static void run_rounds(struct job *jobs, size_t n, struct job *clock, double seconds)
{
	double until = now_ns() + seconds * 1e9;
	double allowance = 0;

	for (; now_ns() < until || !all_had_turns(jobs, n); allowance += 2 * TURN) {
		for (size_t i = 0; i < n; i++)
			if (jobs[i].spent <= allowance || now_ns() >= until)
				take_turn(&jobs[i]);
		take_turn(clock);
	}
}

double harness_run(struct job *jobs, size_t n, double seconds)
{
	struct job clock = {.run = probe_additions};

	for (size_t i = 0; i < n; i++)
		warm_up(&jobs[i]);
	warm_up(&clock);
	run_rounds(jobs, n, &clock, seconds * (double)n);
	return probe_counts_cycles ? PROBE_STEPS / clock.ns : 0;
}
