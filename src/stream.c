/* SPDX-License-Identifier: MIT */
/*
 * The same as message.c while the body arrives. The caller's context holds the MAC's state, a pointer to the key, and
 * what is still needed of the header: NextCommand for the length check; Flags and Signature to judge by.
 */
#include "message.h"

enum { STREAM_SIGN = 0x6e676973, STREAM_VERIFY = 0x66726576 }; /* unlike anything stale memory is likely to hold */

struct
#ifdef __GNUC__
	__attribute__((may_alias)) /* it lives in memory that the caller declared as uint64_t */
#endif
	stream {
	uint32_t kind;
	int32_t err; /* of begin or update; end repeats it */
	const smb3sign_key *key;
	uint64_t body_len;
	uint32_t next_command;
	uint32_t flags;
	uint8_t signature[SMB3SIGN_SIG_LEN];
	union mac_state mac;
};
_Static_assert(sizeof(struct stream) <= sizeof(smb3sign_ctx), "smb3sign_ctx is too small");

static struct stream *stream_of(smb3sign_ctx *ctx)
{
	return (struct stream *)(void *)ctx;
}

/* Wipes what may be half a MAC and leaves only the error for end. */
static void fail(struct stream *s, int err)
{
	uint32_t kind = s->kind;

	smb3sign_wipe(s, sizeof(smb3sign_ctx));
	s->kind = kind;
	s->err = err;
}

static int begin(struct stream *s, const smb3sign_key *key, const uint8_t *hdr, enum smb3sign_task task)
{
	uint8_t first[SMB3SIGN_HEADER_LEN] = {0};
	int err;

	s->kind = task == TASK_SIGN ? STREAM_SIGN : STREAM_VERIFY;
	err = key && key->mac && hdr ? smb3sign_check_header(key, hdr, task) : SMB3SIGN_E_INVAL;
	if (err) {
		fail(s, err);
		return err;
	}
	memcpy(first, hdr, SMB2_SIGNATURE);
	if (task == TASK_SIGN)
		first[SMB2_FLAGS] |= SMB2_FLAGS_SIGNED;
	s->err = SMB3SIGN_OK;
	s->key = key;
	s->body_len = 0;
	s->next_command = smb2_next_command(hdr);
	s->flags = smb2_flags(hdr);
	memcpy(s->signature, hdr + SMB2_SIGNATURE, sizeof(s->signature));
	key->mac->start(key, &s->mac, first);
	return SMB3SIGN_OK;
}

int smb3sign_sign_begin(smb3sign_ctx *ctx, const smb3sign_key *key, void *hdr)
{
	int err = ctx ? begin(stream_of(ctx), key, hdr, TASK_SIGN) : SMB3SIGN_E_INVAL;

	if (!err)
		((uint8_t *)hdr)[SMB2_FLAGS] |= SMB2_FLAGS_SIGNED;
	return err;
}

int smb3sign_verify_begin(smb3sign_ctx *ctx, const smb3sign_key *key, const void *hdr)
{
	return ctx ? begin(stream_of(ctx), key, hdr, TASK_VERIFY) : SMB3SIGN_E_INVAL;
}

void smb3sign_update(smb3sign_ctx *ctx, const void *data, size_t len)
{
	struct stream *s = ctx ? stream_of(ctx) : NULL;

	if (!s || (s->kind != STREAM_SIGN && s->kind != STREAM_VERIFY) || s->err || !len)
		return;
	if (!data) {
		fail(s, SMB3SIGN_E_INVAL);
		return;
	}
	s->body_len += len;
	s->key->mac->add(s->key, &s->mac, data, len);
}

/* The tag, or why there is none. The caller wipes the context whatever comes. */
static int end(struct stream *s, uint32_t kind, uint8_t tag[16])
{
	int err;

	if (s->kind != kind)
		return SMB3SIGN_E_INVAL;
	err = s->err ? s->err : smb3sign_check_length(s->next_command, SMB3SIGN_HEADER_LEN + s->body_len);
	if (!err)
		s->key->mac->end(s->key, &s->mac, tag);
	return err;
}

int smb3sign_sign_end(smb3sign_ctx *ctx, void *sig)
{
	int err;

	if (!ctx)
		return SMB3SIGN_E_INVAL;
	err = sig ? end(stream_of(ctx), STREAM_SIGN, sig) : SMB3SIGN_E_INVAL;
	smb3sign_abort(ctx);
	return err;
}

int smb3sign_verify_end(smb3sign_ctx *ctx)
{
	struct stream *s = ctx ? stream_of(ctx) : NULL;
	struct smb3sign_tag tag;
	int err;

	if (!ctx)
		return SMB3SIGN_E_INVAL;
	err = end(s, STREAM_VERIFY, (uint8_t *)tag.word);
	if (!err)
		err = smb3sign_judge(&tag, s->signature, s->flags);
	smb3sign_wipe(&tag, sizeof(tag));
	smb3sign_abort(ctx);
	return err;
}

void smb3sign_abort(smb3sign_ctx *ctx)
{
	if (ctx)
		smb3sign_wipe(ctx, sizeof(*ctx));
}
