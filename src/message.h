/* SPDX-License-Identifier: MIT */
/*
 * Which messages may be signed or verified with a key: what message.c, batch.c, stream.c and frame.c share. They are
 * inline because a 64-byte message takes about 60 cycles, and calls would be a fifth of them.
 */
#ifndef SMB3SIGN_MESSAGE_H
#define SMB3SIGN_MESSAGE_H

#include "key.h"
#include "smb2.h"

enum smb3sign_task { TASK_SIGN, TASK_VERIFY };

/* Why a message with this SMB2 header is never signed (SMB3SIGN_EXEMPT_...), or SMB3SIGN_SIGNABLE. */
INLINE int smb3sign_exempt_reason(unsigned alg, const uint8_t *hdr)
{
	unsigned command = smb2_command(hdr);
	uint64_t mid = smb2_message_id(hdr);
	int response = smb2_is_response(hdr);

	if (command == SMB2_NEGOTIATE)
		return SMB3SIGN_EXEMPT_NEGOTIATE;
	if (smb2_session_id(hdr) == 0)
		return SMB3SIGN_EXEMPT_SESSION0;
	/* In a request these bytes are ChannelSequence, which may read the same. */
	if (response && smb2_status(hdr) == STATUS_PENDING)
		return SMB3SIGN_EXEMPT_INTERIM;
	if (mid == UINT64_MAX)
		return response && command == SMB2_OPLOCK_BREAK ? SMB3SIGN_EXEMPT_BREAK : SMB3SIGN_EXEMPT_MID_MAX;
	/* Windows clients cancel an async request by AsyncId with MessageId 0 (MS-SMB2 3.2.4.24), but not under GMAC,
	 * where the MessageId is the nonce. */
	if (mid == 0 && (alg == SMB3SIGN_AES_GMAC || response || command != SMB2_CANCEL))
		return SMB3SIGN_EXEMPT_MID0;
	if (response && command == SMB2_CANCEL)
		return SMB3SIGN_EXEMPT_CANCEL_RESPONSE;
	return SMB3SIGN_SIGNABLE;
}

/* CLIENT signs requests and verifies responses, SERVER the other way round. */
INLINE int smb3sign_direction_fits(const smb3sign_key *key, const uint8_t *hdr, enum smb3sign_task task)
{
	int by_server = task == TASK_SIGN ? key->role == SMB3SIGN_ROLE_SERVER : key->role == SMB3SIGN_ROLE_CLIENT;

	return key->role == SMB3SIGN_ROLE_ANY || smb2_is_response(hdr) == by_server;
}

/*
 * The header alone: E_MESSAGE (no SMB2 header), E_EXEMPT, E_MESSAGE (direction), in this order. hdr may be any 64
 * bytes.
 */
INLINE int smb3sign_check_header(const smb3sign_key *key, const uint8_t *hdr, enum smb3sign_task task)
{
	if (!smb2_is_header(hdr))
		return SMB3SIGN_E_MESSAGE;
	if (smb3sign_exempt_reason(key->alg, hdr) != SMB3SIGN_SIGNABLE)
		return SMB3SIGN_E_EXEMPT;
	return smb3sign_direction_fits(key, hdr, task) ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE;
}

/* NextCommand, where there is one, is the length of the message (MS-SMB2 3.2.4.1.4): E_MESSAGE if it is not. */
static inline int smb3sign_check_length(uint32_t next_command, uint64_t message_len)
{
	return next_command && next_command != message_len ? SMB3SIGN_E_MESSAGE : SMB3SIGN_OK;
}

/* The body as a whole. */
struct smb3sign_extent {
	size_t len;
	const uint8_t *piece; /* the last segment that holds bytes; never NULL */
	size_t pieces;        /* how many do */
};

INLINE int smb3sign_measure(struct smb3sign_extent *e, const smb3sign_iov *body, size_t cnt)
{
	e->len = 0;
	e->piece = (const uint8_t *)"";
	e->pieces = 0;
	if (!body && cnt)
		return SMB3SIGN_E_INVAL;
	for (size_t i = 0; i < cnt; i++) {
		if (!body[i].iov_len)
			continue;
		if (!body[i].iov_base || body[i].iov_len > SIZE_MAX - SMB3SIGN_HEADER_LEN - e->len)
			return SMB3SIGN_E_INVAL;
		e->len += body[i].iov_len;
		e->piece = body[i].iov_base;
		e->pieces++;
	}
	return SMB3SIGN_OK;
}

INLINE int smb3sign_usable(const smb3sign_key *key, const void *hdr)
{
	return key && key->mac && hdr;
}

