/* SPDX-License-Identifier: MIT */
/*
 * AES-128 with the Cryptography Extension as inline parts: for the kernels in aes_ce.c and for GMAC, which encrypts one
 * block among its GHASH.
 *
 * AESE is AddRoundKey, SubBytes and ShiftRows, in this order (Arm ARM C7.2), so a round takes the round key before it,
 * and the last one's stands alone:
 *     ten times AESE with k0 ... k9, AESMC (MixColumns) behind the first nine, XOR with k10.
 */
#ifndef SMB3SIGN_AES_CE_H
#define SMB3SIGN_AES_CE_H

#include "arm64.h"

#ifdef SMB3SIGN_ARM64_CE

enum { AES_CE_RK_SIZE = 11 * 16 };

INLINE uint8x16_t aes_ce_rk(const void *rk, int round)
{
	return load((const uint8_t *)rk + 16 * round);
}

/*
 * AESE and AESMC next to each other on one register are one operation to most cores, which halves the latency: so they
 * are one to the compiler too.
 */
INLINE uint8x16_t aes_ce_round(uint8x16_t s, uint8x16_t k)
{
	__asm__("aese %0.16b, %1.16b\n\taesmc %0.16b, %0.16b" : "+w"(s) : "w"(k));
	return s;
}

/* From k0 added to k9 added: s enters the first AESE with `first`, which is k0 and whatever else is to be XORed in. */
INLINE uint8x16_t aes_ce_rounds(const void *rk, uint8x16_t s, uint8x16_t first)
{
	s = aes_ce_round(s, first);
#pragma GCC unroll 8
	for (int i = 1; i < 9; i++)
		s = aes_ce_round(s, aes_ce_rk(rk, i));
	return vaeseq_u8(s, aes_ce_rk(rk, 9));
}

INLINE uint8x16_t aes_ce_encrypt(const void *rk, uint8x16_t in)
{
	return veorq_u8(aes_ce_rounds(rk, in, aes_ce_rk(rk, 0)), aes_ce_rk(rk, 10));
}

/* aes_ce_lanes.c */
void smb3sign_cbcmac_lanes_ce(struct smb3sign_lane *lanes, size_t n, size_t nblk);

#endif
#endif
