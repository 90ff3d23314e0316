/* SPDX-License-Identifier: MIT */
/*
 * frame.c: compounds of one to 33 messages against OpenSSL, signing all or nothing, the offset of the first bad message
 * for every kind of failure, and the walk over frames that an attacker made.
 */
#include "oracle.h"
#include "support.h"

enum { ALGS = 3, MAX = 33, ROOM = MAX * 264 };

/* Messages in a frame; the library takes up to 16 at once. */
static const size_t counts[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, MAX};
enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

static uint8_t raw_key[16];

static void setup(void)
{
	rng_fill(raw_key, sizeof(raw_key));
}

/*
 * n messages in frame, their offsets in off[0..n], off[n] the length of the frame. Padded to `align` but for the last.
 */
static size_t build(uint8_t *frame, size_t *off, size_t n, size_t align)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = 64 + rng_below(200);

		if (i + 1 < n)
			len = (len + align - 1) / align * align;
		off[i] = at;
		random_header(frame + at);
		rng_fill(frame + at + 64, len - 64);
		if (i + 1 < n)
			put_le32(frame + at + 20, (uint32_t)len);
		at += len;
	}
	off[n] = at;
	return at;
}

static void assert_signed(unsigned alg, const uint8_t *frame, const uint8_t *before, const size_t *off, size_t n)
{
	uint8_t want[ROOM];

	memcpy(want, before, off[n]);
	for (size_t i = 0; i < n; i++) {
		want[off[i] + 16] |= 8;
		ref_signature(alg, raw_key, want + off[i], off[i + 1] - off[i], want + off[i] + 48);
	}
	ck_assert_mem_eq(frame, want, off[n]);
}

static void frames_of_kernel(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	uint8_t *frame = arg, before[ROOM];
	size_t off[MAX + 1], bad;

	(void)raw;
	for (size_t c = 0; c < COUNTS; c++)
		for (int round = 0; round < 30; round++) {
			size_t n = counts[c];
			/* 8 as the protocol has it; 1: unaligned messages are accepted. */
			size_t len = build(before, off, n, round % 2 ? 8 : 1);
			uint8_t *f = frame + ROOM - len;

			memcpy(f, before, len);
			ck_assert_int_eq(smb3sign_sign_frame(key, f, len), SMB3SIGN_OK);
			assert_signed(smb3sign_key_alg(key), f, before, off, n);
			bad = 12345;
			ck_assert_int_eq(smb3sign_verify_frame(key, f, len, &bad), SMB3SIGN_OK);
			ck_assert_uint_eq(bad, 12345);
			ck_assert_int_eq(smb3sign_verify_frame(key, f, len, NULL), SMB3SIGN_OK);
			/* Each is signed by itself. */
			for (size_t i = 0; i < n; i++)
				ck_assert_int_eq(smb3sign_verify_buf(key, f + off[i], off[i + 1] - off[i]),
						 SMB3SIGN_OK);
		}
}

START_TEST(test_frames)
{
	for_each_kernel((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY, frames_of_kernel, guard_end(ROOM));
}
END_TEST

START_TEST(test_verify_only_reads)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t frame[ROOM];
	size_t off[MAX + 1], len = build(frame, off, MAX, 8);
	uint8_t *page = guard_end(len);

	ck_assert_int_eq(smb3sign_sign_frame(key, frame, len), SMB3SIGN_OK);
	memcpy(page, frame, len);
	guard_readonly(page);
	ck_assert_int_eq(smb3sign_verify_frame(key, page, len, NULL), SMB3SIGN_OK);
	smb3sign_key_free(key);
}
END_TEST

/* frame_next over a good frame: each message in turn, up to the end. */
START_TEST(test_walk)
{
	for (size_t n = 1; n <= MAX; n++) {
		uint8_t frame[ROOM];
		size_t off[MAX + 1], len = build(frame, off, n, 1), at = 0, msg_len;
		uint8_t *f = guard_end(len);

		memcpy(f, frame, len);
		guard_readonly(f);
		for (size_t i = 0; i < n; i++) {
			ck_assert_uint_eq(at, off[i]);
			ck_assert_int_eq(smb3sign_frame_next(f, len, at, &msg_len), SMB3SIGN_OK);
			at += msg_len;
			ck_assert_uint_eq(at, off[i + 1]);
		}
		ck_assert_uint_eq(at, len);
		/* The walk is over. */
		ck_assert_int_eq(smb3sign_frame_next(f, len, at, &msg_len), SMB3SIGN_E_INVAL);
	}
}
END_TEST

