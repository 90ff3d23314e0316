/* SPDX-License-Identifier: MIT */
/*
 * AES-128-CMAC (RFC 4493, SP 800-38B). There is no buffer: bytes are XORed into the chaining value as they come, and a
 * full block is encrypted only when another byte follows, because the last one is treated apart.
 */
#include "key.h"
#include "util.h"

/* Doubling in GF(2^128) with the high bit first: shift left by one; a bit that falls out comes back as x^7+x^2+x+1. */
static void dbl(uint8_t out[16], const uint8_t in[16])
{
	uint64_t hi = load_be64(in), lo = load_be64(in + 8);
	uint64_t carry = 0 - (hi >> 63);

	store_be64(out, hi << 1 | lo >> 63);
	store_be64(out + 8, lo << 1 ^ (carry & 0x87));
}

static void setup(struct smb3sign_key *key, const uint8_t raw[16])
{
	const struct smb3sign_aes *aes = key->k.aes;
	uint8_t *k1 = (uint8_t *)key->secret, *k2 = k1 + 16, *rk = k1 + 32;
	uint8_t l[16] = {0};

	aes->expand(rk, raw);
	aes->encrypt(rk, l, l);
	dbl(k1, l);
	dbl(k2, k1);
	smb3sign_wipe(l, sizeof(l));
}

/* The header's last block is held back. */
static void start(const struct smb3sign_key *key, union mac_state *st, const uint8_t hdr[64])
{
	memset(st->cmac.h, 0, sizeof(st->cmac.h));
	key->k.aes->cbcmac(cmac_rk(key), st->cmac.h, hdr, 3);
	xor_into(st->cmac.h, 0, hdr + 48, 16);
	st->cmac.len = 64;
}

static void add(const struct smb3sign_key *key, union mac_state *st, const uint8_t *p, size_t len)
{
	const struct smb3sign_aes *aes = key->k.aes;
	const void *rk = cmac_rk(key);
	uint8_t *h = st->cmac.h;
	size_t used = st->cmac.len % 16, room = used ? 16 - used : 0;

	st->cmac.len += len;
	if (len <= room) {
		xor_into(h, used, p, len);
		return;
	}
	xor_into(h, used, p, room);
	aes->encrypt(rk, h, h);
	p += room;
	len -= room;
	if (len > 16) {
		size_t nblk = (len - 1) / 16;

		aes->cbcmac(rk, h, p, nblk);
		p += 16 * nblk;
		len = (len - 1) % 16 + 1;
	}
	xor_into(h, 0, p, len);
}

static void end(const struct smb3sign_key *key, union mac_state *st, uint8_t tag[16])
{
	const uint8_t *k1 = cmac_subkeys(key), *k2 = k1 + 16;
	size_t used = st->cmac.len % 16;
	uint8_t *h = st->cmac.h;

	if (used)
		h[used] ^= 0x80;
	xor_into(h, 0, used ? k2 : k1, 16);
	key->k.aes->encrypt(cmac_rk(key), h, tag);
}

static void lane_start(const struct smb3sign_key *key, struct smb3sign_lane *lane)
{
	memset(lane->state, 0, sizeof(lane->state));
	lane->rk = cmac_rk(key);
}

static size_t lane_last(const struct smb3sign_key *key, uint8_t *p, size_t n, uint64_t len)
{
	const uint8_t *k1 = cmac_subkeys(key), *k2 = k1 + 16;

	(void)len;
	if (n < 16) {
		memset(p + n, 0, 16 - n);
		p[n] = 0x80;
	}
	xor_into(p, 0, n < 16 ? k2 : k1, 16);
	return 1;
}

static void lane_tag(const struct smb3sign_lane *lane, struct smb3sign_tag *tag)
{
	memcpy(tag, lane->state, sizeof(*tag));
}

static const struct smb3sign_chain chain = {4, 1, lane_start, lane_last, NULL, lane_tag};

const struct smb3sign_mac smb3sign_cmac = {setup, start, add, end, &chain};
