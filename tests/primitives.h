/* SPDX-License-Identifier: MIT */
/*
 * HMAC, CMAC and GMAC of bytes that are no SMB message, for published vectors of the primitives: the library's kernels
 * and key material, put together here as the standards say.
 */
#ifndef SMB3SIGN_TEST_PRIMITIVES_H
#define SMB3SIGN_TEST_PRIMITIVES_H

#include "key.h"

/* The library's HMAC with this kernel, the message added in random pieces. */
void prim_hmac(const struct smb3sign_sha256 *k, const uint8_t *key, size_t key_len, const uint8_t *msg, size_t len,
	       uint8_t mac[32]);
/* RFC 4493 2.4 with the subkeys, round keys and the CBC-MAC kernel of a CMAC key. */
void prim_cmac(const smb3sign_key *key, const uint8_t *msg, size_t len, uint8_t mac[16]);
/* SP 800-38D 7.1 without plaintext, with the round keys, the GHASH table and both kernels of a GMAC key. */
void prim_gmac(const smb3sign_key *key, const uint8_t nonce[12], const uint8_t *msg, size_t len, uint8_t tag[16]);

#endif