/* All checks of a measured message, in the documented order. */
INLINE int smb3sign_check(const smb3sign_key *key, const uint8_t *hdr, const struct smb3sign_extent *e,
			  enum smb3sign_task task)
{
	int err = smb3sign_check_header(key, hdr, task);

	return err ? err : smb3sign_check_length(smb2_next_command(hdr), (uint64_t)SMB3SIGN_HEADER_LEN + e->len);
}

/* What SIGNED counts as in the MAC: a signer sets it, a verifier takes it as it is. */
INLINE uint8_t smb3sign_set_flags(enum smb3sign_task task)
{
	return task == TASK_SIGN ? SMB2_FLAGS_SIGNED : 0;
}

INLINE void smb3sign_put_signature(uint8_t *hdr, const struct smb3sign_tag *tag)
{
	memcpy(hdr + SMB2_SIGNATURE, tag, sizeof(*tag));
	hdr[SMB2_FLAGS] |= SMB2_FLAGS_SIGNED;
}

/* The verdict over a message whose MAC is *tag. */
INLINE int smb3sign_judge(const struct smb3sign_tag *tag, const uint8_t *signature, uint32_t flags)
{
	if (equal_16(tag, signature))
		return SMB3SIGN_OK;
	return flags & SMB2_FLAGS_SIGNED ? SMB3SIGN_E_SIGNATURE : SMB3SIGN_E_UNSIGNED;
}

/* Up to this many bytes a body in several pieces is gathered, so that a small message is one call of one kernel. */
enum { SMB3SIGN_GATHER_MAX = 256 };

/*
 * The MAC by steps: for kernels without a call for the whole message, and for large bodies in pieces. This and the next
 * are not inline, so that the others need no room on the stack.
 */
struct smb3sign_tag smb3sign_mac_by_steps(const smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
					  const smb3sign_iov *body, size_t cnt);
struct smb3sign_tag smb3sign_mac_gathered(const smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
					  const smb3sign_iov *body, size_t cnt);

INLINE struct smb3sign_tag smb3sign_mac(const smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
					const smb3sign_iov *body, size_t cnt, const struct smb3sign_extent *e)
{
	if (!key->message)
		return smb3sign_mac_by_steps(key, hdr, set_flags, body, cnt);
	if (e->pieces <= 1)
		return key->message(key, hdr, set_flags, e->piece, e->len);
	if (e->len <= SMB3SIGN_GATHER_MAX)
		return smb3sign_mac_gathered(key, hdr, set_flags, body, cnt);
	return smb3sign_mac_by_steps(key, hdr, set_flags, body, cnt);
}

/* Apart from the next one: a tag that is wiped, be it in a branch not taken, gcc keeps in memory and waits for. */
INLINE int smb3sign_sign_measured(const smb3sign_key *key, uint8_t *hdr, const smb3sign_iov *body, size_t cnt,
				  const struct smb3sign_extent *e)
{
	struct smb3sign_tag tag;
	int err = smb3sign_check(key, hdr, e, TASK_SIGN);

	if (err)
		return err;
	tag = smb3sign_mac(key, hdr, SMB2_FLAGS_SIGNED, body, cnt, e);
	smb3sign_put_signature(hdr, &tag);
	return SMB3SIGN_OK;
}

INLINE int smb3sign_verify_measured(const smb3sign_key *key, const uint8_t *hdr, const smb3sign_iov *body, size_t cnt,
				    const struct smb3sign_extent *e)
{
	struct smb3sign_tag tag;
	int err = smb3sign_check(key, hdr, e, TASK_VERIFY);

	if (err)
		return err;
	tag = smb3sign_mac(key, hdr, 0, body, cnt, e);
	err = smb3sign_judge(&tag, hdr + SMB2_SIGNATURE, smb2_flags(hdr));
	smb3sign_wipe(&tag, sizeof(tag)); /* the right signature of a forged message is worth having */
	return err;
}

/* smb3sign_sign and smb3sign_verify. */
INLINE int smb3sign_sign_message(const smb3sign_key *key, uint8_t *hdr, const smb3sign_iov *body, size_t cnt)
{
	struct smb3sign_extent e;
	int err = smb3sign_usable(key, hdr) ? smb3sign_measure(&e, body, cnt) : SMB3SIGN_E_INVAL;

	return err ? err : smb3sign_sign_measured(key, hdr, body, cnt, &e);
}

INLINE int smb3sign_verify_message(const smb3sign_key *key, const uint8_t *hdr, const smb3sign_iov *body, size_t cnt)
{
	struct smb3sign_extent e;
	int err = smb3sign_usable(key, hdr) ? smb3sign_measure(&e, body, cnt) : SMB3SIGN_E_INVAL;

	return err ? err : smb3sign_verify_measured(key, hdr, body, cnt, &e);
}

#endif
