/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: messages signed and verified by every form of call. The input chooses keys, header fields, lengths,
 * segmentation, the callers' mistakes and forgeries; results, headers and signatures must be those of the oracle and of
 * OpenSSL, and nothing else may change.
 */
#include "fuzz.h"

enum { MAX_MESSAGES = 24, MAX_PIECES = 7, LONG = 20000 };

/* How a message is handed over. */
enum form { WHOLE, BUF, STREAM, BATCH, COMPUTE, SIGN_FORMS, VERIFY_FORMS = COMPUTE };

/* The caller's mistakes, each of which is E_INVAL. */
enum spoil { NOTHING, NO_KEY, NO_HEADER, NO_BODY, NO_PIECE, TOO_LONG, RESERVED, WIPED_KEY, SPOILS };

struct message {
	const struct fuzz_key *key;
	const smb3sign_key *given;
	uint8_t *flat; /* what the oracle looks at: header and body as they are to be */
	size_t len;
	uint8_t *hdr;
	smb3sign_iov body[MAX_PIECES];
	uint8_t *piece[MAX_PIECES]; /* body's memory */
	size_t at[MAX_PIECES];      /* where the piece is in the flat message */
	size_t pieces;
	enum spoil spoil;
};

static uint8_t noise[64 + LONG];
/* A key after smb3sign_key_wipe. */
static smb3sign_key *wiped;
static _Alignas(64) uint8_t wiped_mem[SMB3SIGN_KEY_SIZE_MAX];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	make_fuzz_keys();
	rng_fill(noise, sizeof(noise));
	require(!smb3sign_key_init(&wiped, wiped_mem, sizeof(wiped_mem), SMB3SIGN_AES_CMAC, noise, 16,
				   SMB3SIGN_ROLE_ANY));
	smb3sign_key_wipe(wiped);
	return 0;
}

/* ---- Drawing */

/* The fields that rules look at; those that the input leaves alone are random_header's, which can be signed. */
static void draw_header(struct input *in, uint8_t *h, size_t len)
{
	static const uint16_t commands[] = {0x00, 0x01, 0x03, 0x0c, 0x12, 0x13, 0x0100, 0x0c0c};
	static const uint64_t ids[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 0x100000000, 0xffffffff, 0x8000000000000000};
	static const uint32_t status[] = {0, 0x103, 0xc0000016, 0x10300, 0x00010103};
	const uint32_t next[] = {0, (uint32_t)len, (uint32_t)len + 1, (uint32_t)len - 64, 64, 0x80000000};
	unsigned fields = take8(in);

	random_header(h);
	if (fields & 0x01)
		put_le16(h + 12, commands[take8(in) % 8]);
	if (fields & 0x02)
		put_le32(h + 8, status[take8(in) % 5]);
	if (fields & 0x04)
		h[16] = (uint8_t)take8(in);
	if (fields & 0x08)
		put_le32(h + 20, next[take8(in) % 6]);
	if (fields & 0x10)
		put_le64(h + 24, ids[take8(in) % 7]);
	if (fields & 0x20)
		put_le64(h + 40, ids[take8(in) % 7]);
	if (fields & 0x40) {
		unsigned at = take8(in) % 64;

		h[at] = (uint8_t)take8(in);
	}
	if (fields & 0x80)
		for (unsigned i = 6; i < 64; i++)
			h[i] = (uint8_t)take8(in);
}

/* Kernels and buffers have their limits at or next to powers of two, of the body or of the whole message. */
static size_t near_a_limit(unsigned how)
{
	size_t power = (size_t)128 << (how & 7), off = how >> 3 & 15;

	return power - 8 + off + (how & 0x80 ? 64 : 0);
}

static size_t draw_len(struct input *in)
{
	unsigned how = take16(in);

	switch (how >> 12) {
	case 0xf:
		return 64 + take16(in) % LONG;
	case 0xe:
	case 0xd:
	case 0xc:
	case 0xb:
	case 0xa:
		return near_a_limit(how);
	default:
		return 64 + how % (how & 0x4000 ? 1200 : 200);
	}
}

static void draw_pieces(struct input *in, struct message *m)
{
	unsigned how = take8(in);
	size_t n = how % (MAX_PIECES + 1), at = 64;

	/* A body without pieces is none. */
	if (!n && m->len > 64)
		n = 1;
	for (size_t i = 0; i < n; i++) {
		size_t left = m->len - at, take = how & 0x80 ? take16(in) : take8(in);

		if (take > left || i + 1 == n)
			take = left;
		m->at[i] = at;
		m->piece[i] = exact_copy(m->flat + at, take, rng_below(16));
		m->body[i] = (smb3sign_iov){take || rng_below(2) ? m->piece[i] : NULL, take};
		at += take;
	}
	m->pieces = n;
}

