/* SPDX-License-Identifier: MIT */
/*
 * What smb3sign.h says a call must answer, written down a second time without the library's code, and headers to ask
 * for.
 */
#ifndef SMB3SIGN_TEST_ORACLE_H
#define SMB3SIGN_TEST_ORACLE_H

#include <stddef.h>
#include <stdint.h>

/* smb3sign_exempt for a known algorithm. */
int oracle_exempt(unsigned alg, const uint8_t *hdr);
/* smb3sign_sign, and everything that must agree with it, for a message of len >= 64 bytes. */
int oracle_sign(unsigned alg, unsigned role, const uint8_t *hdr, size_t len);
/* smb3sign_verify of the contiguous message as it stands; the second if its signature is known to be wrong. */
int oracle_verify(unsigned alg, const uint8_t raw[16], unsigned role, const uint8_t *msg, size_t len);
int oracle_verify_forged(unsigned alg, unsigned role, const uint8_t *msg, size_t len);

/*
 * A header in which every field that a rule looks at has a special value about as often as not: most are refused, for
 * all reasons. NextCommand is 0, len, or wrong.
 */
void any_header(uint8_t *hdr, size_t len);

#endif
