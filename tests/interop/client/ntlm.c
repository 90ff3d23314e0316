/* SPDX-License-Identifier: MIT */
/*
 * NTLMv2 with key exchange (MS-NLMP 3.1.5.1.2, 3.3.2, 3.4.5). No MIC is sent: it is optional unless the client
 * announces it. The broken algorithms that NTLM is made of come from OpenSSL's legacy provider.
 */
#include "ntlm.h"

#include <ctype.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

#include "wire.h"

enum {
	TYPE_NEGOTIATE = 1,
	TYPE_CHALLENGE = 2,
	TYPE_AUTHENTICATE = 3,
	/* CHALLENGE_MESSAGE, MS-NLMP 2.2.1.2 */
	CHALLENGE_FLAGS = 20,
	CHALLENGE_NONCE = 24,
	CHALLENGE_TARGET_INFO = 40,
	CHALLENGE_FIXED = 48,
	/* AUTHENTICATE_MESSAGE, 2.2.1.3, without Version and MIC */
	AUTH_LM = 12,
	AUTH_NT = 20,
	AUTH_DOMAIN = 28,
	AUTH_USER = 36,
	AUTH_WORKSTATION = 44,
	AUTH_KEY = 52,
	AUTH_FLAGS = 60,
	AUTH_FIXED = 64,

	MD_LEN = 16,
	NONCE_LEN = 8,
	LM_LEN = 24,
	NAME_MAX_LEN = 64, /* characters */
	TEMP_FIXED = 28,   /* the client's part of the response before the target information, 2.2.2.7 */
	TARGET_INFO_MAX = 1024
};

/* Unicode, target, sign, NTLM, always sign, extended session security, target information, 128 bits, key exchange. */
#define FLAGS    0x60888215u
#define KEY_EXCH 0x40000000u

static const char signature[8] = "NTLMSSP";

int ntlm_init(void)
{
	return OSSL_PROVIDER_load(NULL, "legacy") && OSSL_PROVIDER_load(NULL, "default") ? 0 : -1;
}

static int md4(const void *data, size_t len, uint8_t out[MD_LEN])
{
	return EVP_Digest(data, len, out, NULL, EVP_md4(), NULL);
}

static int hmac_md5(const uint8_t key[MD_LEN], const void *data, size_t len, uint8_t out[MD_LEN])
{
	return HMAC(EVP_md5(), key, MD_LEN, data, len, out, NULL) != NULL;
}

static int rc4(const uint8_t key[MD_LEN], const uint8_t in[NTLM_KEY_LEN], uint8_t *out)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n, ok = ctx && EVP_EncryptInit_ex(ctx, EVP_rc4(), NULL, key, NULL) &&
		    EVP_EncryptUpdate(ctx, out, &n, in, NTLM_KEY_LEN) && n == NTLM_KEY_LEN;

	EVP_CIPHER_CTX_free(ctx);
	return ok;
}

size_t ntlm_negotiate(uint8_t out[NTLM_MESSAGE_MAX])
{
	memset(out, 0, 32);
	memcpy(out, signature, sizeof(signature));
	put32(out + 8, TYPE_NEGOTIATE);
	put32(out + 12, FLAGS);
	return 32;
}

/* ResponseKeyNT = HMAC-MD5(MD4(password), upper case user name || domain name), here without a domain. */
static int response_key(const char *user, const char *password, uint8_t out[MD_LEN])
{
	uint8_t text[2 * NAME_MAX_LEN], hash[MD_LEN];
	char upper[NAME_MAX_LEN + 1];
	size_t i;

	if (strlen(user) > NAME_MAX_LEN || strlen(password) > NAME_MAX_LEN)
		return 0;
	for (i = 0; user[i]; i++)
		upper[i] = (char)toupper((unsigned char)user[i]);
	upper[i] = 0;
	return md4(text, put_utf16(text, password), hash) && hmac_md5(hash, text, put_utf16(text, upper), out);
}