/* The padding of the last message, if it was sent, is part of it. */
START_TEST(test_padded_last)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t frame[216] = {0};

	make_header(frame, 0x05, 1, 10, 20);
	put_le32(frame + 20, 128);
	make_header(frame + 128, 0x06, 5, 11, 20);
	rng_fill(frame + 128 + 64, 9);
	for (size_t pad = 0; pad <= 7; pad++) {
		size_t len = 128 + 64 + 9 + pad, bad;
		uint8_t tag[16];

		ck_assert_int_eq(smb3sign_sign_frame(key, frame, len), SMB3SIGN_OK);
		ref_signature((unsigned)_i, raw_key, frame + 128, len - 128, tag);
		ck_assert_mem_eq(frame + 128 + 48, tag, 16);
		ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, &bad), SMB3SIGN_OK);
		ck_assert_int_eq(smb3sign_verify_frame(key, frame, len + 1, &bad), SMB3SIGN_E_SIGNATURE);
		ck_assert_uint_eq(bad, 128);
		frame[len - 1] ^= 0x80;
		ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, &bad), SMB3SIGN_E_SIGNATURE);
		ck_assert_uint_eq(bad, 128);
		frame[len - 1] ^= 0x80;
	}
	smb3sign_key_free(key);
}
END_TEST

/* ---- Bad messages ---- */

/* Ways to spoil the message at msg[len] of a signed frame, and what verify must say of it. */
enum {
	SPOIL_SIGNATURE,
	SPOIL_BODY,
	SPOIL_UNSIGNED,
	SPOIL_NEGOTIATE,
	SPOIL_SESSION0,
	SPOIL_INTERIM,
	SPOIL_DIRECTION,
	SPOIL_PROTOCOL,
	SPOIL_STRUCTURE,
	SPOIL_NEXT_SMALL,
	SPOIL_NEXT_PAST_END,
	SPOIL_NEXT_NO_HEADER,
	SPOILS
};

/* left: bytes from this message to the frame's end. Returns the result of verifying. */
static int spoil(unsigned how, uint8_t *msg, size_t len, size_t left)
{
	switch (how) {
	case SPOIL_SIGNATURE:
		msg[48 + rng_below(16)] ^= (uint8_t)(1u << rng_below(8));
		return SMB3SIGN_E_SIGNATURE;
	case SPOIL_BODY:
		msg[32] ^= 1; /* TreeId: every message has it */
		msg[len - 1] ^= 1;
		return SMB3SIGN_E_SIGNATURE;
	case SPOIL_UNSIGNED:
		msg[16] &= (uint8_t)~8u;
		return SMB3SIGN_E_UNSIGNED;
	case SPOIL_NEGOTIATE:
		put_le16(msg + 12, 0);
		return SMB3SIGN_E_EXEMPT;
	case SPOIL_SESSION0:
		put_le64(msg + 40, 0);
		return SMB3SIGN_E_EXEMPT;
	case SPOIL_INTERIM:
		put_le32(msg + 8, 0x103);
		msg[16] |= 3;
		return SMB3SIGN_E_EXEMPT;
	case SPOIL_DIRECTION:
		msg[16] ^= 1;
		put_le32(msg + 8, 0);
		put_le16(msg + 12, 0x10);
		return SMB3SIGN_E_MESSAGE;
	case SPOIL_PROTOCOL:
		msg[rng_below(4)] ^= (uint8_t)(1u << rng_below(8));
		return SMB3SIGN_E_MESSAGE;
	case SPOIL_STRUCTURE:
		msg[4 + rng_below(2)] ^= (uint8_t)(1u << rng_below(8));
		return SMB3SIGN_E_MESSAGE;
	case SPOIL_NEXT_SMALL:
		put_le32(msg + 20, 1 + (uint32_t)rng_below(63));
		return SMB3SIGN_E_MESSAGE;
	case SPOIL_NEXT_PAST_END:
		put_le32(msg + 20, rng_below(2) ? (uint32_t)left + (uint32_t)rng_below(100) : UINT32_MAX);
		return SMB3SIGN_E_MESSAGE;
	default:
		put_le32(msg + 20, (uint32_t)(left - rng_below(64))); /* 0 .. 63 bytes left for the next */
		return SMB3SIGN_E_MESSAGE;
	}
}

