/* SPDX-License-Identifier: MIT */
/*
 * NOT libsmb2: a stand-in for the part of it that libsmb2_preload.c is about, for machines where it cannot be had. The
 * two functions have libsmb2's names and signatures, and the one calls the other as there; all else is ours.
 */
#ifndef INTEROP_STAND_IN_H
#define INTEROP_STAND_IN_H

#include <stddef.h>
#include <stdint.h>

struct smb2_context {
	uint8_t signing_key[16];
};

struct smb2_iovec {
	uint8_t *buf;
	size_t len;
	void (*free)(void *);
};

void smb3_aes_cmac_128(uint8_t *key, uint8_t *msg, uint64_t len, uint8_t *mac);
int smb2_calc_signature(struct smb2_context *smb2, uint8_t *signature, struct smb2_iovec *iov, size_t niov);

#endif
