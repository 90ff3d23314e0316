/* SPDX-License-Identifier: MIT */
/*
 * batch.c: batches of mixed keys, algorithms, lengths and segmentations give what the messages give one by one; every
 * result is written and the first that is not OK is returned.
 */
#include "key.h"
#include "oracle.h"
#include "support.h"

enum { ALGS = 3, ROLES = 3, KEYS = ALGS * ROLES, MAX = 40 };

static uint8_t raw_key[KEYS][16];
static smb3sign_key *keys[KEYS];

static void setup(void)
{
	for (unsigned i = 0; i < KEYS; i++) {
		rng_fill(raw_key[i], 16);
		keys[i] = new_key(i % ALGS, raw_key[i], i / ALGS);
	}
}

static void teardown(void)
{
	for (unsigned i = 0; i < KEYS; i++)
		smb3sign_key_free(keys[i]);
}

/* A batch, and copies of its headers as they were. */
struct batch {
	size_t n;
	smb3sign_msg msg[MAX];
	smb3sign_iov iov[MAX][5];
	uint8_t *bytes[MAX], before[MAX][64];
	size_t len[MAX], key[MAX];
};

/* Message i of the batch: these bytes (kept), this key. */
static void put_message(struct batch *b, size_t i, uint8_t *bytes, size_t len, size_t key)
{
	b->bytes[i] = bytes;
	b->len[i] = len;
	b->key[i] = key;
	memcpy(b->before[i], bytes, 64);
	b->msg[i] = (smb3sign_msg){.key = keys[key],
				   .hdr = bytes,
				   .body = b->iov[i],
				   .body_cnt = random_split(b->iov[i], 5, bytes + 64, len - 64),
				   .result = 12345};
}

static void free_batch(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->bytes[i]);
}

static size_t any_len(void)
{
	static const size_t common[] = {64, 68, 73, 80, 88, 104, 116, 128, 1000};

	if (rng_below(30) == 0)
		return 64 + rng_below(70000);
	return rng_below(2) ? common[rng_below(9)] : 64 + rng_below(400);
}

/*
 * n messages of which about one in `bad` must be refused; bad 0: none. Some batches are of one length, or of one key.
 */
static void fill(struct batch *b, size_t n, size_t bad)
{
	size_t one_len = rng_below(3) ? 0 : any_len(), one_key = rng_below(3) ? KEYS : rng_below(bad ? KEYS : ALGS);

	b->n = n;
	for (size_t i = 0; i < n; i++) {
		size_t len = one_len ? one_len : any_len(), key = rng_below(bad ? KEYS : ALGS);
		uint8_t *bytes = new_message(len);

		if (bad && rng_below(bad) == 0)
			any_header(bytes, len);
		put_message(b, i, bytes, len, one_key < KEYS ? one_key : key);
	}
}

static void check_results(const struct batch *b, const int *want, int got)
{
	int first = SMB3SIGN_OK;

	for (size_t i = 0; i < b->n; i++) {
		ck_assert_msg(b->msg[i].result == want[i], "message %zu of %zu: %d, not %d", i, b->n, b->msg[i].result,
			      want[i]);
		if (first == SMB3SIGN_OK)
			first = want[i];
	}
	ck_assert_int_eq(got, first);
}

static void sign_and_check(struct batch *b)
{
	int want[MAX], got = smb3sign_sign_batch(b->msg, b->n);

	for (size_t i = 0; i < b->n; i++) {
		unsigned alg = (unsigned)(b->key[i] % ALGS), role = (unsigned)(b->key[i] / ALGS);
		uint8_t expected[64];

		memcpy(expected, b->before[i], 64);
		want[i] = oracle_sign(alg, role, b->before[i], b->len[i]);
		if (want[i] == SMB3SIGN_OK) {
			uint8_t flags = b->bytes[i][16];

			expected[16] |= 8;
			b->bytes[i][16] = expected[16];
			ref_signature(alg, raw_key[b->key[i]], b->bytes[i], b->len[i], expected + 48);
			b->bytes[i][16] = flags;
		}
		ck_assert_mem_eq(b->bytes[i], expected, 64);
	}
	check_results(b, want, got);
}

