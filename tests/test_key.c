/* SPDX-License-Identifier: MIT */
/*
 * key.c: making, placing, duplicating and wiping keys, and many threads on one key. The linker's --wrap routes every
 * allocation of the executable through this file, so that the tests count them, make them fail, and see what is in
 * memory that is being freed.
 */
#define _DEFAULT_SOURCE /* barriers, fork */
#include <limits.h>
#include <pthread.h>
#include <stdalign.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu.h"
#include "key.h"
#include "support.h"

enum { ALGS = 3, ROLES = 3, THREADS = 8 };

static uint8_t raw_key[16];

/* ---- Allocation ---- */

static int refuse_memory;
static _Atomic unsigned allocations;
static const void *awaited;                       /* its free() is looked at */
static uint8_t last_bytes[SMB3SIGN_KEY_SIZE_MAX]; /* what it held then */
static size_t awaited_size;
static unsigned frees_seen;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return refuse_memory ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	return refuse_memory ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	allocations++;
	return refuse_memory ? NULL : __real_realloc(p, size);
}

void __wrap_free(void *p)
{
	if (p && p == awaited) {
		memcpy(last_bytes, p, awaited_size);
		awaited = NULL;
		frees_seen++;
	}
	__real_free(p);
}

static void setup(void)
{
	rng_fill(raw_key, sizeof(raw_key));
}

/* The key signs and verifies as its algorithm and raw key say. */
static void assert_works(const smb3sign_key *key, unsigned alg, const uint8_t raw[16])
{
	uint8_t *msg = new_message(200), tag[16];
	smb3sign_iov iov = {msg + 64, 136};

	msg[16] |= 8;
	ref_signature(alg, raw, msg, 200, msg + 48);
	ck_assert_int_eq(smb3sign_verify(key, msg, &iov, 1), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_compute(key, msg, &iov, 1, tag), SMB3SIGN_OK);
	ck_assert_mem_eq(tag, msg + 48, 16);
	free(msg);
}

