/* SPDX-License-Identifier: MIT */
/*
 * The kernels: what differs between processors, and nothing else. A kernel is a const struct that names the features it
 * needs; the lists in kernels.c are best first, and a key takes the first whose needs are met (key.c).
 *
 * Contract of every function here: any alignment, but that of round keys and tables, which is KEY_ALIGN; never a read
 * or write outside the bytes it is given; no allocation, no globals but constants, no branch and no address that
 * depends on data or key. nblk >= 1 unless said otherwise.
 */
#ifndef SMB3SIGN_KERNELS_H
#define SMB3SIGN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

struct smb3sign_key;

/*
 * The alignment of keys, and of what kernels keep in them: what every malloc and alignas(max_align_t) give. i386 has
 * mallocs of 8 and a max_align_t of 16, s390x the reverse.
 */
#define MALLOC_ALIGN (2 * sizeof(void *))
#define KEY_ALIGN    (MALLOC_ALIGN < _Alignof(max_align_t) ? MALLOC_ALIGN : _Alignof(max_align_t))

/*
 * The sixteen bytes of a MAC, as they stand in memory. Returned by value, that is in two registers where the ABI can:
 * there a verifier compares it. Through memory it would be read back late, and loads that wait for a store hold up
 * later ones.
 */
struct smb3sign_tag {
	uint64_t word[2];
};

/*
 * The whole of one message in one call: the MAC of
 *     hdr[0..48) with set_flags (0 or SMB2_FLAGS_SIGNED) or-ed into the byte at 16 || 16 zero bytes || body[0..len)
 * hdr is the 64-byte SMB2 header; its Signature bytes are not read. len may be 0; body is not NULL even then.
 */
typedef struct smb3sign_tag smb3sign_message_fn(const struct smb3sign_key *key, const uint8_t *hdr, uint8_t set_flags,
						const uint8_t *body, size_t len);

/* One of the chains of blocks, each of a message of its own, that a kernel works on side by side (batch.c). */
struct smb3sign_lane {
	uint32_t state[8]; /* SHA-256's eight words, or the 16 bytes of CBC-MAC's chaining value */
	const uint8_t *p;  /* the next block */
	const void *rk;    /* AES: round keys */
};

/* nblk blocks from each lane's p on, 1 <= n <= width lanes; p is left as it is. */
typedef void smb3sign_lanes_fn(struct smb3sign_lane *lanes, size_t n, size_t nblk);

/* A short message of several that a kernel takes side by side: as smb3sign_message_fn, but for the tag. */
struct smb3sign_short {
	const struct smb3sign_key *key;
	const uint8_t *hdr, *body;
	size_t len;
	struct smb3sign_tag tag;
	void *caller; /* its own */
};

/* AES-128 (FIPS 197), encryption only. */
struct smb3sign_aes {
	const char *name;
	uint32_t needs; /* SMB3SIGN_CPU_*, all of them together */
	size_t rk_size; /* bytes of round keys, a multiple of 16, <= SMB3SIGN_RK_SIZE_MAX */
	void (*expand)(void *rk, const uint8_t key[16]);
	/* out may be in. */
	void (*encrypt)(const void *rk, const uint8_t in[16], uint8_t out[16]);
	/* h = E(...E(E(h ^ p0) ^ p1)... ^ p[nblk-1]) */
	void (*cbcmac)(const void *rk, uint8_t h[16], const uint8_t *p, size_t nblk);
	smb3sign_message_fn *cmac;       /* or NULL: message.c goes by steps */
	smb3sign_lanes_fn *cbcmac_lanes; /* NULL, and width 0, if one after the other is as fast */
	size_t width;                    /* <= SMB3SIGN_LANES_MAX */
};
#define SMB3SIGN_RK_SIZE_MAX 704
#define SMB3SIGN_LANES_MAX   16

#define SMB3SIGN_SHORT_BLOCKS 16
#define SMB3SIGN_SHORT_WIDTH  4

