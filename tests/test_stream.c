/* SPDX-License-Identifier: MIT */
/*
 * stream.c: begin, update, end against OpenSSL for every split of small messages and random ones of large, with
 * contexts that move, that interleave, that are misused; and what is left in them.
 */
#include "oracle.h"
#include "support.h"

enum { ALGS = 3 };

static uint8_t raw_key[16];

static void setup(void)
{
	rng_fill(raw_key, sizeof(raw_key));
}

static void assert_wiped(const smb3sign_ctx *ctx)
{
	static const smb3sign_ctx zero;

	ck_assert_mem_eq(ctx, &zero, sizeof(zero));
}

/* Sign and verify the signed message msg over these pieces of its body. Contexts start as garbage and end as zeros. */
static void check_pieces(const smb3sign_key *key, const uint8_t *msg, const smb3sign_iov *iov, size_t n)
{
	smb3sign_ctx sign, verify;
	uint8_t hdr[64], sig[16];

	memcpy(hdr, msg, 64);
	hdr[16] &= (uint8_t)~8u;
	rng_fill(hdr + 48, 16);
	memset(&sign, 0xa5, sizeof(sign));
	memset(&verify, 0x5a, sizeof(verify));
	ck_assert_int_eq(smb3sign_sign_begin(&sign, key, hdr), SMB3SIGN_OK);
	ck_assert_mem_eq(hdr, msg, 48); /* SIGNED is set, the rest as it was */
	ck_assert_int_eq(smb3sign_verify_begin(&verify, key, msg), SMB3SIGN_OK);
	for (size_t i = 0; i < n; i++) {
		smb3sign_update(&sign, iov[i].iov_base, iov[i].iov_len);
		smb3sign_update(&verify, iov[i].iov_base, iov[i].iov_len);
	}
	ck_assert_int_eq(smb3sign_sign_end(&sign, sig), SMB3SIGN_OK);
	ck_assert_mem_eq(sig, msg + 48, 16);
	assert_wiped(&sign);
	ck_assert_int_eq(smb3sign_verify_end(&verify), SMB3SIGN_OK);
	assert_wiped(&verify);
}

/* ---- Content ---- */

static void every_split_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	(void)arg;
	for (size_t body = 0; body <= 70; body++) {
		uint8_t *msg = new_signed(smb3sign_key_alg(key), raw, 64 + body);
		size_t step = body < 40 ? 1 : 7;

		for (size_t a = 0; a <= body; a++)
			for (size_t b = a; b <= body; b += step) {
				smb3sign_iov iov[3] = {{msg + 64, a}, {msg + 64 + a, b - a}, {msg + 64 + b, body - b}};

				check_pieces(key, msg, iov, 3);
			}
		free(msg);
	}
}

START_TEST(test_every_split)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, every_split_of_kernel, NULL);
}
END_TEST

static void bytewise_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	enum { MAX = 300 };
	smb3sign_iov iov[2 * MAX];

	(void)arg;
	for (size_t body = 1; body <= MAX; body += 23) {
		uint8_t *msg = new_signed(smb3sign_key_alg(key), raw, 64 + body);

		/* One byte, nothing, one byte ... */
		for (size_t i = 0; i < body; i++) {
			iov[2 * i] = (smb3sign_iov){msg + 64 + i, 1};
			iov[2 * i + 1] = (smb3sign_iov){i % 2 ? msg : NULL, 0};
		}
		check_pieces(key, msg, iov, 2 * body);
		free(msg);
	}
}

START_TEST(test_bytewise)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, bytewise_of_kernel, NULL);
}
END_TEST

static void random_split_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	(void)arg;
	for (int round = 0; round < 200; round++) {
		size_t len = 64 + rng_below(round % 20 ? 1000 : 70000);
		uint8_t *msg = new_signed(smb3sign_key_alg(key), raw, len);
		smb3sign_iov iov[20];

		check_pieces(key, msg, iov, random_split(iov, 20, msg + 64, len - 64));
		free(msg);
	}
}

START_TEST(test_random_split)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, random_split_of_kernel, NULL);
}
END_TEST

