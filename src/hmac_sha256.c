/* SPDX-License-Identifier: MIT */
/*
 * HMAC-SHA256 (FIPS 198-1, FIPS 180-4). A key is kept as the two SHA-256 states behind its pad blocks, so a message
 * costs its own blocks, the padding and one outer block. SMB takes the first 16 of the 32 bytes (MS-SMB2 3.1.4.1).
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

/*
 * FIPS 180-4 5.1.1: a 1 bit, zeros, the length in bits as 64 bits big-endian. p holds the last n < 64 of len bytes and
 * has room for 128; gives the number of blocks.
 */
static size_t pad(uint8_t *p, size_t n, uint64_t len)
{
	size_t nblk = n < 56 ? 1 : 2;

	p[n] = 0x80;
	memset(p + n + 1, 0, 64 * nblk - 8 - n - 1);
	store_be64(p + 64 * nblk - 8, len * 8);
	return nblk;
}

/* The first n words of a state as bytes. */
static void put_words(uint8_t *out, const uint32_t *h, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_be32(out + 4 * i, h[i]);
}

static void sha256_end(const struct smb3sign_sha256 *k, struct sha256_state *st, uint8_t out[32])
{
	k->blocks(st->h, st->buf, pad(st->buf, st->len % 64, st->len));
	put_words(out, st->h, 8);
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

static void lane_start(const struct smb3sign_key *key, struct smb3sign_lane *lane)
{
	memcpy(lane->state, hmac_secret(key)->inner, sizeof(lane->state));
}

/* The inner pad block counts too. */
static size_t lane_last(const struct smb3sign_key *key, uint8_t *p, size_t n, uint64_t len)
{
	(void)key;
	return pad(p, n, 64 + len);
}

static void lane_outer(const struct smb3sign_key *key, struct smb3sign_lane *lane, uint8_t *p)
{
	put_words(p, lane->state, 8);
	pad(p, 32, 64 + 32);
	memcpy(lane->state, hmac_secret(key)->outer, sizeof(lane->state));
}

static void lane_tag(const struct smb3sign_lane *lane, struct smb3sign_tag *tag)
{
	put_words((uint8_t *)tag->word, lane->state, 4);
}

static const struct smb3sign_chain chain = {6, 0, lane_start, lane_last, lane_outer, lane_tag};

const struct smb3sign_mac smb3sign_hmac_sha256 = {setup, start, add, end, &chain};