/* MsvAvTimestamp of the target information (2.2.2.1), which the response repeats, or zeros. */
static void server_time(const uint8_t *info, size_t len, uint8_t out[8])
{
	memset(out, 0, 8);
	for (size_t at = 0; len - at >= 4 && get16(info + at); at += 4 + get16(info + at + 2)) {
		if (len - at - 4 < get16(info + at + 2))
			return;
		if (get16(info + at) == 7 && get16(info + at + 2) == 8)
			memcpy(out, info + at + 4, 8);
	}
}

/*
 * The NT response: proof = HMAC-MD5(ResponseKeyNT, server's nonce || temp), then temp. It lies at nt, which has room
 * for what TARGET_INFO_MAX allows; its length, or 0. base: SessionBaseKey = HMAC-MD5(ResponseKeyNT, proof).
 */
static size_t nt_response(uint8_t *nt, const uint8_t *challenge, size_t challenge_len, const uint8_t key[MD_LEN],
			  uint8_t base[MD_LEN])
{
	size_t info_len = get16(challenge + CHALLENGE_TARGET_INFO), info = get32(challenge + CHALLENGE_TARGET_INFO + 4);
	uint8_t input[NONCE_LEN + TEMP_FIXED + TARGET_INFO_MAX + 4] = {0}, *temp = input + NONCE_LEN;
	size_t temp_len = TEMP_FIXED + info_len + 4;

	if (info_len > TARGET_INFO_MAX || info > challenge_len || challenge_len - info < info_len)
		return 0;
	memcpy(input, challenge + CHALLENGE_NONCE, NONCE_LEN);
	put16(temp, 0x0101);
	server_time(challenge + info, info_len, temp + 8);
	memcpy(temp + TEMP_FIXED, challenge + info, info_len);
	if (RAND_bytes(temp + 16, NONCE_LEN) != 1 || !hmac_md5(key, input, NONCE_LEN + temp_len, nt) ||
	    !hmac_md5(key, nt, MD_LEN, base))
		return 0;
	memcpy(nt + MD_LEN, temp, temp_len);
	return MD_LEN + temp_len;
}

/* A field's descriptor: Len, MaxLen, Offset. */
static void describe(uint8_t *field, size_t offset, size_t len)
{
	put16(field, (unsigned)len);
	put16(field + 2, (unsigned)len);
	put32(field + 4, (uint32_t)offset);
}

size_t ntlm_authenticate(uint8_t out[NTLM_MESSAGE_MAX], const uint8_t *challenge, size_t challenge_len,
			 const char *user, const char *password, uint8_t key[NTLM_KEY_LEN])
{
	uint8_t ntowf[MD_LEN], base[MD_LEN];
	size_t at = AUTH_FIXED, n;

	if (challenge_len < CHALLENGE_FIXED || memcmp(challenge, signature, sizeof(signature)) ||
	    get32(challenge + 8) != TYPE_CHALLENGE || !(get32(challenge + CHALLENGE_FLAGS) & KEY_EXCH))
		return 0;
	if (!response_key(user, password, ntowf))
		return 0;
	memset(out, 0, AUTH_FIXED + LM_LEN);
	memcpy(out, signature, sizeof(signature));
	put32(out + 8, TYPE_AUTHENTICATE);
	put32(out + AUTH_FLAGS, FLAGS);
	describe(out + AUTH_DOMAIN, at, 0);
	describe(out + AUTH_WORKSTATION, at, 0);
	describe(out + AUTH_LM, at, LM_LEN); /* zeros: NTLMv2 with a time stamp has no LM response, 3.1.5.1.2 */
	at += LM_LEN;
	n = nt_response(out + at, challenge, challenge_len, ntowf, base);
	if (!n)
		return 0;
	describe(out + AUTH_NT, at, n);
	at += n;
	n = put_utf16(out + at, user);
	describe(out + AUTH_USER, at, n);
	at += n;
	if (RAND_bytes(key, NTLM_KEY_LEN) != 1 || !rc4(base, key, out + at))
		return 0;
	describe(out + AUTH_KEY, at, NTLM_KEY_LEN);
	return at + NTLM_KEY_LEN;
}
