/* SPDX-License-Identifier: MIT */
/*
 * Whether threads get in each other's way. Each has messages of its own; the key is one for all, or one each. A run
 * lasts from the moment at which all threads are ready until the last is done, so that threads which the scheduler puts
 * one behind the other do not count as parallel; the best of many short runs counts. What the machine itself has to
 * give (its processors may be halves of one core, or busy) is measured by threads that run the core's own AES
 * instructions.
 */
#define _POSIX_C_SOURCE 200809L /* sysconf */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "figures.h"
#include "harness.h"
#include "ours.h"
#include "probe.h"
#include "threads.h"

enum { MAX_THREADS = 256 };

/* The least duration of a run in ns: long against a barrier, short against a time slice. */
#define RUN 300e3

/*
 * Moments in which all processors are free are rare on a machine with other work: look longer than for other figures.
 */
#define PATIENCE 4

static const size_t sizes[] = {64, 4096, 0};

/* What one thread does; on cache lines of its own. */
struct worker {
	_Alignas(64) struct job job;
	struct crew *crew;
	double from, to;
	/* If it signs: */
	struct ours ours;
	struct ring ring;
	struct task task;
};

/* A row of the table: as many workers as processors that do the same. */
struct team {
	const char *what, *who, *how;
	size_t size;
	struct worker *workers;
};

enum { MAX_TEAMS = 1 + 2 * 2 * N_ALGS };

/* Those of a team that run at once. */
struct crew {
	unsigned n;
	atomic_uint ready;
};

unsigned processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->job.run(w->job.arg, w->job.calls / 16 + 1); /* fetch code and data */
	atomic_fetch_add(&w->crew->ready, 1);
	while (atomic_load(&w->crew->ready) < w->crew->n)
		sched_yield();
	w->from = now_ns();
	w->job.run(w->job.arg, w->job.calls);
	w->to = now_ns();
	return NULL;
}

