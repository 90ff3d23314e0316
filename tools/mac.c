/* SPDX-License-Identifier: MIT */
/* Signatures and signing keys as they come out when something is done wrong, of Nettle's algorithms. */
#include <stdlib.h>
#include <string.h>
#include <nettle/aes.h>
#include <nettle/cmac.h>
#include <nettle/gcm.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>

#include "mac.h"
#include "tool.h"

static void hmac_sha256_whole(const uint8_t *key, size_t key_len, const uint8_t *msg, size_t len, uint8_t out[32])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, key_len, key);
	hmac_sha256_update(&ctx, len, msg);
	hmac_sha256_digest(&ctx, 32, out);
	wipe(&ctx, sizeof ctx);
}

void mac_kdf(const uint8_t *ki, size_t ki_len, const uint8_t *input, size_t input_len, uint8_t *out, size_t out_len)
{
	uint8_t block[32];

	hmac_sha256_whole(ki, ki_len, input, input_len, block);
	memcpy(out, block, out_len);
	wipe(block, sizeof block);
}

static void hashed(enum mac mac, const struct mac_key *key, const uint8_t *msg, size_t len, uint8_t tag[16])
{
	uint8_t out[32];

	if (mac == MAC_HMAC_SHA512) {
		struct hmac_sha512_ctx ctx;

		hmac_sha512_set_key(&ctx, key->len, key->bytes);
		hmac_sha512_update(&ctx, len, msg);
		hmac_sha512_digest(&ctx, 16, out);
		wipe(&ctx, sizeof ctx);
	} else if (mac == MAC_HMAC_MD5) {
		struct hmac_md5_ctx ctx;

		hmac_md5_set_key(&ctx, key->len, key->bytes);
		hmac_md5_update(&ctx, len, msg);
		hmac_md5_digest(&ctx, 16, out);
		wipe(&ctx, sizeof ctx);
	} else if (mac == MAC_SHA256_PREFIX) {
		struct sha256_ctx ctx;

		sha256_init(&ctx);
		sha256_update(&ctx, key->len, key->bytes);
		sha256_update(&ctx, len, msg);
		sha256_digest(&ctx, 16, out);
		wipe(&ctx, sizeof ctx);
	} else {
		hmac_sha256_whole(key->bytes, key->len, msg, len, out);
	}
	memcpy(tag, out + (mac == MAC_HMAC_LOW ? 16 : 0), 16);
}

static void cmac(const struct mac_key *key, const uint8_t *msg, size_t len, uint8_t tag[16])
{
	if (key->len == 32) {
		struct cmac_aes256_ctx ctx;

		cmac_aes256_set_key(&ctx, key->bytes);
		cmac_aes256_update(&ctx, len, msg);
		cmac_aes256_digest(&ctx, 16, tag);
		wipe(&ctx, sizeof ctx);
	} else {
		struct cmac_aes128_ctx ctx;

		cmac_aes128_set_key(&ctx, key->bytes);
		cmac_aes128_update(&ctx, len, msg);
		cmac_aes128_digest(&ctx, 16, tag);
		wipe(&ctx, sizeof ctx);
	}
}

static void cbc_mac(const struct mac_key *key, const uint8_t *msg, size_t len, uint8_t tag[16])
{
	struct aes128_ctx ctx;

	aes128_set_encrypt_key(&ctx, key->bytes);
	memset(tag, 0, 16);
	for (size_t at = 0; at < len; at += 16) {
		for (size_t i = 0; i < 16 && at + i < len; i++)
			tag[i] ^= msg[at + i];
		aes128_encrypt(&ctx, 16, tag, tag);
	}
	wipe(&ctx, sizeof ctx);
}

static void gcm(const struct mac_key *key, const struct nonce *nonce, const uint8_t *msg, size_t len, uint8_t tag[16])
{
	if (key->len == 32) {
		struct gcm_aes256_ctx ctx;

		gcm_aes256_set_key(&ctx, key->bytes);
		gcm_aes256_set_iv(&ctx, nonce->len, nonce->bytes);
		gcm_aes256_update(&ctx, len, msg);
		gcm_aes256_digest(&ctx, 16, tag);
		wipe(&ctx, sizeof ctx);
	} else {
		struct gcm_aes128_ctx ctx;

		gcm_aes128_set_key(&ctx, key->bytes);
		gcm_aes128_set_iv(&ctx, nonce->len, nonce->bytes);
		gcm_aes128_update(&ctx, len, msg);
		gcm_aes128_digest(&ctx, 16, tag);
		wipe(&ctx, sizeof ctx);
	}
}

static void gcm_plaintext(const struct mac_key *key, const struct nonce *nonce, const uint8_t *msg, size_t len,
			  uint8_t tag[16])
{
	struct gcm_aes128_ctx ctx;
	uint8_t *out = allocate(len);

	gcm_aes128_set_key(&ctx, key->bytes);
	gcm_aes128_set_iv(&ctx, nonce->len, nonce->bytes);
	gcm_aes128_encrypt(&ctx, len, out, msg);
	gcm_aes128_digest(&ctx, 16, tag);
	wipe(&ctx, sizeof ctx);
	free(out);
}

int mac_has_nonce(enum mac mac)
{
	return mac == MAC_AES_GMAC || mac == MAC_GCM_PLAINTEXT;
}

int mac_compute(enum mac mac, const struct mac_key *key, const struct nonce *nonce, const uint8_t *msg, size_t len,
		uint8_t tag[16])
{
	int aes256 = mac == MAC_AES_CMAC || mac == MAC_AES_GMAC;

	switch (mac) {
	case MAC_AES_CMAC:
	case MAC_AES_GMAC:
	case MAC_CBC_MAC:
	case MAC_GCM_PLAINTEXT:
		if (key->len != 16 && !(aes256 && key->len == 32))
			return -1;
		if (mac == MAC_AES_CMAC)
			cmac(key, msg, len, tag);
		else if (mac == MAC_AES_GMAC)
			gcm(key, nonce, msg, len, tag);
		else if (mac == MAC_CBC_MAC)
			cbc_mac(key, msg, len, tag);
		else
			gcm_plaintext(key, nonce, msg, len, tag);
		break;
	default:
		hashed(mac, key, msg, len, tag);
		break;
	}
	return 0;
}
