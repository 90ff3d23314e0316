/* SPDX-License-Identifier: MIT */
/*
 * The preauthentication integrity hash of SMB 3.1.1 (MS-SMB2 3.1.4.4.1): a chain of SHA-512 (FIPS 180-4), and which
 * messages go into it.
 */
#include "kernels.h"
#include "smb2.h"

enum {
	BLOCK = 128,
	/* NEGOTIATE response: DialectRevision, two bytes at offset 4 of the body (MS-SMB2 2.2.4). */
	DIALECT_REVISION = SMB3SIGN_HEADER_LEN + 4,
	HEAD_LEN = DIALECT_REVISION + 2
};

struct sha512_state {
	const struct smb3sign_sha512 *kernel;
	uint64_t h[8];
	uint64_t len;
	uint8_t buf[BLOCK]; /* len % BLOCK bytes wait here */
};

static void sha512_add(struct sha512_state *s, const uint8_t *p, size_t len)
{
	size_t used = s->len % BLOCK, room = BLOCK - used;

	s->len += len;
	if (used && len >= room) {
		memcpy(s->buf + used, p, room);
		s->kernel->blocks(s->h, s->buf, 1);
		p += room;
		len -= room;
		used = 0;
	}
	if (!used && len >= BLOCK) {
		s->kernel->blocks(s->h, p, len / BLOCK);
		p += len & ~(size_t)(BLOCK - 1);
		len %= BLOCK;
	}
	if (len)
		memcpy(s->buf + used, p, len);
}

/* FIPS 180-4 5.1.2: a 1 bit, zeros, the length in bits as 128 bits big-endian. */
static void sha512_end(struct sha512_state *s, uint8_t out[64])
{
	size_t used = s->len % BLOCK;

	s->buf[used++] = 0x80;
	if (used > BLOCK - 16) {
		memset(s->buf + used, 0, BLOCK - used);
		s->kernel->blocks(s->h, s->buf, 1);
		used = 0;
	}
	memset(s->buf + used, 0, BLOCK - used);
	store_be64(s->buf + BLOCK - 16, s->len >> 61);
	store_be64(s->buf + BLOCK - 8, s->len << 3);
	s->kernel->blocks(s->h, s->buf, 1);
	for (size_t i = 0; i < 8; i++)
		store_be64(out + 8 * i, s->h[i]);
}

/* The first bytes of a message in any segmentation, HEAD_LEN at most; how many there are, or E_INVAL. */
static int read_head(uint8_t head[HEAD_LEN], const smb3sign_iov *msg, size_t cnt)
{
	size_t got = 0;

	for (size_t i = 0; i < cnt; i++) {
		size_t n = HEAD_LEN - got;

		if (!msg[i].iov_len)
			continue;
		if (!msg[i].iov_base)
			return SMB3SIGN_E_INVAL;
		if (n > msg[i].iov_len)
			n = msg[i].iov_len;
		memcpy(head + got, msg[i].iov_base, n);
		got += n;
	}
	return (int)got;
}

/* MS-SMB2 3.2.5.2, 3.2.5.3, 3.3.5.4, 3.3.5.5: what of an exchange is hashed. */
static int is_hashed(const uint8_t *head, int len)
{
	switch (smb2_command(head)) {
	case SMB2_NEGOTIATE:
		/* Dialect 0x02FF answers an SMB1 negotiate: the SMB2 exchange that counts follows it. */
		return !smb2_is_response(head) || len < HEAD_LEN || load_le16(head + DIALECT_REVISION) != 0x02ff;
	case SMB2_SESSION_SETUP:
		return !smb2_is_response(head) || smb2_status(head) == STATUS_MORE_PROCESSING_REQUIRED;
	default:
		return 0;
	}
}

void smb3sign_preauth_init(smb3sign_preauth *p)
{
	if (p)
		memset(p, 0, sizeof(*p));
}

int smb3sign_preauth_update(smb3sign_preauth *p, const smb3sign_iov *msg, size_t cnt)
{
	struct sha512_state s = {.kernel = smb3sign_best_sha512()};
	uint8_t head[HEAD_LEN];
	int len;

	if (!p || (!msg && cnt))
		return SMB3SIGN_E_INVAL;
	len = read_head(head, msg, cnt);
	if (len < 0)
		return len;
	if (len < SMB3SIGN_HEADER_LEN || !smb2_is_header(head))
		return SMB3SIGN_E_MESSAGE;
	if (!is_hashed(head, len))
		return SMB3SIGN_E_EXEMPT;
	memcpy(s.h, smb3sign_sha512_iv, sizeof(s.h));
	sha512_add(&s, p->hash, sizeof(p->hash));
	for (size_t i = 0; i < cnt; i++)
		if (msg[i].iov_len)
			sha512_add(&s, msg[i].iov_base, msg[i].iov_len);
	sha512_end(&s, p->hash);
	return SMB3SIGN_OK;
}
