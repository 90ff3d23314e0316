/* SPDX-License-Identifier: MIT */
/*
 * HMAC-SHA256 (FIPS 198-1, FIPS 180-4). A key is kept as the two SHA-256 states behind its pad blocks, so a message costs
 * its own blocks, the padding and one outer block. SMB takes the first 16 of the 32 bytes (MS-SMB2 3.1.4.1).
 */
#include "key.h"
#include "util.h"

/* h = SHA-256 state after the one block key ^ pad, key padded to 64 bytes with zeros. */
static void pad_state(const struct smb3sign_sha256 *k, uint32_t h[8], const uint8_t key[64], uint8_t pad)
{
	uint8_t block[64];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = key[i] ^ pad;
	memcpy(h, smb3sign_sha256_iv, sizeof(smb3sign_sha256_iv));
	k->blocks(h, block, 1);
	smb3sign_wipe(block, sizeof(block));
}

/* FIPS 180-4 5.1.1: a 1 bit, zeros, the length in bits as 64 bits big-endian; then the state's words as bytes. */
static void sha256_end(const struct smb3sign_sha256 *k, struct sha256_state *st, uint8_t out[32])
{
	size_t used = st->len % 64;

	st->buf[used++] = 0x80;
	if (used > 56) {
		memset(st->buf + used, 0, 64 - used);
		k->blocks(st->h, st->buf, 1);
		used = 0;
	}
	memset(st->buf + used, 0, 56 - used);
	store_be64(st->buf + 56, st->len * 8);
	k->blocks(st->h, st->buf, 1);
	for (size_t i = 0; i < 8; i++)
		store_be32(out + 4 * i, st->h[i]);
}

void smb3sign_hmac_setup(const struct smb3sign_sha256 *k, struct hmac_secret *s, const uint8_t *key, size_t len)
{
	uint8_t padded[64] = {0};

	if (len > sizeof(padded)) {
		struct sha256_state st;

		memcpy(st.h, smb3sign_sha256_iv, sizeof(st.h));
		st.len = 0;
		smb3sign_hmac_add(k, &st, key, len);
		sha256_end(k, &st, padded);
		smb3sign_wipe(&st, sizeof(st));
	} else if (len) {
		memcpy(padded, key, len);
	}
	pad_state(k, s->inner, padded, 0x36);
	pad_state(k, s->outer, padded, 0x5c);
	smb3sign_wipe(padded, sizeof(padded));
}

void smb3sign_hmac_start(struct sha256_state *st, const struct hmac_secret *s)
{
	memcpy(st->h, s->inner, sizeof(st->h));
	st->len = 64;
}

void smb3sign_hmac_add(const struct smb3sign_sha256 *k, struct sha256_state *st, const uint8_t *p, size_t len)
{
	size_t used = st->len % 64, room = 64 - used;

	st->len += len;
	if (used && len >= room) {
		memcpy(st->buf + used, p, room);
		k->blocks(st->h, st->buf, 1);
		p += room;
		len -= room;
		used = 0;
	}
	if (!used && len >= 64) {
		k->blocks(st->h, p, len / 64);
		p += len & ~(size_t)63;
		len %= 64;
	}
	if (len)
		memcpy(st->buf + used, p, len);
}

void smb3sign_hmac_end(const struct smb3sign_sha256 *k, struct sha256_state *st, const struct hmac_secret *s,
		       uint8_t mac[32])
{
	sha256_end(k, st, st->buf);
	memcpy(st->h, s->outer, sizeof(st->h));
	st->len = 64 + 32; /* the outer pad block is behind us, the inner hash waits in buf */
	sha256_end(k, st, mac);
}

static void setup(struct smb3sign_key *key, const uint8_t raw[16])
{
	smb3sign_hmac_setup(key->k.sha256, (struct hmac_secret *)(void *)key->secret, raw, 16);
}

static void start(const struct smb3sign_key *key, union mac_state *st, const uint8_t hdr[64])
{
	smb3sign_hmac_start(&st->hmac, hmac_secret(key));
	smb3sign_hmac_add(key->k.sha256, &st->hmac, hdr, 64);
}

static void add(const struct smb3sign_key *key, union mac_state *st, const uint8_t *p, size_t len)
{
	smb3sign_hmac_add(key->k.sha256, &st->hmac, p, len);
}

static void end(const struct smb3sign_key *key, union mac_state *st, uint8_t tag[16])
{
	uint8_t mac[32];

	smb3sign_hmac_end(key->k.sha256, &st->hmac, hmac_secret(key), mac);
	memcpy(tag, mac, 16);
	smb3sign_wipe(mac, sizeof(mac));
}

const struct smb3sign_mac smb3sign_hmac_sha256 = {setup, start, add, end};