static void verify_and_check(struct batch *b)
{
	int want[MAX], got;

	for (size_t i = 0; i < b->n; i++)
		memcpy(b->before[i], b->bytes[i], 64);
	got = smb3sign_verify_batch(b->msg, b->n);
	for (size_t i = 0; i < b->n; i++) {
		ck_assert_mem_eq(b->bytes[i], b->before[i], 64);
		want[i] = oracle_verify((unsigned)(b->key[i] % ALGS), raw_key[b->key[i]], (unsigned)(b->key[i] / ALGS),
					b->bytes[i], b->len[i]);
		ck_assert_int_eq(smb3sign_verify(b->msg[i].key, b->msg[i].hdr, b->msg[i].body, b->msg[i].body_cnt),
				 want[i]);
	}
	check_results(b, want, got);
}

START_TEST(test_all_good)
{
	static struct batch b;

	for (int round = 0; round < 150; round++) {
		fill(&b, 1 + rng_below(MAX), 0);
		sign_and_check(&b);
		verify_and_check(&b);
		ck_assert_int_eq(smb3sign_verify_batch(b.msg, b.n), SMB3SIGN_OK);
		free_batch(&b);
	}
}
END_TEST

START_TEST(test_some_bad)
{
	static struct batch b;

	for (int round = 0; round < 300; round++) {
		fill(&b, 1 + rng_below(MAX), 1 + rng_below(8));
		sign_and_check(&b);
		/* Forge some of those that are signed now. */
		for (size_t i = 0; i < b.n; i++)
			if (rng_below(5) == 0)
				b.bytes[i][b.len[i] - 1] ^= 1;
		verify_and_check(&b);
		free_batch(&b);
	}
}
END_TEST

/* The first failure is returned, wherever it stands, and the others are done all the same. */
START_TEST(test_first_failure)
{
	static struct batch b;

	for (size_t first = 0; first < 12; first++)
		for (size_t second = first + 1; second <= 12; second++) {
			fill(&b, 12, 0);
			/* First: exempt; second (if in the batch): no header. */
			put_le64(b.bytes[first] + 40, 0);
			if (second < 12)
				b.bytes[second][0] ^= 1;
			ck_assert_int_eq(smb3sign_sign_batch(b.msg, b.n), SMB3SIGN_E_EXEMPT);
			ck_assert_int_eq(smb3sign_verify_batch(b.msg, b.n), SMB3SIGN_E_EXEMPT);
			for (size_t i = 0; i < 12; i++)
				ck_assert_int_eq(b.msg[i].result, i == first    ? SMB3SIGN_E_EXEMPT
								  : i == second ? SMB3SIGN_E_MESSAGE
										: SMB3SIGN_OK);
			free_batch(&b);
		}
}
END_TEST

static void check_invalid(smb3sign_msg *msgs, size_t n, size_t bad, const uint8_t *bad_hdr)
{
	uint8_t before[64];

	if (bad_hdr)
		memcpy(before, bad_hdr, 64);
	for (size_t i = 0; i < n; i++)
		msgs[i].result = 12345;
	ck_assert_int_eq(smb3sign_sign_batch(msgs, n), SMB3SIGN_E_INVAL);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(msgs[i].result, i == bad ? SMB3SIGN_E_INVAL : SMB3SIGN_OK);
	for (size_t i = 0; i < n; i++)
		msgs[i].result = 12345;
	ck_assert_int_eq(smb3sign_verify_batch(msgs, n), SMB3SIGN_E_INVAL);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(msgs[i].result, i == bad ? SMB3SIGN_E_INVAL : SMB3SIGN_OK);
	if (bad_hdr)
		ck_assert_mem_eq(bad_hdr, before, 64);
}

/* The caller's mistakes, in each place: that message's alone. */
START_TEST(test_invalid)
{
	static const uint64_t wiped[SMB3SIGN_KEY_SIZE_MAX / 8];
	static struct batch b;

	for (size_t at = 0; at < 8; at++) {
		smb3sign_msg *m = &b.msg[at], good;

		fill(&b, 8, 0);
		good = *m;
		m->reserved = 1;
		check_invalid(b.msg, 8, at, good.hdr);
		m->reserved = 0x80000000;
		check_invalid(b.msg, 8, at, good.hdr);
		*m = good;
		m->key = NULL;
		check_invalid(b.msg, 8, at, good.hdr);
		m->body = (const smb3sign_iov *)(uintptr_t)8; /* what belongs to no key is not looked at */
		m->body_cnt = 1;
		check_invalid(b.msg, 8, at, good.hdr);
		m->key = (const smb3sign_key *)(const void *)wiped;
		check_invalid(b.msg, 8, at, good.hdr);
		*m = good;
		m->hdr = NULL;
		check_invalid(b.msg, 8, at, NULL);
		*m = good;
		m->body = NULL;
		check_invalid(b.msg, 8, at, good.hdr);
		*m = good;
		m->body = (smb3sign_iov[]){{NULL, 1}};
		m->body_cnt = 1;
		check_invalid(b.msg, 8, at, good.hdr);
		*m = good;
		free_batch(&b);
	}
}
END_TEST

