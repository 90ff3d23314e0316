/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the life of contexts. Any sequence of begin, update, end and abort on several contexts at once, which
 * move about in memory, are zeroed, begun again half way and ended as what they are not. What end answers must be the
 * oracle's and OpenSSL's word on the bytes that the context was given.
 */
#include "fuzz.h"

enum { CONTEXTS = 4, LONGEST = 6000, PLACES = 256 };

enum op {
	BEGIN_SIGN,
	BEGIN_VERIFY,
	UPDATE,
	UPDATE_REST,
	UPDATE_NULL,
	MOVE,
	END_SIGN,
	END_VERIFY,
	END_NOWHERE, /* the signature to NULL */
	ABORT,
	ZERO,
	OPS
};

enum kind { NONE, SIGN, VERIFY };

struct stream {
	smb3sign_ctx *ctx; /* a block of its own */
	enum kind kind;
	int err; /* what end is to answer, if not 0 */
	const struct fuzz_key *key;
	uint8_t hdr[64];    /* as end is to judge it */
	const uint8_t *all; /* in the noise: where its body starts */
	size_t planned;     /* bytes of body that a signature to be verified is for */
	size_t len;         /* that it was given */
};

/* Bodies are parts of it. */
static uint8_t noise[LONGEST + PLACES];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	make_fuzz_keys();
	rng_fill(noise, sizeof(noise));
	return 0;
}

static void require_zero(const struct stream *s)
{
	const uint8_t *p = (const uint8_t *)s->ctx;

	for (size_t i = 0; i < sizeof(*s->ctx); i++)
		require(p[i] == 0);
}

/* ---- What end must answer */

static void flatten(const struct stream *s, size_t body_len, uint8_t *flat)
{
	memcpy(flat, s->hdr, 64);
	memcpy(flat + 64, s->all, body_len);
}

/* Of begin: it cannot know the body's length. */
static int begin_by_oracle(const struct stream *s, enum kind kind)
{
	uint8_t hdr[64];
	int err;

	memcpy(hdr, s->hdr, 64);
	put_le32(hdr + 20, 0);
	if (kind == SIGN)
		return oracle_sign(s->key->alg, s->key->role, hdr, 64);
	err = oracle_verify_forged(s->key->alg, s->key->role, hdr, 64);
	return err == SMB3SIGN_E_SIGNATURE || err == SMB3SIGN_E_UNSIGNED ? SMB3SIGN_OK : err;
}

/* The signature too, if there is to be one. */
static int end_by_oracle(const struct stream *s, enum kind kind, uint8_t sig[16])
{
	static uint8_t flat[64 + LONGEST];
	int err;

	if (s->kind != kind)
		return SMB3SIGN_E_INVAL;
	if (s->err)
		return s->err;
	flatten(s, s->len, flat);
	if (kind == VERIFY)
		return oracle_verify(s->key->alg, s->key->raw, s->key->role, flat, 64 + s->len);
	err = oracle_sign(s->key->alg, s->key->role, flat, 64 + s->len);
	if (!err)
		ref_signature(s->key->alg, s->key->raw, flat, 64 + s->len, sig);
	return err;
}

/* ---- The steps */

/* Of a header that begin accepts more often than not; its NextCommand is none, right, or wrong. */
static void draw_header(struct stream *s, unsigned how)
{
	if (how & 1)
		any_header(s->hdr, 64 + s->planned);
	else
		random_header(s->hdr);
	if (how & 2)
		put_le32(s->hdr + 20, (uint32_t)(64 + s->planned));
	if (how & 4)
		s->hdr[16] |= 8;
}

/* The right signature for what is planned, but for one bit. */
static void put_signature(struct stream *s, int is_wrong)
{
	static uint8_t flat[64 + LONGEST];

	flatten(s, s->planned, flat);
	ref_signature(s->key->alg, s->key->raw, flat, 64 + s->planned, s->hdr + 48);
	if (is_wrong)
		s->hdr[48 + rng_below(16)] ^= (uint8_t)(1u << rng_below(8));
}