START_TEST(test_verify_bad)
{
	/* Responses, for a client. */
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_CLIENT);
	uint8_t frame[ROOM], signed_frame[ROOM];
	size_t off[MAX + 1];

	for (size_t c = 0; c < COUNTS; c++)
		for (size_t at = 0; at < counts[c]; at++)
			for (unsigned how = 0; how < SPOILS; how++) {
				size_t n = counts[c], len = build(frame, off, n, 8), bad = 12345;
				int want, got;

				for (size_t i = 0; i < n; i++) {
					uint8_t *msg = frame + off[i];

					put_le16(msg + 12, 0x10);
					put_le32(msg + 8, 0);
					msg[16] |= 9;
					ref_signature((unsigned)_i, raw_key, msg, off[i + 1] - off[i], msg + 48);
				}
				ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, &bad), SMB3SIGN_OK);
				ck_assert_uint_eq(bad, 12345);
				/* A later one is bad in another way: it does not count. */
				if (at + 1 < n)
					spoil((how + 1) % SPOIL_NEXT_SMALL, frame + off[at + 1],
					      off[at + 2] - off[at + 1], len - off[at + 1]);
				want = spoil(how, frame + off[at], off[at + 1] - off[at], len - off[at]);
				memcpy(signed_frame, frame, len);
				got = smb3sign_verify_frame(key, frame, len, &bad);
				ck_assert_msg(got == want && bad == off[at], "spoiled by %u: %d at %zu, not %d at %zu",
					      how, got, bad, want, off[at]);
				ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, NULL), want);
				ck_assert_mem_eq(frame, signed_frame, len);
			}
	smb3sign_key_free(key);
}
END_TEST

/* One that cannot be signed: none is, and the frame stays as it was. The first one's error counts. */
START_TEST(test_sign_bad)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_SERVER);
	uint8_t frame[ROOM], before[ROOM];
	size_t off[MAX + 1];

	for (size_t c = 0; c < COUNTS; c++)
		for (size_t at = 0; at < counts[c]; at++)
			for (unsigned how = SPOIL_NEGOTIATE; how < SPOILS; how++) {
				size_t n = counts[c], len = build(frame, off, n, 8);
				int want, got;

				for (size_t i = 0; i < n; i++) {
					put_le16(frame + off[i] + 12, 0x10);
					put_le32(frame + off[i] + 8, 0);
					frame[off[i] + 16] = 1;
				}
				if (at + 1 < n)
					spoil(how == SPOIL_DIRECTION ? SPOIL_SESSION0 : SPOIL_DIRECTION,
					      frame + off[at + 1], off[at + 2] - off[at + 1], len - off[at + 1]);
				want = spoil(how, frame + off[at], off[at + 1] - off[at], len - off[at]);
				memcpy(before, frame, len);
				got = smb3sign_sign_frame(key, frame, len);
				ck_assert_msg(got == want, "spoiled by %u: %d, not %d", how, got, want);
				ck_assert_mem_eq(frame, before, len);
			}
	smb3sign_key_free(key);
}
END_TEST

/* ---- frame_next ---- */

static void assert_next(const uint8_t *frame, size_t len, size_t off, int want, size_t want_len)
{
	size_t msg_len = 12345;
	int got = smb3sign_frame_next(frame, len, off, &msg_len);

	ck_assert_msg(got == want, "length %zu, offset %zu: %d, not %d", len, off, got, want);
	ck_assert_uint_eq(msg_len, want == SMB3SIGN_OK ? want_len : 12345);
}