/* Everything that takes a key refuses this one. */
static void assert_unusable(const smb3sign_key *key)
{
	uint8_t *msg = new_message(100), *before = malloc(100), sig[16];
	smb3sign_iov iov = {msg + 64, 36};
	smb3sign_msg one = {.key = key, .hdr = msg, .body = &iov, .body_cnt = 1};
	smb3sign_ctx ctx;
	smb3sign_key *copy = NULL;

	ck_assert_ptr_nonnull(before);
	memcpy(before, msg, 100);
	ck_assert_int_eq(smb3sign_sign(key, msg, &iov, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify(key, msg, &iov, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_compute(key, msg, &iov, 1, sig), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_buf(key, msg, 100), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_buf(key, msg, 100), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_frame(key, msg, 100), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_frame(key, msg, 100, NULL), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_batch(&one, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_batch(&one, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, msg), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_end(&ctx, sig), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_end(&ctx), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_key_dup(&copy, key), SMB3SIGN_E_INVAL);
	ck_assert_ptr_null(copy);
	ck_assert_mem_eq(msg, before, 100);
	free(before);
	free(msg);
}

static int is_zero(const void *p, size_t n)
{
	const uint8_t *bytes = p;

	while (n && !bytes[n - 1])
		n--;
	return n == 0;
}

/* ---- Processor features, asked for by many threads at once ---- */

struct racer {
	pthread_t thread;
	pthread_barrier_t *start;
	size_t number;
	uint32_t features;
	char impl[ALGS][64];
	const char *cpu;
	smb3sign_preauth preauth;
	int selftest, err;
};

static void ask_features(struct racer *r)
{
	r->features = smb3sign_cpu_features();
}

static void make_keys(struct racer *r)
{
	for (unsigned alg = 0; alg < ALGS; alg++) {
		smb3sign_key *key = NULL;

		r->err |= smb3sign_key_new(&key, alg, raw_key, 16, SMB3SIGN_ROLE_ANY);
		snprintf(r->impl[alg], sizeof(r->impl[alg]), "%s", smb3sign_key_impl(key));
		smb3sign_key_free(key);
	}
}

static void ask_cpu(struct racer *r)
{
	r->cpu = smb3sign_cpu();
}

static void test_self(struct racer *r)
{
	r->selftest = smb3sign_selftest();
}

static void hash(struct racer *r)
{
	uint8_t negotiate[64 + 36];
	smb3sign_iov iov = {negotiate, sizeof(negotiate)};

	memset(negotiate, 0, sizeof(negotiate));
	memcpy(negotiate, "\xfeSMB\x40", 5);
	smb3sign_preauth_init(&r->preauth);
	r->err |= smb3sign_preauth_update(&r->preauth, &iov, 1);
}

/* Each racer begins with another call. */
static void *race(void *arg)
{
	static void (*const calls[])(struct racer *) = {ask_features, make_keys, ask_cpu, test_self, hash};
	enum { N = sizeof(calls) / sizeof(calls[0]) };
	struct racer *r = arg;

	pthread_barrier_wait(r->start);
	for (size_t i = 0; i < N; i++)
		calls[(r->number + i) % N](r);
	return NULL;
}

/* Runs first, in a process that has not used the library (with CK_FORK=no: the first time only). */
START_TEST(test_first_use)
{
	pthread_barrier_t start;
	struct racer racers[THREADS] = {{0}};

	pthread_barrier_init(&start, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		racers[i].start = &start;
		racers[i].number = i;
		ck_assert_int_eq(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(racers[i].thread, NULL);
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(racers[i].err, SMB3SIGN_OK);
		ck_assert_int_eq(racers[i].selftest, SMB3SIGN_OK);
		ck_assert_uint_eq(racers[i].features, racers[0].features);
		ck_assert_str_eq(racers[i].cpu, racers[0].cpu);
		ck_assert_mem_eq(racers[i].preauth.hash, racers[0].preauth.hash, 64);
		for (unsigned alg = 0; alg < ALGS; alg++)
			ck_assert_str_eq(racers[i].impl[alg], racers[0].impl[alg]);
	}
	pthread_barrier_destroy(&start);
}
END_TEST

/* ---- Making ---- */

START_TEST(test_new)
{
	for (unsigned alg = 0; alg < ALGS; alg++)
		for (unsigned role = 0; role < ROLES; role++) {
			smb3sign_key *key = new_key(alg, raw_key, role);

			ck_assert_uint_eq(smb3sign_key_alg(key), alg);
			if (role == SMB3SIGN_ROLE_ANY)
				assert_works(key, alg, raw_key);
			smb3sign_key_free(key);
		}
	smb3sign_key_free(NULL);
}
END_TEST

START_TEST(test_new_errors)
{
	smb3sign_key *none = (smb3sign_key *)(void *)raw_key, *key = none;
	uint8_t raw[64];

	rng_fill(raw, sizeof(raw));
	for (unsigned alg = 0; alg < ALGS; alg++) {
		for (size_t len = 0; len <= 64; len++)
			if (len != 16)
				ck_assert_int_eq(smb3sign_key_new(&key, alg, raw, len, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_new(&key, alg, NULL, 16, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_new(NULL, alg, raw, 16, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_new(&key, alg, raw, 16, 3), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_new(&key, alg, raw, 16, 0x100), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_new(&key, alg, raw, 16, UINT32_MAX), SMB3SIGN_E_INVAL);
	}
	ck_assert_int_eq(smb3sign_key_new(&key, 3, raw, 16, 0), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_int_eq(smb3sign_key_new(&key, 0x100, raw, 16, 0), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_int_eq(smb3sign_key_new(&key, UINT32_MAX, raw, 16, 0), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_ptr_eq(key, none);
}
END_TEST

/* The names are those of the kernels; a key that is wiped, or none, has none. */
static void names_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	char want[100], *seen = arg;
	const int gmac = smb3sign_key_alg(key) == SMB3SIGN_AES_GMAC;

	(void)raw;
	if (smb3sign_key_alg(key) == SMB3SIGN_HMAC_SHA256)
		snprintf(want, sizeof(want), "sha256=%s", key->k.sha256->name);
	else
		snprintf(want, sizeof(want), "aes=%s%s%s", key->k.aes->name, gmac ? " ghash=" : "",
			 gmac ? key->ghash->name : "");
	ck_assert_str_eq(smb3sign_key_impl(key), want);
	memcpy(seen, want, sizeof(want));
}

START_TEST(test_impl)
{
	static const uint64_t zero[SMB3SIGN_KEY_SIZE_MAX / 8];

	for (unsigned alg = 0; alg < ALGS; alg++) {
		smb3sign_key *key = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
		char last[100] = "";

		smb3sign_key_wipe(key);
		ck_assert_str_eq(smb3sign_key_impl(key), "none");
		ck_assert_uint_eq(smb3sign_key_alg(key), UINT_MAX);
		smb3sign_key_free(key);
		/* The last combination is the portable one. */
		for_each_kernel(alg, raw_key, SMB3SIGN_ROLE_ANY, names_of_kernel, last);
		ck_assert_ptr_nonnull(strstr(last, "portable"));
	}
	ck_assert_str_eq(smb3sign_key_impl(NULL), "none");
	ck_assert_uint_eq(smb3sign_key_alg(NULL), UINT_MAX);
	ck_assert_str_eq(smb3sign_key_impl((const smb3sign_key *)(const void *)zero), "none");
}
END_TEST

/* A key takes the first kernels of the lists that this process may use. */
START_TEST(test_best_kernels)
{
	const uint32_t missing = ~smb3sign_cpu_features();

	for (unsigned alg = 0; alg < ALGS; alg++) {
		smb3sign_key *key = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
		size_t i = 0;

		if (alg == SMB3SIGN_HMAC_SHA256) {
			while (smb3sign_sha256_kernels[i]->needs & missing)
				i++;
			ck_assert_ptr_eq(key->k.sha256, smb3sign_sha256_kernels[i]);
		} else {
			while (smb3sign_aes_kernels[i]->needs & missing)
				i++;
			/* GMAC takes the AES that its GHASH has inside. */
			if (key->ghash && key->ghash->aes && !(key->ghash->aes->needs & missing))
				ck_assert_ptr_eq(key->k.aes, key->ghash->aes);
			else
				ck_assert_ptr_eq(key->k.aes, smb3sign_aes_kernels[i]);
		}
		if (alg == SMB3SIGN_AES_GMAC) {
			for (i = 0; (smb3sign_ghash_kernels[i]->needs | smb3sign_ghash_kernels[i]->wants) & missing;)
				i++;
			ck_assert_ptr_eq(key->ghash, smb3sign_ghash_kernels[i]);
		}
		smb3sign_key_free(key);
	}
}
END_TEST

/* ---- Placing ---- */

START_TEST(test_size)
{
	for (unsigned alg = 0; alg < ALGS; alg++) {
		ck_assert_uint_gt(smb3sign_key_size(alg), 16);
		ck_assert_uint_le(smb3sign_key_size(alg), SMB3SIGN_KEY_SIZE_MAX);
		ck_assert_uint_eq(smb3sign_key_size(alg), smb3sign_key_size(alg));
	}
	ck_assert_uint_eq(smb3sign_key_size(3), 0);
	ck_assert_uint_eq(smb3sign_key_size(0x100), 0);
	ck_assert_uint_eq(smb3sign_key_size(UINT32_MAX), 0);
}
END_TEST

/* No kernels make a key larger than the header promises, those of other machines included. */
START_TEST(test_size_of_kernels)
{
	for (size_t i = 0; smb3sign_sha256_kernels[i]; i++) {
		struct smb3sign_choice choice = {.sha256 = smb3sign_sha256_kernels[i]};

		ck_assert_uint_le(smb3sign_key_size_with(SMB3SIGN_HMAC_SHA256, &choice), SMB3SIGN_KEY_SIZE_MAX);
	}
	for (size_t i = 0; smb3sign_aes_kernels[i]; i++) {
		struct smb3sign_choice choice = {.aes = smb3sign_aes_kernels[i]};

		ck_assert_uint_le(smb3sign_aes_kernels[i]->rk_size, SMB3SIGN_RK_SIZE_MAX);
		ck_assert_uint_le(smb3sign_key_size_with(SMB3SIGN_AES_CMAC, &choice), SMB3SIGN_KEY_SIZE_MAX);
		for (size_t j = 0; smb3sign_ghash_kernels[j]; j++) {
			choice.ghash = smb3sign_ghash_kernels[j];
			ck_assert_uint_le(smb3sign_key_size_with(SMB3SIGN_AES_GMAC, &choice), SMB3SIGN_KEY_SIZE_MAX);
		}
	}
}
END_TEST

/* Anywhere that malloc might put it, and not a byte outside is written. */
START_TEST(test_init)
{
	enum { ROOM = SMB3SIGN_KEY_SIZE_MAX + 256 };
	static alignas(64) uint8_t room[ROOM], before[ROOM];

	for (unsigned alg = 0; alg < ALGS; alg++)
		for (size_t at = 0; at <= 128; at += alignof(max_align_t)) {
			const size_t size = smb3sign_key_size(alg);
			smb3sign_key *key = NULL;

			rng_fill(room, sizeof(room));
			memcpy(before, room, sizeof(room));
			ck_assert_int_eq(smb3sign_key_init(&key, room + at, size, alg, raw_key, 16, SMB3SIGN_ROLE_ANY),
					 SMB3SIGN_OK);
			ck_assert_ptr_eq(key, room + at);
			assert_works(key, alg, raw_key);
			ck_assert_mem_eq(room, before, at);
			ck_assert_mem_eq(room + at + size, before + at + size, ROOM - at - size);
			smb3sign_key_wipe(key);
			ck_assert(is_zero(room + at, size));
			ck_assert_mem_eq(room, before, at);
			ck_assert_mem_eq(room + at + size, before + at + size, ROOM - at - size);
			assert_unusable(key);
		}
	smb3sign_key_wipe(NULL);
}
END_TEST

/* More memory than needed is fine; the next key may use the same. */
START_TEST(test_init_again)
{
	static alignas(64) uint8_t room[SMB3SIGN_KEY_SIZE_MAX];

	for (int round = 0; round < 30; round++) {
		unsigned alg = (unsigned)rng_below(ALGS);
		smb3sign_key *key = NULL;

		rng_fill(raw_key, 16);
		ck_assert_int_eq(smb3sign_key_init(&key, room, sizeof(room), alg, raw_key, 16, SMB3SIGN_ROLE_ANY),
				 SMB3SIGN_OK);
		assert_works(key, alg, raw_key);
		if (rng_below(2))
			smb3sign_key_wipe(key);
	}
}
END_TEST

START_TEST(test_init_errors)
{
	static alignas(64) uint8_t room[SMB3SIGN_KEY_SIZE_MAX + 64], before[sizeof(room)];
	smb3sign_key *none = (smb3sign_key *)(void *)raw_key, *key = none;

	rng_fill(room, sizeof(room));
	memcpy(before, room, sizeof(room));
	for (unsigned alg = 0; alg < ALGS; alg++) {
		const size_t size = smb3sign_key_size(alg);

		for (size_t len = 0; len < size; len++)
			ck_assert_int_eq(smb3sign_key_init(&key, room, len, alg, raw_key, 16, 0), SMB3SIGN_E_INVAL);
		for (size_t at = 1; at < KEY_ALIGN; at++)
			ck_assert_int_eq(smb3sign_key_init(&key, room + at, size, alg, raw_key, 16, 0),
					 SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_init(&key, NULL, size, alg, raw_key, 16, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_init(NULL, room, size, alg, raw_key, 16, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_init(&key, room, size, alg, NULL, 16, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_init(&key, room, size, alg, raw_key, 15, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_init(&key, room, size, alg, raw_key, 0, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_init(&key, room, size, alg, room + 64, 32, 0), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_key_init(&key, room, size, alg, raw_key, 16, 3), SMB3SIGN_E_INVAL);
	}
	ck_assert_int_eq(smb3sign_key_init(&key, room, sizeof(room), 3, raw_key, 16, 0), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_ptr_eq(key, none);
	ck_assert_mem_eq(room, before, sizeof(room));
}
END_TEST

/* Every kernel at every place that malloc might choose. */
static void place_kernel(const smb3sign_key *made, const uint8_t raw[16], void *arg)
{
	static alignas(64) uint8_t room[SMB3SIGN_KEY_SIZE_MAX + 64];
	const unsigned alg = smb3sign_key_alg(made);
	const int hmac = alg == SMB3SIGN_HMAC_SHA256;
	const struct smb3sign_choice choice = {
		.aes = hmac ? NULL : made->k.aes, .ghash = made->ghash, .sha256 = hmac ? made->k.sha256 : NULL};

	(void)arg;
	for (size_t at = 0; at < 64; at += alignof(max_align_t)) {
		smb3sign_key *key = NULL;

		ck_assert_int_eq(
			smb3sign_key_init_with(&key, room + at, SMB3SIGN_KEY_SIZE_MAX, alg, raw, 16, 0, &choice),
			SMB3SIGN_OK);
		ck_assert_str_eq(smb3sign_key_impl(key), smb3sign_key_impl(made));
		assert_works(key, alg, raw);
		smb3sign_key_wipe(key);
	}
}

START_TEST(test_placed_kernels)
{
	for (unsigned alg = 0; alg < ALGS; alg++)
		for_each_kernel(alg, raw_key, SMB3SIGN_ROLE_ANY, place_kernel, NULL);
}
END_TEST

START_TEST(test_zeroed)
{
	static const uint64_t zero[SMB3SIGN_KEY_SIZE_MAX / 8];

	assert_unusable((const smb3sign_key *)(const void *)zero);
}
END_TEST

/* ---- Duplicating ---- */

static void dup_of_kernel(const smb3sign_key *original, const uint8_t raw[16], void *arg)
{
	const unsigned alg = smb3sign_key_alg(original);
	smb3sign_key *first = NULL, *second = NULL;

	(void)arg;
	ck_assert_int_eq(smb3sign_key_dup(&first, original), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_key_dup(&second, first), SMB3SIGN_OK);
	ck_assert_ptr_ne(first, original);
	ck_assert_ptr_ne(first, second);
	ck_assert_str_eq(smb3sign_key_impl(first), smb3sign_key_impl(original));
	assert_works(first, alg, raw);
	/* Each lives by itself. */
	smb3sign_key_wipe(first);
	assert_unusable(first);
	assert_works(second, alg, raw);
	smb3sign_key_free(first);
	assert_works(second, alg, raw);
	assert_works(original, alg, raw);
	ck_assert_uint_eq(smb3sign_key_alg(second), alg);
	smb3sign_key_free(second);
}

START_TEST(test_dup)
{
	for (unsigned alg = 0; alg < ALGS; alg++)
		for_each_kernel(alg, raw_key, SMB3SIGN_ROLE_ANY, dup_of_kernel, NULL);
}
END_TEST

/* The copy outlives an original in memory that is gone, and has its role. */
START_TEST(test_dup_outlives)
{
	uint8_t msg[100] = {0};

	make_header(msg, 0x08, 1, 77, 5);
	for (unsigned alg = 0; alg < ALGS; alg++) {
		size_t size = smb3sign_key_size(alg);
		smb3sign_key *placed = NULL, *copy = NULL, *heap;

		ck_assert_int_eq(
			smb3sign_key_init(&placed, guard_start(size), size, alg, raw_key, 16, SMB3SIGN_ROLE_SERVER),
			SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_key_dup(&copy, placed), SMB3SIGN_OK);
		smb3sign_key_wipe(placed);
		guard_free_all();
		ck_assert_int_eq(smb3sign_sign_buf(copy, msg, 100), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_verify_buf(copy, msg, 100), SMB3SIGN_E_MESSAGE);
		smb3sign_key_free(copy);
		heap = new_key(alg, raw_key, SMB3SIGN_ROLE_CLIENT);
		ck_assert_int_eq(smb3sign_verify_buf(heap, msg, 100), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_key_dup(&copy, heap), SMB3SIGN_OK);
		smb3sign_key_free(heap);
		ck_assert_int_eq(smb3sign_verify_buf(copy, msg, 100), SMB3SIGN_OK);
		smb3sign_key_free(copy);
	}
}
END_TEST

START_TEST(test_dup_errors)
{
	smb3sign_key *key = new_key(SMB3SIGN_AES_CMAC, raw_key, SMB3SIGN_ROLE_ANY);
	smb3sign_key *none = (smb3sign_key *)(void *)raw_key, *copy = none;

	ck_assert_int_eq(smb3sign_key_dup(&copy, NULL), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_key_dup(NULL, key), SMB3SIGN_E_INVAL);
	smb3sign_key_wipe(key);
	ck_assert_int_eq(smb3sign_key_dup(&copy, key), SMB3SIGN_E_INVAL);
	ck_assert_ptr_eq(copy, none);
	smb3sign_key_free(key);
}
END_TEST

/* ---- Memory ---- */

START_TEST(test_no_memory)
{
	smb3sign_preauth preauth;
	smb3sign_key *none = (smb3sign_key *)(void *)raw_key, *key = none;

	rng_fill(&preauth, sizeof(preauth));
	for (unsigned alg = 0; alg < ALGS; alg++) {
		smb3sign_key *original = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
		int made, derived, duplicated;

		refuse_memory = 1;
		made = smb3sign_key_new(&key, alg, raw_key, 16, SMB3SIGN_ROLE_ANY);
		derived = smb3sign_key_derive(&key, alg, 0x0311, raw_key, 16, &preauth, SMB3SIGN_ROLE_ANY);
		duplicated = smb3sign_key_dup(&key, original);
		refuse_memory = 0;
		ck_assert_int_eq(made, SMB3SIGN_E_NOMEM);
		ck_assert_int_eq(derived, SMB3SIGN_E_NOMEM);
		ck_assert_int_eq(duplicated, SMB3SIGN_E_NOMEM);
		ck_assert_ptr_eq(key, none);
		assert_works(original, alg, raw_key);
		smb3sign_key_free(original);
	}
}
END_TEST

/* What key_free gives back holds nothing of the key. */
START_TEST(test_free_wipes)
{
	for (unsigned alg = 0; alg < ALGS; alg++)
		for (int duplicate = 0; duplicate < 2; duplicate++) {
			smb3sign_key *key = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);

			if (duplicate) {
				smb3sign_key *copy = NULL;

				ck_assert_int_eq(smb3sign_key_dup(&copy, key), SMB3SIGN_OK);
				smb3sign_key_free(key);
				key = copy;
			}
			awaited_size = smb3sign_key_size(alg);
			ck_assert(!is_zero(key, awaited_size));
			memset(last_bytes, 0xee, sizeof(last_bytes));
			frees_seen = 0;
			awaited = key;
			smb3sign_key_free(key);
			ck_assert_uint_eq(frees_seen, 1);
			ck_assert(is_zero(last_bytes, awaited_size));
		}
}
END_TEST

/* One allocation by each of three functions, none by any other. */
START_TEST(test_allocations)
{
	static alignas(64) uint8_t room[SMB3SIGN_KEY_SIZE_MAX];
	const uint16_t offered[] = {1};
	smb3sign_preauth preauth;

	for (unsigned alg = 0; alg < ALGS; alg++) {
		uint8_t *msg = new_message(300), sig[16], out[16], negotiate[200] = {0};
		smb3sign_key *key = NULL, *derived = NULL, *copy = NULL, *placed = NULL;
		smb3sign_iov iov = {msg + 64, 236};
		smb3sign_msg one;
		smb3sign_ctx ctx;
		const void *data;
		size_t len;
		unsigned chosen;
		int bad = 0; /* no assertion before the count is read: those may allocate */

		make_header(negotiate, 0, 0, 0, 0);
		put_le16(negotiate + 64, 36);
		put_le16(negotiate + 66, 1);
		put_le32(msg + 20, 0);
		rng_fill(&preauth, sizeof(preauth));
		allocations = 0;
		bad |= smb3sign_key_new(&key, alg, raw_key, 16, SMB3SIGN_ROLE_ANY);
		bad |= smb3sign_key_derive(&derived, alg, 0x0311, raw_key, 16, &preauth, SMB3SIGN_ROLE_ANY);
		bad |= smb3sign_key_dup(&copy, key);
		ck_assert_uint_eq(allocations, 3);
		ck_assert_int_eq(bad, 0);

		allocations = 0;
		bad |= smb3sign_key_init(&placed, room, sizeof(room), alg, raw_key, 16, SMB3SIGN_ROLE_ANY);
		bad |= smb3sign_sign(key, msg, &iov, 1);
		bad |= smb3sign_verify(placed, msg, &iov, 1);
		bad |= smb3sign_compute(key, msg, &iov, 1, sig);
		bad |= smb3sign_sign_buf(key, msg, 300);
		bad |= smb3sign_verify_buf(copy, msg, 300);
		bad |= smb3sign_sign_frame(key, msg, 300);
		bad |= smb3sign_verify_frame(key, msg, 300, NULL);
		bad |= smb3sign_frame_next(msg, 300, 0, &len);
		one = (smb3sign_msg){.key = key, .hdr = msg, .body = &iov, .body_cnt = 1};
		bad |= smb3sign_sign_batch(&one, 1);
		bad |= smb3sign_verify_batch(&one, 1);
		bad |= smb3sign_sign_begin(&ctx, key, msg);
		smb3sign_update(&ctx, msg + 64, 236);
		bad |= smb3sign_sign_end(&ctx, sig);
		bad |= smb3sign_verify_begin(&ctx, key, msg);
		smb3sign_update(&ctx, msg + 64, 236);
		bad |= smb3sign_verify_end(&ctx);
		smb3sign_abort(&ctx);
		bad |= smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, raw_key, 16, &preauth, out, 16);
		bad |= smb3sign_kdf(raw_key, 16, "x", 1, msg, 300, out, 16);
		bad |= smb3sign_preauth_update(&preauth, &(smb3sign_iov){negotiate, sizeof(negotiate)}, 1);
		bad |= smb3sign_caps_find(negotiate, sizeof(negotiate), &data, &len);
		bad |= smb3sign_caps_accept(NULL, 0, offered, 1, &chosen);
		bad |= smb3sign_exempt(alg, msg);
		bad |= smb3sign_is_echo(msg, msg);
		bad |= smb3sign_selftest();
		smb3sign_preauth_init(&preauth);
		smb3sign_key_wipe(placed);
		bad |= smb3sign_batch_width(key) == 0 || smb3sign_key_size(alg) == 0 || smb3sign_key_alg(key) != alg;
		bad |= !smb3sign_cpu() || !smb3sign_key_impl(key) || !smb3sign_version() || !smb3sign_strerror(-1);
		smb3sign_key_free(key);
		smb3sign_key_free(derived);
		smb3sign_key_free(copy);
		ck_assert_uint_eq(allocations, 0);
		ck_assert_int_eq(bad, 0);
		free(msg);
	}
}
END_TEST

/* ---- Threads and processes ---- */

enum { SHARED_MESSAGES = 32, ROUNDS = 400, BATCH = 24 };

struct shared {
	const smb3sign_key *key[ALGS];
	uint8_t *msg[ALGS][SHARED_MESSAGES]; /* signed */
	size_t len[ALGS][SHARED_MESSAGES];
	pthread_barrier_t start;
};

struct worker {
	pthread_t thread;
	struct shared *shared;
	unsigned number, wrong;
};

static unsigned sign_and_verify(const smb3sign_key *key, const uint8_t *msg, size_t len)
{
	uint8_t copy[64], sig[16];
	smb3sign_iov iov = {(uint8_t *)(uintptr_t)msg + 64, len - 64};
	smb3sign_ctx ctx;
	unsigned wrong = 0;

	memcpy(copy, msg, 64);
	memset(copy + 48, 0, 16);
	wrong += smb3sign_verify_buf(key, msg, len) != SMB3SIGN_OK;
	wrong += smb3sign_verify(key, copy, &iov, 1) != SMB3SIGN_E_SIGNATURE;
	wrong += smb3sign_sign(key, copy, &iov, 1) != SMB3SIGN_OK || memcmp(copy, msg, 64) != 0;
	wrong += smb3sign_sign_begin(&ctx, key, copy) != SMB3SIGN_OK;
	smb3sign_update(&ctx, msg + 64, len - 64);
	wrong += smb3sign_sign_end(&ctx, sig) != SMB3SIGN_OK || memcmp(sig, msg + 48, 16) != 0;
	wrong += smb3sign_verify_begin(&ctx, key, msg) != SMB3SIGN_OK;
	smb3sign_update(&ctx, msg + 64, len - 64);
	wrong += smb3sign_verify_end(&ctx) != SMB3SIGN_OK;
	return wrong;
}

/* Messages of all algorithms, from i on: those that are there verified, copies of their headers signed. */
static unsigned batches(const struct shared *s, unsigned i)
{
	smb3sign_msg verify[BATCH], sign[BATCH];
	smb3sign_iov body[BATCH];
	uint8_t hdr[BATCH][64];
	unsigned wrong = 0;

	for (unsigned n = 0; n < BATCH; n++) {
		const unsigned alg = n % ALGS, m = (i + n) % SHARED_MESSAGES;
		uint8_t *msg = s->msg[alg][m];

		body[n] = (smb3sign_iov){msg + 64, s->len[alg][m] - 64};
		verify[n] = (smb3sign_msg){.key = s->key[alg], .hdr = msg, .body = &body[n], .body_cnt = 1};
		sign[n] = verify[n];
		sign[n].hdr = hdr[n];
		memcpy(hdr[n], msg, 48);
		memset(hdr[n] + 48, 0, 16);
	}
	wrong += smb3sign_verify_batch(verify, BATCH) != SMB3SIGN_OK;
	wrong += smb3sign_sign_batch(sign, BATCH) != SMB3SIGN_OK;
	for (unsigned n = 0; n < BATCH; n++)
		wrong += memcmp(hdr[n], verify[n].hdr, 64) != 0;
	return wrong;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&w->shared->start);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned alg = (round + w->number) % ALGS, i = (round * 7 + w->number * 5) % SHARED_MESSAGES;

		w->wrong += sign_and_verify(w->shared->key[alg], w->shared->msg[alg][i], w->shared->len[alg][i]);
		if (round % 8 == 0)
			w->wrong += batches(w->shared, i);
	}
	return NULL;
}

START_TEST(test_threads)
{
	static struct shared s;
	struct worker workers[THREADS] = {{0}};
	smb3sign_key *keys[ALGS];

	for (unsigned alg = 0; alg < ALGS; alg++) {
		s.key[alg] = keys[alg] = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
		for (size_t i = 0; i < SHARED_MESSAGES; i++) {
			s.len[alg][i] = 64 + rng_below(i % 8 ? 500 : 20000);
			s.msg[alg][i] = new_signed(alg, raw_key, s.len[alg][i]);
		}
	}
	pthread_barrier_init(&s.start, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].shared = &s;
		workers[i].number = i;
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		ck_assert_uint_eq(workers[i].wrong, 0);
	}
	pthread_barrier_destroy(&s.start);
	for (unsigned alg = 0; alg < ALGS; alg++) {
		smb3sign_key_free(keys[alg]);
		for (size_t i = 0; i < SHARED_MESSAGES; i++)
			free(s.msg[alg][i]);
	}
}
END_TEST

/* A child process goes on with keys and contexts of its parent. */
START_TEST(test_fork)
{
	for (unsigned alg = 0; alg < ALGS; alg++) {
		smb3sign_key *key = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
		uint8_t *msg = new_signed(alg, raw_key, 300);
		smb3sign_ctx ctx;
		pid_t child;
		int status;

		ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
		smb3sign_update(&ctx, msg + 64, 100);
		child = fork();
		smb3sign_update(&ctx, msg + 164, 136);
		if (child == 0)
			_exit(smb3sign_verify_end(&ctx) || sign_and_verify(key, msg, 300));
		ck_assert_int_gt(child, 0);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(smb3sign_verify_end(&ctx), SMB3SIGN_OK);
		free(msg);
		smb3sign_key_free(key);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("key");
	TCase *first = add_case(s, "first use"), *make = add_case(s, "make"), *place = add_case(s, "place");
	TCase *dup = add_case(s, "dup"), *memory = add_case(s, "memory"), *share = add_case(s, "share");
	TCase *all[] = {make, place, dup, memory, share};

	for (size_t i = 0; i < 5; i++)
		tcase_add_checked_fixture(all[i], setup, NULL);
	tcase_add_test(first, test_first_use);
	tcase_add_test(make, test_new);
	tcase_add_test(make, test_new_errors);
	tcase_add_test(make, test_impl);
	tcase_add_test(make, test_best_kernels);
	tcase_add_test(place, test_size);
	tcase_add_test(place, test_size_of_kernels);
	tcase_add_test(place, test_init);
	tcase_add_test(place, test_init_again);
	tcase_add_test(place, test_init_errors);
	tcase_add_test(place, test_placed_kernels);
	tcase_add_test(place, test_zeroed);
	tcase_add_test(dup, test_dup);
	tcase_add_test(dup, test_dup_outlives);
	tcase_add_test(dup, test_dup_errors);
	tcase_add_test(memory, test_no_memory);
	tcase_add_test(memory, test_free_wipes);
	tcase_add_test(memory, test_allocations);
	tcase_add_test(share, test_threads);
	tcase_add_test(share, test_fork);
	return run_suite(s);
}
