/* SPDX-License-Identifier: MIT */
/*
 * Whole messages: which are never signed, the checks in their order, and the MAC over header and body. The library owns
 * the zeroed Signature and the SIGNED flag: kernels leave out the one and or in the other while they read the header,
 * so nothing is written until the MAC is known.
 */
#include "message.h"

int smb3sign_exempt(unsigned alg, const void *hdr)
{
	if (!hdr)
		return SMB3SIGN_E_INVAL;
	if (alg > SMB3SIGN_AES_GMAC)
		return SMB3SIGN_E_UNSUPPORTED;
	return smb2_is_header(hdr) ? smb3sign_exempt_reason(alg, hdr) : SMB3SIGN_E_MESSAGE;
}

struct smb3sign_tag smb3sign_mac_by_steps(const smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
					  const smb3sign_iov *body, size_t cnt)
{
	uint8_t first[SMB3SIGN_HEADER_LEN] = {0}, bytes[SMB3SIGN_SIG_LEN];
	struct smb3sign_tag tag;
	union mac_state st;

	memcpy(first, hdr, SMB2_SIGNATURE);
	first[SMB2_FLAGS] |= set_flags;
	key->mac->start(key, &st, first);
	for (size_t i = 0; i < cnt; i++)
		if (body[i].iov_len)
			key->mac->add(key, &st, body[i].iov_base, body[i].iov_len);
	key->mac->end(key, &st, bytes);
	memcpy(&tag, bytes, sizeof(tag));
	smb3sign_wipe(&st, sizeof(st));
	smb3sign_wipe(bytes, sizeof(bytes));
	return tag;
}

struct smb3sign_tag smb3sign_mac_gathered(const smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
					  const smb3sign_iov *body, size_t cnt)
{
	uint8_t whole[SMB3SIGN_GATHER_MAX];
	size_t len = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (!body[i].iov_len)
			continue;
		memcpy(whole + len, body[i].iov_base, body[i].iov_len);
		len += body[i].iov_len;
	}
	return key->message(key, hdr, set_flags, whole, len);
}

int smb3sign_compute(const smb3sign_key *key, const void *hdr, const smb3sign_iov *body, size_t body_cnt, void *sig)
{
	struct smb3sign_tag tag;
	struct smb3sign_extent e;
	int err = smb3sign_usable(key, hdr) && sig ? smb3sign_measure(&e, body, body_cnt) : SMB3SIGN_E_INVAL;

	if (!err)
		err = smb3sign_check(key, hdr, &e, TASK_SIGN);
	if (err)
		return err;
	tag = smb3sign_mac(key, hdr, SMB2_FLAGS_SIGNED, body, body_cnt, &e);
	memcpy(sig, &tag, sizeof(tag));
	return SMB3SIGN_OK;
}

int smb3sign_sign(const smb3sign_key *key, void *hdr, const smb3sign_iov *body, size_t body_cnt)
{
	return smb3sign_sign_message(key, hdr, body, body_cnt);
}

int smb3sign_verify(const smb3sign_key *key, const void *hdr, const smb3sign_iov *body, size_t body_cnt)
{
	return smb3sign_verify_message(key, hdr, body, body_cnt);
}

/* The body of a contiguous message; segment is its one segment, for keys whose kernels go by steps. */
INLINE int measure_buf(struct smb3sign_extent *e, smb3sign_iov *segment, const uint8_t *msg, size_t len)
{
	if (len < SMB3SIGN_HEADER_LEN)
		return SMB3SIGN_E_MESSAGE;
	e->len = len - SMB3SIGN_HEADER_LEN;
	e->piece = msg + SMB3SIGN_HEADER_LEN;
	e->pieces = 1;
	segment->iov_base = (void *)(uintptr_t)e->piece; /* an iovec has no const; it is only read */
	segment->iov_len = e->len;
	return SMB3SIGN_OK;
}

int smb3sign_sign_buf(const smb3sign_key *key, void *msg, size_t len)
{
	smb3sign_iov segment;
	struct smb3sign_extent e;
	int err = smb3sign_usable(key, msg) ? measure_buf(&e, &segment, msg, len) : SMB3SIGN_E_INVAL;

	return err ? err : smb3sign_sign_measured(key, msg, &segment, 1, &e);
}

int smb3sign_verify_buf(const smb3sign_key *key, const void *msg, size_t len)
{
	smb3sign_iov segment;
	struct smb3sign_extent e;
	int err = smb3sign_usable(key, msg) ? measure_buf(&e, &segment, msg, len) : SMB3SIGN_E_INVAL;

	return err ? err : smb3sign_verify_measured(key, msg, &segment, 1, &e);
}
