/* SPDX-License-Identifier: MIT */
/*
 * One MAC, as the message layer sees it: set up a key's secret part; then start, add for each piece of the body, end.
 * Kernels that have the whole message in one call (smb3sign_message_fn, kernels.h) go past this.
 */
#ifndef SMB3SIGN_MAC_H
#define SMB3SIGN_MAC_H

#include <stddef.h>
#include <stdint.h>

struct smb3sign_key;
struct smb3sign_sha256;
struct smb3sign_tag;

/* SHA-256 under way. */
struct sha256_state {
	uint32_t h[8];
	uint8_t buf[128]; /* len % 64 bytes wait here; room for their padding */
	uint64_t len;     /* bytes so far */
};

/* HMAC's key: SHA-256 states after the inner and the outer pad block (FIPS 198-1 section 4). */
struct hmac_secret {
	uint32_t inner[8], outer[8];
};

/* State between start and end. Holds no pointers: the context it sits in may be moved. */
union mac_state {
	struct sha256_state hmac;
	struct {
		uint64_t len;
		uint8_t h[16]; /* chaining value, the last 1 to 16 bytes so far XORed in: the last block is held back */
	} cmac;
	struct {
		uint64_t len;
		uint8_t acc[16]; /* GHASH accumulator, the bytes of a partial block XORed in: 0 to 15 of them */
		uint64_t j0[2];
	} gmac;
};

struct smb3sign_lane;

/*
 * For batch.c: a MAC that is a chain of blocks, whose kernels may have several chains side by side. Blocks up to the
 * last go to the kernel as they are; the last `hold` bytes and what does not fill a block are left to `last`.
 */
struct smb3sign_chain {
	unsigned shift; /* blocks are of 1 << shift bytes */
	size_t hold;
	/* The lane's state and round keys before the first block. */
	void (*start)(const struct smb3sign_key *key, struct smb3sign_lane *lane);
	/* p holds the last n bytes of len: pads them in place, up to two blocks. How many it are. */
	size_t (*last)(const struct smb3sign_key *key, uint8_t *p, size_t n, uint64_t len);
	/* What follows the last block: puts one more at p, or NULL. */
	void (*outer)(const struct smb3sign_key *key, struct smb3sign_lane *lane, uint8_t *p);
	void (*tag)(const struct smb3sign_lane *lane, struct smb3sign_tag *tag);
};

struct smb3sign_mac {
	/* The secret part from the raw key; the key's kernels are set. */
	void (*setup)(struct smb3sign_key *key, const uint8_t raw[16]);
	/* hdr is the 64-byte header as it is to be MACed: SIGNED as it counts, Signature zero. */
	void (*start)(const struct smb3sign_key *key, union mac_state *st, const uint8_t hdr[64]);
	/* len may be 0. */
	void (*add)(const struct smb3sign_key *key, union mac_state *st, const uint8_t *p, size_t len);
	void (*end)(const struct smb3sign_key *key, union mac_state *st, uint8_t tag[16]);
	const struct smb3sign_chain *chain; /* NULL: GMAC is none */
};

extern const struct smb3sign_mac smb3sign_hmac_sha256, smb3sign_cmac, smb3sign_gmac;

/* ---- HMAC with a key of any length, for the key derivation (hmac_sha256.c). len may be 0 in all. */
void smb3sign_hmac_setup(const struct smb3sign_sha256 *k, struct hmac_secret *s, const uint8_t *key, size_t len);
void smb3sign_hmac_start(struct sha256_state *st, const struct hmac_secret *s);
void smb3sign_hmac_add(const struct smb3sign_sha256 *k, struct sha256_state *st, const uint8_t *p, size_t len);
void smb3sign_hmac_end(const struct smb3sign_sha256 *k, struct sha256_state *st, const struct hmac_secret *s,
		       uint8_t mac[32]);

#endif
