/* SPDX-License-Identifier: MIT */
/*
 * GnuTLS. gnutls_hmac_output leaves a handle ready for the next message; GMAC is quickest as an AEAD call without text.
 */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

#include "bench.h"
#include "peer.h"

struct self {
	gnutls_hmac_hd_t mac;
	gnutls_aead_cipher_hd_t gcm; /* instead of mac */
	const uint8_t *nonce;
};

static const char *version(void)
{
	return gnutls_check_version(NULL);
}

static void *open(unsigned alg, const uint8_t key[16], const uint8_t nonce[12])
{
	struct self *s = new_lines(sizeof(*s));
	gnutls_datum_t datum = {(unsigned char *)(uintptr_t)key, 16}; /* only read */
	int err;

	s->nonce = nonce;
	if (alg == SMB3SIGN_HMAC_SHA256)
		err = gnutls_hmac_init(&s->mac, GNUTLS_MAC_SHA256, key, 16);
	else if (alg == SMB3SIGN_AES_CMAC)
		err = gnutls_hmac_init(&s->mac, GNUTLS_MAC_AES_CMAC_128, key, 16);
	else
		err = gnutls_aead_cipher_init(&s->gcm, GNUTLS_CIPHER_AES_128_GCM, &datum);
	if (err)
		die("GnuTLS: %s", gnutls_strerror(err));
	return s;
}

static void mac_gcm(const struct self *s, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		size_t n = 16;

		gnutls_aead_cipher_encrypt(s->gcm, s->nonce, 12, ring_message(r, i), r->len, 16, "", 0, tag, &n);
	}
}

static void mac(void *self, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	const struct self *s = self;
	uint8_t full[32];

	if (s->gcm) {
		mac_gcm(s, r, tag, calls);
		return;
	}
	for (uint64_t i = 0; i < calls; i++) {
		gnutls_hmac(s->mac, ring_message(r, i), r->len);
		gnutls_hmac_output(s->mac, full);
	}
	for (size_t i = 0; i < 16; i++)
		tag[i] = full[i];
}

static void close(void *self)
{
	struct self *s = self;

	if (s->gcm)
		gnutls_aead_cipher_deinit(s->gcm);
	else
		gnutls_hmac_deinit(s->mac, NULL);
	free(s);
}

const struct peer peer_gnutls = {
	.name = "GnuTLS",
	.version = version,
	.open = open,
	.mac = mac,
	.close = close,
};