/* Most mistakes need a piece to be made with; without one there is none. */
static void spoil(struct message *m, enum spoil how)
{
	size_t i = m->pieces ? rng_below(m->pieces) : 0;

	m->spoil = how;
	if (how == NO_KEY)
		m->given = NULL;
	if (how == WIPED_KEY)
		m->given = wiped;
	if ((how == NO_BODY || how == TOO_LONG) && !m->pieces)
		m->spoil = NOTHING;
	if (how == NO_PIECE && (!m->pieces || !m->body[i].iov_len))
		m->spoil = NOTHING;
	if (m->spoil == NO_PIECE)
		m->body[i].iov_base = NULL;
	if (m->spoil == TOO_LONG)
		m->body[i] = (smb3sign_iov){m->piece[i], SIZE_MAX - 63};
}

/* common: the key that all messages of a batch have, as most batches do; NULL: each has its own. */
static void draw_message(struct input *in, struct message *m, const struct fuzz_key *common)
{
	unsigned mistake;

	memset(m, 0, sizeof(*m));
	m->key = common ? common : take_key(in);
	m->given = m->key->key;
	m->len = draw_len(in);
	m->flat = malloc(m->len);
	require(m->flat);
	memcpy(m->flat + 64, noise + 64, m->len - 64);
	draw_header(in, m->flat, m->len);
	for (size_t i = 64, n = 64 + take8(in) % 32; i < n && i < m->len; i++)
		m->flat[i] = (uint8_t)take8(in);
	m->hdr = exact_copy(m->flat, 64, rng_below(16));
	draw_pieces(in, m);
	mistake = take8(in);
	if (mistake >= 0xe0)
		spoil(m, mistake % SPOILS);
}

static void free_message(struct message *m)
{
	free(m->flat);
	exact_free(m->hdr);
	for (size_t i = 0; i < m->pieces; i++)
		exact_free(m->piece[i]);
}

/* ---- What must come out */

/* Which mistakes a form can be given at all; the others leave the message as it is. */
static int shows(const struct message *m, enum form form)
{
	switch (m->spoil) {
	case NOTHING:
		return 0;
	case RESERVED:
		return form == BATCH;
	case NO_BODY:
	case TOO_LONG:
		return form != BUF && form != STREAM;
	case NO_PIECE:
		return form != BUF;
	default:
		return 1;
	}
}

/*
 * E_INVAL comes before all else. Only a stream sees the header before it sees that a piece is missing, and its length
 * after that.
 */
static int expected(const struct message *m, enum form form, int checked, int checked_without_length)
{
	if (!shows(m, form))
		return checked;
	if (form == STREAM && m->spoil == NO_PIECE)
		return checked_without_length ? checked_without_length : SMB3SIGN_E_INVAL;
	return SMB3SIGN_E_INVAL;
}

static int oracle_sign_unmeasured(const struct message *m)
{
	uint8_t hdr[64];

	memcpy(hdr, m->flat, 64);
	put_le32(hdr + 20, 0);
	return oracle_sign(m->key->alg, m->key->role, hdr, m->len);
}

static int oracle_verify_unmeasured(const struct message *m)
{
	uint8_t hdr[64];
	int err;

	memcpy(hdr, m->flat, 64);
	put_le32(hdr + 20, 0);
	err = oracle_verify_forged(m->key->alg, m->key->role, hdr, m->len);
	return err == SMB3SIGN_E_SIGNATURE || err == SMB3SIGN_E_UNSIGNED ? SMB3SIGN_OK : err;
}

static void require_bodies(const struct message *m)
{
	for (size_t i = 0; i < m->pieces; i++) {
		size_t end = i + 1 < m->pieces ? m->at[i + 1] : m->len;

		require(memcmp(m->piece[i], m->flat + m->at[i], end - m->at[i]) == 0);
	}
}

/* ---- Calling */

static void *header_of(const struct message *m)
{
	return m->spoil == NO_HEADER ? NULL : m->hdr;
}

static const smb3sign_iov *body_of(const struct message *m)
{
	return m->spoil == NO_BODY || !m->pieces ? NULL : m->body;
}

/* The context moves about in memory; it holds no pointer to itself. */
static void update(smb3sign_ctx *ctx, const struct message *m)
{
	for (size_t i = 0; i < m->pieces; i++) {
		smb3sign_ctx moved = *ctx;
		/* A length that cannot be is for calls that see all lengths at once. */
		size_t len = m->spoil == TOO_LONG ? (i + 1 < m->pieces ? m->at[i + 1] : m->len) - m->at[i]
						  : m->body[i].iov_len;

		memset(ctx, 0xa5, sizeof(*ctx));
		smb3sign_update(&moved, m->body[i].iov_base, len);
		*ctx = moved;
	}
}

