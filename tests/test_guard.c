/* SPDX-License-Identifier: MIT */
/*
 * guard.c: which nonces are granted, by rules written down a second time, with one thread and with many. Allocations
 * go through this file by the linker's --wrap, so that the tests see their size and make them fail. SMB3SIGN_TEST_IDS
 * sets how many ids pass through in order: 4294967296 takes a minute.
 */
#define _DEFAULT_SOURCE /* barriers */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "support.h"

enum { WINDOW = 256, PLACES = WINDOW / 4, CREDITS = 8192, MOST_HELD = 4096, NONCES = 4, THREADS = 8, CANCEL = 0x0c };

/* Of a nonce: bit 0 a response, bit 1 a CANCEL. */
enum { REQUEST = 0, RESPONSE = 1, CANCEL_REQUEST = 2 };

/* The ids from here on are refused. */
static uint64_t too_high(size_t window)
{
	return (uint64_t)window << 38;
}

static int refuse_memory;
static size_t last_size;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	last_size = count * size;
	return refuse_memory ? NULL : __real_calloc(count, size);
}

void *__wrap_malloc(size_t size)
{
	last_size = size;
	return refuse_memory ? NULL : __real_malloc(size);
}

/* ---- Calls by id and nonce */

/* Not make_header: the generator of random data has one state for all threads. */
static void header_of(uint8_t hdr[64], uint64_t id, unsigned nonce)
{
	memset(hdr, 0, 64);
	memcpy(hdr, "\xfeSMB", 4);
	put_le16(hdr + 4, 64);
	put_le16(hdr + 12, nonce & 2 ? CANCEL : 8);
	put_le32(hdr + 16, nonce & 1);
	put_le64(hdr + 24, id);
	put_le64(hdr + 40, 77);
}

static int claim(smb3sign_guard *g, uint64_t id, unsigned nonce)
{
	uint8_t hdr[64];

	header_of(hdr, id, nonce);
	return smb3sign_guard_claim(g, hdr);
}

static int hold(smb3sign_guard *g, uint64_t id)
{
	uint8_t hdr[64];

	header_of(hdr, id, id % 2 ? REQUEST : RESPONSE);
	return smb3sign_guard_hold(g, hdr);
}

static void drop(smb3sign_guard *g, uint64_t id)
{
	uint8_t hdr[64];

	header_of(hdr, id, id % 3 ? REQUEST : RESPONSE);
	smb3sign_guard_drop(g, hdr);
}

static smb3sign_guard *new_guard(size_t window)
{
	smb3sign_guard *g = NULL;

	ck_assert_int_eq(smb3sign_guard_new(&g, window), SMB3SIGN_OK);
	ck_assert_ptr_nonnull(g);
	return g;
}

#define granted(call) ck_assert_int_eq(call, SMB3SIGN_OK)
#define refused(call) ck_assert_int_eq(call, SMB3SIGN_E_NONCE)

static size_t most_held(size_t window)
{
	return window < MOST_HELD ? window : MOST_HELD;
}

/* The id loses its place to the lowest that can have it. */
static void take_place(smb3sign_guard *g, uint64_t id, size_t window)
{
	granted(claim(g, id + window, REQUEST));
}

static void shuffle(uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)rng_below(i), t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
}

/* As many ids can be held as before: nothing that was dropped keeps its entry. They are dropped again. */
static void assert_room(smb3sign_guard *g, uint64_t base, size_t window)
{
	for (size_t i = 0; i < most_held(window); i++)
		granted(hold(g, base + i));
	refused(hold(g, base + most_held(window)));
	for (size_t i = 0; i < most_held(window); i++)
		drop(g, base + i);
}

/* ---- Making and arguments */

START_TEST(test_new)
{
	static const struct {
		size_t window, rounded;
	} cases[] = {{1, 256},     {255, 256},   {256, 256},    {257, 512},         {4096, 4096},
		     {4097, 8192}, {8192, 8192}, {8193, 16384}, {1048575, 1048576}, {1048576, 1048576}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const size_t window = cases[i].rounded, size = 2 * window + 8 * most_held(window);
		smb3sign_guard *g = new_guard(cases[i].window);

		ck_assert_uint_ge(last_size, size);
		ck_assert_uint_le(last_size, size + 64);
		granted(claim(g, 7 + window - 1, REQUEST));
		granted(claim(g, 7, REQUEST));
		granted(claim(g, 7 + window, REQUEST));
		refused(claim(g, 7, CANCEL_REQUEST));
		/* Everything is inside what was allocated, and as many as can be are held. */
		assert_room(g, 9 * window, window);
		granted(claim(g, too_high(window) - 1, REQUEST));
		refused(claim(g, too_high(window) - 1, REQUEST));
		refused(claim(g, too_high(window), REQUEST));
		granted(hold(g, too_high(window) - 2));
		granted(claim(g, too_high(window) - 2, REQUEST));
		smb3sign_guard_free(g);
	}
	smb3sign_guard_free(NULL);
}
END_TEST

