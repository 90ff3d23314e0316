/* SPDX-License-Identifier: MIT */
/*
 * message.c: sign, verify, compute, sign_buf, verify_buf and exempt against OpenSSL and against the rules of the
 * header, with every kernel: lengths, splits, alignments, memory limits, single-bit changes, refusals and their order.
 */
#include "oracle.h"
#include "support.h"

enum { ALGS = 3, LONG = 70000 };

static uint8_t raw_key[16];

static void setup(void)
{
	rng_fill(raw_key, sizeof(raw_key));
}

/* What sign() must make of msg: SIGNED set, Signature right. */
static uint8_t *expected_after_sign(unsigned alg, const uint8_t raw[16], const uint8_t *msg, size_t len)
{
	uint8_t *want = malloc(len);

	ck_assert_ptr_nonnull(want);
	memcpy(want, msg, len);
	want[16] |= 8;
	ref_signature(alg, raw, want, len, want + 48);
	return want;
}

/* All forms, over this header and these segments of the body; msg is the same message in one piece, unsigned. */
static void check_forms(const smb3sign_key *key, const uint8_t raw[16], uint8_t *hdr, const smb3sign_iov *iov, size_t n,
			const uint8_t *msg, size_t len)
{
	unsigned alg = smb3sign_key_alg(key);
	uint8_t *want = expected_after_sign(alg, raw, msg, len), tag[16];

	ck_assert_int_eq(smb3sign_compute(key, hdr, iov, n, tag), SMB3SIGN_OK);
	ck_assert_mem_eq(tag, want + 48, 16);
	ck_assert_mem_eq(hdr, msg, 64);
	ck_assert_int_eq(smb3sign_sign(key, hdr, iov, n), SMB3SIGN_OK);
	ck_assert_mem_eq(hdr, want, 64);
	ck_assert_int_eq(smb3sign_verify(key, hdr, iov, n), SMB3SIGN_OK);
	/* Again: verification has no memory, and what Signature holds does not matter to sign and compute. */
	ck_assert_int_eq(smb3sign_verify(key, hdr, iov, n), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_sign(key, hdr, iov, n), SMB3SIGN_OK);
	ck_assert_mem_eq(hdr, want, 64);
	hdr[48 + rng_below(16)] ^= (uint8_t)(1u << rng_below(8));
	ck_assert_int_eq(smb3sign_verify(key, hdr, iov, n), SMB3SIGN_E_SIGNATURE);
	memcpy(hdr, msg, 64);
	free(want);
}

static void check_buf_forms(const smb3sign_key *key, const uint8_t raw[16], const uint8_t *msg, size_t len)
{
	uint8_t *want = expected_after_sign(smb3sign_key_alg(key), raw, msg, len);
	uint8_t *copy = malloc(len);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, msg, len);
	ck_assert_int_eq(smb3sign_sign_buf(key, copy, len), SMB3SIGN_OK);
	ck_assert_mem_eq(copy, want, len);
	ck_assert_int_eq(smb3sign_verify_buf(key, copy, len), SMB3SIGN_OK);
	copy[rng_below(2) ? 63 : len - 1] ^= 0x10;
	ck_assert_int_eq(smb3sign_verify_buf(key, copy, len), SMB3SIGN_E_SIGNATURE);
	free(copy);
	free(want);
}

/* ---- Lengths, splits, alignments ---- */

/* In one piece, and in several: short bodies in pieces go another way than long ones. */
static void lengths_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	(void)arg;
	for (size_t body = 0; body <= 600; body++) {
		uint8_t *msg = new_message(64 + body);
		uint8_t hdr[64];
		const size_t cut = rng_below(body + 1);
		smb3sign_iov one = {msg + 64, body}, two[2] = {{msg + 64, cut}, {msg + 64 + cut, body - cut}};

		memcpy(hdr, msg, 64);
		check_forms(key, raw, hdr, &one, 1, msg, 64 + body);
		check_forms(key, raw, hdr, two, 2, msg, 64 + body);
		check_buf_forms(key, raw, msg, 64 + body);
		free(msg);
	}
}

START_TEST(test_lengths)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, lengths_of_kernel, NULL);
}
END_TEST

static void splits_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	(void)arg;
	for (int round = 0; round < 250; round++) {
		size_t body = rng_below(round % 25 ? 700 : LONG + 1);
		uint8_t *msg = new_message(64 + body);
		uint8_t hdr[64];
		smb3sign_iov iov[16];

		memcpy(hdr, msg, 64);
		check_forms(key, raw, hdr, iov, random_split(iov, 16, msg + 64, body), msg, 64 + body);
		if (round % 25 == 0)
			check_buf_forms(key, raw, msg, 64 + body);
		free(msg);
	}
}

START_TEST(test_splits)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, splits_of_kernel, NULL);
}
END_TEST

