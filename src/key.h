/* SPDX-License-Identifier: MIT */
/*
 * struct smb3sign_key. Small and without pointers into itself, so that smb3sign_key_dup is a memcpy; the secret part is
 * laid out by the MAC and sized by the kernels that were chosen.
 */
#ifndef SMB3SIGN_KEY_H
#define SMB3SIGN_KEY_H

#include "kernels.h"
#include "mac.h"
#include "smb3sign.h"

struct smb3sign_key {
	smb3sign_message_fn *message;   /* the kernel's, or NULL: by steps through mac */
	const struct smb3sign_mac *mac; /* NULL in a wiped key */
	union {
		const struct smb3sign_sha256 *sha256;
		const struct smb3sign_aes *aes;
	} k;
	const struct smb3sign_ghash *ghash; /* GMAC only */
	uint32_t size;                      /* of the whole object, bytes */
	uint8_t alg, role;
	_Alignas(KEY_ALIGN)
		uint64_t secret[]; /* hmac: struct hmac_secret; cmac: K1, K2, round keys; gmac: round keys, table */
};

/* HMAC: the two states. */
static inline const struct hmac_secret *hmac_secret(const struct smb3sign_key *key)
{
	return (const struct hmac_secret *)(const void *)key->secret;
}

/* CMAC: K1 || K2 (RFC 4493 2.3), then aes->rk_size bytes of round keys. */
static inline const uint8_t *cmac_subkeys(const struct smb3sign_key *key)
{
	return (const uint8_t *)key->secret;
}

static inline const void *cmac_rk(const struct smb3sign_key *key)
{
	return (const uint8_t *)key->secret + 32;
}

/* GMAC: aes->rk_size bytes of round keys, then ghash->table_size bytes. */
static inline const void *gmac_rk(const struct smb3sign_key *key)
{
	return key->secret;
}

static inline const void *gmac_table(const struct smb3sign_key *key)
{
	return (const uint8_t *)key->secret + key->k.aes->rk_size;
}

/* Kernels for one key; each NULL means the best this process may use. Tests make keys with any. */
struct smb3sign_choice {
	const struct smb3sign_aes *aes;
	const struct smb3sign_ghash *ghash;
	const struct smb3sign_sha256 *sha256;
};

/* As smb3sign_key_size and smb3sign_key_init, which pass NULL. */
size_t smb3sign_key_size_with(unsigned alg, const struct smb3sign_choice *choice);
int smb3sign_key_init_with(smb3sign_key **key, void *mem, size_t mem_len, unsigned alg, const void *raw, size_t raw_len,
			   unsigned role, const struct smb3sign_choice *choice);

#endif