/* Pieces that end or start at an inaccessible page; contexts, headers and signatures too. */
static void guards_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	enum { MAX = 200 };
	uint8_t **room = arg;

	for (size_t body = 0; body <= MAX; body++) {
		uint8_t *msg = new_signed(smb3sign_key_alg(key), raw, 64 + body), *hdr = room[body % 2];
		smb3sign_ctx *ctx = (smb3sign_ctx *)(void *)room[2 + body % 2];
		uint8_t *at_start = room[4], *at_end = room[5], *sig = room[6];
		size_t cut = rng_below(body + 1);

		memcpy(at_end + MAX - cut, msg + 64, cut);
		memcpy(at_start, msg + 64 + cut, body - cut);
		memcpy(hdr, msg, 64);
		ck_assert_int_eq(smb3sign_sign_begin(ctx, key, hdr), SMB3SIGN_OK);
		smb3sign_update(ctx, at_end + MAX - cut, cut);
		smb3sign_update(ctx, at_start, body - cut);
		ck_assert_int_eq(smb3sign_sign_end(ctx, sig), SMB3SIGN_OK);
		ck_assert_mem_eq(sig, msg + 48, 16);
		ck_assert_int_eq(smb3sign_verify_begin(ctx, key, hdr), SMB3SIGN_OK);
		smb3sign_update(ctx, at_end + MAX - cut, cut);
		smb3sign_update(ctx, at_start, body - cut);
		ck_assert_int_eq(smb3sign_verify_end(ctx), SMB3SIGN_OK);
		free(msg);
	}
}

START_TEST(test_guards)
{
	uint8_t *room[] = {guard_start(64),
			   guard_end(64),
			   guard_start(sizeof(smb3sign_ctx)),
			   guard_end(sizeof(smb3sign_ctx)),
			   guard_start(200),
			   guard_end(200),
			   guard_end(16)};

	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, guards_of_kernel, room);
}
END_TEST

/* verify_begin and update only read; neither needs the header afterwards. */
START_TEST(test_header_not_needed)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t *msg = new_signed((unsigned)_i, raw_key, 264), *hdr = guard_end(64), *body = guard_start(200), sig[16];
	smb3sign_ctx sign, verify;

	memcpy(hdr, msg, 64);
	memcpy(body, msg + 64, 200);
	guard_readonly(body);
	ck_assert_int_eq(smb3sign_sign_begin(&sign, key, hdr), SMB3SIGN_OK);
	guard_readonly(hdr);
	ck_assert_int_eq(smb3sign_verify_begin(&verify, key, hdr), SMB3SIGN_OK);
	smb3sign_update(&sign, body, 200);
	smb3sign_update(&verify, body, 200);
	guard_free_all();
	ck_assert_int_eq(smb3sign_sign_end(&sign, sig), SMB3SIGN_OK);
	ck_assert_mem_eq(sig, msg + 48, 16);
	ck_assert_int_eq(smb3sign_verify_end(&verify), SMB3SIGN_OK);

	/* The Signature that counts is the one that begin saw. */
	ck_assert_int_eq(smb3sign_verify_begin(&verify, key, msg), SMB3SIGN_OK);
	msg[48] ^= 1;
	smb3sign_update(&verify, msg + 64, 200);
	ck_assert_int_eq(smb3sign_verify_end(&verify), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_begin(&verify, key, msg), SMB3SIGN_OK);
	msg[48] ^= 1;
	smb3sign_update(&verify, msg + 64, 200);
	ck_assert_int_eq(smb3sign_verify_end(&verify), SMB3SIGN_E_SIGNATURE);
	free(msg);
	smb3sign_key_free(key);
}
END_TEST

/* Moved by memcpy between any two calls, to places of other alignment to 64; the old place is overwritten. */
static smb3sign_ctx *move(smb3sign_ctx *from, smb3sign_ctx *room)
{
	smb3sign_ctx *to = (smb3sign_ctx *)(void *)((uint64_t *)(void *)room + rng_below(16));
	smb3sign_ctx between;

	memcpy(&between, from, sizeof(between));
	memset(from, 0xcc, sizeof(*from));
	memcpy(to, &between, sizeof(between));
	return to;
}

