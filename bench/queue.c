/* SPDX-License-Identifier: MIT */
/*
 * The messages of a file server as they stand in its queue, signed one by one or as many at once as are at hand. Of 320
 *     192 (60 %) have 64 to 200 bytes, each length as likely as the other: answers without data
 *      96 (30 %) have 4 KiB and 80 bytes: reads of a page, with their header and the fixed part of a READ response
 *      28        have 64 KiB and 80 bytes,
 *       3        256 KiB and 80 bytes,
 *       1        1 MiB and 80 bytes: reads of files (10 % in all)
 * in an order drawn once from a fixed seed, each with one of 16 sessions' keys, drawn too. The whole queue is one
 * measurement: its messages are so unequal that a part of them would say nothing.
 *
 * It is measured with all messages, 4.1 MB, and with those up to 4 KiB alone, 0.4 MB: nine tenths of the bytes are in
 * the long ones, and jobs of intel-ipsec-mb have less than 64 KiB.
 */
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"
#include "harness.h"
#include "many.h"
#include "message.h"
#include "ours.h"
#include "queue.h"

enum { N_MESSAGES = 320, N_KEYS = 16, N_DRAWS = 2 };

static const size_t depths[] = {1, 4, 16, 64};
enum { N_DEPTHS = sizeof(depths) / sizeof(depths[0]) };

/* Messages of these lengths with these keys. */
struct draw {
	const char *name, *head;
	size_t longest, n, bytes;
	size_t len[N_MESSAGES], key[N_MESSAGES];
};

/* A linear congruential generator (Knuth's MMIX constants), of which the high half has the long periods. */
static size_t below(uint64_t *x, size_t n)
{
	*x = *x * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(*x >> 33) % n;
}

static size_t length_of(size_t i, uint64_t *x)
{
	if (i < 192)
		return 64 + below(x, 200 - 64 + 1);
	if (i < 192 + 96)
		return 80 + 4096;
	return 80 + ((size_t)65536 << (i < 192 + 96 + 28 ? 0 : i < 192 + 96 + 28 + 3 ? 2 : 4));
}

/* The same at every call. Without the long messages the others keep their order and their keys. */
static void make_draw(struct draw *d)
{
	size_t len[N_MESSAGES];
	uint64_t x = 1;

	for (size_t i = 0; i < N_MESSAGES; i++)
		len[i] = length_of(i, &x);
	d->n = d->bytes = 0;
	for (size_t i = N_MESSAGES; i-- > 0;) {
		size_t j = below(&x, i + 1), drawn = len[j], key = below(&x, N_KEYS);

		/* Fisher and Yates: what is drawn makes room for the last. */
		len[j] = len[i];
		if (drawn > d->longest)
			continue;
		d->len[d->n] = drawn;
		d->key[d->n++] = key;
		d->bytes += drawn;
	}
}

static struct draw draws[N_DRAWS] = {
	{.name = "all", .head = "all", .longest = SIZE_MAX},
	{.name = "short", .head = "up to 4 KiB", .longest = 80 + 4096},
};

/* By name in the figures; depth 0: one by one. */
static void queue_work(char work[32], const struct draw *d, size_t depth)
{
	if (depth)
		snprintf(work, 32, "queue-%s-%zu", d->name, depth);
	else
		snprintf(work, 32, "queue-%s-one-by-one", d->name);
}

/* ---- Measuring */

/* The messages of a draw in memory. */
static uint8_t *make_messages(struct crowd *c, const struct keyring *keys, const struct draw *d)
{
	size_t size = 0;
	uint8_t *mem, *p;

	for (size_t i = 0; i < d->n; i++)
		size += message_stride(d->len[i]);
	mem = p = new_lines(size);
	crowd_make(c, keys, d->n);
	for (size_t i = 0; i < d->n; i++) {
		make_message(p, d->len[i]);
		crowd_put(c, i, d->key[i], p, d->len[i]);
		p += message_stride(d->len[i]);
	}
	return mem;
}

/* A job and how its figure is filed. */
struct entry {
	struct many many;
	void (*run)(void *arg, uint64_t calls);
	const char *who;
	size_t depth; /* 0: one by one */
};

static void add_entry(struct entry *entries, size_t *n, struct entry e)
{
	size_t width = e.depth ? e.depth : 1;

	e.many.n = e.many.crowd->n;
	e.many.width = width;
	e.many.times = (e.many.n + width - 1) / width;
	entries[(*n)++] = e;
}