/* The kernels agree among themselves over one message: all with what the portable ones, last in the lists, say. */
struct agreement {
	uint8_t *msg;
	size_t len;
	smb3sign_iov iov[16];
	size_t n;
	uint8_t tag[16];
	int seen;
};

static void agree(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	struct agreement *a = arg;
	uint8_t tag[16];

	(void)raw;
	ck_assert_int_eq(smb3sign_compute(key, a->msg, a->iov, a->n, tag), SMB3SIGN_OK);
	if (a->seen++)
		ck_assert_mem_eq(tag, a->tag, 16);
	memcpy(a->tag, tag, 16);
}

START_TEST(test_kernels_agree)
{
	for (int round = 0; round < 200; round++) {
		struct agreement a = {.len = 64 + rng_below(2000)};

		a.msg = new_message(a.len);
		a.n = random_split(a.iov, 16, a.msg + 64, a.len - 64);
		for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, agree, &a);
		ck_assert_int_ge(a.seen, 1);
		free(a.msg);
	}
}
END_TEST

static void alignments_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	enum { MAX = 64 + 200 };
	static uint8_t hdr_room[64 + 64], body_room[2 * MAX], sig_room[16 + 64];

	(void)arg;
	for (size_t at = 0; at < 64; at++) {
		size_t len = 64 + rng_below(201);
		uint8_t *msg = new_message(len), *want;

		want = expected_after_sign(smb3sign_key_alg(key), raw, msg, len);
		for (size_t body_at = 0; body_at < 64; body_at++) {
			uint8_t *hdr = hdr_room + at, *sig = sig_room + body_at;
			size_t cut = rng_below(len - 64 + 1);
			smb3sign_iov iov[2] = {{body_room + body_at, cut},
					       {body_room + 64 + MAX - (body_at + at) % 64, len - 64 - cut}};

			/* Two segments: at body_at, and behind it at another alignment. */
			memcpy(hdr, msg, 64);
			memcpy(iov[0].iov_base, msg + 64, iov[0].iov_len);
			memcpy(iov[1].iov_base, msg + 64 + cut, iov[1].iov_len);
			ck_assert_int_eq(smb3sign_compute(key, hdr, iov, 2, sig), SMB3SIGN_OK);
			ck_assert_mem_eq(sig, want + 48, 16);
			ck_assert_int_eq(smb3sign_sign(key, hdr, iov, 2), SMB3SIGN_OK);
			ck_assert_mem_eq(hdr, want, 64);
			ck_assert_int_eq(smb3sign_verify(key, hdr, iov, 2), SMB3SIGN_OK);
			/* In one piece. */
			memcpy(body_room + body_at, msg, len);
			ck_assert_int_eq(smb3sign_sign_buf(key, body_room + body_at, len), SMB3SIGN_OK);
			ck_assert_mem_eq(body_room + body_at, want, len);
		}
		free(want);
		free(msg);
	}
}

START_TEST(test_alignments)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, alignments_of_kernel, NULL);
}
END_TEST

/* A header alone, in every way to say so. */
START_TEST(test_header_alone)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	const smb3sign_iov empty[3] = {{NULL, 0}, {raw_key, 0}, {NULL, 0}};
	uint8_t *msg = new_message(64), *want = expected_after_sign((unsigned)_i, raw_key, msg, 64), hdr[64];

	for (size_t n = 0; n <= 3; n++) {
		memcpy(hdr, msg, 64);
		ck_assert_int_eq(smb3sign_sign(key, hdr, n ? empty : NULL, n), SMB3SIGN_OK);
		ck_assert_mem_eq(hdr, want, 64);
		ck_assert_int_eq(smb3sign_verify(key, hdr, n ? empty : NULL, n), SMB3SIGN_OK);
	}
	free(want);
	free(msg);
	smb3sign_key_free(key);
}
END_TEST

/* ---- Memory limits: nothing outside the message is touched, nothing is written that is only read ---- */

enum { GUARDED_MAX = 300 };

struct guarded_rooms {
	uint8_t *hdr, *sig;  /* 64 and 16 bytes */
	uint8_t *body, *msg; /* their first (guard_start) or last (guard_end) bytes are used */
	int at_end;
};

static uint8_t *use_room(const struct guarded_rooms *r, uint8_t *room, size_t max, size_t len)
{
	return r->at_end ? room + max - len : room;
}

