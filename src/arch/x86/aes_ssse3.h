/* SPDX-License-Identifier: MIT */
/* The constants of aes_ssse3.c, in a header so that test_kernels.c recomputes each of them from its definition. */
#ifndef SMB3SIGN_AES_SSSE3_H
#define SMB3SIGN_AES_SSSE3_H

#include "x86.h"

#ifdef SMB3SIGN_X86_SSSE3

/* The letters are those at the head of aes_ssse3.c. A byte of FIPS 197 is "encoded" as 16 i + k. */
struct smb3sign_aes_ssse3_tables {
	/* For each value n of a nibble: */
	_Alignas(16) uint8_t inv[16];   /* 1/n, and the mark 0x80 for 1/0 */
	_Alignas(16) uint8_t a_inv[16]; /* a/n, and the mark for a/0 */
	_Alignas(16) uint8_t sub_p[16]; /* p = n: its part of SubBytes without 0x63, encoded; p and q are never 0 */
	_Alignas(16) uint8_t sub_q[16];
	_Alignas(16) uint8_t double_p[16]; /* twice that, for MixColumns */
	_Alignas(16) uint8_t double_q[16];
	_Alignas(16) uint8_t encode_low[16];  /* the byte n, encoded */
	_Alignas(16) uint8_t encode_high[16]; /* the byte 16 n, encoded */
	_Alignas(16) uint8_t decode_low[16];  /* the byte that n encodes */
	_Alignas(16) uint8_t decode_high[16]; /* the byte that 16 n encodes */
	/* For each place of a block, the place that its byte comes from, n ShiftRows owed (modulo 4): */
	_Alignas(16) uint8_t owe[4][16]; /* from one to which none are owed */
	struct {
		_Alignas(16) uint8_t next[16], previous[16]; /* from the next and the previous row of its column */
	} row[4];
	uint8_t rcon[10]; /* x^0 to x^9, encoded */
	uint8_t c63;      /* 0x63, encoded */
};

extern const struct smb3sign_aes_ssse3_tables smb3sign_aes_ssse3_tables;

#endif
#endif
