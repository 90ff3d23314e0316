/* SPDX-License-Identifier: MIT */
/*
 * Whole messages: which are never signed, the checks in their order, and the MAC over header and body. The library owns
 * the zeroed Signature and the SIGNED flag: kernels leave out the one and or in the other while they read the header, so
 * nothing is written until the MAC is known.
 */
#include "message.h"

/* Up to this many bytes a body in several pieces is gathered, so that a small message is one call of one kernel. */
#define GATHER_MAX 256

int smb3sign_exempt(unsigned alg, const void *hdr)
{
	unsigned command;
	uint64_t mid;
	int response;

	if (!hdr)
		return SMB3SIGN_E_INVAL;
	if (alg > SMB3SIGN_AES_GMAC)
		return SMB3SIGN_E_UNSUPPORTED;
	if (!smb2_is_header(hdr))
		return SMB3SIGN_E_MESSAGE;
	command = smb2_command(hdr);
	mid = smb2_message_id(hdr);
	response = smb2_is_response(hdr);
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
static int direction_fits(const smb3sign_key *key, const uint8_t *hdr, enum smb3sign_task task)
{
	int by_server = task == TASK_SIGN ? key->role == SMB3SIGN_ROLE_SERVER : key->role == SMB3SIGN_ROLE_CLIENT;

	return key->role == SMB3SIGN_ROLE_ANY || smb2_is_response(hdr) == by_server;
}

int smb3sign_check_header(const smb3sign_key *key, const uint8_t *hdr, enum smb3sign_task task)
{
	int reason = smb3sign_exempt(key->alg, hdr);

	if (reason != SMB3SIGN_SIGNABLE)
		return reason < 0 ? reason : SMB3SIGN_E_EXEMPT;
	return direction_fits(key, hdr, task) ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE;
}

/* The body as a whole. */
struct extent {
	size_t len;
	const uint8_t *piece; /* the last segment that holds bytes; never NULL */
	size_t pieces;        /* how many do */
};

static int measure(struct extent *e, const smb3sign_iov *body, size_t cnt)
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

/* The MAC by steps: for kernels without a call for the whole message, and for large bodies in pieces. */
static void mac_by_steps(const smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags, const smb3sign_iov *body,
			 size_t cnt, uint8_t tag[16])
{
	uint8_t first[SMB3SIGN_HEADER_LEN] = {0};
	union mac_state st;

	memcpy(first, hdr, SMB2_SIGNATURE);
	first[SMB2_FLAGS] |= set_flags;
	key->mac->start(key, &st, first);
	for (size_t i = 0; i < cnt; i++)
		if (body[i].iov_len)
			key->mac->add(key, &st, body[i].iov_base, body[i].iov_len);
	key->mac->end(key, &st, tag);
	smb3sign_wipe(&st, sizeof(st));
}

static void mac_gathered(const smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags, const smb3sign_iov *body,
			 size_t cnt, uint8_t tag[16])
{
	uint8_t whole[GATHER_MAX];
	size_t len = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (!body[i].iov_len)
			continue;
		memcpy(whole + len, body[i].iov_base, body[i].iov_len);
		len += body[i].iov_len;
	}
	key->message(key, hdr, set_flags, whole, len, tag);
}

static void mac(const smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags, const smb3sign_iov *body, size_t cnt,
		const struct extent *e, uint8_t tag[16])
{
	if (!key->message)
		mac_by_steps(key, hdr, set_flags, body, cnt, tag);
	else if (e->pieces <= 1)
		key->message(key, hdr, set_flags, e->piece, e->len, tag);
	else if (e->len <= GATHER_MAX)
		mac_gathered(key, hdr, set_flags, body, cnt, tag);
	else
		mac_by_steps(key, hdr, set_flags, body, cnt, tag);
}

/* All checks of one message but those of measure, in the documented order. */
static int check(const smb3sign_key *key, const uint8_t *hdr, const struct extent *e, enum smb3sign_task task)
{
	int err = smb3sign_check_header(key, hdr, task);

	return err ? err : smb3sign_check_length(smb2_next_command(hdr), (uint64_t)SMB3SIGN_HEADER_LEN + e->len);
}

static int usable(const smb3sign_key *key, const void *hdr)
{
	return key && key->mac && hdr;
}

static int sign_measured(const smb3sign_key *key, uint8_t *hdr, const smb3sign_iov *body, size_t cnt,
			 const struct extent *e)
{
	int err = check(key, hdr, e, TASK_SIGN);

	if (err)
		return err;
	mac(key, hdr, SMB2_FLAGS_SIGNED, body, cnt, e, hdr + SMB2_SIGNATURE);
	hdr[SMB2_FLAGS] |= SMB2_FLAGS_SIGNED;
	return SMB3SIGN_OK;
}

static int verify_measured(const smb3sign_key *key, const uint8_t *hdr, const smb3sign_iov *body, size_t cnt,
			   const struct extent *e)
{
	uint8_t tag[SMB3SIGN_SIG_LEN];
	int err = check(key, hdr, e, TASK_VERIFY);

	if (err)
		return err;
	mac(key, hdr, 0, body, cnt, e, tag);
	err = smb3sign_judge(tag, hdr + SMB2_SIGNATURE, smb2_flags(hdr));
	smb3sign_wipe(tag, sizeof(tag)); /* the right signature of a forged message is worth having */
	return err;
}

int smb3sign_compute(const smb3sign_key *key, const void *hdr, const smb3sign_iov *body, size_t body_cnt, void *sig)
{
	struct extent e;
	int err = usable(key, hdr) && sig ? measure(&e, body, body_cnt) : SMB3SIGN_E_INVAL;

	if (!err)
		err = check(key, hdr, &e, TASK_SIGN);
	if (!err)
		mac(key, hdr, SMB2_FLAGS_SIGNED, body, body_cnt, &e, sig);
	return err;
}

int smb3sign_sign(const smb3sign_key *key, void *hdr, const smb3sign_iov *body, size_t body_cnt)
{
	struct extent e;
	int err = usable(key, hdr) ? measure(&e, body, body_cnt) : SMB3SIGN_E_INVAL;

	return err ? err : sign_measured(key, hdr, body, body_cnt, &e);
}

int smb3sign_verify(const smb3sign_key *key, const void *hdr, const smb3sign_iov *body, size_t body_cnt)
{
	struct extent e;
	int err = usable(key, hdr) ? measure(&e, body, body_cnt) : SMB3SIGN_E_INVAL;

	return err ? err : verify_measured(key, hdr, body, body_cnt, &e);
}

/* The body of a contiguous message; segment is its one segment, for keys whose kernels go by steps. */
static int measure_buf(struct extent *e, smb3sign_iov *segment, const uint8_t *msg, size_t len)
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
	struct extent e;
	int err = usable(key, msg) ? measure_buf(&e, &segment, msg, len) : SMB3SIGN_E_INVAL;

	return err ? err : sign_measured(key, msg, &segment, 1, &e);
}

int smb3sign_verify_buf(const smb3sign_key *key, const void *msg, size_t len)
{
	smb3sign_iov segment;
	struct extent e;
	int err = usable(key, msg) ? measure_buf(&e, &segment, msg, len) : SMB3SIGN_E_INVAL;

	return err ? err : verify_measured(key, msg, &segment, 1, &e);
}
