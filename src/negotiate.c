/* SPDX-License-Identifier: MIT */
/*
 * SMB2_SIGNING_CAPABILITIES in NEGOTIATE (MS-SMB2 2.2.3, 2.2.3.1, 2.2.3.1.7, 2.2.4). Everything read here comes from
 * the peer, before anything is authenticated: every offset and count is checked against the message first.
 */
#include "smb2.h"

enum {
	BODY = SMB3SIGN_HEADER_LEN,
	/* request, from the message's start */
	REQ_DIALECT_COUNT = BODY + 2,
	REQ_CONTEXT_OFFSET = BODY + 28,
	REQ_CONTEXT_COUNT = BODY + 32,
	REQ_DIALECTS = BODY + 36,
	/* response */
	RSP_DIALECT = BODY + 4,
	RSP_CONTEXT_COUNT = BODY + 6,
	RSP_BUFFER_OFFSET = BODY + 56,
	RSP_BUFFER_LENGTH = BODY + 58,
	RSP_CONTEXT_OFFSET = BODY + 60,
	RSP_FIXED_END = BODY + 64,
	/* one context */
	CTX_DATA_LENGTH = 2,
	CTX_DATA = 8,

	CONTEXT_SIGNING = 0x0008,
	DIALECT_311 = 0x0311
};

/* Where the contexts are. Without 3.1.1 the same bytes mean something else, and there are none. */
struct contexts {
	int is_311;
	unsigned count;
	size_t offset, earliest;
};

/* What there is of them: the SIGNING context's Data, or NULL; the end of the last one. */
struct found {
	const uint8_t *data;
	size_t data_len, end;
};

static size_t align_8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static int read_request(struct contexts *c, const uint8_t *m, size_t len)
{
	unsigned dialects;

	if (len < REQ_DIALECTS || load_le16(m + BODY) != 36)
		return SMB3SIGN_E_MESSAGE;
	dialects = load_le16(m + REQ_DIALECT_COUNT);
	if (!dialects || (len - REQ_DIALECTS) / 2 < dialects)
		return SMB3SIGN_E_MESSAGE;
	c->is_311 = 0;
	for (unsigned i = 0; i < dialects; i++)
		c->is_311 |= load_le16(m + REQ_DIALECTS + 2 * i) == DIALECT_311;
	c->count = c->is_311 ? load_le16(m + REQ_CONTEXT_COUNT) : 0;
	c->offset = load_le32(m + REQ_CONTEXT_OFFSET);
	c->earliest = REQ_DIALECTS + 2 * (size_t)dialects;
	return SMB3SIGN_OK;
}

static int read_response(struct contexts *c, const uint8_t *m, size_t len)
{
	size_t buffer, buffer_len;

	if (len < RSP_FIXED_END || load_le16(m + BODY) != 65)
		return SMB3SIGN_E_MESSAGE;
	buffer = load_le16(m + RSP_BUFFER_OFFSET);
	buffer_len = load_le16(m + RSP_BUFFER_LENGTH);
	if (buffer_len && (buffer < RSP_FIXED_END || buffer > len || len - buffer < buffer_len))
		return SMB3SIGN_E_MESSAGE;
	c->is_311 = load_le16(m + RSP_DIALECT) == DIALECT_311;
	c->count = c->is_311 ? load_le16(m + RSP_CONTEXT_COUNT) : 0;
	c->offset = load_le32(m + RSP_CONTEXT_OFFSET);
	c->earliest = buffer_len ? buffer + buffer_len : RSP_FIXED_END;
	return SMB3SIGN_OK;
}

/* Walk the list. Every context but the first starts at the next multiple of 8. */
static int walk(const struct contexts *c, const uint8_t *m, size_t len, struct found *found)
{
	size_t off = c->offset;

	found->data = NULL;
	found->data_len = 0;
	found->end = c->earliest;
	if (c->count && (off % 8 || off < c->earliest))
		return SMB3SIGN_E_MESSAGE;
	for (unsigned i = 0; i < c->count; i++) {
		size_t n;

		if (off > len || len - off < CTX_DATA)
			return SMB3SIGN_E_MESSAGE;
		n = load_le16(m + off + CTX_DATA_LENGTH);
		if (len - off - CTX_DATA < n)
			return SMB3SIGN_E_MESSAGE;
		if (load_le16(m + off) == CONTEXT_SIGNING) {
			if (found->data)
				return SMB3SIGN_E_MESSAGE;
			found->data = m + off + CTX_DATA;
			found->data_len = n;
		}
		found->end = off + CTX_DATA + n;
		off = align_8(found->end);
	}
	return SMB3SIGN_OK;
}

static int read_negotiate(struct contexts *contexts, struct found *found, const uint8_t *m, size_t len)
{
	int err;

	if (len < SMB3SIGN_HEADER_LEN || !smb2_is_header(m) || smb2_command(m) != SMB2_NEGOTIATE)
		return SMB3SIGN_E_MESSAGE;
	err = smb2_is_response(m) ? read_response(contexts, m, len) : read_request(contexts, m, len);
	return err ? err : walk(contexts, m, len, found);
}

int smb3sign_caps_find(const void *negotiate, size_t len, const void **data, size_t *data_len)
{
	struct contexts contexts;
	struct found found;
	int err;

	if (!negotiate || !data || !data_len)
		return SMB3SIGN_E_INVAL;
	err = read_negotiate(&contexts, &found, negotiate, len);
	if (err)
		return err;
	*data = found.data;
	*data_len = found.data_len;
	return SMB3SIGN_OK;
}

