/* SPDX-License-Identifier: MIT */
/*
 * OpenSSL 3. One context, initialised again without a key for each message. GMAC goes through EVP_CIPHER (GCM with
 * additional data only) with a fetched cipher, which is quicker than EVP_MAC's GMAC.
 */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peer.h"

struct self {
	EVP_MAC_CTX *mac;
	EVP_CIPHER_CTX *gcm; /* instead of mac */
	const uint8_t *nonce;
};

static const char *version(void)
{
	return OpenSSL_version(OPENSSL_VERSION_STRING);
}

static int open_mac(struct self *s, const char *name, const char *param, char *value, const uint8_t key[16])
{
	OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(param, value, 0), OSSL_PARAM_construct_end()};
	EVP_MAC *mac = EVP_MAC_fetch(NULL, name, NULL);

	s->mac = EVP_MAC_CTX_new(mac);
	EVP_MAC_free(mac);
	return s->mac && EVP_MAC_init(s->mac, key, 16, params);
}

static int open_gcm(struct self *s, const uint8_t key[16])
{
	EVP_CIPHER *gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
	int ok;

	s->gcm = EVP_CIPHER_CTX_new();
	ok = gcm && s->gcm && EVP_EncryptInit_ex2(s->gcm, gcm, key, NULL, NULL);
	EVP_CIPHER_free(gcm);
	return ok;
}

static void close(void *self)
{
	struct self *s = self;

	EVP_MAC_CTX_free(s->mac);
	EVP_CIPHER_CTX_free(s->gcm);
	free(s);
}

static void *open(unsigned alg, const uint8_t key[16], const uint8_t nonce[12])
{
	struct self *s = new_lines(sizeof(*s));
	int ok;

	s->nonce = nonce;
	if (alg == SMB3SIGN_HMAC_SHA256)
		ok = open_mac(s, "HMAC", OSSL_MAC_PARAM_DIGEST, (char[]){"SHA256"}, key);
	else if (alg == SMB3SIGN_AES_CMAC)
		ok = open_mac(s, "CMAC", OSSL_MAC_PARAM_CIPHER, (char[]){"AES-128-CBC"}, key);
	else
		ok = open_gcm(s, key);
	if (ok)
		return s;
	close(s);
	return NULL;
}

static void mac_gcm(const struct self *s, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	OSSL_PARAM get[] = {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, 16),
			    OSSL_PARAM_construct_end()};
	int n;

	for (uint64_t i = 0; i < calls; i++) {
		EVP_EncryptInit_ex2(s->gcm, NULL, NULL, s->nonce, NULL);
		EVP_EncryptUpdate(s->gcm, NULL, &n, ring_message(r, i), (int)r->len);
		EVP_EncryptFinal_ex(s->gcm, tag, &n);
		EVP_CIPHER_CTX_get_params(s->gcm, get);
	}
}

static void mac(void *self, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	const struct self *s = self;
	uint8_t full[32];
	size_t n;

	if (s->gcm) {
		mac_gcm(s, r, tag, calls);
		return;
	}
	for (uint64_t i = 0; i < calls; i++) {
		EVP_MAC_init(s->mac, NULL, 0, NULL);
		EVP_MAC_update(s->mac, ring_message(r, i), r->len);
		EVP_MAC_final(s->mac, full, &n, sizeof(full));
	}
	memcpy(tag, full, 16);
}

const struct peer peer_openssl = {
	.name = "OpenSSL",
	.version = version,
	.open = open,
	.mac = mac,
	.close = close,
};
