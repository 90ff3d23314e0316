/* SPDX-License-Identifier: MIT */
/*
 * Keys and many messages, one thread: how long a key takes to make, what a message costs when its key was not used for
 * a while, and what is won by handing over many messages at once. Figures are per message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "harness.h"
#include "ours.h"
#include "peer.h"
#include "scenarios.h"

enum { MAX_PEERS = 8 };

/* ---- Making keys */

static void run_key_new(void *arg, uint64_t calls)
{
	unsigned alg = *(const unsigned *)arg;

	for (; calls; calls--) {
		smb3sign_key *key;

		if (smb3sign_key_new(&key, alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
			die("cannot make a key for %s", alg_names[alg]);
		smb3sign_key_free(key);
	}
}

struct place {
	unsigned alg;
	void *mem;
	size_t size;
};

static void run_key_init(void *arg, uint64_t calls)
{
	const struct place *p = arg;

	for (; calls; calls--) {
		smb3sign_key *key;

		if (smb3sign_key_init(&key, p->mem, p->size, p->alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
			die("cannot make a key for %s", alg_names[p->alg]);
		smb3sign_key_wipe(key);
	}
}

static void measure_key(unsigned alg, double seconds)
{
	struct place place = {alg, new_lines(smb3sign_key_size(alg)), smb3sign_key_size(alg)};
	struct job jobs[] = {{.run = run_key_new, .arg = &alg}, {.run = run_key_init, .arg = &place}};
	double clock = harness_run(jobs, 2, seconds);

	free(place.mem);
	figures_add(alg_names[alg], ours_best(alg), "key-new", 0, jobs[0].ns, jobs[0].ns * clock);
	figures_add(alg_names[alg], ours_best(alg), "key-init", 0, jobs[1].ns, jobs[1].ns * clock);
}

static double ns_of(unsigned alg, const char *who, const char *work, size_t size)
{
	return figures_find(alg_names[alg], who, work, size)->ns;
}

static void print_keys(const struct options *o)
{
	printf("Making a key, ns\n  %-41s %8s %17s %17s\n", "", "bytes", "key_new+key_free", "key_init+key_wipe");
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (o->algs[alg])
			printf("  %-12s %-28s %8zu %17.1f %17.1f\n", alg_names[alg], ours_best(alg),
			       smb3sign_key_size(alg), ns_of(alg, ours_best(alg), "key-new", 0),
			       ns_of(alg, ours_best(alg), "key-init", 0));
	putchar('\n');
}

/* ---- Many sessions */

enum { MAX_KEYS = 10000 };

static const struct {
	size_t keys;
	int shuffled;
	const char *work, *head;
} rotations[] = {
	{1, 0, "rotate-1", "1 key"},
	{100, 0, "rotate-100", "100 keys"},
	{MAX_KEYS, 0, "rotate-10000", "10000 keys"},
	{MAX_KEYS, 1, "rotate-10000-shuffled", "10000 shuffled"},
};
enum { N_ROTATIONS = sizeof(rotations) / sizeof(rotations[0]) };

/*
 * Keys that take turns: in the order in which they were allocated, which a prefetcher sees through, or in one that it
 * does not, and that is another page nearly every time.
 */
struct rotation {
	smb3sign_key **keys;
	size_t n, next;
	const struct ring *ring;
	int failed;
};

/* Fisher and Yates, on a linear congruential generator (Knuth's MMIX constants). */
static void shuffle(smb3sign_key **keys, size_t n)
{
	uint64_t x = 1;

	for (size_t i = n - 1; i > 0; i--) {
		size_t j;
		smb3sign_key *k = keys[i];

		x = x * 6364136223846793005u + 1442695040888963407u;
		j = (size_t)(x >> 33) % (i + 1);
		keys[i] = keys[j];
		keys[j] = k;
	}
}

static void make_rotation(struct rotation *r, smb3sign_key *const *keys, size_t n, int shuffled,
			  const struct ring *ring)
{
	*r = (struct rotation){.keys = new_lines(n * sizeof(smb3sign_key *)), .n = n, .ring = ring};
	memcpy(r->keys, keys, n * sizeof(smb3sign_key *));
	if (shuffled)
		shuffle(r->keys, n);
}

static void run_rotation(void *arg, uint64_t calls)
{
	struct rotation *r = arg;
	size_t next = r->next;
	int failed = 0;

	for (uint64_t i = 0; i < calls; i++) {
		failed |= smb3sign_sign_buf(r->keys[next], ring_message(r->ring, i), r->ring->len);
		next = next + 1 < r->n ? next + 1 : 0;
	}
	r->next = next;
	r->failed |= failed;
}

/* All rotations are over the same keys, so that no other stand in their way in the caches. */
static void measure_rotations(unsigned alg, size_t size, double seconds)
{
	static smb3sign_key *keys[MAX_KEYS];
	struct rotation all[N_ROTATIONS];
	struct job jobs[N_ROTATIONS];
	struct ring ring;
	double clock;

	for (size_t i = 0; i < MAX_KEYS; i++)
		if (smb3sign_key_new(&keys[i], alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
			die("cannot make %d keys for %s", MAX_KEYS, alg_names[alg]);
	ring_make(&ring, size, ring_count(size));
	for (size_t i = 0; i < N_ROTATIONS; i++) {
		make_rotation(&all[i], keys, rotations[i].keys, rotations[i].shuffled, &ring);
		jobs[i] = (struct job){.run = run_rotation, .arg = &all[i]};
	}
	clock = harness_run(jobs, N_ROTATIONS, seconds);
	for (size_t i = 0; i < N_ROTATIONS; i++) {
		if (all[i].failed)
			die("a message of %zu bytes could not be signed", size);
		figures_add(alg_names[alg], ours_best(alg), rotations[i].work, size, jobs[i].ns, jobs[i].ns * clock);
		free(all[i].keys);
	}
	ring_free(&ring);
	for (size_t i = 0; i < MAX_KEYS; i++)
		smb3sign_key_free(keys[i]);
}

static const size_t rotation_sizes[] = {64, 1024, 0};

static void print_rotation(unsigned alg, size_t size)
{
	double one = ns_of(alg, ours_best(alg), rotations[0].work, size);

	printf("  %-12s %8zu", alg_names[alg], size);
	for (size_t i = 0; i < N_ROTATIONS; i++) {
		double ns = ns_of(alg, ours_best(alg), rotations[i].work, size);

		printf(" %10.1f %6.2f", ns, ns / one);
	}
	putchar('\n');
}

static void print_rotations(const struct options *o)
{
	printf("Keys in rotation: sign, ns, and as a multiple of one key's\n  %-12s %8s", "", "bytes");
	for (size_t i = 0; i < N_ROTATIONS; i++)
		printf(" %17s", rotations[i].head);
	putchar('\n');
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		for (const size_t *size = rotation_sizes; o->algs[alg] && *size; size++)
			print_rotation(alg, *size);
	putchar('\n');
}

/* ---- Many messages at once */

struct batch_task {
	smb3sign_msg msgs[BATCH];
	smb3sign_iov bodies[BATCH];
	int failed;
};

static void make_batch(struct batch_task *t, const smb3sign_key *key, const struct ring *r)
{
	t->failed = 0;
	for (size_t i = 0; i < BATCH; i++) {
		uint8_t *msg = ring_message(r, i);

		t->bodies[i].iov_base = msg + SMB3SIGN_HEADER_LEN;
		t->bodies[i].iov_len = r->len - SMB3SIGN_HEADER_LEN;
		t->msgs[i] = (smb3sign_msg){.key = key, .hdr = msg, .body = &t->bodies[i], .body_cnt = 1};
	}
}

static void run_batch(void *arg, uint64_t calls)
{
	struct batch_task *t = arg;
	int failed = 0;

	for (; calls; calls--)
		failed |= smb3sign_sign_batch(t->msgs, BATCH);
	t->failed |= failed;
}

/* The same messages without the batch. */
static void run_one_by_one(void *arg, uint64_t calls)
{
	struct batch_task *t = arg;
	int failed = 0;

	for (; calls; calls--)
		for (size_t i = 0; i < BATCH; i++)
			failed |= smb3sign_sign(t->msgs[i].key, t->msgs[i].hdr, t->msgs[i].body, t->msgs[i].body_cnt);
	t->failed |= failed;
}

struct peer_batch {
	const struct peer *lib;
	void *self;
	const struct ring *ring;
	uint8_t tags[BATCH][16];
};

static void run_peer_batch(void *arg, uint64_t calls)
{
	struct peer_batch *t = arg;

	t->lib->batch(t->self, t->ring, t->tags, calls);
}

/* The peers that take many messages at once, checked; returns how many. */
static size_t open_peer_batches(struct peer_batch *list, unsigned alg, const struct ring *ring)
{
	size_t n = 0;

	for (const struct peer *const *p = peers; *p; p++) {
		void *self = (*p)->batch ? (*p)->open(alg, bench_key, bench_nonce) : NULL;

		if (!self)
			continue;
		list[n++] = (struct peer_batch){.lib = *p, .self = self, .ring = ring};
		peer_check_batch(*p, self, alg, ring);
	}
	return n;
}

static void keep_batch(unsigned alg, const char *who, const char *work, size_t size, const struct job *j, double clock)
{
	figures_add(alg_names[alg], who, work, size, j->ns / BATCH, j->ns * clock / BATCH);
}

static void measure_batch(unsigned alg, size_t size, double seconds)
{
	struct peer_batch peer_batches[MAX_PEERS];
	struct job jobs[2 + MAX_PEERS];
	struct batch_task task;
	struct ring ring;
	smb3sign_key *key;
	size_t n;
	double clock;

	if (smb3sign_key_new(&key, alg, bench_key, 16, SMB3SIGN_ROLE_ANY))
		die("cannot make a key for %s", alg_names[alg]);
	ring_make(&ring, size, BATCH);
	make_batch(&task, key, &ring);
	n = open_peer_batches(peer_batches, alg, &ring);
	jobs[0] = (struct job){.run = run_batch, .arg = &task};
	jobs[1] = (struct job){.run = run_one_by_one, .arg = &task};
	for (size_t i = 0; i < n; i++)
		jobs[2 + i] = (struct job){.run = run_peer_batch, .arg = &peer_batches[i]};
	clock = harness_run(jobs, 2 + n, seconds);
	if (task.failed)
		die("a batch of %s over %zu bytes failed", alg_names[alg], size);
	keep_batch(alg, ours_best(alg), "batch", size, &jobs[0], clock);
	keep_batch(alg, ours_best(alg), "one-by-one", size, &jobs[1], clock);
	for (size_t i = 0; i < n; i++) {
		keep_batch(alg, peer_batches[i].lib->name, "batch", size, &jobs[2 + i], clock);
		peer_batches[i].lib->close(peer_batches[i].self);
	}
	ring_free(&ring);
	smb3sign_key_free(key);
}

static const size_t batch_sizes[] = {64, 256, 1024, 4096, 16384, 0};

static void print_batch(unsigned alg, size_t size)
{
	printf("  %-12s %8zu %16.1f %16.1f", alg_names[alg], size, ns_of(alg, ours_best(alg), "batch", size),
	       ns_of(alg, ours_best(alg), "one-by-one", size));
	for (const struct peer *const *p = peers; *p; p++)
		if (figures_find(alg_names[alg], (*p)->name, "batch", size))
			printf(" %16.1f", ns_of(alg, (*p)->name, "batch", size));
	putchar('\n');
}

static void print_batches(const struct options *o)
{
	printf("%d messages at once, ns a message\n  %-12s %8s %16s %16s", BATCH, "", "bytes", "sign_batch",
	       "sign one by one");
	for (const struct peer *const *p = peers; *p; p++)
		if ((*p)->batch)
			printf(" %16s", (*p)->name);
	putchar('\n');
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		for (const size_t *size = batch_sizes; o->algs[alg] && *size; size++)
			print_batch(alg, *size);
	putchar('\n');
}

void scenarios_measure(const struct options *o)
{
	progress("making keys, keys in rotation, batches");
	for (unsigned alg = 0; alg < N_ALGS; alg++) {
		if (!o->algs[alg])
			continue;
		measure_key(alg, o->seconds);
		for (const size_t *size = rotation_sizes; *size; size++)
			measure_rotations(alg, *size, o->seconds);
		for (const size_t *size = batch_sizes; *size; size++)
			measure_batch(alg, *size, o->seconds);
	}
}

void scenarios_print(const struct options *o)
{
	print_keys(o);
	print_rotations(o);
	print_batches(o);
}
