/* SPDX-License-Identifier: MIT */
/*
 * The client's half of an NTLMv2 exchange (MS-NLMP): what gives an SMB session its key. Messages go into SESSION_SETUP
 * as they are, without SPNEGO around them, which Windows and Samba accept.
 */
#ifndef INTEROP_NTLM_H
#define INTEROP_NTLM_H

#include <stddef.h>
#include <stdint.h>

enum { NTLM_MESSAGE_MAX = 2048, NTLM_KEY_LEN = 16 };

/* Everything below needs MD4 and RC4: 0, or -1 if libcrypto has no legacy provider. */
int ntlm_init(void);

/* NEGOTIATE_MESSAGE; its length. */
size_t ntlm_negotiate(uint8_t out[NTLM_MESSAGE_MAX]);

/*
 * AUTHENTICATE_MESSAGE for the CHALLENGE_MESSAGE that came, and ExportedSessionKey. The length, or 0: the challenge is
 * malformed, or libcrypto failed. User and password are ASCII.
 */
size_t ntlm_authenticate(uint8_t out[NTLM_MESSAGE_MAX], const uint8_t *challenge, size_t challenge_len,
			 const char *user, const char *password, uint8_t key[NTLM_KEY_LEN]);

#endif