static void moving_with_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	(void)arg;
	for (int round = 0; round < 100; round++) {
		size_t len = 64 + rng_below(400);
		uint8_t *msg = new_signed(smb3sign_key_alg(key), raw, len), sig[16];
		smb3sign_ctx sign_room[2], verify_room[2], *sign = sign_room, *verify = verify_room;
		smb3sign_iov iov[8];
		const size_t n = random_split(iov, 8, msg + 64, len - 64);

		ck_assert_int_eq(smb3sign_sign_begin(sign, key, msg), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_verify_begin(verify, key, msg), SMB3SIGN_OK);
		for (size_t i = 0; i < n; i++) {
			sign = move(sign, sign_room);
			verify = move(verify, verify_room);
			smb3sign_update(sign, iov[i].iov_base, iov[i].iov_len);
			smb3sign_update(verify, iov[i].iov_base, iov[i].iov_len);
		}
		sign = move(sign, sign_room);
		verify = move(verify, verify_room);
		ck_assert_int_eq(smb3sign_sign_end(sign, sig), SMB3SIGN_OK);
		ck_assert_mem_eq(sig, msg + 48, 16);
		ck_assert_int_eq(smb3sign_verify_end(verify), SMB3SIGN_OK);
		free(msg);
	}
}

START_TEST(test_moving)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, moving_with_kernel, NULL);
}
END_TEST

/* Many contexts on one key, all under way at once. */
static void interleaved_with_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	enum { N = 24 };
	struct {
		uint8_t *msg;
		size_t len, at;
		smb3sign_ctx ctx;
	} m[N];
	size_t open = N;

	(void)arg;
	for (size_t i = 0; i < N; i++) {
		m[i].len = 64 + rng_below(600);
		m[i].msg = new_signed(smb3sign_key_alg(key), raw, m[i].len);
		m[i].at = 64;
		ck_assert_int_eq(i % 2 ? smb3sign_sign_begin(&m[i].ctx, key, m[i].msg)
				       : smb3sign_verify_begin(&m[i].ctx, key, m[i].msg),
				 SMB3SIGN_OK);
	}
	while (open) {
		size_t i = rng_below(N), piece;
		uint8_t sig[16];

		if (!m[i].msg)
			continue;
		if (m[i].at < m[i].len) {
			piece = 1 + rng_below(m[i].len - m[i].at);
			smb3sign_update(&m[i].ctx, m[i].msg + m[i].at, piece);
			m[i].at += piece;
			continue;
		}
		if (i % 2) {
			ck_assert_int_eq(smb3sign_sign_end(&m[i].ctx, sig), SMB3SIGN_OK);
			ck_assert_mem_eq(sig, m[i].msg + 48, 16);
		} else {
			ck_assert_int_eq(smb3sign_verify_end(&m[i].ctx), SMB3SIGN_OK);
		}
		free(m[i].msg);
		m[i].msg = NULL;
		open--;
	}
}

START_TEST(test_interleaved)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, interleaved_with_kernel, NULL);
}
END_TEST

/* ---- Refusals ---- */

static int stream_sign(const smb3sign_key *key, uint8_t *hdr, const uint8_t *body, size_t len, uint8_t sig[16],
		       int *begun)
{
	smb3sign_ctx ctx;
	int err;

	*begun = smb3sign_sign_begin(&ctx, key, hdr);
	smb3sign_update(&ctx, body, len);
	err = smb3sign_sign_end(&ctx, sig);
	assert_wiped(&ctx);
	return err;
}

static int stream_verify(const smb3sign_key *key, const uint8_t *hdr, const uint8_t *body, size_t len, int *begun)
{
	smb3sign_ctx ctx;
	int err;

	*begun = smb3sign_verify_begin(&ctx, key, hdr);
	smb3sign_update(&ctx, body, len);
	err = smb3sign_verify_end(&ctx);
	assert_wiped(&ctx);
	return err;
}

