/* SPDX-License-Identifier: MIT */
/*
 * Batches of equal messages, one thread: by width, size and algorithm, with one key for all messages and with a key for
 * each. For one width and size everything takes turns in one harness_run over the same messages: sign_batch and
 * verify_batch, the same messages one by one, and the peers that take many messages at once.
 */
#include <stdio.h>

#include "batches.h"
#include "figures.h"
#include "harness.h"
#include "many.h"
#include "message.h"
#include "ours.h"

enum { MAX_WIDTH = 64, SHOWN_WIDTH = 16 };

const size_t batch_widths[] = {1, 2, 3, 4, 8, 16, 32, MAX_WIDTH, 0};
const size_t batch_sizes[] = {64, 128, 256, 1024, 4096, 16384, 0};

static const struct {
	const char *name;
	void (*run)(void *arg, uint64_t calls);
} ways[N_BATCH_WAYS] = {
	[SIGN_BATCH] = {"batch", many_sign_batch},
	[SIGN_ONE_BY_ONE] = {"one-by-one", many_sign_one_by_one},
	[VERIFY_BATCH] = {"verify-batch", many_verify_batch},
	[VERIFY_ONE_BY_ONE] = {"verify-one-by-one", many_verify_one_by_one},
};

void batches_work(char work[WORK_LEN], enum batch_way way, size_t width, int own_keys)
{
	snprintf(work, WORK_LEN, "%s-%zu%s", ways[way].name, width, own_keys ? "-own-keys" : "");
}

/* A job and how its figure is filed. */
struct entry {
	struct many many;
	const char *who;
	enum batch_way way;
	int own_keys;
};

/* As many messages in rotation as sign has in the main tables: a batch of one must not wait for its own header. */
static size_t in_rotation(size_t width, size_t size)
{
	size_t n = ring_count(size) / width * width;

	return n ? n : width;
}

/* The jobs of one crowd, added to the list. */
static void add_entries(struct entry *entries, size_t *n, const struct crowd *c, int own_keys, size_t width,
			size_t size)
{
	struct many many = {.crowd = c, .n = in_rotation(width, size), .width = width, .times = 1};

	for (unsigned way = 0; way < N_BATCH_WAYS; way++)
		entries[(*n)++] = (struct entry){many, ours_best(c->keys->alg), way, own_keys};
	for (many.peer = 0; many.peer < c->keys->n_peers; many.peer++)
		entries[(*n)++] = (struct entry){many, c->keys->peers[many.peer].lib->name, SIGN_BATCH, own_keys};
}

static void keep(unsigned alg, const struct entry *e, size_t width, size_t size, double ns, double clock)
{
	char work[WORK_LEN];

	if (e->many.failed)
		die("a batch of %s over %zu bytes failed", alg_names[alg], size);
	batches_work(work, e->way, width, e->own_keys);
	ns /= (double)width;
	figures_add(alg_names[alg], e->who, work, size, ns, ns * clock);
}

static void measure_width(const struct crowd crowds[2], size_t width, size_t size, double seconds)
{
	struct entry entries[2 * (N_BATCH_WAYS + MAX_BATCH_PEERS)];
	struct job jobs[2 * (N_BATCH_WAYS + MAX_BATCH_PEERS)];
	size_t n = 0;
	double clock;

	for (int own_keys = 0; own_keys < 2; own_keys++)
		add_entries(entries, &n, &crowds[own_keys], own_keys, width, size);
	for (size_t i = 0; i < n; i++) {
		int is_peer = entries[i].who != ours_best(crowds->keys->alg);

		jobs[i] = (struct job){.run = is_peer ? many_peer : ways[entries[i].way].run, .arg = &entries[i].many};
	}
	clock = harness_run(jobs, n, seconds);
	for (size_t i = 0; i < n; i++)
		keep(crowds->keys->alg, &entries[i], width, size, jobs[i].ns, clock);
}

/* The messages are the same whether they have one key or keys of their own. */
static void measure_size(const struct keyring *keys, size_t size, double seconds)
{
	struct crowd crowds[2];
	struct ring ring;

	progress("batches, %s, %zu bytes", alg_names[keys->alg], size);
	ring_make(&ring, size, MAX_WIDTH);
	for (int own_keys = 0; own_keys < 2; own_keys++) {
		crowd_make(&crowds[own_keys], keys, MAX_WIDTH);
		for (size_t i = 0; i < MAX_WIDTH; i++)
			crowd_put(&crowds[own_keys], i, own_keys ? i : 0, ring_message(&ring, i), size);
		for (size_t p = 0; p < keys->n_peers; p++)
			if (!crowd_check_peer(&crowds[own_keys], p))
				die("%s does not take %zu bytes", keys->peers[p].lib->name, size);
	}
	if (smb3sign_sign_batch(crowds->ours, MAX_WIDTH))
		die("a batch of %s over %zu bytes failed", alg_names[keys->alg], size);
	for (const size_t *width = batch_widths; *width; width++)
		measure_width(crowds, *width, size, seconds);
	for (int own_keys = 0; own_keys < 2; own_keys++)
		crowd_free(&crowds[own_keys]);
	ring_free(&ring);
}