static void guards_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct guarded_rooms *r = arg;

	for (size_t body = 0; body <= GUARDED_MAX; body++) {
		uint8_t *msg = new_message(64 + body), *want;
		uint8_t *in_one = use_room(r, r->msg, 64 + GUARDED_MAX, 64 + body);
		smb3sign_iov iov = {use_room(r, r->body, GUARDED_MAX, body), body};

		want = expected_after_sign(smb3sign_key_alg(key), raw, msg, 64 + body);
		memcpy(r->hdr, msg, 64);
		memcpy(iov.iov_base, msg + 64, body);
		memcpy(in_one, msg, 64 + body);
		ck_assert_int_eq(smb3sign_compute(key, r->hdr, &iov, 1, r->sig), SMB3SIGN_OK);
		ck_assert_mem_eq(r->sig, want + 48, 16);
		ck_assert_int_eq(smb3sign_sign(key, r->hdr, &iov, 1), SMB3SIGN_OK);
		ck_assert_mem_eq(r->hdr, want, 64);
		ck_assert_int_eq(smb3sign_verify(key, r->hdr, &iov, 1), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_sign_buf(key, in_one, 64 + body), SMB3SIGN_OK);
		ck_assert_mem_eq(in_one, want, 64 + body);
		ck_assert_int_eq(smb3sign_verify_buf(key, in_one, 64 + body), SMB3SIGN_OK);
		free(want);
		free(msg);
	}
}

START_TEST(test_guards)
{
	for (int at_end = 0; at_end < 2; at_end++) {
		uint8_t *(*guard)(size_t) = at_end ? guard_end : guard_start;
		struct guarded_rooms r = {guard(64), guard(16), guard(GUARDED_MAX), guard(64 + GUARDED_MAX), at_end};

		for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, guards_of_kernel, &r);
	}
}
END_TEST

/* Every segment of its own page. */
static void guarded_segments_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	uint8_t **rooms = arg;

	for (int round = 0; round < 300; round++) {
		size_t len = 64 + rng_below(200);
		uint8_t *msg = new_message(len), hdr[64];
		smb3sign_iov iov[6];
		size_t n = random_split(iov, 6, msg + 64, len - 64);

		for (size_t i = 0; i < n; i++) {
			uint8_t *at = i % 2 ? rooms[i] : rooms[i] + GUARDED_MAX - iov[i].iov_len;

			if (!iov[i].iov_base)
				continue;
			memcpy(at, iov[i].iov_base, iov[i].iov_len);
			iov[i].iov_base = at;
		}
		memcpy(hdr, msg, 64);
		check_forms(key, raw, hdr, iov, n, msg, len);
		free(msg);
	}
}

START_TEST(test_guarded_segments)
{
	uint8_t *rooms[6];

	for (size_t i = 0; i < 6; i++)
		rooms[i] = i % 2 ? guard_start(GUARDED_MAX) : guard_end(GUARDED_MAX);
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, guarded_segments_of_kernel, rooms);
}
END_TEST

struct readonly_message {
	const uint8_t *msg; /* signed */
	const smb3sign_iov *iov;
	size_t n, len;
};

static void readonly_with_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct readonly_message *m = arg;
	uint8_t tag[16];

	(void)raw;
	ck_assert_int_eq(smb3sign_verify(key, m->msg, m->iov, m->n), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_buf(key, m->msg, m->len), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_compute(key, m->msg, m->iov, m->n, tag), SMB3SIGN_OK);
	ck_assert_mem_eq(tag, m->msg + 48, 16);
}

START_TEST(test_readonly)
{
	static const size_t bodies[] = {0, 1, 15, 16, 17, 64, 200, 5000};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		size_t len = 64 + bodies[i];
		uint8_t *msg = guard_end(len);
		smb3sign_iov *iov = (smb3sign_iov *)(void *)guard_start(8 * sizeof(*iov));
		struct readonly_message m = {msg, iov, random_split(iov, 8, msg + 64, len - 64), len};

		random_header(msg);
		msg[16] |= 8;
		ref_signature((unsigned)_i, raw_key, msg, len, msg + 48);
		guard_readonly(msg);
		guard_readonly(iov);
		for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, readonly_with_kernel, &m);
		guard_free_all();
	}
}
END_TEST

/* A key in memory that cannot be written: between making and wiping it is only read. */
START_TEST(test_readonly_key)
{
	size_t size = smb3sign_key_size((unsigned)_i);
	uint8_t *mem = guard_start(size);
	smb3sign_key *key = NULL;
	uint8_t *msg = new_message(500);
	smb3sign_iov iov = {msg + 64, 436};

	ck_assert_int_eq(smb3sign_key_init(&key, mem, size, (unsigned)_i, raw_key, 16, SMB3SIGN_ROLE_ANY), SMB3SIGN_OK);
	guard_readonly(mem);
	check_buf_forms(key, raw_key, msg, 500);
	check_forms(key, raw_key, msg, &iov, 1, memcpy(guard_start(500), msg, 500), 500);
	free(msg);
}
END_TEST