START_TEST(test_new_errors)
{
	smb3sign_guard *none = (smb3sign_guard *)(void *)&refuse_memory, *g = none;
	int err;

	ck_assert_int_eq(smb3sign_guard_new(NULL, 64), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_guard_new(&g, 0), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_guard_new(&g, 1048577), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_guard_new(&g, SIZE_MAX), SMB3SIGN_E_INVAL);
	refuse_memory = 1;
	err = smb3sign_guard_new(&g, CREDITS);
	refuse_memory = 0;
	ck_assert_int_eq(err, SMB3SIGN_E_NOMEM);
	ck_assert_ptr_eq(g, none);
}
END_TEST

START_TEST(test_arguments)
{
	smb3sign_guard *g = new_guard(WINDOW);
	uint8_t hdr[64];

	header_of(hdr, 5, REQUEST);
	ck_assert_int_eq(smb3sign_guard_claim(NULL, hdr), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_guard_claim(g, NULL), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_guard_hold(NULL, hdr), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_guard_hold(g, NULL), SMB3SIGN_E_INVAL);
	smb3sign_guard_drop(NULL, hdr);
	smb3sign_guard_drop(g, NULL);
	granted(hold(g, 5));
	/* ProtocolId and StructureSize: any bit of the six bytes. */
	for (unsigned bit = 0; bit < 48; bit++) {
		hdr[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(smb3sign_guard_claim(g, hdr), SMB3SIGN_E_MESSAGE);
		ck_assert_int_eq(smb3sign_guard_hold(g, hdr), SMB3SIGN_E_MESSAGE);
		smb3sign_guard_drop(g, hdr);
		hdr[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	for (int i = 0; i < 1000; i++) {
		uint8_t noise[64];

		rng_fill(noise, sizeof(noise));
		ck_assert_int_eq(smb3sign_guard_claim(g, noise), SMB3SIGN_E_MESSAGE);
	}
	/* It is held as before, and nothing was claimed. */
	take_place(g, 5, WINDOW);
	granted(smb3sign_guard_claim(g, hdr));
	smb3sign_guard_free(g);
}
END_TEST

/* MessageId, direction and CANCEL make the nonce, and nothing else in the header does. */
START_TEST(test_nonce)
{
	smb3sign_guard *g = new_guard(WINDOW);
	uint8_t hdr[64];

	for (uint64_t id = 1; id < 3000; id += 1 + rng_below(40)) {
		const unsigned first = (unsigned)rng_below(NONCES);

		for (unsigned i = 0; i < NONCES; i++)
			granted(claim(g, id, (first + i) % NONCES));
		for (int i = 0; i < 20; i++) {
			random_header(hdr);
			put_le64(hdr + 24, id);
			refused(smb3sign_guard_claim(g, hdr));
		}
	}
	/* The 13th bit of Command and the like are not CANCEL. */
	header_of(hdr, 5000, REQUEST);
	granted(smb3sign_guard_claim(g, hdr));
	for (unsigned bit = 0; bit < 16; bit++) {
		put_le16(hdr + 12, CANCEL ^ 1u << bit);
		refused(smb3sign_guard_claim(g, hdr));
	}
	smb3sign_guard_free(g);
}
END_TEST

/* ---- The window */

/* The last: up to the highest ids that a guard of WINDOW has. */
static const uint64_t bases[] = {0, 1, (UINT64_C(1) << 32) - 4000, (UINT64_C(1) << 45) - 4000,
				 (UINT64_C(1) << 46) - 3 * (uint64_t)CREDITS};

enum { N_BASES = sizeof(bases) / sizeof(bases[0]) };

/* All ids of a window in any order, once; and the next window over it, while the ids of both mix. */
START_TEST(test_any_order)
{
	static uint32_t order[CREDITS];
	const size_t windows[] = {WINDOW, CREDITS};

	for (size_t b = 0; b < N_BASES; b++)
		for (size_t w = 0; w < 2; w++) {
			const uint32_t window = (uint32_t)windows[w];
			smb3sign_guard *g = new_guard(window);

			for (uint64_t from = bases[b]; from < bases[b] + 2 * window; from += window) {
				shuffle(order, window);
				for (uint32_t i = 0; i < window; i++)
					granted(claim(g, from + order[i], i % NONCES));
				shuffle(order, window);
				for (uint32_t i = 0; i < window; i++) {
					unsigned ok = 0;

					for (unsigned nonce = 0; nonce < NONCES; nonce++)
						ok += claim(g, from + order[i], nonce) == SMB3SIGN_OK;
					ck_assert_uint_eq(ok, NONCES - 1);
				}
			}
			smb3sign_guard_free(g);
		}
}
END_TEST

/* The last id of the window is in it, the next one is not. */
START_TEST(test_edges)
{
	for (size_t b = 0; b < N_BASES; b++)
		for (uint64_t highest = bases[b] + CREDITS; highest < bases[b] + CREDITS + 200; highest += 7) {
			smb3sign_guard *g = new_guard(WINDOW);

			granted(claim(g, highest, REQUEST));
			granted(claim(g, highest - (WINDOW - 1), REQUEST));
			refused(claim(g, highest - WINDOW, REQUEST));
			refused(claim(g, highest - 2 * WINDOW, RESPONSE));
			granted(claim(g, highest - (WINDOW - 1), CANCEL_REQUEST));
			refused(claim(g, highest, REQUEST));
			smb3sign_guard_free(g);
		}
}
END_TEST

/*
 * An id that is 2^k higher is another one, for every k, or too high. The lower one is gone for good if the two have a
 * place in common and are a window apart.
 */
START_TEST(test_jumps)
{
	const size_t windows[] = {WINDOW, 512, CREDITS};

	for (size_t w = 0; w < 3; w++)
		for (unsigned k = 0; k < 64; k++)
			for (unsigned times = 1; times < 8; times++) {
				const size_t window = windows[w];
				const uint64_t low = 7, high = low + (times * (UINT64_C(1) << k)); /* may wrap to low */
				const int has_place = high < too_high(window);
				const int lost = has_place && (high - low) % (window / 4) == 0 && high - low >= window;
				smb3sign_guard *g;

				if (high <= low)
					continue;
				g = new_guard(window);
				granted(claim(g, low, REQUEST));
				ck_assert_int_eq(claim(g, high, REQUEST), has_place ? SMB3SIGN_OK : SMB3SIGN_E_NONCE);
				refused(claim(g, high, REQUEST));
				refused(claim(g, low, REQUEST));
				ck_assert_int_eq(claim(g, low, RESPONSE), lost ? SMB3SIGN_E_NONCE : SMB3SIGN_OK);
				ck_assert_int_eq(hold(g, low), lost ? SMB3SIGN_E_NONCE : SMB3SIGN_OK);
				ck_assert_int_eq(claim(g, high, RESPONSE), has_place ? SMB3SIGN_OK : SMB3SIGN_E_NONCE);
				smb3sign_guard_free(g);
			}
}
END_TEST

/* Ids that are too high cost nothing; the highest that is not, and after it ids that go on as if nothing had been. */
START_TEST(test_stray)
{
	smb3sign_guard *g = new_guard(WINDOW);
	const uint64_t highest = too_high(WINDOW) - 1;

	granted(claim(g, 100, REQUEST));
	refused(claim(g, UINT64_MAX, REQUEST));
	refused(hold(g, UINT64_MAX));
	for (uint64_t id = highest + 1; id <= highest + WINDOW; id++) {
		refused(claim(g, id, REQUEST));
		refused(hold(g, id));
	}
	granted(claim(g, highest, REQUEST));
	refused(claim(g, highest, REQUEST));
	granted(claim(g, highest, CANCEL_REQUEST));
	granted(claim(g, highest - 1, REQUEST));
	for (uint64_t id = 101; id < 1000; id++)
		ck_assert_int_eq(claim(g, id, REQUEST), id % PLACES < PLACES - 2 ? SMB3SIGN_OK : SMB3SIGN_E_NONCE);
	refused(claim(g, 0, REQUEST));
	refused(claim(g, highest, REQUEST));
	refused(claim(g, highest - WINDOW, REQUEST));
	granted(claim(g, highest - WINDOW + PLACES, REQUEST));
	smb3sign_guard_free(g);
}
END_TEST

/* What a place knows of its last four laps, whatever it has known before and however far the next one is. */
START_TEST(test_laps)
{
	for (size_t b = 0; b < N_BASES; b++)
		for (unsigned from = 0; from < 4; from++)
			for (unsigned jump = 1; jump < 10; jump++) {
				smb3sign_guard *g = new_guard(WINDOW);
				const uint64_t low = bases[b] + from * PLACES;

				for (unsigned lap = 0; lap < 4; lap++)
					granted(claim(g, low + lap * PLACES, lap));
				granted(claim(g, low + (3 + jump) * PLACES, CANCEL_REQUEST));
				for (unsigned lap = 0; lap < 3 + jump; lap++)
					for (unsigned nonce = 0; nonce < NONCES; nonce++)
						ck_assert_int_eq(claim(g, low + lap * PLACES, nonce),
								 lap < jump || lap == nonce ? SMB3SIGN_E_NONCE
											    : SMB3SIGN_OK);
				refused(claim(g, low + (3 + jump) * PLACES, CANCEL_REQUEST));
				granted(claim(g, low + (3 + jump) * PLACES, REQUEST));
				smb3sign_guard_free(g);
			}
}
END_TEST

static uint64_t ids_in_order(void)
{
	const char *text = getenv("SMB3SIGN_TEST_IDS");
	uint64_t n = UINT64_C(1) << 24;

	if (text) {
		char *end;

		n = strtoull(text, &end, 0);
		ck_assert_msg(*text && !*end && n, "SMB3SIGN_TEST_IDS is no number");
		printf("%llu ids in order\n", (unsigned long long)n);
	}
	return n;
}

START_TEST(test_in_order)
{
	const uint64_t n = ids_in_order();
	smb3sign_guard *g = new_guard(CREDITS);
	uint64_t wrong = 0;
	uint8_t hdr[64];

	header_of(hdr, 0, REQUEST);
	for (uint64_t id = 0; id < n; id++) {
		put_le64(hdr + 24, id);
		wrong += smb3sign_guard_claim(g, hdr) != SMB3SIGN_OK;
	}
	ck_assert_uint_eq(wrong, 0);
	for (uint64_t id = n - 2 * CREDITS; id < n; id++)
		refused(claim(g, id, REQUEST));
	for (uint64_t id = n - CREDITS; id < n; id++)
		granted(claim(g, id, CANCEL_REQUEST));
	smb3sign_guard_free(g);
}
END_TEST

/* ---- Held ids */

START_TEST(test_held)
{
	smb3sign_guard *g = new_guard(CREDITS);
	const uint64_t id = 12345, late = 1000000;

	for (uint64_t i = 12000; i < id; i++)
		granted(claim(g, i, RESPONSE));
	/* id: nothing claimed before; id + 1: its CANCEL; id + 2: all. */
	granted(claim(g, id + 1, CANCEL_REQUEST));
	for (unsigned nonce = 0; nonce < NONCES; nonce++)
		granted(claim(g, id + 2, nonce));
	for (uint64_t i = id; i < id + 3; i++)
		granted(hold(g, i));
	granted(hold(g, id));
	for (uint64_t i = id + 3; i < id + late; i++)
		granted(claim(g, i, RESPONSE));
	refused(claim(g, id - 1, REQUEST));
	refused(claim(g, id + 3, REQUEST));
	granted(hold(g, id));
	for (unsigned nonce = 0; nonce < NONCES; nonce++) {
		granted(claim(g, id, nonce));
		refused(claim(g, id, nonce));
		ck_assert_int_eq(claim(g, id + 1, nonce), nonce == CANCEL_REQUEST ? SMB3SIGN_E_NONCE : SMB3SIGN_OK);
		refused(claim(g, id + 1, nonce));
		refused(claim(g, id + 2, nonce));
	}
	for (unsigned nonce = 0; nonce < NONCES; nonce++)
		refused(claim(g, id, nonce));
	smb3sign_guard_free(g);
}
END_TEST

/* Between hold and the loss of the place, claims go on; every mixture of before, between and afterwards. */
START_TEST(test_held_mixture)
{
	for (unsigned when = 0; when < 256; when++) {
		smb3sign_guard *g = new_guard(WINDOW);
		const uint64_t id = 1000 + when;

		/* Two bits for each nonce: the phase in which it is claimed first. */
		for (unsigned phase = 0; phase < 4; phase++) {
			for (unsigned nonce = 0; nonce < NONCES; nonce++)
				if ((when >> 2 * nonce & 3) == phase)
					granted(claim(g, id, nonce));
			for (unsigned nonce = 0; nonce < NONCES; nonce++)
				if ((when >> 2 * nonce & 3) <= phase)
					refused(claim(g, id, nonce));
			if (phase == 0)
				granted(hold(g, id));
			else if (phase == 1)
				take_place(g, id, WINDOW);
			else if (phase == 2)
				take_place(g, id + 5 * WINDOW, WINDOW);
		}
		drop(g, id);
		for (unsigned nonce = 0; nonce < NONCES; nonce++)
			refused(claim(g, id, nonce));
		smb3sign_guard_free(g);
	}
}
END_TEST

START_TEST(test_hold_refused)
{
	smb3sign_guard *g = new_guard(WINDOW);

	granted(claim(g, 1000, REQUEST));
	refused(hold(g, 1000 - WINDOW));
	refused(claim(g, 1000 - WINDOW, REQUEST));
	granted(hold(g, 1000 - WINDOW + 1));
	/* A hold takes the place of an older id as a claim does. */
	granted(claim(g, 1010, REQUEST));
	granted(hold(g, 1010 + WINDOW));
	refused(claim(g, 1010, RESPONSE));
	granted(claim(g, 1010 + WINDOW, REQUEST));
	/* The highest of all, held and not. */
	granted(hold(g, too_high(WINDOW) - 2 - WINDOW));
	granted(claim(g, too_high(WINDOW) - 2 - WINDOW, CANCEL_REQUEST));
	granted(claim(g, too_high(WINDOW) - 1 - WINDOW, CANCEL_REQUEST));
	granted(claim(g, too_high(WINDOW) - 2, REQUEST));
	granted(claim(g, too_high(WINDOW) - 1, REQUEST));
	granted(claim(g, too_high(WINDOW) - 2 - WINDOW, REQUEST));
	refused(claim(g, too_high(WINDOW) - 2 - WINDOW, CANCEL_REQUEST));
	refused(claim(g, too_high(WINDOW) - 1 - WINDOW, REQUEST));
	smb3sign_guard_free(g);
}
END_TEST

START_TEST(test_drop)
{
	smb3sign_guard *g = new_guard(WINDOW);

	/* In the window: refused from then on, as it is when it has lost its place. */
	granted(claim(g, 1, REQUEST));
	granted(hold(g, 1));
	granted(claim(g, 1, RESPONSE));
	drop(g, 1);
	for (unsigned nonce = 0; nonce < NONCES; nonce++)
		refused(claim(g, 1, nonce));
	refused(hold(g, 1));
	take_place(g, 1, WINDOW);
	for (unsigned nonce = 0; nonce < NONCES; nonce++)
		refused(claim(g, 1, nonce));
	refused(hold(g, 1));
	/* Not held: nothing happens. */
	granted(claim(g, 5, REQUEST));
	drop(g, 5);
	granted(claim(g, 5, CANCEL_REQUEST));
	granted(hold(g, 5));
	granted(claim(g, 5, RESPONSE));
	drop(g, 5);
	/* Beyond it. */
	granted(hold(g, 2));
	take_place(g, 2, WINDOW);
	granted(claim(g, 2, REQUEST));
	drop(g, 2);
	for (unsigned nonce = 0; nonce < NONCES; nonce++)
		refused(claim(g, 2, nonce));
	refused(hold(g, 2));
	/* Unknown ids, twice, with and without a place, too high. */
	granted(hold(g, 3));
	drop(g, 2);
	drop(g, 4);
	drop(g, 3 + WINDOW);
	drop(g, 0);
	drop(g, 3 + too_high(WINDOW));
	drop(g, 3 + (UINT64_C(1) << 59));
	drop(g, UINT64_MAX);
	take_place(g, 3, WINDOW);
	granted(claim(g, 3, REQUEST));
	drop(g, 3);
	assert_room(g, 10000, WINDOW);
	smb3sign_guard_free(g);
}
END_TEST

/* As many as there is room for, whatever they have in common, old and new; one more only when one is dropped. */
START_TEST(test_full)
{
	static uint64_t ids[MOST_HELD];
	const size_t windows[] = {WINDOW, CREDITS};

	for (size_t w = 0; w < 2; w++)
		for (unsigned pattern = 0; pattern < 3; pattern++) {
			const size_t window = windows[w], most = most_held(window);
			smb3sign_guard *g = new_guard(window);
			uint64_t id = 0;

			for (size_t i = 0; i < most; i++) {
				ids[i] = id;
				granted(hold(g, id));
				/* In a row; each in the place of the last; anyhow. */
				id += pattern == 0 ? 1 : pattern == 1 ? window : 1 + rng_below(3 * window);
			}
			for (size_t i = 0; i < most; i++)
				granted(hold(g, ids[i]));
			refused(hold(g, id));
			granted(claim(g, id, REQUEST));
			for (int i = 0; i < 20; i++) {
				const size_t out = rng_below(most);

				drop(g, ids[out]);
				id += 1 + rng_below(20);
				ids[out] = id;
				granted(hold(g, id));
				refused(hold(g, id + 1));
			}
			for (size_t i = 0; i < most; i++)
				granted(claim(g, id + 2 * window + i, REQUEST));
			for (size_t i = 0; i < most; i++) {
				granted(claim(g, ids[i], i % NONCES));
				refused(claim(g, ids[i], i % NONCES));
			}
			for (size_t i = 0; i < most; i++)
				drop(g, ids[i]);
			assert_room(g, id + 10 * window, window);
			smb3sign_guard_free(g);
		}
}
END_TEST

/* ---- The rules, a second time */

enum { DOMAIN = 9000 };

struct model {
	uint64_t base;
	uint32_t highest[PLACES]; /* of each place, above base */
	uint8_t used[DOMAIN][NONCES], held[DOMAIN], dropped[DOMAIN];
	unsigned n_held;
};

/* 1: an id of its place has come that is a window higher, or more. */
static int model_lost(struct model *m, uint32_t i)
{
	uint32_t *highest = &m->highest[(m->base + i) % PLACES];

	if (*highest < i)
		*highest = i;
	return *highest - i >= WINDOW;
}

static int model_claim(struct model *m, uint32_t i, unsigned nonce)
{
	if ((model_lost(m, i) && !m->held[i]) || m->dropped[i] || m->used[i][nonce])
		return SMB3SIGN_E_NONCE;
	m->used[i][nonce] = 1;
	return SMB3SIGN_OK;
}

static int model_hold(struct model *m, uint32_t i)
{
	if (model_lost(m, i) || m->held[i] || m->dropped[i])
		return m->held[i] ? SMB3SIGN_OK : SMB3SIGN_E_NONCE;
	if (m->n_held == WINDOW)
		return SMB3SIGN_E_NONCE;
	m->held[i] = 1;
	m->n_held++;
	return SMB3SIGN_OK;
}

static void model_drop(struct model *m, uint32_t i)
{
	m->n_held -= m->held[i];
	m->dropped[i] |= m->held[i];
	m->held[i] = 0;
}

START_TEST(test_model)
{
	static struct model m;
	unsigned long long oks[2] = {0};

	for (int run = 0; run < 300; run++) {
		smb3sign_guard *g = new_guard(WINDOW);
		/* The ids drawn rise with the steps, at various speeds. */
		const size_t holds = 1 + rng_below(40), drops = 1 + rng_below(40), spread = 1 + rng_below(1600);
		const uint32_t steps = 500 + (uint32_t)rng_below(30000);

		memset(&m, 0, sizeof(m));
		m.base = bases[rng_below(N_BASES)];
		for (uint32_t step = 0; step < steps; step++) {
			const uint32_t now = (uint32_t)((DOMAIN - 1600) * (uint64_t)step / steps);
			const uint32_t i =
				rng_below(4) ? now + (uint32_t)rng_below(spread) : (uint32_t)rng_below(now + 1);
			const unsigned nonce = (unsigned)rng_below(NONCES);
			int want, got;

			if (rng_below(100) < holds) {
				want = model_hold(&m, i);
				got = hold(g, m.base + i);
				oks[1] += got == SMB3SIGN_OK;
			} else if (rng_below(100) < drops) {
				model_drop(&m, i);
				drop(g, m.base + i);
				continue;
			} else {
				want = model_claim(&m, i, nonce);
				got = claim(g, m.base + i, nonce);
				oks[0] += got == SMB3SIGN_OK;
			}
			ck_assert_msg(got == want, "run %d, step %u: id %u, nonce %u: %d, not %d", run, step, i, nonce,
				      got, want);
		}
		smb3sign_guard_free(g);
	}
	ck_assert_uint_gt(oks[0], 100000);
	ck_assert_uint_gt(oks[1], 10000);
}
END_TEST

/* ---- Threads */

struct team {
	smb3sign_guard *g;
	pthread_barrier_t barrier;
	void (*round)(struct team *, unsigned member, unsigned round);
	unsigned members, rounds;
	uint64_t base; /* this round's id */
	_Atomic unsigned grants[NONCES];
	_Atomic int held;
	_Atomic uint64_t arrivals, met; /* met: how many meetings there are */
};

struct member {
	pthread_t thread;
	struct team *team;
	unsigned number;
};

static void *play(void *arg)
{
	const struct member *m = arg;

	for (unsigned round = 0; round < m->team->rounds; round++) {
		pthread_barrier_wait(&m->team->barrier);
		m->team->round(m->team, m->number, round);
	}
	return NULL;
}

static void run_team(struct team *t)
{
	struct member members[THREADS];

	pthread_barrier_init(&t->barrier, NULL, t->members);
	for (unsigned i = 0; i < t->members; i++) {
		members[i] = (struct member){.team = t, .number = i};
		ck_assert_int_eq(pthread_create(&members[i].thread, NULL, play, &members[i]), 0);
	}
	for (unsigned i = 0; i < t->members; i++)
		pthread_join(members[i].thread, NULL);
	pthread_barrier_destroy(&t->barrier);
}

enum { RACED = 200000 };

static _Atomic uint8_t raced[RACED];

/* Every thread claims every id as fast as it can: who leads advances the window, the others come early or too late. */
static void claim_all(struct team *t, unsigned member, unsigned round)
{
	(void)member;
	(void)round;
	for (uint64_t id = 0; id < RACED; id++)
		if (claim(t->g, id, REQUEST) == SMB3SIGN_OK)
			raced[id]++;
}

START_TEST(test_one_winner)
{
	struct team t = {.g = new_guard(WINDOW), .round = claim_all, .members = THREADS, .rounds = 1};

	run_team(&t);
	for (size_t id = 0; id < RACED; id++)
		ck_assert_msg(raced[id] == 1, "id %zu was granted %u times", id, raced[id]);
	smb3sign_guard_free(t.g);
}
END_TEST

/* The members go on at the same moment, as near as a shared counter can bring them. meeting: how many there were. */
static void meet(struct team *t, uint64_t meeting)
{
	t->arrivals++;
	for (unsigned spins = 0; t->arrivals < t->members * (meeting + 1); spins++)
		if (spins % 1000 == 999)
			sched_yield();
}

/* Where other programs keep the members from running at once, a meeting takes milliseconds: fewer of them then. */
enum { SECONDS = 10, MEETINGS_AT_LEAST = 500 };

static void claim_in_step(struct team *t, unsigned member, unsigned round)
{
	const time_t began = time(NULL);

	(void)round;
	for (uint64_t id = 0; id < RACED; id++) {
		/* Member 0 says so before it comes to this meeting, and everyone knows behind it. */
		if (member == 0 && id >= MEETINGS_AT_LEAST && time(NULL) - began > SECONDS)
			t->met = id;
		meet(t, id);
		if (id == t->met)
			return;
		if (claim(t->g, id, RESPONSE) == SMB3SIGN_OK)
			raced[id]++;
	}
}

START_TEST(test_same_moment)
{
	struct team t = {.g = new_guard(WINDOW), .round = claim_in_step, .members = 2, .rounds = 1, .met = RACED};

	memset(raced, 0, sizeof(raced));
	run_team(&t);
	for (size_t id = 0; id < t.met; id++)
		ck_assert_msg(raced[id] == 1, "id %zu was granted %u times", id, raced[id]);
	smb3sign_guard_free(t.g);
}
END_TEST

/* Rounds half a window apart, over a whole window in another order by each thread: what is fresh is granted once. */
enum { ORDERED = 1024, HALVES = 60 };

static uint32_t orders[THREADS][ORDERED];
static _Atomic uint8_t ordered[(HALVES + 2) * ORDERED / 2][2];

static void claim_window(struct team *t, unsigned member, unsigned round)
{
	for (uint32_t i = 0; i < ORDERED; i++) {
		const uint32_t id = round * (ORDERED / 2) + orders[member][i];
		const unsigned cancel = (id ^ i) & 1;

		if (claim(t->g, t->base + id, cancel ? CANCEL_REQUEST : RESPONSE) == SMB3SIGN_OK)
			ordered[id][cancel]++;
		if (claim(t->g, t->base + id, cancel ? RESPONSE : CANCEL_REQUEST) == SMB3SIGN_OK)
			ordered[id][!cancel]++;
	}
	/* Nobody begins the next round before all have finished this one. */
	pthread_barrier_wait(&t->barrier);
}

START_TEST(test_no_false_refusal)
{
	for (size_t b = 0; b < N_BASES; b++) {
		struct team t = {.g = new_guard(ORDERED),
				 .round = claim_window,
				 .members = 4,
				 .rounds = HALVES,
				 .base = bases[b]};

		for (size_t i = 0; i < THREADS; i++)
			shuffle(orders[i], ORDERED);
		memset(ordered, 0, sizeof(ordered));
		run_team(&t);
		for (size_t id = 0; id < (HALVES + 1) * ORDERED / 2; id++)
			for (int cancel = 0; cancel < 2; cancel++)
				ck_assert_msg(ordered[id][cancel] == 1, "id %zu was granted %u times", id,
					      ordered[id][cancel]);
		smb3sign_guard_free(t.g);
	}
}
END_TEST

static void claim_and_count(struct team *t, uint64_t id, unsigned nonce)
{
	if (claim(t->g, id, nonce) == SMB3SIGN_OK)
		t->grants[nonce]++;
}

enum { HOLDERS_DROP = 1, HELD_BEFORE = 2, STAYS = 4, HOLD_RACES = 8 };

static unsigned hold_race;

/*
 * One id loses its place (or all but loses it) while it is claimed, and while it is held (or held before), and perhaps
 * dropped. There is a barrier before and behind what they do, and behind it member 0 settles the round and draws up the
 * next.
 */
static void race_for_place(struct team *t, unsigned member, unsigned round)
{
	const uint64_t id = t->base;

	meet(t, round);
	switch (member) {
	case 0:
		if (hold_race & STAYS) {
			granted(claim(t->g, id + PLACES, REQUEST));
			granted(claim(t->g, id + 3 * PLACES, REQUEST));
		} else {
			take_place(t->g, id, WINDOW);
			take_place(t->g, id + WINDOW, WINDOW);
		}
		break;
	case 1:
		if (!(hold_race & HELD_BEFORE) && hold(t->g, id) == SMB3SIGN_OK)
			t->held = 1;
		if (hold_race & HOLDERS_DROP)
			drop(t->g, id);
		break;
	default:
		for (unsigned i = 0; i < NONCES; i++)
			claim_and_count(t, id, (i + round + member) % NONCES);
	}
	pthread_barrier_wait(&t->barrier);
	if (member)
		return;
	for (unsigned nonce = 0; nonce < NONCES; nonce++) {
		claim_and_count(t, id, nonce);
		ck_assert_uint_le(t->grants[nonce], 1);
		if ((t->held || hold_race & STAYS) && !(hold_race & HOLDERS_DROP))
			ck_assert_uint_eq(t->grants[nonce], 1);
		t->grants[nonce] = 0;
	}
	/* A hold that was refused has left nothing behind. */
	if (t->held)
		drop(t->g, id);
	t->base = id + 3 * WINDOW + 1;
	t->held = (hold_race & HELD_BEFORE) != 0;
	if (hold_race & HELD_BEFORE)
		granted(hold(t->g, t->base));
}

START_TEST(test_races)
{
	for (hold_race = 0; hold_race < HOLD_RACES; hold_race++) {
		struct team t = {.g = new_guard(WINDOW),
				 .round = race_for_place,
				 .members = 4,
				 .rounds = 3000,
				 .base = 1,
				 .held = (hold_race & HELD_BEFORE) != 0};

		if (hold_race & HELD_BEFORE)
			granted(hold(t.g, t.base));
		run_team(&t);
		drop(t.g, t.base);
		assert_room(t.g, t.base + 10 * WINDOW, WINDOW);
		smb3sign_guard_free(t.g);
	}
}
END_TEST

/* Everything at once on few places; the ids rise slowly. Each nonce is granted once at most, and no entry is lost. */
enum { MIXED_IDS = 20000, MIXED_STEPS = 200000 };

static _Atomic uint8_t mixed[MIXED_IDS][NONCES];

static void mix(struct team *t, unsigned member, unsigned round)
{
	uint64_t x = 0x9e3779b97f4a7c15u * (member + 1);

	(void)round;
	for (uint64_t step = 0; step < MIXED_STEPS; step++) {
		uint64_t id;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* Few of the places, so that they meet. */
		id = step * (MIXED_IDS - 1000) / MIXED_STEPS / PLACES * PLACES + x % 8 * PLACES + (x >> 8) % 3;
		switch (x >> 32 & 7) {
		case 0:
			(void)!hold(t->g, id);
			break;
		case 1:
			drop(t->g, id > 300 ? id - 2 * PLACES : id);
			break;
		default:
			if (claim(t->g, id, x >> 40 & 3) == SMB3SIGN_OK)
				mixed[id][x >> 40 & 3]++;
		}
	}
}

START_TEST(test_mixture)
{
	struct team t = {.g = new_guard(WINDOW), .round = mix, .members = THREADS, .rounds = 1};
	size_t sum = 0;

	run_team(&t);
	for (size_t id = 0; id < MIXED_IDS; id++) {
		for (unsigned nonce = 0; nonce < NONCES; nonce++) {
			ck_assert_msg(mixed[id][nonce] <= 1, "id %zu, nonce %u was granted %u times", id, nonce,
				      mixed[id][nonce]);
			sum += mixed[id][nonce];
		}
		drop(t.g, id);
	}
	ck_assert_uint_gt(sum, 1000);
	assert_room(t.g, 2 * MIXED_IDS, WINDOW);
	smb3sign_guard_free(t.g);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("guard");
	TCase *make = add_case(s, "make"), *window = add_case(s, "window"), *held = add_case(s, "held");
	TCase *model = add_case(s, "model"), *threads = add_case(s, "threads");

	/* 2^32 ids; and emulators and ThreadSanitizer on a machine that others use. */
	tcase_set_timeout(window, 3600);
	tcase_set_timeout(model, 600);
	tcase_set_timeout(threads, 600);
	tcase_add_test(make, test_new);
	tcase_add_test(make, test_new_errors);
	tcase_add_test(make, test_arguments);
	tcase_add_test(make, test_nonce);
	tcase_add_test(window, test_any_order);
	tcase_add_test(window, test_edges);
	tcase_add_test(window, test_jumps);
	tcase_add_test(window, test_stray);
	tcase_add_test(window, test_laps);
	tcase_add_test(window, test_in_order);
	tcase_add_test(held, test_held);
	tcase_add_test(held, test_held_mixture);
	tcase_add_test(held, test_hold_refused);
	tcase_add_test(held, test_drop);
	tcase_add_test(held, test_full);
	tcase_add_test(model, test_model);
	tcase_add_test(threads, test_one_winner);
	tcase_add_test(threads, test_same_moment);
	tcase_add_test(threads, test_no_false_refusal);
	tcase_add_test(threads, test_races);
	tcase_add_test(threads, test_mixture);
	return run_suite(s);
}
