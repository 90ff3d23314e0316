/* SPDX-License-Identifier: MIT */
/* Many messages in one call, of any mixture, each with its own result; the first failure is the call's. */
#include "key.h"

static int run(smb3sign_msg *msgs, size_t n, int (*one)(const smb3sign_msg *m))
{
	int first = SMB3SIGN_OK;

	if (!msgs && n)
		return SMB3SIGN_E_INVAL;
	for (size_t i = 0; i < n; i++) {
		msgs[i].result = msgs[i].reserved ? SMB3SIGN_E_INVAL : one(&msgs[i]);
		if (!first)
			first = msgs[i].result;
	}
	return first;
}

static int sign_one(const smb3sign_msg *m)
{
	return smb3sign_sign(m->key, m->hdr, m->body, m->body_cnt);
}

static int verify_one(const smb3sign_msg *m)
{
	return smb3sign_verify(m->key, m->hdr, m->body, m->body_cnt);
}

int smb3sign_sign_batch(smb3sign_msg *msgs, size_t n)
{
	return run(msgs, n, sign_one);
}

int smb3sign_verify_batch(smb3sign_msg *msgs, size_t n)
{
	return run(msgs, n, verify_one);
}

size_t smb3sign_batch_width(const smb3sign_key *key)
{
	return key && key->mac ? 1 : 0;
}