/* A message shorter than a header is refused without a look behind its end. */
START_TEST(test_short)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);

	for (size_t len = 0; len < 64; len++) {
		uint8_t *msg = guard_end(len), hdr[64];

		random_header(hdr);
		memcpy(msg, hdr, len);
		guard_readonly(msg);
		ck_assert_int_eq(smb3sign_verify_buf(key, msg, len), SMB3SIGN_E_MESSAGE);
		ck_assert_int_eq(smb3sign_sign_buf(key, msg, len), SMB3SIGN_E_MESSAGE);
	}
	smb3sign_key_free(key);
}
END_TEST

/* ---- Changed messages ---- */

struct flips {
	unsigned role;
	size_t first, last, step; /* lengths of messages */
};

/*
 * Every bit of the message, Signature included: what verify answers follows from the rules for the header as changed.
 */
static void flip_every_bit(const smb3sign_key *key, const uint8_t raw[16], unsigned role, size_t len)
{
	unsigned alg = smb3sign_key_alg(key);
	uint8_t *msg = new_message(len);

	if (role != SMB3SIGN_ROLE_ANY)
		msg[16] = (uint8_t)((msg[16] & ~1u) | (role == SMB3SIGN_ROLE_CLIENT));
	if (msg[16] & 1 && msg[12] == 0x0c)
		msg[12] = 0x0d;
	if (msg[16] & 1 && get_le32(msg + 8) == 0x103)
		msg[8] = 0;
	msg[16] |= 8;
	ref_signature(alg, raw, msg, len, msg + 48);
	ck_assert_int_eq(smb3sign_verify_buf(key, msg, len), SMB3SIGN_OK);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		uint8_t mask = (uint8_t)(1u << bit % 8);
		int want, got;

		msg[bit / 8] ^= mask;
		/* Behind the header only the signature can be wrong; in it the rules come first. */
		want = bit < 8 * 64 ? oracle_verify_forged(alg, role, msg, len) : SMB3SIGN_E_SIGNATURE;
		got = smb3sign_verify_buf(key, msg, len);
		ck_assert_msg(got == want, "bit %zu of byte %zu of %zu: %d, not %d", bit % 8, bit / 8, len, got, want);
		msg[bit / 8] ^= mask;
	}
	ck_assert_int_eq(smb3sign_verify_buf(key, msg, len), SMB3SIGN_OK);
	free(msg);
}

static void flips_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct flips *f = arg;

	for (size_t len = f->first; len <= f->last; len += f->step)
		flip_every_bit(key, raw, f->role, len);
}

START_TEST(test_flips)
{
	/* Steps of 13 meet every residue modulo 16 and 64 in turn. */
	struct flips f = {SMB3SIGN_ROLE_ANY, 64, 300, 13};

	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, flips_of_kernel, &f);
	f = (struct flips){SMB3SIGN_ROLE_CLIENT, 65, 300, 47};
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_CLIENT, flips_of_kernel, &f);
	f = (struct flips){SMB3SIGN_ROLE_SERVER, 67, 300, 47};
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_SERVER, flips_of_kernel, &f);
}
END_TEST

/* Every length, with the kernels that callers get. */
START_TEST(test_flips_all_lengths)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);

	for (size_t len = 64; len <= 300; len++)
		flip_every_bit(key, raw_key, SMB3SIGN_ROLE_ANY, len);
	smb3sign_key_free(key);
}
END_TEST

/* Two bits of the Signature: a comparison that folds it up must not let them cancel. */
START_TEST(test_flips_two)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t *msg = new_message(100);

	ck_assert_int_eq(smb3sign_sign_buf(key, msg, 100), SMB3SIGN_OK);
	for (unsigned a = 0; a < 128; a++)
		for (unsigned b = a + 1; b < 128; b++) {
			msg[48 + a / 8] ^= (uint8_t)(1u << a % 8);
			msg[48 + b / 8] ^= (uint8_t)(1u << b % 8);
			ck_assert_msg(smb3sign_verify_buf(key, msg, 100) == SMB3SIGN_E_SIGNATURE, "bits %u and %u", a,
				      b);
			msg[48 + a / 8] ^= (uint8_t)(1u << a % 8);
			msg[48 + b / 8] ^= (uint8_t)(1u << b % 8);
		}
	smb3sign_key_free(key);
	free(msg);
}
END_TEST

/* One bit anywhere in long messages. */
static void long_flips_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	(void)arg;
	for (int round = 0; round < 20; round++) {
		size_t len = 64 + rng_below(LONG), bit = 8 * 64 + rng_below(8 * (len - 64) + 1);
		uint8_t *msg = new_message(len);

		if (bit >= 8 * len)
			bit = 8 * 48;
		msg[16] |= 8;
		ref_signature(smb3sign_key_alg(key), raw, msg, len, msg + 48);
		ck_assert_int_eq(smb3sign_verify_buf(key, msg, len), SMB3SIGN_OK);
		msg[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(smb3sign_verify_buf(key, msg, len), SMB3SIGN_E_SIGNATURE);
		free(msg);
	}
}

