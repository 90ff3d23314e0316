/* SPDX-License-Identifier: MIT */
/*
 * smb3sign-timing: whether times depend on secrets, by the method of dudect (Reparaz, Balasch, Verbauwhede: Dude, is my
 * code constant time?, DATE 2017). Inputs of two classes are made beforehand and taken in random order; Welch's t-test says
 * whether the two means differ, for all times and for those below each of several percentiles, since what the system
 * adds to the longer ones hides a small difference. Of every kernel that this processor has:
 *     body    one body, or a random one each time; signed
 *     key     one key, or a random one each time; signed
 *     verify  a signature that is wrong in its first byte, or in its last
 * and with the best kernels, which has to be found, a comparison of tags that ends at the first byte that differs.
 *
 * usage: smb3sign-timing [MEASUREMENTS]     of each class about half; default 20000
 * Exit status: 1 if times differ, or if the leak on purpose is not found.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "key.h"
#include "smb3sign.h"

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

enum { HDR = SMB3SIGN_HEADER_LEN, SIG = SMB3SIGN_SIG_LEN, AT_SIG = 48, BODY = 300, BATCH = 1000, CROPS = 20 };

/* dudect's: |t| above 4.5 is suspicious, above 10 a difference beyond doubt. Noise of one run is not noise of three. */
#define BEYOND_DOUBT 10
#define RUNS         3

struct input {
	int class;
	uint8_t msg[HDR + BODY];
};

enum what { WHAT_BODY, WHAT_KEY, WHAT_VERIFY, WHAT_PLANTED };
static const char *const names[] = {"body", "key", "verify", "early exit, on purpose"};

/* What is measured works in these places, whichever input it is given. */
struct bench {
	enum what what;
	unsigned alg;
	struct smb3sign_choice choice;
	struct smb3sign_key *key;
	size_t key_size;
	uint8_t msg[HDR + BODY];
	struct input *inputs;
	uint8_t *keys; /* WHAT_KEY: BATCH keys */
	double ticks[BATCH];
	uint64_t measurements;
};

/* Means and variances as they grow (Welford), of each class. */
struct sample {
	double n[2], mean[2], squares[2];
};

static volatile int sink;

