/* SPDX-License-Identifier: MIT */
/*
 * No byte before or behind what the library is given is touched: by no kernel, one by one, by steps and in batches, for
 * bodies of every length to 1200. Headers, segments, lists of them, signatures, contexts, keys and raw keys lie first
 * directly behind an inaccessible page, then directly before one, where a body of n bytes begins at -n modulo the page's
 * length: at every alignment. Results are compared with OpenSSL's, so that the bytes that are given are not left out.
 */
#include <unistd.h>

#include "key.h"
#include "support.h"

enum { ALGS = 3, PIECES = 3, BEYOND_WIDTH = 3, SLOTS = SMB3SIGN_LANES_MAX + BEYOND_WIDTH };
#ifdef SMB3SIGN_EMULATED
enum { LONGEST = 280 };
#else
enum { LONGEST = 1200 };
#endif

static const uint8_t raw_key[16] = {0x4b, 0x6f, 0x92, 0x01, 0xd8, 0x33, 0xe7, 0xac,
				    0x15, 0x5e, 0x70, 0xf9, 0x8a, 0x26, 0xc4, 0xbd};

/* Every message is the header and some of the body's first bytes. */
static uint8_t text[64 + LONGEST];
static uint8_t tags[ALGS][LONGEST + 1][16];

/* ---- Rooms: a page each, between two that are inaccessible */

enum place { AT_START, AT_END, PLACES };

static uint8_t *new_room(void)
{
	return guard_start((size_t)sysconf(_SC_PAGESIZE));
}

static void *in_room(uint8_t *room, size_t n, enum place place)
{
	return place == AT_START ? room : room + (size_t)sysconf(_SC_PAGESIZE) - n;
}

/* A message's. */
struct slot {
	uint8_t *hdr, *list, *piece[PIECES];
};

static struct slot slots[SLOTS];
static uint8_t *whole_room, *sig_room, *ctx_room, *msgs_room;

static void setup(void)
{
	random_header(text);
	text[16] |= 8;
	rng_fill(text + 64, LONGEST);
	for (unsigned alg = 0; alg < ALGS; alg++)
		for (size_t len = 0; len <= LONGEST; len++)
			ref_signature(alg, raw_key, text, 64 + len, tags[alg][len]);
	for (size_t i = 0; i < SLOTS; i++) {
		slots[i].hdr = new_room();
		slots[i].list = new_room();
		for (size_t j = 0; j < PIECES; j++)
			slots[i].piece[j] = new_room();
	}
	whole_room = new_room();
	sig_room = new_room();
	ctx_room = new_room();
	msgs_room = new_room();
}

/* ---- Messages in rooms */

/* Not signed. */
static void put_header(uint8_t *hdr)
{
	memcpy(hdr, text, 48);
	hdr[16] &= (uint8_t)~8u;
	memset(hdr + 48, 0xee, 16);
}

/* The body of len bytes in so many pieces, cut anywhere; each has a room. */
static smb3sign_iov *put_body(struct slot *s, size_t len, size_t pieces, enum place place)
{
	smb3sign_iov *list = in_room(s->list, pieces * sizeof(*list), place);
	size_t from = 0;

	for (size_t i = 0; i < pieces; i++) {
		size_t n = i + 1 == pieces ? len - from : rng_below(len - from + 1);

		list[i].iov_len = n;
		list[i].iov_base = in_room(s->piece[i], n, place);
		memcpy(list[i].iov_base, text + 64 + from, n);
		from += n;
	}
	return list;
}

static void expect_signed(unsigned alg, const uint8_t *hdr, size_t len)
{
	ck_assert_mem_eq(hdr, text, 48);
	ck_assert_mem_eq(hdr + 48, tags[alg][len], 16);
}

/* ---- Keys */

/*
 * The same key as another one; nobody can write it any more. What its alignment leaves between its end and the page's
 * stays as it was.
 */
