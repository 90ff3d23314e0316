/* SPDX-License-Identifier: MIT */
/* One EVP_MAC context for the key, used again for every message: as well as OpenSSL can be used for this. */
#include "peer.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

enum { FLAGS = 16, SIGNED = 0x8, SIGNATURE = 48 };

struct peer {
	EVP_MAC_CTX *ctx;
};

struct peer *peer_new(const uint8_t key[SMB3SIGN_KEY_LEN])
{
	char name[] = "AES-128-CBC";
	const OSSL_PARAM params[2] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, name, 0),
				      OSSL_PARAM_construct_end()};
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "CMAC", NULL);
	struct peer *p = malloc(sizeof(*p));

	if (p)
		p->ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;
	EVP_MAC_free(mac);
	if (p && p->ctx && EVP_MAC_init(p->ctx, key, SMB3SIGN_KEY_LEN, params))
		return p;
	peer_free(p);
	return NULL;
}

void peer_free(struct peer *p)
{
	if (p)
		EVP_MAC_CTX_free(p->ctx);
	free(p);
}

static int compute(struct peer *p, const uint8_t *hdr, const smb3sign_iov *body, size_t body_cnt, uint8_t *sig)
{
	static const uint8_t zero[SMB3SIGN_SIG_LEN];
	size_t len;
	int ok = EVP_MAC_init(p->ctx, NULL, 0, NULL) && EVP_MAC_update(p->ctx, hdr, SIGNATURE) &&
		 EVP_MAC_update(p->ctx, zero, sizeof(zero));

	for (size_t i = 0; ok && i < body_cnt; i++)
		ok = EVP_MAC_update(p->ctx, body[i].iov_base, body[i].iov_len);
	return ok && EVP_MAC_final(p->ctx, sig, &len, SMB3SIGN_SIG_LEN) ? 0 : -1;
}

int peer_sign(struct peer *p, uint8_t *hdr, const smb3sign_iov *body, size_t body_cnt)
{
	hdr[FLAGS] |= SIGNED;
	return compute(p, hdr, body, body_cnt, hdr + SIGNATURE);
}

int peer_verify(struct peer *p, const uint8_t *msg, size_t len)
{
	const smb3sign_iov body = {(uint8_t *)msg + SMB3SIGN_HEADER_LEN, len - SMB3SIGN_HEADER_LEN};
	uint8_t sig[SMB3SIGN_SIG_LEN];

	if (compute(p, msg, &body, 1, sig) || CRYPTO_memcmp(sig, msg + SIGNATURE, sizeof(sig)))
		return SMB3SIGN_E_SIGNATURE;
	return SMB3SIGN_OK;
}