void batches_measure(const struct options *o)
{
	for (unsigned alg = 0; alg < N_ALGS; alg++) {
		struct keyring keys;

		if (!o->algs[alg])
			continue;
		keyring_make(&keys, alg, MAX_WIDTH);
		for (const size_t *size = batch_sizes; *size; size++)
			measure_size(&keys, *size, o->seconds);
		keyring_free(&keys);
	}
}

/* ---- Tables */

static const struct figure *find(unsigned alg, const char *who, enum batch_way way, size_t width, int own_keys,
				 size_t size)
{
	char work[WORK_LEN];

	batches_work(work, way, width, own_keys);
	return figures_find(alg_names[alg], who, work, size);
}

/* The ns of one of two ways, and a ratio: how many times the batch's the other is. */
struct table {
	const char *batch, *other; /* whose */
	enum batch_way batch_way, other_way;
	int own_keys;
};

static void print_rows(unsigned alg, const struct table *t)
{
	int is_peer = t->other != t->batch;

	for (const size_t *size = batch_sizes; *size; size++) {
		printf("%10zu", *size);
		for (const size_t *width = batch_widths; *width; width++) {
			double batch = find(alg, t->batch, t->batch_way, *width, t->own_keys, *size)->ns;
			double other = find(alg, t->other, t->other_way, *width, t->own_keys, *size)->ns;

			printf(" %8.1f %5.2f", is_peer ? other : batch, other / batch);
		}
		putchar('\n');
	}
}

static void print_head(const char *what, int own_keys)
{
	printf("  %s, %s\n%10s", what, own_keys ? "a key for each message" : "one key", "bytes");
	for (const size_t *width = batch_widths; *width; width++)
		printf(" %14zu", *width);
	putchar('\n');
}

static void print_peer(unsigned alg, const char *peer, int own_keys)
{
	struct table t = {ours_best(alg), peer, SIGN_BATCH, SIGN_BATCH, own_keys};
	char what[64];

	if (!find(alg, peer, SIGN_BATCH, batch_widths[0], own_keys, batch_sizes[0]))
		return;
	snprintf(what, sizeof(what), "%s, and times sign_batch", peer);
	print_head(what, own_keys);
	print_rows(alg, &t);
}

static void print_alg(unsigned alg)
{
	const char *best = ours_best(alg);

	printf("%s, batches of 1 to %d messages (%s): ns a message, and a ratio\n", alg_names[alg], MAX_WIDTH, best);
	for (int own_keys = 0; own_keys < 2; own_keys++) {
		print_head("sign_batch, and how many times quicker than sign one by one", own_keys);
		print_rows(alg, &(struct table){best, best, SIGN_BATCH, SIGN_ONE_BY_ONE, own_keys});
		print_head("verify_batch, and how many times quicker than verify one by one", own_keys);
		print_rows(alg, &(struct table){best, best, VERIFY_BATCH, VERIFY_ONE_BY_ONE, own_keys});
		for (const struct peer *const *p = peers; *p; p++)
			print_peer(alg, (*p)->name, own_keys);
	}
	putchar('\n');
}

/* One width, all algorithms side by side. */
static void print_shown(unsigned alg, size_t size)
{
	const struct figure *f;

	printf("  %-12s %8zu %16.1f %16.1f", alg_names[alg], size,
	       find(alg, ours_best(alg), SIGN_BATCH, SHOWN_WIDTH, 0, size)->ns,
	       find(alg, ours_best(alg), SIGN_ONE_BY_ONE, SHOWN_WIDTH, 0, size)->ns);
	for (const struct peer *const *p = peers; *p; p++)
		if ((f = find(alg, (*p)->name, SIGN_BATCH, SHOWN_WIDTH, 0, size)))
			printf(" %16.1f", f->ns);
	putchar('\n');
}

static void print_all_shown(const struct options *o)
{
	printf("%d messages at once, ns a message\n  %-12s %8s %16s %16s", SHOWN_WIDTH, "", "bytes", "sign_batch",
	       "sign one by one");
	for (const struct peer *const *p = peers; *p; p++)
		if ((*p)->batch)
			printf(" %16s", (*p)->name);
	putchar('\n');
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		for (const size_t *size = batch_sizes; o->algs[alg] && *size; size++)
			print_shown(alg, *size);
	putchar('\n');
}

void batches_print(const struct options *o)
{
	print_all_shown(o);
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (o->algs[alg])
			print_alg(alg);
}