static smb3sign_key *new_placed_key(const smb3sign_key *like, enum place place)
{
	const unsigned alg = smb3sign_key_alg(like);
	const int is_hmac = alg == SMB3SIGN_HMAC_SHA256;
	const struct smb3sign_choice choice = {
		.aes = is_hmac ? NULL : like->k.aes, .ghash = like->ghash, .sha256 = is_hmac ? like->k.sha256 : NULL};
	const size_t size = smb3sign_key_size_with(alg, &choice), gap = (KEY_ALIGN - size % KEY_ALIGN) % KEY_ALIGN;
	uint8_t *mem = in_room(new_room(), size + gap, place), *raw = in_room(new_room(), 16, place);
	uint8_t behind[KEY_ALIGN];
	smb3sign_key *key = NULL, *copy = NULL;

	memcpy(behind, mem + size, gap);
	memcpy(raw, raw_key, 16);
	guard_readonly(raw);
	/* Twice: what wipes it stays inside too. */
	for (int i = 0; i < 2; i++) {
		smb3sign_key_wipe(key);
		ck_assert_int_eq(smb3sign_key_init_with(&key, mem, size, alg, raw, 16, SMB3SIGN_ROLE_ANY, &choice),
				 SMB3SIGN_OK);
	}
	guard_readonly(mem);
	ck_assert_mem_eq(mem + size, behind, gap);
	ck_assert_str_eq(smb3sign_key_impl(key), smb3sign_key_impl(like));
	ck_assert_int_eq(smb3sign_key_dup(&copy, key), SMB3SIGN_OK);
	smb3sign_key_free(copy);
	return key;
}

/* ---- One by one */

static void check_in_one(const smb3sign_key *key, size_t len, enum place place)
{
	const unsigned alg = smb3sign_key_alg(key);
	uint8_t *hdr = in_room(slots[0].hdr, 64, place), *whole = in_room(whole_room, 64 + len, place);
	const smb3sign_iov *body = put_body(&slots[0], len, 1, place);

	put_header(hdr);
	ck_assert_int_eq(smb3sign_sign(key, hdr, body, 1), SMB3SIGN_OK);
	expect_signed(alg, hdr, len);
	ck_assert_int_eq(smb3sign_verify(key, hdr, body, 1), SMB3SIGN_OK);
	put_header(whole);
	memcpy(whole + 64, text + 64, len);
	ck_assert_int_eq(smb3sign_sign_buf(key, whole, 64 + len), SMB3SIGN_OK);
	expect_signed(alg, whole, len);
	ck_assert_int_eq(smb3sign_verify_buf(key, whole, 64 + len), SMB3SIGN_OK);
}

static void check_in_pieces(const smb3sign_key *key, size_t len, enum place place)
{
	const unsigned alg = smb3sign_key_alg(key);
	uint8_t *hdr = in_room(slots[0].hdr, 64, place), *sig = in_room(sig_room, 16, place);
	const smb3sign_iov *body = put_body(&slots[0], len, PIECES, place);

	put_header(hdr);
	ck_assert_int_eq(smb3sign_compute(key, hdr, body, PIECES, sig), SMB3SIGN_OK);
	ck_assert_mem_eq(sig, tags[alg][len], 16);
	ck_assert_int_eq(smb3sign_sign(key, hdr, body, PIECES), SMB3SIGN_OK);
	expect_signed(alg, hdr, len);
	ck_assert_int_eq(smb3sign_verify(key, hdr, body, PIECES), SMB3SIGN_OK);
}

static void update(smb3sign_ctx *ctx, const smb3sign_iov *body)
{
	for (size_t i = 0; i < PIECES; i++)
		smb3sign_update(ctx, body[i].iov_base, body[i].iov_len);
}

