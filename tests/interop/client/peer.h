/* SPDX-License-Identifier: MIT */
/* AES-CMAC by OpenSSL in the library's place, to measure what the library saves a client. Not a test of anything. */
#ifndef INTEROP_PEER_H
#define INTEROP_PEER_H

#include <smb3sign.h>

struct peer;

struct peer *peer_new(const uint8_t key[SMB3SIGN_KEY_LEN]);
void peer_free(struct peer *p);
int peer_sign(struct peer *p, uint8_t *hdr, const smb3sign_iov *body, size_t body_cnt);
int peer_verify(struct peer *p, const uint8_t *msg, size_t len);

#endif
