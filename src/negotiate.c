/* SPDX-License-Identifier: MIT */
/*
 * SMB2_SIGNING_CAPABILITIES in NEGOTIATE (MS-SMB2 2.2.3, 2.2.3.1, 2.2.3.1.7, 2.2.4). Everything read here comes from the
 * peer, before anything is authenticated: every offset and count is checked against the message first.
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

/* Where the contexts are. count 0: dialect 3.1.1 is not in play and the same bytes mean something else, or there are none. */
struct contexts {
	size_t offset, earliest;
	unsigned count;
};

static int read_request(struct contexts *c, const uint8_t *m, size_t len)
{
	unsigned dialects, offered = 0;

	if (len < REQ_DIALECTS || load_le16(m + BODY) != 36)
		return SMB3SIGN_E_MESSAGE;
	dialects = load_le16(m + REQ_DIALECT_COUNT);
	if (!dialects || (len - REQ_DIALECTS) / 2 < dialects)
		return SMB3SIGN_E_MESSAGE;
	for (unsigned i = 0; i < dialects; i++)
		offered |= load_le16(m + REQ_DIALECTS + 2 * i) == DIALECT_311;
	c->count = offered ? load_le16(m + REQ_CONTEXT_COUNT) : 0;
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
	c->count = load_le16(m + RSP_DIALECT) == DIALECT_311 ? load_le16(m + RSP_CONTEXT_COUNT) : 0;
	c->offset = load_le32(m + RSP_CONTEXT_OFFSET);
	c->earliest = buffer_len ? buffer + buffer_len : RSP_FIXED_END;
	return SMB3SIGN_OK;
}

/* Walk the list; the SIGNING context's Data, or NULL. Every context but the first starts at the next multiple of 8. */
static int walk(const struct contexts *c, const uint8_t *m, size_t len, const uint8_t **data, size_t *data_len)
{
	size_t off = c->offset;

	*data = NULL;
	*data_len = 0;
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
			if (*data)
				return SMB3SIGN_E_MESSAGE;
			*data = m + off + CTX_DATA;
			*data_len = n;
		}
		off += (CTX_DATA + n + 7) & ~(size_t)7;
	}
	return SMB3SIGN_OK;
}

int smb3sign_caps_find(const void *negotiate, size_t len, const void **data, size_t *data_len)
{
	const uint8_t *m = negotiate, *found;
	struct contexts contexts;
	size_t found_len;
	int err;

	if (!m || !data || !data_len)
		return SMB3SIGN_E_INVAL;
	if (len < SMB3SIGN_HEADER_LEN || !smb2_is_header(m) || smb2_command(m) != SMB2_NEGOTIATE)
		return SMB3SIGN_E_MESSAGE;
	err = smb2_is_response(m) ? read_response(&contexts, m, len) : read_request(&contexts, m, len);
	if (!err)
		err = walk(&contexts, m, len, &found, &found_len);
	if (err)
		return err;
	*data = found;
	*data_len = found_len;
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
	for (size_t i = 0; i < n_offered; i++) {
		if (offered[i] == chosen && chosen <= SMB3SIGN_AES_GMAC) {
			*alg = chosen;
			return SMB3SIGN_OK;
		}
	}
	return SMB3SIGN_E_UNSUPPORTED;
}