/* In any memory: what a context under way is, too. */
static void begin(struct input *in, struct stream *s, enum kind kind)
{
	unsigned how = take8(in);
	const smb3sign_key *key;
	uint8_t *hdr;

	if (how & 0x10)
		memset(s->ctx, 0xa5, sizeof(*s->ctx));
	s->key = take_key(in);
	s->planned = take16(in) % LONGEST;
	s->all = noise + how;
	s->len = 0;
	draw_header(s, how);
	if (kind == VERIFY)
		put_signature(s, how & 8);
	key = how >= 0xf0 && how & 1 ? NULL : s->key->key;
	hdr = how >= 0xf0 && !(how & 1) ? NULL : exact_copy(s->hdr, 64, rng_below(16));
	s->kind = kind;
	s->err = key && hdr ? begin_by_oracle(s, kind) : SMB3SIGN_E_INVAL;
	if (kind == SIGN)
		require(smb3sign_sign_begin(s->ctx, key, hdr) == s->err);
	else
		require(smb3sign_verify_begin(s->ctx, key, hdr) == s->err);
	if (kind == SIGN && !s->err)
		s->hdr[16] |= 8;
	require(!hdr || memcmp(hdr, s->hdr, 64) == 0);
	exact_free(hdr);
}

/* A zeroed or ended context is left as it is. */
static void update(struct stream *s, size_t len)
{
	const uint8_t *body = s->kind == NONE ? noise : s->all + s->len;
	size_t room = s->kind == NONE ? LONGEST : LONGEST - s->len;
	uint8_t *piece;

	if (len > room)
		len = room;
	piece = exact_copy(body, len, rng_below(16));
	smb3sign_update(s->ctx, len || rng_below(2) ? piece : NULL, len);
	exact_free(piece);
	if (s->kind == NONE)
		require_zero(s);
	else
		s->len += len;
}

static void update_null(struct stream *s, size_t len)
{
	smb3sign_update(s->ctx, NULL, len);
	if (s->kind == NONE)
		require_zero(s);
	else if (len && !s->err)
		s->err = SMB3SIGN_E_INVAL;
}

static void end(struct stream *s, enum kind kind)
{
	uint8_t sig[16], want[16];
	int err;

	rng_fill(sig, sizeof(sig));
	memcpy(want, sig, sizeof(want));
	err = end_by_oracle(s, kind, want);
	require((kind == SIGN ? smb3sign_sign_end(s->ctx, sig) : smb3sign_verify_end(s->ctx)) == err);
	require(memcmp(sig, want, sizeof(want)) == 0);
	require_zero(s);
	s->kind = NONE;
}

/* To another block, which may lie at any multiple of eight; the old one is overwritten. */
static void move(struct stream *s)
{
	smb3sign_ctx *to = (void *)exact_copy(s->ctx, sizeof(*s->ctx), 8 * rng_below(2));

	memset(s->ctx, 0xa5, sizeof(*s->ctx));
	exact_free((uint8_t *)s->ctx);
	s->ctx = to;
}

static void wiped_by_caller(struct stream *s, enum op op)
{
	if (op == ZERO)
		memset(s->ctx, 0, sizeof(*s->ctx));
	else if (op == ABORT)
		smb3sign_abort(s->ctx);
	else
		require(smb3sign_sign_end(s->ctx, NULL) == SMB3SIGN_E_INVAL);
	require_zero(s);
	s->kind = NONE;
}

static void step(struct input *in, struct stream *s, enum op op)
{
	switch (op) {
	case BEGIN_SIGN:
		begin(in, s, SIGN);
		return;
	case BEGIN_VERIFY:
		begin(in, s, VERIFY);
		return;
	case UPDATE:
		update(s, take8(in));
		return;
	case UPDATE_REST:
		update(s, s->planned > s->len ? s->planned - s->len : take16(in));
		return;
	case UPDATE_NULL:
		update_null(s, take8(in) & 1);
		return;
	case MOVE:
		move(s);
		return;
	case END_SIGN:
		end(s, SIGN);
		return;
	case END_VERIFY:
		end(s, VERIFY);
		return;
	default:
		wiped_by_caller(s, op);
		return;
	}
}

static void new_stream(struct stream *s)
{
	smb3sign_ctx ctx;

	memset(s, 0, sizeof(*s));
	memset(&ctx, 0, sizeof(ctx));
	s->ctx = (void *)exact_copy(&ctx, sizeof(ctx), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stream streams[CONTEXTS];
	struct input in = {data, size};

	seed_from_input(data, size);
	for (size_t i = 0; i < CONTEXTS; i++)
		new_stream(&streams[i]);
	while (in.left) {
		unsigned what = take8(&in);

		step(&in, &streams[what % CONTEXTS], what / CONTEXTS % OPS);
	}
	for (size_t i = 0; i < CONTEXTS; i++) {
		end(&streams[i], streams[i].kind == SIGN ? SIGN : VERIFY);
		exact_free((uint8_t *)streams[i].ctx);
	}
	return 0;
}
