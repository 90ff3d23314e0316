/* SPDX-License-Identifier: MIT */
/*
 * libgcrypt. HMAC through gcry_md and GMAC through gcry_cipher (GCM with additional data only) are a little quicker
 * than through gcry_mac, which lies on top of them.
 */
#include <gcrypt.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peer.h"

struct self {
	gcry_md_hd_t hmac; /* one of the three */
	gcry_mac_hd_t cmac;
	gcry_cipher_hd_t gcm;
	const uint8_t *nonce;
};

static const char *version(void)
{
	return gcry_check_version(NULL);
}

/* The library wants to be asked for its version before anything else. */
static void *open(unsigned alg, const uint8_t key[16], const uint8_t nonce[12])
{
	struct self *s = new_lines(sizeof(*s));
	gcry_error_t err;

	version();
	s->nonce = nonce;
	if (alg == SMB3SIGN_HMAC_SHA256) {
		err = gcry_md_open(&s->hmac, GCRY_MD_SHA256, GCRY_MD_FLAG_HMAC);
		err = err ? err : gcry_md_setkey(s->hmac, key, 16);
	} else if (alg == SMB3SIGN_AES_CMAC) {
		err = gcry_mac_open(&s->cmac, GCRY_MAC_CMAC_AES, 0, NULL);
		err = err ? err : gcry_mac_setkey(s->cmac, key, 16);
	} else {
		err = gcry_cipher_open(&s->gcm, GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_GCM, 0);
		err = err ? err : gcry_cipher_setkey(s->gcm, key, 16);
	}
	if (err)
		die("libgcrypt: %s", gcry_strerror(err));
	return s;
}

static void mac_hmac(gcry_md_hd_t h, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		gcry_md_reset(h);
		gcry_md_write(h, ring_message(r, i), r->len);
		memcpy(tag, gcry_md_read(h, GCRY_MD_SHA256), 16);
	}
}

static void mac_cmac(gcry_mac_hd_t h, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		size_t n = 16;

		gcry_mac_reset(h);
		gcry_mac_write(h, ring_message(r, i), r->len);
		gcry_mac_read(h, tag, &n);
	}
}

static void mac_gcm(gcry_cipher_hd_t h, const uint8_t nonce[12], const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		gcry_cipher_setiv(h, nonce, 12);
		gcry_cipher_authenticate(h, ring_message(r, i), r->len);
		gcry_cipher_gettag(h, tag, 16);
	}
}

static void mac(void *self, const struct ring *r, uint8_t tag[16], uint64_t calls)
{
	const struct self *s = self;

	if (s->hmac)
		mac_hmac(s->hmac, r, tag, calls);
	else if (s->cmac)
		mac_cmac(s->cmac, r, tag, calls);
	else
		mac_gcm(s->gcm, s->nonce, r, tag, calls);
}

static void close(void *self)
{
	struct self *s = self;

	gcry_md_close(s->hmac);
	gcry_mac_close(s->cmac);
	gcry_cipher_close(s->gcm);
	free(s);
}

const struct peer peer_gcrypt = {
	.name = "libgcrypt",
	.version = version,
	.open = open,
	.mac = mac,
	.close = close,
};
