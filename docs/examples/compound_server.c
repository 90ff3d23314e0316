/* SPDX-License-Identifier: MIT */
/*
 * A server answers a compound: the responses become ready one by one and are sent in one frame. None can be signed when
 * it is ready, for its NextCommand and its padding, which the signature covers, depend on whether another one follows.
 *
 *     compound_server hmac|cmac|gmac SIGNING_KEY < unsigned-responses, each a frame > the-one-frame
 */
#include "example.h"

enum { CHAIN_MAX = 16 };

/* The key belongs to the element, not to the chain: elements may be of several sessions. It must live until the end. */
struct chain {
	uint8_t frame[FRAME_MAX];
	size_t len, n;
	struct {
		size_t off;
		const smb3sign_key *key; /* NULL: it goes unsigned */
	} element[CHAIN_MAX];
};

/* A response is ready. Its header is final but for NextCommand, SIGNED and Signature. */
static int chain_add(struct chain *c, const smb3sign_key *key, unsigned state, const uint8_t *msg, size_t len)
{
	size_t off = (c->len + 7) & ~(size_t)7; /* elements begin at multiples of 8, MS-SMB2 3.3.4.1.3 */
	int sign = smb3sign_send_policy(SMB3SIGN_ROLE_SERVER, msg, state);

	if (sign < 0)
		return sign;
	if (c->n == CHAIN_MAX || off > sizeof(c->frame) || sizeof(c->frame) - off < len)
		return SMB3SIGN_E_INVAL;
	if (c->n > 0) {
		size_t last = c->element[c->n - 1].off;

		memset(c->frame + c->len, 0, off - c->len);
		put32(c->frame + last + HDR_NEXT, (uint32_t)(off - last));
	}
	memcpy(c->frame + off, msg, len);
	c->element[c->n].off = off;
	c->element[c->n].key = sign ? key : NULL;
	c->n++;
	c->len = off + len;
	return SMB3SIGN_OK;
}

/*
 * Nothing in the frame changes any more: sign all of it in one call, which works on several elements side by side.
 * If it fails nothing of the frame may be sent.
 */
static int chain_sign(struct chain *c)
{
	smb3sign_msg msgs[CHAIN_MAX];
	smb3sign_iov body[CHAIN_MAX];
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		uint8_t *hdr = c->frame + c->element[i].off;
		uint8_t *end = c->frame + (i + 1 < c->n ? c->element[i + 1].off : c->len);

		if (!c->element[i].key)
			continue;
		body[n] = (smb3sign_iov){hdr + SMB3SIGN_HEADER_LEN, (size_t)(end - hdr) - SMB3SIGN_HEADER_LEN};
		msgs[n] = (smb3sign_msg){.key = c->element[i].key, .hdr = hdr, .body = &body[n], .body_cnt = 1};
		n++;
	}
	return smb3sign_sign_batch(msgs, n);
}

int main(int argc, char **argv)
{
	static struct chain chain;
	static uint8_t msg[FRAME_MAX];
	smb3sign_key *key = key_of_arguments(argc, argv, SMB3SIGN_ROLE_SERVER);
	const unsigned state = SMB3SIGN_HAVE_SESSION | SMB3SIGN_HAVE_KEY | SMB3SIGN_REQUIRED;
	uint8_t prefix[PREFIX_LEN];
	size_t len;
	int err = SMB3SIGN_OK;

	while (!err && read_frame(msg, &len))
		err = len < SMB3SIGN_HEADER_LEN ? SMB3SIGN_E_MESSAGE : chain_add(&chain, key, state, msg, len);
	if (!err)
		err = chain.n ? chain_sign(&chain) : SMB3SIGN_E_MESSAGE;
	smb3sign_key_free(key);
	if (err)
		quit(smb3sign_strerror(err));
	put_prefix(prefix, chain.len);
	if (fwrite(prefix, 1, sizeof(prefix), stdout) != sizeof(prefix) ||
	    fwrite(chain.frame, 1, chain.len, stdout) != chain.len || fflush(stdout) != 0)
		quit("cannot write the frame");
	return 0;
}