/* The first n workers once; ns that all took together. */
static double run_crew(struct worker *workers, unsigned n)
{
	struct crew crew = {.n = n};
	pthread_t threads[MAX_THREADS];
	double from, to;

	for (unsigned i = 0; i < n; i++) {
		workers[i].crew = &crew;
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			die("cannot create thread %u", i + 1);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	from = workers[0].from;
	to = workers[0].to;
	for (unsigned i = 1; i < n; i++) {
		from = workers[i].from < from ? workers[i].from : from;
		to = workers[i].to > to ? workers[i].to : to;
	}
	return to - from;
}

static void set_calls(struct worker *workers, unsigned n)
{
	uint64_t calls = 1;

	for (;; calls *= 2) {
		workers[0].job.calls = calls;
		if (run_crew(workers, 1) >= RUN)
			break;
	}
	for (unsigned i = 0; i < n; i++)
		workers[i].job.calls = calls;
}

/* Numbers of threads to try: all up to 8, then doubled, then all processors. */
static unsigned next_count(unsigned n, unsigned max)
{
	unsigned next = n < 8 ? n + 1 : 2 * n;

	return n < max && next > max ? max : next;
}

/* "threads-2-shared-key" */
static const char *work_name(char name[48], unsigned n, const char *how)
{
	snprintf(name, 48, "threads-%u-%s", n, how);
	return name;
}

static void measure(const struct team *t, unsigned n)
{
	double ns = run_crew(t->workers, n) / (n * (double)t->workers[0].job.calls);
	char name[48];

	figures_add(t->what, t->who, work_name(name, n, t->how), t->size, ns, 0);
}

/* All teams with all numbers of threads take turns, so a moment that is good for one is good for all. */
static void measure_teams(const struct team *teams, size_t n_teams, unsigned max, double seconds)
{
	double until;

	for (size_t i = 0; i < n_teams; i++)
		set_calls(teams[i].workers, max);
	until = now_ns() + seconds * 1e9 * PATIENCE * max * (double)n_teams;
	do
		for (size_t i = 0; i < n_teams; i++)
			for (unsigned n = 1; n <= max; n = next_count(n, max))
				measure(&teams[i], n);
	while (now_ns() < until);
}

/* The machine itself: threads that only run one instruction; the additions if it has none of ours. */
static const struct probe *core_probe(void)
{
	const struct probe *p = probes;

	while (p->name && !probe_usable(p))
		p++;
	return p;
}

static const char *core_name(void)
{
	return core_probe()->name ? core_probe()->name : "additions";
}

static void make_core_team(struct team *t, unsigned max)
{
	const struct probe *p = core_probe();

	*t = (struct team){"core", core_name(), "instructions", 0, new_lines(max * sizeof(*t->workers))};
	for (unsigned i = 0; i < max; i++)
		t->workers[i].job = (struct job){.run = p->name ? p->spread : probe_additions};
}

static void make_team(struct team *t, unsigned max, unsigned alg, size_t size, int shared)
{
	*t = (struct team){alg_names[alg], ours_best(alg), shared ? "shared-key" : "own-keys", size,
			   new_lines(max * sizeof(*t->workers))};
	for (unsigned i = 0; i < max; i++) {
		struct worker *w = &t->workers[i];

		w->ours = (struct ours){.alg = alg, .name = t->who, .size = smb3sign_key_size(alg)};
		if (smb3sign_key_new(&w->ours.key, alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
			die("cannot make a key for %s", alg_names[alg]);
		ring_make(&w->ring, size, ring_count(size));
		task_make(&w->task, shared ? &t->workers[0].ours : &w->ours, &w->ring);
		w->job = (struct job){.run = ours_sign, .arg = &w->task};
	}
}

static void free_team(struct team *t, unsigned max)
{
	for (unsigned i = 0; i < max && t->workers[i].ours.key; i++) {
		task_end(&t->workers[i].task);
		ring_free(&t->workers[i].ring);
	}
	for (unsigned i = 0; i < max; i++)
		smb3sign_key_free(t->workers[i].ours.key);
	free(t->workers);
}

void threads_measure(const struct options *o)
{
	struct team teams[MAX_TEAMS];
	unsigned max = processors();
	size_t n = 0;

	progress("threads");
	make_core_team(&teams[n++], max);
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		for (const size_t *size = sizes; o->algs[alg] && *size; size++)
			for (int shared = 0; shared < 2; shared++)
				make_team(&teams[n++], max, alg, *size, shared);
	measure_teams(teams, n, max, o->seconds);
	while (n)
		free_team(&teams[--n], max);
}

static void print(const char *what, const char *who, const char *how, size_t size)
{
	unsigned max = processors();
	char name[48];
	double one = figures_find(what, who, work_name(name, 1, how), size)->ns;

	printf("  %-12s %-28s %6zu", what, how, size);
	for (unsigned n = 1; n <= max; n = next_count(n, max)) {
		double ns = figures_find(what, who, work_name(name, n, how), size)->ns;

		printf(" %9.3f %6.2f", 1e3 / ns, one / ns);
	}
	putchar('\n');
}

void threads_print(const struct options *o)
{
	unsigned max = processors();

	printf("Threads: million messages (or calls of %d instructions) a second, and as a multiple of one thread's\n",
	       PROBE_STEPS);
	printf("  %-41s %6s", "", "bytes");
	for (unsigned n = 1; n <= max; n = next_count(n, max))
		printf(" %8u thread%s", n, n > 1 ? "s" : " ");
	putchar('\n');
	print("core", core_name(), "instructions", 0);
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		for (const size_t *size = sizes; o->algs[alg] && *size; size++) {
			print(alg_names[alg], ours_best(alg), "own-keys", *size);
			print(alg_names[alg], ours_best(alg), "shared-key", *size);
		}
	putchar('\n');
}
