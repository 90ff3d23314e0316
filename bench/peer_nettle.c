/* SPDX-License-Identifier: MIT */
/* nettle. Its digest functions leave a context ready for the next message. */
#include <nettle/cmac.h>
#include <nettle/gcm.h>
#include <nettle/hmac.h>
#include <nettle/version.h>
#include <stdlib.h>

#include "bench.h"
#include "peer.h"

#define TEXT(x)       #x
#define VERSION(a, b) TEXT(a) "." TEXT(b)

struct self {
	unsigned alg;
	const uint8_t *nonce;
	union {
		struct hmac_sha256_ctx hmac;
		struct cmac_aes128_ctx cmac;
		struct gcm_aes128_ctx gcm;
	} ctx;
};

static const char *version(void)
{
	return VERSION(NETTLE_VERSION_MAJOR, NETTLE_VERSION_MINOR);
}

static void *open(unsigned alg, const uint8_t key[16], const uint8_t nonce[12])
{
	struct self *s = new_lines(sizeof(*s));

	s->alg = alg;
	s->nonce = nonce;
	if (alg == SMB3SIGN_HMAC_SHA256)
		hmac_sha256_set_key(&s->ctx.hmac, 16, key);
	else if (alg == SMB3SIGN_AES_CMAC)
		cmac_aes128_set_key(&s->ctx.cmac, key);
	else
		gcm_aes128_set_key(&s->ctx.gcm, key);
	return s;
}

static void mac_hmac(struct hmac_sha256_ctx *ctx, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		hmac_sha256_update(ctx, r->len, ring_message(r, i));
		hmac_sha256_digest(ctx, 16, tag);
	}
}

static void mac_cmac(struct cmac_aes128_ctx *ctx, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		cmac_aes128_update(ctx, r->len, ring_message(r, i));
		cmac_aes128_digest(ctx, 16, tag);
	}
}

static void mac_gmac(struct self *s, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		gcm_aes128_set_iv(&s->ctx.gcm, 12, s->nonce);
		gcm_aes128_update(&s->ctx.gcm, r->len, ring_message(r, i));
		gcm_aes128_digest(&s->ctx.gcm, 16, tag);
	}
}

static void mac(void *self, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	struct self *s = self;

	if (s->alg == SMB3SIGN_HMAC_SHA256)
		mac_hmac(&s->ctx.hmac, r, tag, calls);
	else if (s->alg == SMB3SIGN_AES_CMAC)
		mac_cmac(&s->ctx.cmac, r, tag, calls);
	else
		mac_gmac(s, r, tag, calls);
}

const struct peer peer_nettle = {
	.name = "nettle",
	.version = version,
	.open = open,
	.mac = mac,
	.close = free,
};