/* xorshift64: Marsaglia 2003. */
static uint64_t random64(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void fill(uint8_t *p, size_t n)
{
	while (n--)
		*p++ = (uint8_t)(random64() >> 24);
}

static void *allocate(size_t n)
{
	void *p = malloc(n);

	if (!p) {
		fprintf(stderr, "no memory\n");
		exit(2);
	}
	return p;
}

static uint64_t now(void)
{
#if defined(__x86_64__) || defined(__i386__)
	uint64_t t;

	_mm_lfence();
	t = __rdtsc();
	_mm_lfence();
	return t;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

static void make_key(const struct bench *b, void *mem, int fixed)
{
	struct smb3sign_key *key;
	uint8_t raw[16] = {0};

	if (!fixed)
		fill(raw, sizeof(raw));
	if (smb3sign_key_init_with(&key, mem, b->key_size, b->alg, raw, sizeof(raw), SMB3SIGN_ROLE_ANY, &b->choice)) {
		fprintf(stderr, "no key\n");
		exit(2);
	}
}

static void make_input(struct bench *b, size_t i)
{
	struct input *in = &b->inputs[i];

	in->class = (int)(random64() >> 40 & 1);
	memset(in->msg, 0, sizeof(in->msg));
	memcpy(in->msg, "\xfeSMB\x40", 5);
	in->msg[12] = 9;
	in->msg[24] = 5;
	in->msg[40] = 0x21;
	if (b->what != WHAT_BODY || in->class)
		fill(in->msg + HDR, BODY);
	if (b->what == WHAT_KEY)
		make_key(b, b->keys + i * b->key_size, !in->class);
	if (b->what < WHAT_VERIFY)
		return;
	if (smb3sign_sign_buf(b->key, in->msg, sizeof(in->msg)))
		exit(2);
	in->msg[AT_SIG + (in->class ? SIG - 1 : 0)] ^= (uint8_t)(1u << (random64() >> 40 & 7));
}

/* Not constant-time. */
static int compare(const volatile uint8_t *a, const volatile uint8_t *b)
{
	for (size_t i = 0; i < SIG; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

static void act(struct bench *b)
{
	smb3sign_iov body = {b->msg + HDR, BODY};
	uint8_t tag[SIG];

	if (b->what == WHAT_VERIFY) {
		sink = smb3sign_verify_buf(b->key, b->msg, sizeof(b->msg));
	} else if (b->what == WHAT_PLANTED) {
		sink = smb3sign_compute(b->key, b->msg, &body, 1, tag);
		sink = compare(tag, b->msg + AT_SIG);
	} else {
		sink = smb3sign_sign_buf(b->key, b->msg, sizeof(b->msg));
	}
}

static void measure(struct bench *b)
{
	for (size_t i = 0; i < BATCH; i++)
		make_input(b, i);
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t start;

		memcpy(b->msg, b->inputs[i].msg, sizeof(b->msg));
		if (b->what == WHAT_KEY)
			memcpy(b->key, b->keys + i * b->key_size, b->key_size);
		start = now();
		act(b);
		b->ticks[i] = (double)(now() - start);
	}
}

static int by_size(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Limits as dudect's: closer to each other the higher they are; the last is none. */
static void find_crops(const struct bench *b, double crops[CROPS])
{
	double sorted[BATCH];

	memcpy(sorted, b->ticks, sizeof(sorted));
	qsort(sorted, BATCH, sizeof(*sorted), by_size);
	for (int i = 0; i < CROPS - 1; i++)
		crops[i] = sorted[(size_t)((1 - pow(0.5, 10.0 * (i + 1) / CROPS)) * BATCH)];
	crops[CROPS - 1] = INFINITY;
}

static void add(struct sample *s, int class, double x)
{
	double apart = x - s->mean[class];

	s->n[class]++;
	s->mean[class] += apart / s->n[class];
	s->squares[class] += apart * (x - s->mean[class]);
}

/* Welch's t; 0 for too few to tell. */
static double welch(const struct sample *s)
{
	double error = 0;

	for (int class = 0; class < 2; class ++) {
		if (s->n[class] < 500)
			return 0;
		error += s->squares[class] / (s->n[class] - 1) / s->n[class];
	}
	return error > 0 ? (s->mean[0] - s->mean[1]) / sqrt(error) : 0;
}

/* The t of the largest size, and at it by how many ticks the means differ. */
static double run(struct bench *b, double *apart)
{
	struct sample samples[CROPS] = {0};
	double crops[CROPS], worst = 0;

	measure(b);
	measure(b); /* the first one warms up */
	find_crops(b, crops);
	for (uint64_t n = 0; n < b->measurements; n += BATCH) {
		measure(b);
		for (size_t i = 0; i < BATCH; i++)
			for (int c = 0; c < CROPS; c++)
				if (b->ticks[i] < crops[c])
					add(&samples[c], b->inputs[i].class, b->ticks[i]);
	}
	*apart = 0;
	for (int c = 0; c < CROPS; c++) {
		double t = welch(&samples[c]);

		if (fabs(t) > fabs(worst)) {
			worst = t;
			*apart = samples[c].mean[0] - samples[c].mean[1];
		}
	}
	return worst;
}

/* Whether times differ, each time it is tried. */
static int differs(struct bench *b)
{
	const char *kernels = smb3sign_key_impl(b->key);
	double apart, t;
	int i = 0;

	do {
		t = run(b, &apart);
		printf("%-24s %-24s t = %7.2f   %8.2f ticks\n", kernels, names[b->what], t, apart);
		fflush(stdout);
	} while (fabs(t) > BEYOND_DOUBT && ++i < RUNS);
	return i == RUNS;
}

/* How many of the three, or four, are not as they should be. */
static int check(unsigned alg, struct smb3sign_choice choice, uint64_t measurements, int planted)
{
	struct bench *b = allocate(sizeof(*b));
	int bad = 0;

	memset(b, 0, sizeof(*b));
	b->alg = alg;
	b->choice = choice;
	b->measurements = measurements;
	b->key_size = smb3sign_key_size_with(alg, &choice);
	b->key_size += (0 - b->key_size) & (KEY_ALIGN - 1);
	b->key = allocate(b->key_size);
	b->keys = allocate(BATCH * b->key_size);
	b->inputs = allocate(BATCH * sizeof(*b->inputs));
	for (b->what = WHAT_BODY; b->what <= (planted ? WHAT_PLANTED : WHAT_VERIFY); b->what++) {
		int found;

		make_key(b, b->key, 1);
		found = differs(b);
		if (found != (b->what == WHAT_PLANTED)) {
			printf("%s\n", found ? "  TIMES DIFFER" : "  NOT FOUND");
			bad++;
		}
	}
	free(b->inputs);
	free(b->keys);
	free(b->key);
	free(b);
	return bad;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
	int bad = 0;

	if (n < 4000) {
		fprintf(stderr, "usage: smb3sign-timing [MEASUREMENTS], 4000 or more\n");
		return 2;
	}
	for (const struct smb3sign_sha256 *const *s = smb3sign_sha256_kernels; *s; s++)
		if (smb3sign_kernel_usable((*s)->needs))
			bad += check(SMB3SIGN_HMAC_SHA256, (struct smb3sign_choice){.sha256 = *s}, n,
				     *s == smb3sign_best_sha256());
	for (const struct smb3sign_aes *const *a = smb3sign_aes_kernels; *a; a++) {
		if (!smb3sign_kernel_usable((*a)->needs))
			continue;
		bad += check(SMB3SIGN_AES_CMAC, (struct smb3sign_choice){.aes = *a}, n, *a == smb3sign_best_aes());
	}
	for (const struct smb3sign_ghash *const *g = smb3sign_ghash_kernels; *g; g++)
		if (smb3sign_kernel_usable((*g)->needs))
			bad += check(SMB3SIGN_AES_GMAC, (struct smb3sign_choice){.ghash = *g}, n,
				     *g == smb3sign_best_ghash());
	printf("%d not as they should be\n", bad);
	return bad != 0;
}