START_TEST(test_flips_long)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, long_flips_of_kernel, NULL);
}
END_TEST

/* One byte more or less, bytes swapped between segments: other messages. */
START_TEST(test_other_lengths)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);

	for (size_t len = 65; len <= 200; len++) {
		uint8_t *msg = calloc(1, len + 1);

		ck_assert_ptr_nonnull(msg);
		random_header(msg); /* the body is zeros, as the padding inside each MAC is */
		ck_assert_int_eq(smb3sign_sign_buf(key, msg, len), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_verify_buf(key, msg, len + 1), SMB3SIGN_E_SIGNATURE);
		ck_assert_int_eq(smb3sign_verify_buf(key, msg, len - 1), SMB3SIGN_E_SIGNATURE);
		ck_assert_int_eq(smb3sign_verify_buf(key, msg, len), SMB3SIGN_OK);
		free(msg);
	}
	smb3sign_key_free(key);
}
END_TEST

/* SIGNED clear: OK over the signature that is right for the message as it stands, E_UNSIGNED over any other. */
static void unsigned_with_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	uint8_t *msg = new_message(164);

	(void)arg;
	msg[16] &= (uint8_t)~8u;
	ref_signature(smb3sign_key_alg(key), raw, msg, 164, msg + 48);
	ck_assert_int_eq(smb3sign_verify_buf(key, msg, 164), SMB3SIGN_OK);
	/* That one is wrong with SIGNED set. */
	msg[16] |= 8;
	ck_assert_int_eq(smb3sign_verify_buf(key, msg, 164), SMB3SIGN_E_SIGNATURE);
	/* The right one for SIGNED set is wrong with SIGNED clear. */
	ck_assert_int_eq(smb3sign_sign_buf(key, msg, 164), SMB3SIGN_OK);
	msg[16] &= (uint8_t)~8u;
	ck_assert_int_eq(smb3sign_verify_buf(key, msg, 164), SMB3SIGN_E_UNSIGNED);
	memset(msg + 48, 0, 16);
	ck_assert_int_eq(smb3sign_verify_buf(key, msg, 164), SMB3SIGN_E_UNSIGNED);
	msg[16] |= 8;
	ck_assert_int_eq(smb3sign_verify_buf(key, msg, 164), SMB3SIGN_E_SIGNATURE);
	free(msg);
}

START_TEST(test_unsigned)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, unsigned_with_kernel, NULL);
}
END_TEST

/* Another key's or algorithm's signature does not verify. */
START_TEST(test_foreign_signature)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t *msg = new_message(164), other[16];

	msg[16] |= 8;
	for (unsigned alg = 0; alg < ALGS; alg++) {
		ref_signature(alg, raw_key, msg, 164, msg + 48);
		ck_assert_int_eq(smb3sign_verify_buf(key, msg, 164),
				 alg == (unsigned)_i ? SMB3SIGN_OK : SMB3SIGN_E_SIGNATURE);
		for (size_t bit = 0; bit < 128; bit++) {
			memcpy(other, raw_key, 16);
			other[bit / 8] ^= (uint8_t)(1u << bit % 8);
			ref_signature(alg, other, msg, 164, msg + 48);
			ck_assert_int_eq(smb3sign_verify_buf(key, msg, 164), SMB3SIGN_E_SIGNATURE);
		}
	}
	free(msg);
	smb3sign_key_free(key);
}
END_TEST

/* ---- Refusals ---- */

/* sign, compute, sign_buf: the result `want`, and if it is not OK nothing is written. */
static void check_sign_result(const smb3sign_key *key, const uint8_t *msg, size_t len, int want)
{
	uint8_t copy[256], sig[16], before[16];
	smb3sign_iov iov = {copy + 64, len - 64};

	ck_assert_uint_le(len, sizeof(copy));
	memcpy(copy, msg, len);
	rng_fill(sig, sizeof(sig));
	memcpy(before, sig, sizeof(sig));
	ck_assert_int_eq(smb3sign_compute(key, copy, &iov, 1, sig), want);
	ck_assert_mem_eq(copy, msg, len);
	if (want)
		ck_assert_mem_eq(sig, before, 16);
	ck_assert_int_eq(smb3sign_sign(key, copy, &iov, 1), want);
	if (want)
		ck_assert_mem_eq(copy, msg, len);
	memcpy(copy, msg, len);
	ck_assert_int_eq(smb3sign_sign_buf(key, copy, len), want);
	if (want)
		ck_assert_mem_eq(copy, msg, len);
}