/* A list of ours: no unknown ids, none twice. */
static int check_ids(const uint16_t *algs, size_t n)
{
	unsigned seen = 0;

	if (!algs || !n)
		return SMB3SIGN_E_INVAL;
	for (size_t i = 0; i < n; i++) {
		if (algs[i] > SMB3SIGN_AES_GMAC)
			return SMB3SIGN_E_UNSUPPORTED;
		if (seen >> algs[i] & 1)
			return SMB3SIGN_E_INVAL;
		seen |= 1u << algs[i];
	}
	return SMB3SIGN_OK;
}

/* n is three at most. */
static size_t data_size(size_t n)
{
	return 2 + 2 * n;
}

static void put_ids(uint8_t *p, const uint16_t *algs, size_t n)
{
	store_le16(p, (uint16_t)n);
	for (size_t i = 0; i < n; i++)
		store_le16(p + 2 + 2 * i, algs[i]);
}

int smb3sign_caps_encode(const uint16_t *algs, size_t n, void *out, size_t *out_len)
{
	int err = out && out_len ? check_ids(algs, n) : SMB3SIGN_E_INVAL;

	if (err)
		return err;
	if (*out_len < data_size(n))
		return SMB3SIGN_E_INVAL;
	put_ids(out, algs, n);
	*out_len = data_size(n);
	return SMB3SIGN_OK;
}

int smb3sign_caps_append(void *negotiate, size_t *len, size_t cap, const uint16_t *algs, size_t n)
{
	uint8_t *m = negotiate, *context;
	struct contexts contexts;
	struct found found;
	size_t at;
	int err = m && len && *len <= cap ? check_ids(algs, n) : SMB3SIGN_E_INVAL;

	if (!err)
		err = read_negotiate(&contexts, &found, m, *len);
	if (err)
		return err;
	/* Where the list ends the message may end, padded or not; nothing may stand behind it. */
	if (!contexts.is_311 || found.data || contexts.count == UINT16_MAX || *len > align_8(found.end))
		return SMB3SIGN_E_MESSAGE;
	at = align_8(*len);
	if (at > cap || cap - at < CTX_DATA + data_size(n))
		return SMB3SIGN_E_INVAL;

	memset(m + *len, 0, at - *len);
	context = m + at;
	memset(context, 0, CTX_DATA);
	store_le16(context, CONTEXT_SIGNING);
	store_le16(context + CTX_DATA_LENGTH, (uint16_t)data_size(n));
	put_ids(context + CTX_DATA, algs, n);
	if (smb2_is_response(m))
		store_le16(m + RSP_CONTEXT_COUNT, (uint16_t)(contexts.count + 1));
	else
		store_le16(m + REQ_CONTEXT_COUNT, (uint16_t)(contexts.count + 1));
	if (!contexts.count)
		store_le32(m + (smb2_is_response(m) ? RSP_CONTEXT_OFFSET : REQ_CONTEXT_OFFSET), (uint32_t)at);
	*len = at + CTX_DATA + data_size(n);
	return SMB3SIGN_OK;
}

static int is_listed(const uint16_t *algs, size_t n, unsigned alg)
{
	while (n--)
		if (algs[n] == alg)
			return 1;
	return 0;
}

/* Whether an id is among the first `count` of a list as on the wire. */
static int is_offered(const uint8_t *ids, unsigned count, unsigned alg)
{
	while (count--)
		if (load_le16(ids + 2 * count) == alg)
			return 1;
	return 0;
}

int smb3sign_caps_choose(const void *data, size_t len, const uint16_t *mine, size_t n_mine, unsigned *alg, int *matched)
{
	const uint8_t *p = data;
	unsigned chosen = SMB3SIGN_AES_CMAC, count = 0;
	int common = 0;

	if (!mine || !alg || !matched)
		return SMB3SIGN_E_INVAL;
	for (size_t i = 0; i < n_mine; i++)
		if (mine[i] > SMB3SIGN_AES_GMAC)
			return SMB3SIGN_E_INVAL;
	if (p) {
		count = len < 2 ? 0 : load_le16(p);
		if (!count || (len - 2) / 2 < count)
			return SMB3SIGN_E_MESSAGE;
	}
	for (size_t i = 0; i < n_mine && !common; i++) {
		common = count && is_offered(p + 2, count, mine[i]);
		if (common)
			chosen = mine[i];
	}
	if (!is_listed(mine, n_mine, chosen))
		return SMB3SIGN_E_UNSUPPORTED;
	*alg = chosen;
	*matched = common;
	return SMB3SIGN_OK;
}

int smb3sign_caps_accept(const void *data, size_t len, const uint16_t *offered, size_t n_offered, unsigned *alg)
{
	unsigned chosen = SMB3SIGN_AES_CMAC;

	if (!offered || !alg)
		return SMB3SIGN_E_INVAL;
	if (data) {
		const uint8_t *ids = (const uint8_t *)data + 2;

		if (len < 4 || load_le16(data) != 1)
			return SMB3SIGN_E_MESSAGE;
		chosen = load_le16(ids);
	}
	if (chosen > SMB3SIGN_AES_GMAC || !is_listed(offered, n_offered, chosen))
		return SMB3SIGN_E_UNSUPPORTED;
	*alg = chosen;
	return SMB3SIGN_OK;
}