static void check_by_steps(const smb3sign_key *key, size_t len, enum place place)
{
	const unsigned alg = smb3sign_key_alg(key);
	uint8_t *hdr = in_room(slots[0].hdr, 64, place), *sig = in_room(sig_room, 16, place);
	smb3sign_ctx *ctx = in_room(ctx_room, sizeof(*ctx), place);
	const smb3sign_iov *body = put_body(&slots[0], len, PIECES, place);

	put_header(hdr);
	ck_assert_int_eq(smb3sign_sign_begin(ctx, key, hdr), SMB3SIGN_OK);
	update(ctx, body);
	ck_assert_int_eq(smb3sign_sign_end(ctx, sig), SMB3SIGN_OK);
	ck_assert_mem_eq(sig, tags[alg][len], 16);
	memcpy(hdr + 48, sig, 16);
	expect_signed(alg, hdr, len);
	ck_assert_int_eq(smb3sign_verify_begin(ctx, key, hdr), SMB3SIGN_OK);
	update(ctx, body);
	ck_assert_int_eq(smb3sign_verify_end(ctx), SMB3SIGN_OK);
	/* Failed and given up. */
	ck_assert_int_eq(smb3sign_verify_begin(ctx, key, hdr), SMB3SIGN_OK);
	smb3sign_update(ctx, NULL, 1);
	ck_assert_int_eq(smb3sign_verify_end(ctx), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_begin(ctx, key, hdr), SMB3SIGN_OK);
	smb3sign_abort(ctx);
}

static void one_by_one(const smb3sign_key *like, const uint8_t raw[16], void *arg)
{
	(void)raw;
	(void)arg;
	for (enum place place = AT_START; place < PLACES; place++) {
		const smb3sign_key *key = new_placed_key(like, place);

		for (size_t len = 0; len <= LONGEST; len++) {
			check_in_one(key, len, place);
			check_in_pieces(key, len, place);
			check_by_steps(key, len, place);
		}
	}
}

START_TEST(test_one_by_one)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, one_by_one, NULL);
}
END_TEST

/* ---- Batches: enough for all lanes, and some that come after */

/*
 * Message i's body when the first one's has `first` bytes. All the same, which keeps lanes and rows full to the last
 * block; all different; or in pieces, so that blocks lie across them.
 */
enum pattern { EQUAL, SPREAD, IN_PIECES, PATTERNS };

static size_t length_of(enum pattern pattern, size_t first, size_t i)
{
	return pattern == EQUAL ? first : (first + 61 * i) % (LONGEST + 1);
}

static void check_batch(const smb3sign_key *key, size_t first, enum pattern pattern, enum place place)
{
	const unsigned alg = smb3sign_key_alg(key);
	const size_t n = smb3sign_batch_width(key) + BEYOND_WIDTH, pieces = pattern == IN_PIECES ? PIECES : 1;
	smb3sign_msg *msgs = in_room(msgs_room, n * sizeof(*msgs), place);

	for (size_t i = 0; i < n; i++) {
		msgs[i] = (smb3sign_msg){.key = key,
					 .hdr = in_room(slots[i].hdr, 64, place),
					 .body = put_body(&slots[i], length_of(pattern, first, i), pieces, place),
					 .body_cnt = pieces,
					 .result = 1};
		put_header(msgs[i].hdr);
	}
	ck_assert_int_eq(smb3sign_sign_batch(msgs, n), SMB3SIGN_OK);
	for (size_t i = 0; i < n; i++)
		expect_signed(alg, msgs[i].hdr, length_of(pattern, first, i));
	ck_assert_int_eq(smb3sign_verify_batch(msgs, n), SMB3SIGN_OK);
}

static void in_batches(const smb3sign_key *like, const uint8_t raw[16], void *arg)
{
	(void)raw;
	(void)arg;
	/* The others' batches are done one by one. */
	if (smb3sign_batch_width(like) == 1)
		return;
	for (enum place place = AT_START; place < PLACES; place++) {
		const smb3sign_key *key = new_placed_key(like, place);

		for (size_t first = 0; first <= LONGEST; first++)
			for (enum pattern pattern = EQUAL; pattern < PATTERNS; pattern++)
				check_batch(key, first, pattern, place);
	}
}

START_TEST(test_batches)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, in_batches, NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bounds");
	TCase *tc = add_case(s, "bounds");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, test_one_by_one, 0, ALGS);
	tcase_add_loop_test(tc, test_batches, 0, ALGS);
	return run_suite(s);
}
