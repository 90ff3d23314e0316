/* SPDX-License-Identifier: MIT */
/* The primitives over messages of any length, from kernels and key material: see primitives.h. */
#include "primitives.h"

#include "support.h"

void prim_hmac(const struct smb3sign_sha256 *k, const uint8_t *key, size_t key_len, const uint8_t *msg, size_t len,
	       uint8_t mac[32])
{
	struct hmac_secret secret;
	struct sha256_state st;
	smb3sign_iov piece[5];
	size_t n = random_split(piece, 5, msg, len);

	smb3sign_hmac_setup(k, &secret, key, key_len);
	smb3sign_hmac_start(&st, &secret);
	for (size_t i = 0; i < n; i++)
		smb3sign_hmac_add(k, &st, piece[i].iov_base, piece[i].iov_len);
	smb3sign_hmac_end(k, &st, &secret, mac);
}

void prim_cmac(const smb3sign_key *key, const uint8_t *msg, size_t len, uint8_t mac[16])
{
	const struct smb3sign_aes *aes = key->k.aes;
	size_t before = len ? (len - 1) / 16 : 0; /* whole blocks before the last one */
	size_t left = len - 16 * before;
	const uint8_t *subkey = cmac_subkeys(key) + (left == 16 ? 0 : 16);
	uint8_t last[16] = {0};

	if (left)
		memcpy(last, msg + 16 * before, left);
	if (left < 16)
		last[left] = 0x80;
	for (size_t i = 0; i < 16; i++)
		last[i] ^= subkey[i];
	memset(mac, 0, 16);
	if (before)
		aes->cbcmac(cmac_rk(key), mac, msg, before);
	aes->cbcmac(cmac_rk(key), mac, last, 1);
}

void prim_gmac(const smb3sign_key *key, const uint8_t nonce[12], const uint8_t *msg, size_t len, uint8_t tag[16])
{
	const struct smb3sign_ghash *ghash = key->ghash;
	uint8_t acc[16] = {0}, last[16] = {0}, lengths[16] = {0}, j0[16] = {0};

	if (len / 16)
		ghash->blocks(gmac_table(key), acc, 0, msg, len / 16);
	if (len % 16) {
		memcpy(last, msg + len / 16 * 16, len % 16);
		ghash->blocks(gmac_table(key), acc, 0, last, 1);
	}
	/* The bits of the additional data, big-endian in 64 bits; then as many of plaintext: none. */
	for (size_t i = 0; i < 8; i++)
		lengths[i] = (uint8_t)((uint64_t)len * 8 >> (56 - 8 * i));
	ghash->blocks(gmac_table(key), acc, 0, lengths, 1);
	memcpy(j0, nonce, 12);
	j0[15] = 1;
	key->k.aes->encrypt(gmac_rk(key), j0, tag);
	for (size_t i = 0; i < 16; i++)
		tag[i] ^= acc[i];
}