/* begin says what the rules say of the header, end what they say of the message: the results of sign and verify. */
START_TEST(test_rules)
{
	const unsigned alg = (unsigned)_i;
	smb3sign_key *keys[3];
	unsigned late = 0;

	for (unsigned role = 0; role < 3; role++)
		keys[role] = new_key(alg, raw_key, role);
	for (int round = 0; round < 20000; round++) {
		unsigned role = (unsigned)rng_below(3);
		size_t len = 64 + rng_below(80);
		uint8_t msg[144], hdr[64], alone[64], sig[16];
		int begun, want_begun, want, got;

		any_header(msg, len);
		rng_fill(msg + 64, len - 64);
		memcpy(alone, msg, 64);
		put_le32(alone + 20, 0);

		memcpy(hdr, msg, 64);
		memcpy(sig, "untouched before", 16);
		want_begun = oracle_sign(alg, role, alone, 64);
		want = oracle_sign(alg, role, msg, len);
		got = stream_sign(keys[role], hdr, msg + 64, len - 64, sig, &begun);
		ck_assert_int_eq(begun, want_begun);
		ck_assert_int_eq(got, want);
		if (begun == SMB3SIGN_OK)
			hdr[16] = (uint8_t)((hdr[16] & ~8u) | (msg[16] & 8));
		ck_assert_mem_eq(hdr, msg, 64);
		if (want)
			ck_assert_mem_eq(sig, "untouched before", 16);
		late += begun == SMB3SIGN_OK && want;

		if (rng_below(2))
			ref_signature(alg, raw_key, msg, len, msg + 48);
		want = oracle_verify(alg, raw_key, role, msg, len);
		got = stream_verify(keys[role], msg, msg + 64, len - 64, &begun);
		ck_assert_int_eq(got, want);
		if (begun)
			ck_assert_int_eq(begun, want);
		else
			ck_assert_int_ne(want, SMB3SIGN_E_EXEMPT);
	}
	ck_assert_uint_ge(late, 100);
	for (unsigned role = 0; role < 3; role++)
		smb3sign_key_free(keys[role]);
}
END_TEST

/* NextCommand is the length of the message; begin cannot know, end says so. */
START_TEST(test_next_command)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t msg[104], sig[16];
	int begun;

	for (uint32_t next = 0; next <= 300; next++) {
		int want = next == 0 || next == sizeof(msg) ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE;

		memset(msg, 0, sizeof(msg));
		make_header(msg, 0x10, 0, 10, 20);
		put_le32(msg + 20, next);
		memcpy(sig, "untouched before", 16);
		ck_assert_int_eq(stream_sign(key, msg, msg + 64, 40, sig, &begun), want);
		ck_assert_int_eq(begun, SMB3SIGN_OK);
		ck_assert_int_eq(memcmp(sig, "untouched before", 16) == 0, want != SMB3SIGN_OK);
		ref_signature((unsigned)_i, raw_key, msg, sizeof(msg), msg + 48);
		ck_assert_int_eq(stream_verify(key, msg, msg + 64, 40, &begun), want);
		ck_assert_int_eq(begun, SMB3SIGN_OK);
	}
	smb3sign_key_free(key);
}
END_TEST