START_TEST(test_empty)
{
	smb3sign_msg none = {.result = 12345};

	ck_assert_int_eq(smb3sign_sign_batch(NULL, 0), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_batch(NULL, 0), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_sign_batch(&none, 0), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_batch(&none, 0), SMB3SIGN_OK);
	ck_assert_int_eq(none.result, 12345);
	ck_assert_int_eq(smb3sign_sign_batch(NULL, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_batch(NULL, 1), SMB3SIGN_E_INVAL);
}
END_TEST

/* The messages of a batch may be the same ones when they are only read; headers and bodies may be read-only pages. */
START_TEST(test_verify_reads)
{
	smb3sign_msg msgs[9];

	for (unsigned alg = 0; alg < ALGS; alg++) {
		uint8_t *msg = guard_end(200);
		smb3sign_iov iov = {msg + 64, 136};

		random_header(msg);
		msg[16] |= 8;
		ref_signature(alg, raw_key[alg], msg, 200, msg + 48);
		guard_readonly(msg);
		for (size_t i = 0; i < 9; i++)
			msgs[i] =
				(smb3sign_msg){.key = keys[alg], .hdr = msg, .body = &iov, .body_cnt = 1, .result = 1};
		ck_assert_int_eq(smb3sign_verify_batch(msgs, 9), SMB3SIGN_OK);
		for (size_t i = 0; i < 9; i++)
			ck_assert_int_eq(msgs[i].result, SMB3SIGN_OK);
	}
}
END_TEST

/* Bodies that begin where pages do, more than there are ways in a cache, with short and empty ones among them. */
START_TEST(test_pages)
{
	enum { N = 37, PAGE = 4096, ROOM = 3 * PAGE };
	static uint8_t whole[ROOM];
	uint8_t *pages = aligned_alloc(PAGE, N * ROOM);

	ck_assert_ptr_nonnull(pages);
	for (int round = 0; round < 60; round++) {
		uint8_t hdr[N][64];
		smb3sign_iov body[N];
		smb3sign_msg msgs[N];
		unsigned alg = (unsigned)round % ALGS;

		rng_fill(pages, N * ROOM);
		for (size_t i = 0; i < N; i++) {
			size_t len = round < 30 || rng_below(4) ? 2 * PAGE : rng_below(300);

			random_header(hdr[i]);
			body[i] = (smb3sign_iov){pages + i * ROOM, len};
			msgs[i] = (smb3sign_msg){.key = keys[alg], .hdr = hdr[i], .body = &body[i], .body_cnt = 1};
		}
		ck_assert_int_eq(smb3sign_sign_batch(msgs, N), SMB3SIGN_OK);
		for (size_t i = 0; i < N; i++) {
			uint8_t want[16];

			memcpy(whole, hdr[i], 64);
			memcpy(whole + 64, body[i].iov_base, body[i].iov_len);
			ref_signature(alg, raw_key[alg], whole, 64 + body[i].iov_len, want);
			ck_assert_mem_eq(hdr[i] + 48, want, 16);
		}
		ck_assert_int_eq(smb3sign_verify_batch(msgs, N), SMB3SIGN_OK);
	}
	free(pages);
}
END_TEST

START_TEST(test_width)
{
	ck_assert_uint_eq(smb3sign_batch_width(NULL), 0);
	smb3sign_key_wipe(keys[KEYS - 1]);
	ck_assert_uint_eq(smb3sign_batch_width(keys[KEYS - 1]), 0);
	for (size_t i = 0; i + 1 < KEYS; i++) {
		const struct smb3sign_key *key = keys[i];
		size_t width = key->ghash                         ? (key->message ? key->ghash->width : 0)
			       : key->alg == SMB3SIGN_HMAC_SHA256 ? key->k.sha256->width
								  : key->k.aes->width;

		ck_assert_uint_eq(smb3sign_batch_width(keys[i]), width ? width : 1);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("batch");
	TCase *tc = add_case(s, "batch");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_all_good);
	tcase_add_test(tc, test_some_bad);
	tcase_add_test(tc, test_first_failure);
	tcase_add_test(tc, test_invalid);
	tcase_add_test(tc, test_empty);
	tcase_add_test(tc, test_verify_reads);
	tcase_add_test(tc, test_pages);
	tcase_add_test(tc, test_width);
	return run_suite(s);
}