static void check_verify_result(const smb3sign_key *key, const uint8_t *msg, size_t len, int want)
{
	uint8_t copy[256];
	smb3sign_iov iov = {copy + 64, len - 64};

	ck_assert_uint_le(len, sizeof(copy));
	memcpy(copy, msg, len);
	ck_assert_int_eq(smb3sign_verify(key, copy, &iov, 1), want);
	ck_assert_int_eq(smb3sign_verify_buf(key, copy, len), want);
	ck_assert_mem_eq(copy, msg, len);
}

/* Each reason by itself, as the header lists them: the literal expectations behind the oracle. */
START_TEST(test_exempt)
{
	const unsigned alg = (unsigned)_i;
	const uint64_t none = UINT64_MAX;
	const int mid0_cancel = alg == SMB3SIGN_AES_GMAC ? SMB3SIGN_EXEMPT_MID0 : SMB3SIGN_SIGNABLE;
	const struct {
		unsigned command;
		uint32_t flags, status;
		uint64_t mid, session;
		int want;
	} cases[] = {
		{0x05, 0, 0, 5, 1, SMB3SIGN_SIGNABLE},
		{0x05, 1, 0, 5, 1, SMB3SIGN_SIGNABLE},
		{0x01, 1, 0xc0000016, 3, 1, SMB3SIGN_SIGNABLE},
		{0x00, 0, 0, 1, 1, SMB3SIGN_EXEMPT_NEGOTIATE},
		{0x00, 1, 0x103, none, 0, SMB3SIGN_EXEMPT_NEGOTIATE},
		{0x01, 0, 0, 2, 0, SMB3SIGN_EXEMPT_SESSION0},
		{0x12, 1, 0x103, none, 0, SMB3SIGN_EXEMPT_SESSION0},
		{0x0f, 3, 0x103, 7, 1, SMB3SIGN_EXEMPT_INTERIM},
		{0x12, 1, 0x103, none, 1, SMB3SIGN_EXEMPT_INTERIM},
		{0x0c, 1, 0x103, 0, 1, SMB3SIGN_EXEMPT_INTERIM},
		/* A request's ChannelSequence may read 0x0103; the flag ASYNC alone makes nothing interim. */
		{0x0f, 0, 0x103, 7, 1, SMB3SIGN_SIGNABLE},
		{0x0f, 3, 0, 7, 1, SMB3SIGN_SIGNABLE},
		{0x12, 1, 0, none, 1, SMB3SIGN_EXEMPT_BREAK},
		{0x12, 0, 0, none, 1, SMB3SIGN_EXEMPT_MID_MAX},
		{0x12, 0, 0, 9, 1, SMB3SIGN_SIGNABLE},
		{0x12, 1, 0, 9, 1, SMB3SIGN_SIGNABLE},
		{0x13, 1, 0, none, 1, SMB3SIGN_EXEMPT_MID_MAX},
		{0x0c, 1, 0, none, 1, SMB3SIGN_EXEMPT_MID_MAX},
		{0x0c, 0, 0, none, 1, SMB3SIGN_EXEMPT_MID_MAX},
		{0x05, 0, 0, 0, 1, SMB3SIGN_EXEMPT_MID0},
		{0x05, 1, 0, 0, 1, SMB3SIGN_EXEMPT_MID0},
		{0x0c, 1, 0, 0, 1, SMB3SIGN_EXEMPT_MID0},
		{0x0c, 0, 0, 0, 1, mid0_cancel},
		{0x0c, 2, 0, 0, 1, mid0_cancel},
		{0x0c, 0, 0, 8, 1, SMB3SIGN_SIGNABLE},
		{0x0c, 1, 0, 8, 1, SMB3SIGN_EXEMPT_CANCEL_RESPONSE},
		{0x05, 0, 0, none - 1, none, SMB3SIGN_SIGNABLE},
	};
	smb3sign_key *key = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t msg[80] = {0};
		int want = cases[i].want == SMB3SIGN_SIGNABLE ? SMB3SIGN_OK : SMB3SIGN_E_EXEMPT;

		make_header(msg, cases[i].command, cases[i].flags, cases[i].mid, cases[i].session);
		put_le32(msg + 8, cases[i].status);
		ck_assert_msg(smb3sign_exempt(alg, msg) == cases[i].want, "case %zu: %d", i, smb3sign_exempt(alg, msg));
		ck_assert_msg(oracle_exempt(alg, msg) == cases[i].want, "oracle, case %zu", i);
		check_sign_result(key, msg, sizeof(msg), want);
		if (want == SMB3SIGN_OK)
			ck_assert_int_eq(smb3sign_sign_buf(key, msg, sizeof(msg)), SMB3SIGN_OK);
		check_verify_result(key, msg, sizeof(msg), want);
	}
	smb3sign_key_free(key);
}
END_TEST