START_TEST(test_wrong_signature)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t *msg = new_signed((unsigned)_i, raw_key, 150);
	int begun;

	for (size_t bit = 0; bit < 128; bit++) {
		msg[48 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(stream_verify(key, msg, msg + 64, 86, &begun), SMB3SIGN_E_SIGNATURE);
		msg[48 + bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	ck_assert_int_eq(stream_verify(key, msg, msg + 64, 86, &begun), SMB3SIGN_OK);
	/* The message lacks its last byte, or its first. */
	put_le32(msg + 20, 0);
	ref_signature((unsigned)_i, raw_key, msg, 150, msg + 48);
	ck_assert_int_eq(stream_verify(key, msg, msg + 64, 85, &begun), SMB3SIGN_E_SIGNATURE);
	ck_assert_int_eq(stream_verify(key, msg, msg + 65, 85, &begun), SMB3SIGN_E_SIGNATURE);
	/* SIGNED clear. */
	msg[16] &= (uint8_t)~8u;
	ck_assert_int_eq(stream_verify(key, msg, msg + 64, 86, &begun), SMB3SIGN_E_UNSIGNED);
	ref_signature((unsigned)_i, raw_key, msg, 150, msg + 48);
	ck_assert_int_eq(stream_verify(key, msg, msg + 64, 86, &begun), SMB3SIGN_OK);
	free(msg);
	smb3sign_key_free(key);
}
END_TEST

/* ---- States ---- */

static const uint8_t untouched[17] = "untouched before";

/* Whatever the context went through: from now on it gives E_INVAL, and no signature. */
static void assert_dead(smb3sign_ctx *ctx)
{
	uint8_t sig[16];
	smb3sign_ctx other = *ctx;

	memcpy(sig, untouched, 16);
	smb3sign_update(ctx, raw_key, 16);
	ck_assert_int_eq(smb3sign_sign_end(ctx, sig), SMB3SIGN_E_INVAL);
	ck_assert_mem_eq(sig, untouched, 16);
	ck_assert_int_eq(smb3sign_verify_end(&other), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_end(ctx, sig), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_end(&other), SMB3SIGN_E_INVAL);
}

START_TEST(test_states)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t *msg = new_signed((unsigned)_i, raw_key, 164), sig[16];
	smb3sign_ctx ctx;

	memset(&ctx, 0, sizeof(ctx));
	assert_dead(&ctx);

	/* Ended. */
	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, msg), SMB3SIGN_OK);
	smb3sign_update(&ctx, msg + 64, 100);
	ck_assert_int_eq(smb3sign_sign_end(&ctx, sig), SMB3SIGN_OK);
	assert_dead(&ctx);
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
	smb3sign_update(&ctx, msg + 64, 100);
	ck_assert_int_eq(smb3sign_verify_end(&ctx), SMB3SIGN_OK);
	assert_dead(&ctx);
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
	ck_assert_int_ne(smb3sign_verify_end(&ctx), SMB3SIGN_OK);
	assert_dead(&ctx);

	/* Aborted, with and without body; twice; SIGNED stays set. */
	for (size_t body = 0; body <= 100; body += 50) {
		msg[16] &= (uint8_t)~8u;
		ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, msg), SMB3SIGN_OK);
		smb3sign_update(&ctx, msg + 64, body);
		smb3sign_abort(&ctx);
		ck_assert_int_eq(msg[16] & 8, 8);
		assert_wiped(&ctx);
		smb3sign_abort(&ctx);
		assert_dead(&ctx);
		ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
		smb3sign_update(&ctx, msg + 64, body);
		smb3sign_abort(&ctx);
		assert_wiped(&ctx);
		assert_dead(&ctx);
	}
	smb3sign_abort(NULL);

	/* The other kind's end, over all of the message: it ends the context too. */
	memcpy(sig, untouched, 16);
	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, msg), SMB3SIGN_OK);
	smb3sign_update(&ctx, msg + 64, 100);
	ck_assert_int_eq(smb3sign_verify_end(&ctx), SMB3SIGN_E_INVAL);
	assert_wiped(&ctx);
	assert_dead(&ctx);
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
	smb3sign_update(&ctx, msg + 64, 100);
	ck_assert_int_eq(smb3sign_sign_end(&ctx, sig), SMB3SIGN_E_INVAL);
	ck_assert_mem_eq(sig, untouched, 16);
	assert_wiped(&ctx);
	assert_dead(&ctx);

	/* A context that is begun again forgets the first message. */
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
	smb3sign_update(&ctx, raw_key, 16);
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
	smb3sign_update(&ctx, msg + 64, 100);
	ck_assert_int_eq(smb3sign_verify_end(&ctx), SMB3SIGN_OK);
	free(msg);
	smb3sign_key_free(key);
}
END_TEST

/* A begin that fails: end repeats the error, over any updates, and only once. */
static void check_failed_begin(const smb3sign_key *key, uint8_t *hdr, int want)
{
	smb3sign_ctx ctx;
	uint8_t sig[16];

	memcpy(sig, untouched, 16);
	memset(&ctx, 0xa5, sizeof(ctx));
	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, hdr), want);
	smb3sign_update(&ctx, raw_key, 16);
	smb3sign_update(&ctx, NULL, 16);
	ck_assert_int_eq(smb3sign_sign_end(&ctx, sig), want);
	ck_assert_mem_eq(sig, untouched, 16);
	assert_wiped(&ctx);
	assert_dead(&ctx);

	memset(&ctx, 0xa5, sizeof(ctx));
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, hdr), want);
	smb3sign_update(&ctx, raw_key, 16);
	ck_assert_int_eq(smb3sign_verify_end(&ctx), want);
	assert_wiped(&ctx);
	assert_dead(&ctx);

	/* The other end. */
	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, hdr), want);
	ck_assert_int_lt(smb3sign_verify_end(&ctx), 0);
	ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, hdr), want);
	ck_assert_int_lt(smb3sign_sign_end(&ctx, sig), 0);
	ck_assert_mem_eq(sig, untouched, 16);
	/* Given up. */
	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, hdr), want);
	smb3sign_abort(&ctx);
	assert_dead(&ctx);
}