enum { MAX_ENTRIES = 1 + N_DEPTHS * (1 + MAX_BATCH_PEERS) };

/* Everything that is done with the messages; returns how much it is. */
static size_t list_entries(struct entry entries[MAX_ENTRIES], const struct crowd *c)
{
	const char *best = ours_best(c->keys->alg);
	size_t n = 0;

	add_entry(entries, &n, (struct entry){{.crowd = c}, many_sign_one_by_one, best, 0});
	for (size_t i = 0; i < N_DEPTHS; i++)
		add_entry(entries, &n, (struct entry){{.crowd = c}, many_sign_batch, best, depths[i]});
	for (size_t p = 0; p < c->keys->n_peers; p++)
		for (size_t i = 0; i < N_DEPTHS && crowd_check_peer(c, p); i++)
			add_entry(entries, &n,
				  (struct entry){
					  {.crowd = c, .peer = p}, many_peer, c->keys->peers[p].lib->name, depths[i]});
	return n;
}

static void measure_draw(const struct keyring *keys, const struct draw *d, double seconds)
{
	struct entry entries[MAX_ENTRIES];
	struct job jobs[MAX_ENTRIES];
	struct crowd crowd;
	uint8_t *mem = make_messages(&crowd, keys, d);
	size_t n = list_entries(entries, &crowd);
	double clock;

	for (size_t i = 0; i < n; i++)
		jobs[i] = (struct job){.run = entries[i].run, .arg = &entries[i].many};
	clock = harness_run(jobs, n, seconds);
	for (size_t i = 0; i < n; i++) {
		double ns = jobs[i].ns / (double)d->n;
		char work[32];

		if (entries[i].many.failed)
			die("a queue of %s failed", alg_names[keys->alg]);
		queue_work(work, d, entries[i].depth);
		figures_add(alg_names[keys->alg], entries[i].who, work, 0, ns, ns * clock);
	}
	crowd_free(&crowd);
	free(mem);
}

void queue_measure(const struct options *o)
{
	progress("a file server's queue");
	for (unsigned alg = 0; alg < N_ALGS; alg++) {
		struct keyring keys;

		if (!o->algs[alg])
			continue;
		keyring_make(&keys, alg, N_KEYS);
		for (size_t i = 0; i < N_DRAWS; i++) {
			make_draw(&draws[i]);
			measure_draw(&keys, &draws[i], o->seconds);
		}
		keyring_free(&keys);
	}
}

/* ---- The table */

static const struct figure *find(unsigned alg, const char *who, const struct draw *d, size_t depth)
{
	char work[32];

	queue_work(work, d, depth);
	return figures_find(alg_names[alg], who, work, 0);
}

static double mb_per_s(const struct draw *d, double ns)
{
	return (double)d->bytes / (double)d->n * 1e3 / ns;
}

static void print_row(unsigned alg, const struct draw *d, size_t depth)
{
	double one = find(alg, ours_best(alg), d, 0)->ns, batch = find(alg, ours_best(alg), d, depth)->ns;

	printf("  %-12s %-11s %5zu %10.1f %7.0f %10.1f %7.0f %6.2f", alg_names[alg], d->head, depth, one,
	       mb_per_s(d, one), batch, mb_per_s(d, batch), one / batch);
	for (const struct peer *const *p = peers; *p; p++) {
		const struct figure *f = find(alg, (*p)->name, d, depth);

		if (f)
			printf(" %10.1f %7.0f %6.2f", f->ns, mb_per_s(d, f->ns), f->ns / batch);
		else if ((*p)->batch)
			printf(" %10s %7s %6s", "-", "", "");
	}
	putchar('\n');
}

void queue_print(const struct options *o)
{
	printf("A file server's queue: ns a message and MB/s; how many times quicker sign_batch is\n"
	       "  %-12s %-11s %5s %18s %25s",
	       "", "messages", "depth", "one by one", "sign_batch");
	for (const struct peer *const *p = peers; *p; p++)
		if ((*p)->batch)
			printf(" %25s", (*p)->name);
	putchar('\n');
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		for (size_t d = 0; o->algs[alg] && d < N_DRAWS; d++)
			for (size_t i = 0; i < N_DEPTHS; i++)
				print_row(alg, &draws[d], depths[i]);
	putchar('\n');
}