static void require_wiped(const smb3sign_ctx *ctx)
{
	for (size_t i = 0; i < 64; i++)
		require(ctx->opaque[i] == 0);
}

/* SIGNED stays in the header whatever end says, if begin accepted it; the signature comes apart from it. */
static int sign_stream(const struct message *m)
{
	uint8_t sig[16], before[16];
	smb3sign_ctx ctx;
	int begun, err, was = m->hdr[16];

	memset(&ctx, 0x5a, sizeof(ctx));
	rng_fill(sig, sizeof(sig));
	memcpy(before, sig, sizeof(before));
	begun = smb3sign_sign_begin(&ctx, m->given, header_of(m));
	require(m->hdr[16] == (begun ? was : (was | 8)));
	update(&ctx, m);
	err = smb3sign_sign_end(&ctx, sig);
	require_wiped(&ctx);
	require(smb3sign_sign_end(&ctx, sig) == SMB3SIGN_E_INVAL);
	require(!begun || begun == err);
	if (err)
		require(memcmp(sig, before, 16) == 0);
	if (!err)
		memcpy(m->hdr + 48, sig, 16);
	else
		m->hdr[16] = (uint8_t)was;
	return err;
}

static int verify_stream(const struct message *m)
{
	smb3sign_ctx ctx;
	int begun, err;

	memset(&ctx, 0x5a, sizeof(ctx));
	begun = smb3sign_verify_begin(&ctx, m->given, header_of(m));
	update(&ctx, m);
	err = smb3sign_verify_end(&ctx);
	require_wiped(&ctx);
	require(smb3sign_verify_end(&ctx) == SMB3SIGN_E_INVAL);
	require(!begun || begun == err);
	return err;
}

/* compute writes where it is told to; the header must still be as it was. */
static int sign_compute(const struct message *m)
{
	uint8_t sig[16], before[16];
	int err;

	rng_fill(sig, sizeof(sig));
	memcpy(before, sig, sizeof(before));
	err = smb3sign_compute(m->given, header_of(m), body_of(m), m->pieces, sig);
	require(memcmp(m->hdr, m->flat, 64) == 0);
	if (err)
		require(memcmp(sig, before, 16) == 0);
	if (err)
		return err;
	memcpy(m->hdr + 48, sig, 16);
	m->hdr[16] |= 8;
	return SMB3SIGN_OK;
}

/* A copy in one piece; its header goes where the other forms leave theirs. */
static int on_buf(const struct message *m, int (*call)(const smb3sign_key *, void *, size_t))
{
	uint8_t *msg = exact_copy(m->flat, m->len, rng_below(16));
	int err = call(m->given, m->spoil == NO_HEADER ? NULL : msg, m->len);

	require(memcmp(msg + 64, m->flat + 64, m->len - 64) == 0);
	memcpy(m->hdr, msg, 64);
	exact_free(msg);
	return err;
}

static int verify_buf(const smb3sign_key *key, void *msg, size_t len)
{
	return smb3sign_verify_buf(key, msg, len);
}

/* Shorter than a header is the message's fault. */
static void short_buf(const struct message *m)
{
	size_t len = rng_below(64);
	uint8_t *msg = exact_copy(m->flat, len, rng_below(16));

	require(smb3sign_sign_buf(m->key->key, msg, len) == SMB3SIGN_E_MESSAGE);
	require(smb3sign_verify_buf(m->key->key, msg, len) == SMB3SIGN_E_MESSAGE);
	require(memcmp(msg, m->flat, len) == 0);
	exact_free(msg);
}

static int sign_one(const struct message *m, enum form form)
{
	switch (form) {
	case WHOLE:
		return smb3sign_sign(m->given, header_of(m), body_of(m), m->pieces);
	case BUF:
		return on_buf(m, smb3sign_sign_buf);
	case STREAM:
		return sign_stream(m);
	default:
		return sign_compute(m);
	}
}

static int verify_one(const struct message *m, enum form form)
{
	switch (form) {
	case WHOLE:
		return smb3sign_verify(m->given, header_of(m), body_of(m), m->pieces);
	case BUF:
		return on_buf(m, verify_buf);
	default:
		return verify_stream(m);
	}
}

