/* SPDX-License-Identifier: MIT */
/*
 * Signatures and signing keys as they come out when something is done wrong. The library refuses to compute those, so
 * they are made here of Nettle's algorithms; in the right form they agree with the library's.
 */
#ifndef SMB3SIGN_TOOL_MAC_H
#define SMB3SIGN_TOOL_MAC_H

#include <stddef.h>
#include <stdint.h>

/* The first three are the signing algorithms by their ids (SMB3SIGN_HMAC_SHA256, ...). */
enum mac {
	MAC_HMAC_SHA256,
	MAC_AES_CMAC,
	MAC_AES_GMAC,
	MAC_HMAC_LOW,      /* the last 16 bytes of HMAC-SHA256 instead of the first */
	MAC_HMAC_SHA512,   /* its first 16 bytes */
	MAC_HMAC_MD5,      /* all 16 */
	MAC_SHA256_PREFIX, /* SHA-256(key || message), as SMB1 does with MD5 */
	MAC_CBC_MAC,       /* CMAC without its subkeys, the message padded with zeros */
	MAC_GCM_PLAINTEXT  /* the message encrypted instead of authenticated as additional data */
};

/* 16 or 32 bytes for AES, up to 64 for HMAC. */
struct mac_key {
	uint8_t bytes[64];
	size_t len;
};

struct nonce {
	uint8_t bytes[16];
	size_t len;
};

/* Writes 16 bytes. -1 if the key is of no use with the algorithm. */
int mac_compute(enum mac mac, const struct mac_key *key, const struct nonce *nonce, const uint8_t *msg, size_t len,
		uint8_t tag[16]);
int mac_has_nonce(enum mac mac);

/* SP 800-108 counter mode, one round: the first out_len <= 32 bytes of HMAC-SHA256(ki, input). */
void mac_kdf(const uint8_t *ki, size_t ki_len, const uint8_t *input, size_t input_len, uint8_t *out, size_t out_len);

#endif