/* smb3sign_exempt by itself. */
START_TEST(test_exempt_errors)
{
	uint8_t *hdr = guard_end(64);

	random_header(hdr);
	ck_assert_int_eq(smb3sign_exempt(SMB3SIGN_AES_CMAC, NULL), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_exempt(3, hdr), SMB3SIGN_E_UNSUPPORTED);
	ck_assert_int_eq(smb3sign_exempt(UINT32_MAX, hdr), SMB3SIGN_E_UNSUPPORTED);
	for (unsigned alg = 0; alg < ALGS; alg++) {
		ck_assert_int_eq(smb3sign_exempt(alg, hdr), SMB3SIGN_SIGNABLE);
		for (size_t bit = 0; bit < 48; bit++) {
			hdr[bit / 8] ^= (uint8_t)(1u << bit % 8);
			ck_assert_int_eq(smb3sign_exempt(alg, hdr), SMB3SIGN_E_MESSAGE);
			hdr[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
	/* The other protocols' first bytes: transform, compression, SMB1. */
	for (unsigned i = 0; i < 3; i++) {
		hdr[0] = (uint8_t)(0xfd - i + (i == 2 ? 4 : 0));
		ck_assert_int_eq(smb3sign_exempt(SMB3SIGN_AES_CMAC, hdr), SMB3SIGN_E_MESSAGE);
	}
}
END_TEST

/* Random headers for which most rules have something to say: results, their order, and nothing changed. */
START_TEST(test_rules)
{
	const unsigned alg = (unsigned)_i;
	smb3sign_key *keys[3];
	unsigned seen[10] = {0};

	for (unsigned role = 0; role < 3; role++)
		keys[role] = new_key(alg, raw_key, role);
	for (int round = 0; round < 40000; round++) {
		unsigned role = (unsigned)rng_below(3);
		size_t len = 64 + rng_below(80);
		uint8_t msg[144];
		int want;

		any_header(msg, len);
		rng_fill(msg + 64, len - 64);
		ck_assert_int_eq(smb3sign_exempt(alg, msg), oracle_exempt(alg, msg));
		check_sign_result(keys[role], msg, len, oracle_sign(alg, role, msg, len));
		if (rng_below(2))
			ref_signature(alg, raw_key, msg, len, msg + 48);
		want = oracle_verify(alg, raw_key, role, msg, len);
		check_verify_result(keys[role], msg, len, want);
		seen[-want]++;
	}
	/* All of them came up. */
	for (int err = 0; err >= SMB3SIGN_E_MESSAGE; err--)
		ck_assert_msg(seen[-err] >= 100, "result %d seen %u times", err, seen[-err]);
	for (unsigned role = 0; role < 3; role++)
		smb3sign_key_free(keys[role]);
}
END_TEST

/* Client and server, both ways; a reflected message does not verify. */
START_TEST(test_roles)
{
	const unsigned alg = (unsigned)_i;
	smb3sign_key *client = new_key(alg, raw_key, SMB3SIGN_ROLE_CLIENT),
		     *server = new_key(alg, raw_key, SMB3SIGN_ROLE_SERVER);
	smb3sign_key *any = new_key(alg, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t request[100] = {0}, response[100] = {0};

	make_header(request, 0x08, 0, 77, 5);
	make_header(response, 0x08, 1, 77, 5);
	ck_assert_int_eq(smb3sign_sign_buf(server, request, 100), SMB3SIGN_E_MESSAGE);
	ck_assert_int_eq(smb3sign_sign_buf(client, response, 100), SMB3SIGN_E_MESSAGE);
	ck_assert_int_eq(smb3sign_sign_buf(client, request, 100), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_sign_buf(server, response, 100), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_buf(server, request, 100), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_buf(client, response, 100), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_buf(client, request, 100), SMB3SIGN_E_MESSAGE);
	ck_assert_int_eq(smb3sign_verify_buf(server, response, 100), SMB3SIGN_E_MESSAGE);
	ck_assert_int_eq(smb3sign_verify_buf(any, request, 100), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_buf(any, response, 100), SMB3SIGN_OK);
	smb3sign_key_free(client);
	smb3sign_key_free(server);
	smb3sign_key_free(any);
}
END_TEST

/* The caller's mistakes are reported before anything in the message, and nothing is read or written. */
START_TEST(test_invalid)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t *hdr = guard_end(64), sig[16];
	uint8_t *nothing = guard_end(0);
	const size_t most = SIZE_MAX, half = SIZE_MAX / 2 + 1;
	const smb3sign_iov good = {raw_key, 16};
	const struct {
		smb3sign_iov iov[3];
		size_t n;
	} bad[] = {
		{{{NULL, 1}}, 1},
		{{{raw_key, 16}, {NULL, 16}}, 2},
		{{{NULL, 0}, {NULL, most}}, 2},
		{{{nothing, most}, {nothing, 1}}, 2},
		{{{nothing, 1}, {nothing, most}}, 2},
		{{{nothing, half}, {nothing, half}}, 2},
		{{{nothing, half}, {nothing, half - 1}, {nothing, 1}}, 3},
		{{{nothing, most}, {NULL, 0}, {nothing, most}}, 3},
	};

	memcpy(sig, "untouched before", 16);
	/* A good header; then a NEGOTIATE; then no header at all. */
	random_header(hdr);
	for (int round = 0; round < 3; round++) {
		uint8_t before[64];

		if (round)
			memset(hdr + (round == 1 ? 12 : 0), 0, 2);
		memcpy(before, hdr, 64);
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			ck_assert_int_eq(smb3sign_sign(key, hdr, bad[i].iov, bad[i].n), SMB3SIGN_E_INVAL);
			ck_assert_int_eq(smb3sign_verify(key, hdr, bad[i].iov, bad[i].n), SMB3SIGN_E_INVAL);
			ck_assert_int_eq(smb3sign_compute(key, hdr, bad[i].iov, bad[i].n, sig), SMB3SIGN_E_INVAL);
		}
		ck_assert_int_eq(smb3sign_sign(NULL, hdr, &good, 1), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_verify(NULL, hdr, &good, 1), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_compute(NULL, hdr, &good, 1, sig), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_sign_buf(NULL, hdr, 64), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_verify_buf(NULL, hdr, 64), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_sign(key, hdr, NULL, 1), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_verify(key, hdr, NULL, 1), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_compute(key, hdr, NULL, 1, sig), SMB3SIGN_E_INVAL);
		ck_assert_int_eq(smb3sign_compute(key, hdr, &good, 1, NULL), SMB3SIGN_E_INVAL);
		ck_assert_mem_eq(hdr, before, 64);
	}
	ck_assert_int_eq(smb3sign_sign(key, NULL, &good, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify(key, NULL, &good, 1), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_compute(key, NULL, &good, 1, sig), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_buf(key, NULL, 64), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_buf(key, NULL, 64), SMB3SIGN_E_INVAL);
	ck_assert_mem_eq(sig, "untouched before", 16);
	smb3sign_key_free(key);
}
END_TEST

/* A NextCommand that is not 0 must be the length: sign and verify refuse others, and accept and cover the right one. */
START_TEST(test_next_command)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t msg[128];

	for (size_t len = 64; len <= 128; len++) {
		for (uint32_t next = 0; next <= 200; next++) {
			int want = next == 0 || next == len ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE;

			make_header(msg, 0x10, 0, 10, 20);
			rng_fill(msg + 64, len - 64);
			put_le32(msg + 20, next);
			check_sign_result(key, msg, len, want);
			msg[16] |= 8;
			if (want == SMB3SIGN_OK)
				ref_signature((unsigned)_i, raw_key, msg, len, msg + 48);
			check_verify_result(key, msg, len, want);
		}
	}
	/* Equal only in the low bits. */
	put_le32(msg + 20, 0x80000000u | 128);
	check_sign_result(key, msg, 128, SMB3SIGN_E_MESSAGE);
	smb3sign_key_free(key);
}
END_TEST

static void add_per_alg(TCase *tc, const TTest *test)
{
	tcase_add_loop_test(tc, test, 0, ALGS);
}

int main(void)
{
	Suite *s = suite_create("message");
	TCase *content = add_case(s, "content"), *memory = add_case(s, "memory");
	TCase *changed = add_case(s, "changed"), *refused = add_case(s, "refused");
	TCase *all[] = {content, memory, changed, refused};

	for (size_t i = 0; i < 4; i++)
		tcase_add_checked_fixture(all[i], setup, NULL);
	add_per_alg(content, test_lengths);
	add_per_alg(content, test_splits);
	add_per_alg(content, test_kernels_agree);
	add_per_alg(content, test_alignments);
	add_per_alg(content, test_header_alone);
	add_per_alg(memory, test_guards);
	add_per_alg(memory, test_guarded_segments);
	add_per_alg(memory, test_readonly);
	add_per_alg(memory, test_readonly_key);
	add_per_alg(memory, test_short);
	add_per_alg(changed, test_flips);
	add_per_alg(changed, test_flips_all_lengths);
	add_per_alg(changed, test_flips_two);
	add_per_alg(changed, test_flips_long);
	add_per_alg(changed, test_other_lengths);
	add_per_alg(changed, test_unsigned);
	add_per_alg(changed, test_foreign_signature);
	add_per_alg(refused, test_exempt);
	tcase_add_test(refused, test_exempt_errors);
	add_per_alg(refused, test_rules);
	add_per_alg(refused, test_roles);
	add_per_alg(refused, test_invalid);
	add_per_alg(refused, test_next_command);
	return run_suite(s);
}