/* GHASH (SP 800-38D 6.4). Accumulators and H are in GCM's own byte order. */
struct smb3sign_ghash {
	const char *name;
	uint32_t needs;
	uint32_t wants;    /* policy bits: without them it runs, but is not chosen */
	size_t table_size; /* bytes of what setkey makes of H, a multiple of 16 */
	void (*setkey)(void *table, const uint8_t h[16]);
	/*
	 * acc = (...((acc ^ p0) * H ^ p1) * H ... ^ p[nblk-1]) * H; if acc is a whole block already (whole is 1, else
	 * 0), acc * H takes acc's place, and nblk may be 0. What was the end of a piece so costs no reduction of its
	 * own.
	 */
	void (*blocks)(const void *table, uint8_t acc[16], unsigned whole, const uint8_t *p, size_t nblk);
	smb3sign_message_fn *gmac; /* or NULL: message.c goes by steps */
	/*
	 * `width` short messages side by side, of 0 to SMB3SIGN_SHORT_BLOCKS blocks of body, as many in one as in the
	 * other: (len + 15) / 16 is the same for all. NULL and 0 if one after the other is as fast.
	 */
	void (*gmac_short)(struct smb3sign_short *msgs, uint8_t set_flags);
	size_t width;                   /* <= SMB3SIGN_SHORT_WIDTH */
	const struct smb3sign_aes *aes; /* the AES that these have inside: keys with another do not use them */
};

/* The compression function of SHA-256 (FIPS 180-4 6.2.2) over whole blocks; state is eight host-order words. */
struct smb3sign_sha256 {
	const char *name;
	uint32_t needs;
	void (*blocks)(uint32_t state[8], const uint8_t *p, size_t nblk);
	smb3sign_message_fn *hmac;       /* or NULL: message.c goes by steps */
	smb3sign_lanes_fn *blocks_lanes; /* as cbcmac_lanes */
	size_t width;
};

/*
 * The compression function of SHA-512 (FIPS 180-4 6.4.2), for the preauthentication hash: some messages a connection.
 */
struct smb3sign_sha512 {
	const char *name;
	uint32_t needs;
	void (*blocks)(uint64_t state[8], const uint8_t *p, size_t nblk);
};

/* Best first, portable last, then NULL. Kernels that this build's compiler or assembler lacks are not in the lists. */
extern const struct smb3sign_aes *const smb3sign_aes_kernels[];
extern const struct smb3sign_ghash *const smb3sign_ghash_kernels[];
extern const struct smb3sign_sha256 *const smb3sign_sha256_kernels[];
extern const struct smb3sign_sha512 *const smb3sign_sha512_kernels[];

extern const struct smb3sign_aes smb3sign_aes_portable, smb3sign_aes_ssse3, smb3sign_aes_ni, smb3sign_aes_vaes;
extern const struct smb3sign_ghash smb3sign_ghash_portable, smb3sign_ghash_ssse3, smb3sign_ghash_pclmul,
	smb3sign_ghash_vpclmul, smb3sign_ghash_avx512;
extern const struct smb3sign_sha256 smb3sign_sha256_portable, smb3sign_sha256_ni, smb3sign_sha256_avx512,
	smb3sign_sha256_avx2, smb3sign_sha256_ssse3;
extern const struct smb3sign_sha512 smb3sign_sha512_portable;
/* arm64 */
extern const struct smb3sign_aes smb3sign_aes_ce;
extern const struct smb3sign_ghash smb3sign_ghash_pmull, smb3sign_ghash_pmull_eor3, smb3sign_ghash_neon;
extern const struct smb3sign_sha256 smb3sign_sha256_ce;
extern const struct smb3sign_sha512 smb3sign_sha512_ce;

/* Names of the kernels that this build does not have, each after a blank. */
extern const char smb3sign_kernels_left_out[];

/* Whether this process may use a kernel with these needs; and the first of each list that it may. */
int smb3sign_kernel_usable(uint32_t needs);
const struct smb3sign_aes *smb3sign_best_aes(void);
const struct smb3sign_ghash *smb3sign_best_ghash(void);
const struct smb3sign_sha256 *smb3sign_best_sha256(void);
const struct smb3sign_sha512 *smb3sign_best_sha512(void);

/* FIPS 180-4: initial values, 5.3.3 and 5.3.5; the constants of the rounds, 4.2.2 and 4.2.3. */
extern const uint32_t smb3sign_sha256_iv[8], smb3sign_sha256_k[64];
extern const uint64_t smb3sign_sha512_iv[8], smb3sign_sha512_k[80];

#endif