START_TEST(test_next_bounds)
{
	enum { LEN = 200 };
	smb3sign_key *key = new_key(SMB3SIGN_AES_CMAC, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t *frame = guard_end(LEN);

	make_header(frame, 0x05, 0, 10, 20);
	for (uint32_t next = 0; next <= LEN + 70; next++) {
		int good = next == 0 || (next >= 64 && next <= LEN - 64);

		put_le32(frame + 20, next);
		assert_next(frame, LEN, 0, good ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE, next ? next : LEN);
	}
	for (unsigned bit = 8; bit < 32; bit++) {
		put_le32(frame + 20, (uint32_t)1 << bit | 64);
		assert_next(frame, LEN, 0, SMB3SIGN_E_MESSAGE, 0);
		put_le32(frame + 20, 0u - ((uint32_t)1 << (bit - 8)));
		assert_next(frame, LEN, 0, SMB3SIGN_E_MESSAGE, 0);
	}
	/* What stands at the next offset is the next call's matter. */
	put_le32(frame + 20, 100);
	memset(frame + 100, 0, LEN - 100);
	assert_next(frame, LEN, 0, SMB3SIGN_OK, 100);
	assert_next(frame, LEN, 100, SMB3SIGN_E_MESSAGE, 0);
	smb3sign_key_free(key);
}
END_TEST

/* Frames and rests of frames that hold no whole header: nothing behind the end is read. */
START_TEST(test_next_short)
{
	smb3sign_key *key = new_key(SMB3SIGN_AES_CMAC, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t hdr[64];

	make_header(hdr, 0x05, 0, 10, 20);
	for (size_t len = 0; len < 64; len++) {
		uint8_t *frame = guard_end(len);
		size_t bad = 12345;

		memcpy(frame, hdr, len);
		guard_readonly(frame);
		assert_next(frame, len, 0, SMB3SIGN_E_MESSAGE, 0);
		ck_assert_int_eq(smb3sign_verify_frame(key, frame, len, &bad), SMB3SIGN_E_MESSAGE);
		ck_assert_uint_eq(bad, 0);
		ck_assert_int_eq(smb3sign_sign_frame(key, frame, len), SMB3SIGN_E_MESSAGE);
	}
	for (size_t left = 1; left < 64; left++) {
		uint8_t *frame = guard_end(100 + left);

		memcpy(frame + 100, hdr, left);
		assert_next(frame, 100 + left, 100, SMB3SIGN_E_MESSAGE, 0);
	}
	smb3sign_key_free(key);
}
END_TEST

START_TEST(test_invalid)
{
	smb3sign_key *key = new_key(SMB3SIGN_AES_CMAC, raw_key, SMB3SIGN_ROLE_ANY);
	uint8_t frame[100] = {0}, before[100];
	size_t msg_len, bad = 12345;

	make_header(frame, 0x05, 0, 10, 20);
	memcpy(before, frame, sizeof(frame));
	assert_next(frame, 100, 100, SMB3SIGN_E_INVAL, 0);
	assert_next(frame, 100, 101, SMB3SIGN_E_INVAL, 0);
	assert_next(frame, 100, SIZE_MAX, SMB3SIGN_E_INVAL, 0);
	assert_next(frame, 100, SIZE_MAX - 63, SMB3SIGN_E_INVAL, 0);
	ck_assert_int_eq(smb3sign_frame_next(NULL, 100, 0, &msg_len), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_frame_next(frame, 100, 0, NULL), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_frame_next(frame, 0, 1, &msg_len), SMB3SIGN_E_MESSAGE);
	ck_assert_int_eq(smb3sign_sign_frame(NULL, frame, 100), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_sign_frame(key, NULL, 100), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_frame(NULL, frame, 100, &bad), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_frame(key, NULL, 100, &bad), SMB3SIGN_E_INVAL);
	smb3sign_key_wipe(key);
	ck_assert_int_eq(smb3sign_sign_frame(key, frame, 100), SMB3SIGN_E_INVAL);
	ck_assert_int_eq(smb3sign_verify_frame(key, frame, 100, &bad), SMB3SIGN_E_INVAL);
	ck_assert_uint_eq(bad, 12345);
	ck_assert_mem_eq(frame, before, sizeof(frame));
	smb3sign_key_free(key);
}
END_TEST

/* Frames of random bytes around headers, with random NextCommands: never E_INVAL, never a walk past the end. */
START_TEST(test_received)
{
	smb3sign_key *key = new_key((unsigned)_i, raw_key, SMB3SIGN_ROLE_CLIENT);
	unsigned accepted = 0;

	for (int round = 0; round < 3000; round++) {
		size_t len = rng_below(600), at = 0, bad = 12345, msg_len;
		uint8_t *frame = guard_end(len);
		int err, walk = SMB3SIGN_OK;

		for (size_t h = 0; h + 64 <= len; h += 8 + rng_below(160)) {
			random_header(frame + h);
			if (rng_below(2))
				put_le32(frame + h + 20, (uint32_t)rng_below(300));
		}
		while (at < len && walk == SMB3SIGN_OK) {
			walk = smb3sign_frame_next(frame, len, at, &msg_len);
			ck_assert(walk == SMB3SIGN_OK || walk == SMB3SIGN_E_MESSAGE);
			if (walk)
				break;
			ck_assert(msg_len >= 64 && msg_len <= len - at);
			at += msg_len;
		}
		accepted += walk == SMB3SIGN_OK && len;
		err = smb3sign_verify_frame(key, frame, len, &bad);
		ck_assert(err < 0 && err != SMB3SIGN_E_INVAL);
		ck_assert_uint_le(bad, at);
		if (round % 100 == 0)
			guard_free_all();
	}
	ck_assert_uint_ge(accepted, 100);
	smb3sign_key_free(key);
}
END_TEST

static void add_per_alg(TCase *tc, const TTest *test)
{
	tcase_add_loop_test(tc, test, 0, ALGS);
}

int main(void)
{
	Suite *s = suite_create("frame");
	TCase *good = add_case(s, "good"), *bad = add_case(s, "bad"), *next = add_case(s, "next");
	TCase *all[] = {good, bad, next};

	for (size_t i = 0; i < 3; i++)
		tcase_add_checked_fixture(all[i], setup, NULL);
	add_per_alg(good, test_frames);
	add_per_alg(good, test_verify_only_reads);
	tcase_add_test(good, test_walk);
	add_per_alg(good, test_padded_last);
	add_per_alg(bad, test_verify_bad);
	add_per_alg(bad, test_sign_bad);
	tcase_add_test(next, test_next_bounds);
	tcase_add_test(next, test_next_short);
	tcase_add_test(next, test_invalid);
	add_per_alg(next, test_received);
	return run_suite(s);
}