START_TEST(test_failed_begin)
{
	static const uint64_t wiped[SMB3SIGN_KEY_SIZE_MAX / 8];
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t hdr[64];

	random_header(hdr);
	check_failed_begin(NULL, hdr, SMB3SIGN_E_INVAL);
	check_failed_begin(key, NULL, SMB3SIGN_E_INVAL);
	check_failed_begin((const smb3sign_key *)(const void *)wiped, hdr, SMB3SIGN_E_INVAL);
	put_le64(hdr + 40, 0);
	check_failed_begin(key, hdr, SMB3SIGN_E_EXEMPT);
	hdr[4] ^= 1;
	check_failed_begin(key, hdr, SMB3SIGN_E_MESSAGE);
	smb3sign_key_free(key);
}
END_TEST

START_TEST(test_null)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t *msg = new_signed((unsigned)_i, raw_key, 164), copy[64], sig[16];
	smb3sign_ctx ctx;

	msg[16] &= (uint8_t)~8u;
	memcpy(copy, msg, 64);
	ck_assert_int_eq(smb3sign_sign_begin(NULL, key, msg), SMB3SIGN_E_INVAL);
	smb3sign_update(NULL, msg, 64);
	ck_assert_mem_eq(msg, copy, 64);
	ck_assert_int_eq(smb3sign_verify_begin(NULL, key, msg), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_end(NULL, sig), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_end(NULL), SMB3SIGN_E_INVAL);

	/* Nowhere to put the signature: an end like any other. */
	ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, msg), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_sign_end(&ctx, NULL), SMB3SIGN_E_INVAL);
	assert_wiped(&ctx);
	assert_dead(&ctx);

	/* NULL with a length anywhere in the body; NULL without one is nothing. */
	msg[16] |= 8;
	for (int with_len = 0; with_len < 2; with_len++) {
		const int want = with_len ? SMB3SIGN_E_INVAL : SMB3SIGN_OK;

		for (size_t at = 0; at <= 100; at += 50) {
			memcpy(sig, untouched, 16);
			ck_assert_int_eq(smb3sign_sign_begin(&ctx, key, msg), SMB3SIGN_OK);
			smb3sign_update(&ctx, msg + 64, at);
			smb3sign_update(&ctx, NULL, with_len ? 16 : 0);
			smb3sign_update(&ctx, msg + 64 + at, 100 - at);
			ck_assert_int_eq(smb3sign_sign_end(&ctx, sig), want);
			ck_assert_mem_eq(sig, with_len ? untouched : msg + 48, 16);
			assert_dead(&ctx);
			ck_assert_int_eq(smb3sign_verify_begin(&ctx, key, msg), SMB3SIGN_OK);
			smb3sign_update(&ctx, msg + 64, at);
			smb3sign_update(&ctx, NULL, with_len ? 16 : 0);
			smb3sign_update(&ctx, msg + 64 + at, 100 - at);
			ck_assert_int_eq(smb3sign_verify_end(&ctx), want);
			assert_dead(&ctx);
		}
	}
	free(msg);
	smb3sign_key_free(key);
}
END_TEST

static void add_per_alg(TCase *tc, const TTest *test)
{
	tcase_add_loop_test(tc, test, 0, ALGS);
}

int main(void)
{
	Suite *s = suite_create("stream");
	TCase *content = add_case(s, "content"), *refused = add_case(s, "refused"), *states = add_case(s, "states");
	TCase *all[] = {content, refused, states};

	for (size_t i = 0; i < 3; i++)
		tcase_add_checked_fixture(all[i], setup, NULL);
	add_per_alg(content, test_every_split);
	add_per_alg(content, test_bytewise);
	add_per_alg(content, test_random_split);
	add_per_alg(content, test_guards);
	add_per_alg(content, test_header_not_needed);
	add_per_alg(content, test_moving);
	add_per_alg(content, test_interleaved);
	add_per_alg(refused, test_rules);
	add_per_alg(refused, test_next_command);
	add_per_alg(refused, test_wrong_signature);
	add_per_alg(states, test_states);
	add_per_alg(states, test_failed_begin);
	add_per_alg(states, test_null);
	return run_suite(s);
}
