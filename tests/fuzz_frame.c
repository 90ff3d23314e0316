/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the input as a frame. The walk over it, verify_frame with the offset it complains of, and sign_frame
 * must agree with a walk written here from MS-SMB2 3.2.4.1.4 and smb3sign.h, and with the oracle for each element; the
 * policies are asked about each. The frame lies in a heap block of exactly its length.
 */
#include "fuzz.h"

enum { MAX_ELEMENTS = 256 };

/* The elements up to where the chain is broken; broken == SIZE_MAX: it is not. */
struct chain {
	size_t n, at[MAX_ELEMENTS], len[MAX_ELEMENTS], broken;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	make_fuzz_keys();
	return 0;
}

/* The length of the element at `at`, 0 if there is none. */
static uint64_t element(const uint8_t *frame, uint64_t len, uint64_t at)
{
	uint64_t next;

	if (at + 64 > len || memcmp(frame + at, "\xfeSMB\x40\0", 6) != 0)
		return 0;
	next = get_le32(frame + at + 20);
	if (next == 0)
		return len - at;
	return next >= 64 && at + next + 64 <= len ? next : 0;
}

static void take_apart(struct chain *c, const uint8_t *frame, size_t len)
{
	size_t at = 0;

	c->n = 0;
	c->broken = SIZE_MAX;
	do {
		size_t n = (size_t)element(frame, len, at);

		if (!n) {
			c->broken = at;
			return;
		}
		require(c->n < MAX_ELEMENTS);
		c->at[c->n] = at;
		c->len[c->n++] = n;
		at += n;
	} while (at < len);
}

/* frame_next at every offset there is, and behind the end. */
static void walk(const uint8_t *frame, size_t len)
{
	for (size_t at = 0; at < len + 3; at++) {
		size_t got = 4711, want = (size_t)element(frame, len, at);
		int err = smb3sign_frame_next(frame, len, at, &got);

		if (at >= len && len)
			require(err == SMB3SIGN_E_INVAL && got == 4711);
		else if (!want)
			require(err == SMB3SIGN_E_MESSAGE && got == 4711);
		else
			require(err == SMB3SIGN_OK && got == want);
	}
}

static void verify(const struct fuzz_key *key, const uint8_t *frame, size_t len, const struct chain *c)
{
	size_t bad = 4711, want_bad = 4711;
	int want = SMB3SIGN_OK;
	uint8_t *copy = exact_copy(frame, len, rng_below(16));

	for (size_t i = 0; i < c->n && !want; i++) {
		want = oracle_verify(key->alg, key->raw, key->role, frame + c->at[i], c->len[i]);
		want_bad = want ? c->at[i] : want_bad;
	}
	if (!want && c->broken != SIZE_MAX) {
		want = SMB3SIGN_E_MESSAGE;
		want_bad = c->broken;
	}
	require(smb3sign_verify_frame(key->key, copy, len, &bad) == want);
	require(bad == want_bad);
	require(smb3sign_verify_frame(key->key, copy, len, NULL) == want);
	require(!len || memcmp(copy, frame, len) == 0);
	exact_free(copy);
}

/* What sign_frame must answer; the frame as it must be then. */
static int sign_by_oracle(const struct fuzz_key *key, uint8_t *frame, const struct chain *c)
{
	for (size_t i = 0; i < c->n; i++) {
		int err = oracle_sign(key->alg, key->role, frame + c->at[i], c->len[i]);

		if (err)
			return err;
	}
	if (c->broken != SIZE_MAX)
		return SMB3SIGN_E_MESSAGE;
	for (size_t i = 0; i < c->n; i++) {
		uint8_t *hdr = frame + c->at[i];

		hdr[16] |= 8;
		ref_signature(key->alg, key->raw, hdr, c->len[i], hdr + 48);
	}
	return SMB3SIGN_OK;
}

/* frame becomes what it is signed. */
static void sign(const struct fuzz_key *key, uint8_t *frame, size_t len, const struct chain *c)
{
	uint8_t *copy = exact_copy(frame, len, rng_below(16));
	int want = sign_by_oracle(key, frame, c);

	require(smb3sign_sign_frame(key->key, copy, len) == want);
	require(!len || memcmp(copy, frame, len) == 0);
	exact_free(copy);
}

/* About each element, and where the chain is broken, if there are 64 bytes. */
static void ask_policies(const uint8_t *frame, size_t len, const struct chain *c, unsigned state)
{
	for (size_t i = 0; i < c->n; i++)
		require_policies(frame + c->at[i], state);
	if (c->broken != SIZE_MAX && len >= 64 && c->broken <= len - 64)
		require_policies(frame + c->broken, state);
}

/* Unknown bits are mistakes, which most inputs do not make. */
static unsigned take_state(struct input *in)
{
	unsigned state = take16(in);

	return state < 0xe000 ? state % 1024 : state;
}

/* As it is, signed, and (the input decides) with one bit changed after that. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct chain c;
	struct input in = {data, size};
	const struct fuzz_key *key = take_key(&in);
	unsigned state = take_state(&in);
	size_t bit = take16(&in);
	unsigned how = take8(&in);
	uint8_t *frame;
	size_t len = in.left;

	/* Long ones have nothing that shorter ones have not. */
	if (len > 64 * MAX_ELEMENTS)
		return -1;
	seed_from_input(data, size);
	frame = exact_copy(in.p, len, 0);
	take_apart(&c, frame, len);
	walk(frame, len);
	ask_policies(frame, len, &c, state);
	verify(key, frame, len, &c);
	sign(key, frame, len, &c);
	verify(key, frame, len, &c);
	if (len && how & 1) {
		frame[bit / 8 % len] ^= (uint8_t)(1u << bit % 8);
		take_apart(&c, frame, len);
		verify(key, frame, len, &c);
		sign(key, frame, len, &c);
	}
	exact_free(frame);
	return 0;
}
