/* SPDX-License-Identifier: MIT */
/*
 * Key derivation: SP 800-108 counter mode over HMAC-SHA256, and which label and context SMB gives it (MS-SMB2 3.1.4.2,
 * 3.2.5.3.1, 3.3.5.5.3). A signing key is always 128 bits: the cipher's key length does not touch it.
 */
#include "mac.h"
#include "kernels.h"
#include "smb3sign.h"
#include "util.h"

enum { PRF_LEN = 32 };

/* Contexts and labels, with the NUL that the specification counts in. */
struct usage {
	const char *label;
	size_t label_len;
	const char *context; /* 3.1.1: NULL, the preauthentication hash stands here */
	size_t context_len;
};

#define WITH_NUL(s) s, sizeof(s)

static const struct usage usages_30[] = {
	[SMB3SIGN_USE_SIGNING] = {WITH_NUL("SMB2AESCMAC"), WITH_NUL("SmbSign")},
	[SMB3SIGN_USE_CLIENT_TO_SERVER] = {WITH_NUL("SMB2AESCCM"), WITH_NUL("ServerIn ")}, /* the blank belongs to it */
	[SMB3SIGN_USE_SERVER_TO_CLIENT] = {WITH_NUL("SMB2AESCCM"), WITH_NUL("ServerOut")},
	[SMB3SIGN_USE_APPLICATION] = {WITH_NUL("SMB2APP"), WITH_NUL("SmbRpc")},
};

static const struct usage usages_311[] = {
	[SMB3SIGN_USE_SIGNING] = {WITH_NUL("SMBSigningKey"), NULL, 0},
	[SMB3SIGN_USE_CLIENT_TO_SERVER] = {WITH_NUL("SMBC2SCipherKey"), NULL, 0},
	[SMB3SIGN_USE_SERVER_TO_CLIENT] = {WITH_NUL("SMBS2CCipherKey"), NULL, 0},
	[SMB3SIGN_USE_APPLICATION] = {WITH_NUL("SMBAppKey"), NULL, 0},
};

/* K(i) = HMAC(Ki, [i] || Label || 00 || Context || [L]), counter and L in 32 bits big-endian, L in bits. */
int smb3sign_kdf(const void *ki, size_t ki_len, const void *label, size_t label_len, const void *context,
		 size_t context_len, void *out, size_t out_len)
{
	const struct smb3sign_sha256 *k = smb3sign_best_sha256();
	struct hmac_secret prf_key;
	struct sha256_state st;
	uint8_t block[PRF_LEN], number[4];
	uint8_t *dst = out;

	if ((!ki && ki_len) || (!label && label_len) || (!context && context_len) || !out || !out_len ||
	    out_len > UINT32_MAX / 8)
		return SMB3SIGN_E_INVAL;
	smb3sign_hmac_setup(k, &prf_key, ki, ki_len);
	for (size_t done = 0; done < out_len; done += PRF_LEN) {
		size_t n = out_len - done < PRF_LEN ? out_len - done : PRF_LEN;

		smb3sign_hmac_start(&st, &prf_key);
		store_be32(number, (uint32_t)(done / PRF_LEN + 1));
		smb3sign_hmac_add(k, &st, number, sizeof(number));
		smb3sign_hmac_add(k, &st, label, label_len);
		smb3sign_hmac_add(k, &st, (const uint8_t *)"", 1);
		smb3sign_hmac_add(k, &st, context, context_len);
		store_be32(number, (uint32_t)(out_len * 8));
		smb3sign_hmac_add(k, &st, number, sizeof(number));
		smb3sign_hmac_end(k, &st, &prf_key, block);
		memcpy(dst + done, block, n);
	}
	smb3sign_wipe(&prf_key, sizeof(prf_key));
	smb3sign_wipe(&st, sizeof(st));
	smb3sign_wipe(block, sizeof(block));
	return SMB3SIGN_OK;
}

static int is_zero(const uint8_t *p, size_t n)
{
	uint8_t any = 0;

	while (n--)
		any |= *p++;
	return any == 0;
}

static int is_cipher_use(unsigned use)
{
	return use == SMB3SIGN_USE_CLIENT_TO_SERVER || use == SMB3SIGN_USE_SERVER_TO_CLIENT;
}

/* What the dialect does for this use: *usage NULL for "the session key itself" (2.0.2, 2.1). */
static int find_usage(const struct usage **usage, unsigned dialect, unsigned use)
{
	if (use > SMB3SIGN_USE_APPLICATION)
		return SMB3SIGN_E_UNSUPPORTED;
	switch (dialect) {
	case 0x0202:
	case 0x0210:
		*usage = NULL;
		return is_cipher_use(use) ? SMB3SIGN_E_UNSUPPORTED : SMB3SIGN_OK;
	case 0x0300:
	case 0x0302:
		*usage = &usages_30[use];
		return SMB3SIGN_OK;
	case 0x0311:
		*usage = &usages_311[use];
		return SMB3SIGN_OK;
	default:
		return SMB3SIGN_E_UNSUPPORTED;
	}
}

int smb3sign_derive(unsigned dialect, unsigned use, const void *session_key, size_t session_key_len,
		    const smb3sign_preauth *preauth, void *out, size_t out_len)
{
	const struct usage *usage;
	uint8_t first16[SMB3SIGN_KEY_LEN] = {0};
	const void *ki = first16, *context;
	size_t ki_len = sizeof(first16), context_len;
	int err;

	if (!session_key || !out || (out_len != 16 && out_len != 32))
		return SMB3SIGN_E_INVAL;
	err = find_usage(&usage, dialect, use);
	if (err)
		return err;
	if (out_len == 32 && (dialect != 0x0311 || !is_cipher_use(use)))
		return SMB3SIGN_E_INVAL;
	if (dialect == 0x0311 && (!preauth || is_zero(preauth->hash, sizeof(preauth->hash))))
		return SMB3SIGN_E_INVAL;

	/*
	 * 16 bytes of key come from 16 bytes of key; AES-256's come from all that GSS gave (3.2.5.3.1 FullSessionKey).
	 */
	memcpy(first16, session_key, session_key_len < sizeof(first16) ? session_key_len : sizeof(first16));
	if (out_len == 32) {
		ki = session_key;
		ki_len = session_key_len;
	}
	if (!usage) {
		memcpy(out, first16, sizeof(first16));
	} else {
		context = usage->context ? (const void *)usage->context : preauth->hash;
		context_len = usage->context ? usage->context_len : sizeof(preauth->hash);
		err = smb3sign_kdf(ki, ki_len, usage->label, usage->label_len, context, context_len, out, out_len);
	}
	smb3sign_wipe(first16, sizeof(first16));
	return err;
}
