/* SPDX-License-Identifier: MIT */
/* A peer: another library's raw MAC over one contiguous message with the key kept, as fast as it can be called. */
#ifndef SMB3SIGN_BENCH_PEER_H
#define SMB3SIGN_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

struct peer;

/* NULL if the peer has no such algorithm (an SMB3SIGN_... id). */
struct peer *peer_openssl_new(unsigned alg, const uint8_t key[16]);
void peer_openssl_mac(struct peer *p, const uint8_t *msg, size_t len, uint8_t tag[16]);
void peer_openssl_free(struct peer *p);

#endif
