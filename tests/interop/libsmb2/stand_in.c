/* SPDX-License-Identifier: MIT */
/* The stand-in for libsmb2's signing: a shared object whose calls to its own functions go through the PLT. */
#include "stand_in.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>

enum { SIGNATURE = 48, SIGNATURE_LEN = 16 };

void smb3_aes_cmac_128(uint8_t *key, uint8_t *msg, uint64_t len, uint8_t *mac)
{
	char name[] = "AES-128-CBC";
	const OSSL_PARAM params[2] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, name, 0),
				      OSSL_PARAM_construct_end()};
	EVP_MAC *cmac = EVP_MAC_fetch(NULL, "CMAC", NULL);
	EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(cmac);

	if (!ctx || !EVP_MAC_init(ctx, key, SIGNATURE_LEN, params) || !EVP_MAC_update(ctx, msg, (size_t)len) ||
	    !EVP_MAC_final(ctx, mac, NULL, SIGNATURE_LEN))
		abort();
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(cmac);
}

/* For SMB 3: the vectors as one message, its signature zeroed. */
int smb2_calc_signature(struct smb2_context *smb2, uint8_t *signature, struct smb2_iovec *iov, size_t niov)
{
	size_t len = 0, at = 0;
	uint8_t *msg;

	for (size_t i = 0; i < niov; i++)
		len += iov[i].len;
	msg = malloc(len);
	if (!msg)
		return -1;
	for (size_t i = 0; i < niov; at += iov[i++].len)
		memcpy(msg + at, iov[i].buf, iov[i].len);
	if (len >= SIGNATURE + SIGNATURE_LEN)
		memset(msg + SIGNATURE, 0, SIGNATURE_LEN);
	smb3_aes_cmac_128(smb2->signing_key, msg, len, signature);
	free(msg);
	return 0;
}