static void call_batch(struct message *all, size_t n, int *results, int (*call)(smb3sign_msg *, size_t))
{
	smb3sign_msg *msgs = calloc(n, sizeof(*msgs));
	int got, first = SMB3SIGN_OK;

	require(msgs);
	for (size_t i = 0; i < n; i++)
		msgs[i] = (smb3sign_msg){.key = all[i].given,
					 .hdr = header_of(&all[i]),
					 .body = body_of(&all[i]),
					 .body_cnt = all[i].pieces,
					 .result = 12345,
					 .reserved = all[i].spoil == RESERVED};
	got = call(msgs, n);
	for (size_t i = 0; i < n; i++) {
		results[i] = msgs[i].result;
		first = first ? first : results[i];
	}
	require(got == first);
	free(msgs);
}

/* ---- Signing and verifying what was drawn */

/* The header that must be there afterwards. */
static void want_header(const struct message *m, int result, uint8_t hdr[64])
{
	uint8_t *copy;

	memcpy(hdr, m->flat, 64);
	if (result)
		return;
	copy = malloc(m->len);
	require(copy);
	memcpy(copy, m->flat, m->len);
	copy[16] |= 8;
	ref_signature(m->key->alg, m->key->raw, copy, m->len, copy + 48);
	memcpy(hdr, copy, 64);
	free(copy);
}

static void sign_all(struct message *m, size_t n, enum form form)
{
	int results[MAX_MESSAGES];
	uint8_t hdr[64];

	if (form == BATCH)
		call_batch(m, n, results, smb3sign_sign_batch);
	for (size_t i = 0; i < n; i++) {
		int want = oracle_sign(m[i].key->alg, m[i].key->role, m[i].flat, m[i].len);

		if (form != BATCH)
			results[i] = sign_one(&m[i], form);
		want = expected(&m[i], form, want, oracle_sign_unmeasured(&m[i]));
		require(results[i] == want);
		want_header(&m[i], want, hdr);
		require(memcmp(m[i].hdr, hdr, 64) == 0);
		require_bodies(&m[i]);
	}
}

/* The signature is right, or one bit of the message is not as signed, or all is as it was drawn. */
static void forge(struct input *in, struct message *m)
{
	unsigned how = take8(in);
	size_t bit = take16(in);

	if ((how & 3) != 3) {
		m->flat[16] = (uint8_t)(how & 4 ? m->flat[16] & ~8 : m->flat[16] | 8);
		ref_signature(m->key->alg, m->key->raw, m->flat, m->len, m->flat + 48);
	}
	if ((how & 3) == 1)
		bit = 8 * 48 + bit % 128;
	if ((how & 3) == 1 || (how & 3) == 2) {
		size_t at = bit / 8 % m->len;

		m->flat[at] ^= (uint8_t)(1u << bit % 8);
		for (size_t i = 0; i < m->pieces; i++)
			if (at >= m->at[i] && at < (i + 1 < m->pieces ? m->at[i + 1] : m->len))
				m->piece[i][at - m->at[i]] ^= (uint8_t)(1u << bit % 8);
	}
	memcpy(m->hdr, m->flat, 64);
}

static void verify_all(struct message *m, size_t n, enum form form)
{
	int results[MAX_MESSAGES];

	if (form == BATCH)
		call_batch(m, n, results, smb3sign_verify_batch);
	for (size_t i = 0; i < n; i++) {
		int want = oracle_verify(m[i].key->alg, m[i].key->raw, m[i].key->role, m[i].flat, m[i].len);

		if (form != BATCH)
			results[i] = verify_one(&m[i], form);
		require(results[i] == expected(&m[i], form, want, oracle_verify_unmeasured(&m[i])));
		require(memcmp(m[i].hdr, m[i].flat, 64) == 0);
		require_bodies(&m[i]);
	}
}

static void require_exempt(const struct message *m)
{
	require(smb3sign_exempt(m->key->alg, m->hdr) == oracle_exempt(m->key->alg, m->flat));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct message m[MAX_MESSAGES];
	struct input in = {data, size};
	enum form sign_form = take8(&in) % SIGN_FORMS, verify_form = take8(&in) % VERIFY_FORMS;
	const struct fuzz_key *common = NULL;
	size_t n = 1;

	seed_from_input(data, size);
	if (sign_form == BATCH || verify_form == BATCH) {
		n = 1 + take8(&in) % MAX_MESSAGES;
		common = take8(&in) & 1 ? take_key(&in) : NULL;
	}
	for (size_t i = 0; i < n; i++)
		draw_message(&in, &m[i], common);
	require_exempt(&m[0]);
	short_buf(&m[0]);
	sign_all(m, n, sign_form);
	for (size_t i = 0; i < n; i++)
		forge(&in, &m[i]);
	verify_all(m, n, verify_form);
	for (size_t i = 0; i < n; i++)
		free_message(&m[i]);
	return 0;
}
