/* SPDX-License-Identifier: MIT */
/*
 * OpenSSL 3 as it is fastest with the key kept: one context, initialised again without a key for each message. GMAC goes
 * through EVP_CIPHER (GCM with additional data only), which is quicker than EVP_MAC's GMAC.
 */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "peer.h"
#include "smb3sign.h"

struct peer {
	unsigned alg;
	EVP_MAC_CTX *mac;
	EVP_CIPHER_CTX *gcm;
};

static int open_mac(struct peer *p, const char *name, const char *param, char *value, const uint8_t key[16])
{
	OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(param, value, 0), OSSL_PARAM_construct_end()};
	EVP_MAC *mac = EVP_MAC_fetch(NULL, name, NULL);

	p->mac = EVP_MAC_CTX_new(mac);
	EVP_MAC_free(mac);
	return p->mac && EVP_MAC_init(p->mac, key, 16, params);
}

static int open_gcm(struct peer *p, const uint8_t key[16])
{
	p->gcm = EVP_CIPHER_CTX_new();
	return p->gcm && EVP_EncryptInit_ex(p->gcm, EVP_aes_128_gcm(), NULL, key, NULL);
}

struct peer *peer_openssl_new(unsigned alg, const uint8_t key[16])
{
	struct peer *p = calloc(1, sizeof(*p));
	int ok = 0;

	if (!p)
		return NULL;
	p->alg = alg;
	if (alg == SMB3SIGN_HMAC_SHA256)
		ok = open_mac(p, "HMAC", OSSL_MAC_PARAM_DIGEST, (char[]){"SHA256"}, key);
	else if (alg == SMB3SIGN_AES_CMAC)
		ok = open_mac(p, "CMAC", OSSL_MAC_PARAM_CIPHER, (char[]){"AES-128-CBC"}, key);
	else if (alg == SMB3SIGN_AES_GMAC)
		ok = open_gcm(p, key);
	if (ok)
		return p;
	peer_openssl_free(p);
	return NULL;
}

static void gmac(EVP_CIPHER_CTX *gcm, const uint8_t *msg, size_t len, uint8_t tag[16])
{
	static const uint8_t nonce[12] = {1};
	int n;

	EVP_EncryptInit_ex(gcm, NULL, NULL, NULL, nonce);
	EVP_EncryptUpdate(gcm, NULL, &n, msg, (int)len);
	EVP_EncryptFinal_ex(gcm, tag, &n);
	EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_AEAD_GET_TAG, 16, tag);
}

void peer_openssl_mac(struct peer *p, const uint8_t *msg, size_t len, uint8_t tag[16])
{
	uint8_t full[32];
	size_t n;

	if (p->alg == SMB3SIGN_AES_GMAC) {
		gmac(p->gcm, msg, len, tag);
		return;
	}
	EVP_MAC_init(p->mac, NULL, 0, NULL);
	EVP_MAC_update(p->mac, msg, len);
	EVP_MAC_final(p->mac, full, &n, sizeof(full));
	for (size_t i = 0; i < 16; i++)
		tag[i] = full[i];
}

void peer_openssl_free(struct peer *p)
{
	EVP_MAC_CTX_free(p->mac);
	EVP_CIPHER_CTX_free(p->gcm);
	free(p);
}
