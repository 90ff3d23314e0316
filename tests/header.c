/* SPDX-License-Identifier: MIT */
/*
 * The public header by itself, as the first thing a program includes: C99 and C++98, compiled only (test_header.sh).
 * With IGNORE_RESULTS every result that must be looked at is thrown away, for the compiler to complain about each.
 */
#include "smb3sign.h"
#include "smb3sign.h"

int use_header(const smb3sign_key *key, smb3sign_msg *msg);

int use_header(const smb3sign_key *key, smb3sign_msg *msg)
{
	smb3sign_ctx ctx;
	smb3sign_preauth preauth;
	unsigned char hdr[SMB3SIGN_HEADER_LEN] = {0}, sig[SMB3SIGN_SIG_LEN], raw[SMB3SIGN_KEY_LEN] = {0};

	smb3sign_preauth_init(&preauth);
#ifdef IGNORE_RESULTS
	{
		smb3sign_key *made = NULL;
		size_t len;
		unsigned alg;
		const void *data;
		int matched;
		uint32_t ntstatus;
		smb3sign_binding binding = {0, 0, 0, {0, 0, 0}};
		smb3sign_guard *guard = NULL;
		const uint16_t *ids = NULL;

		/* ignored: */
		smb3sign_preauth_update(&preauth, NULL, 0);
		smb3sign_derive(0x0311, SMB3SIGN_USE_SIGNING, raw, 16, &preauth, sig, 16);
		smb3sign_kdf(raw, 16, raw, 1, raw, 1, sig, 16);
		smb3sign_key_new(&made, SMB3SIGN_AES_CMAC, raw, 16, SMB3SIGN_ROLE_ANY);
		smb3sign_key_derive(&made, SMB3SIGN_AES_CMAC, 0x0300, raw, 16, NULL, SMB3SIGN_ROLE_ANY);
		smb3sign_key_dup(&made, key);
		smb3sign_key_init(&made, hdr, sizeof(hdr), SMB3SIGN_AES_CMAC, raw, 16, SMB3SIGN_ROLE_ANY);
		smb3sign_exempt(SMB3SIGN_AES_CMAC, hdr);
		smb3sign_sign(key, hdr, NULL, 0);
		smb3sign_verify(key, hdr, NULL, 0);
		smb3sign_compute(key, hdr, NULL, 0, sig);
		smb3sign_sign_buf(key, hdr, sizeof(hdr));
		smb3sign_verify_buf(key, hdr, sizeof(hdr));
		smb3sign_frame_next(hdr, sizeof(hdr), 0, &len);
		smb3sign_sign_frame(key, hdr, sizeof(hdr));
		smb3sign_verify_frame(key, hdr, sizeof(hdr), NULL);
		smb3sign_sign_begin(&ctx, key, hdr);
		smb3sign_verify_begin(&ctx, key, hdr);
		smb3sign_sign_end(&ctx, sig);
		smb3sign_verify_end(&ctx);
		smb3sign_sign_batch(msg, 1);
		smb3sign_verify_batch(msg, 1);
		smb3sign_caps_find(hdr, sizeof(hdr), &data, &len);
		smb3sign_caps_accept(NULL, 0, NULL, 0, &alg);
		smb3sign_caps_encode(ids, 0, sig, &len);
		smb3sign_caps_choose(NULL, 0, ids, 0, &alg, &matched);
		smb3sign_caps_append(hdr, &len, sizeof(hdr), ids, 0);
		smb3sign_bind_status(&binding, &binding);
		smb3sign_receive_policy(SMB3SIGN_ROLE_CLIENT, hdr, 0, &ntstatus);
		smb3sign_send_policy(SMB3SIGN_ROLE_CLIENT, hdr, 0);
		smb3sign_guard_new(&guard, 8192);
		smb3sign_guard_claim(guard, hdr);
		smb3sign_guard_hold(guard, hdr);
		smb3sign_selftest();
		/* that is all */
	}
#endif
	if (smb3sign_sign_begin(&ctx, key, hdr) == SMB3SIGN_OK) {
		smb3sign_update(&ctx, raw, sizeof(raw));
		smb3sign_abort(&ctx);
	}
	return smb3sign_sign(key, hdr, msg->body, msg->body_cnt) + (int)sig[0] * 0;
}
