/* SPDX-License-Identifier: MIT */
/*
 * AES-128-GMAC (SP 800-38D): GCM with an empty plaintext and the message as additional data, so
 *     tag = E(J0) ^ GHASH(message padded with zeros to whole blocks || bit length, 64 bits || 0, 64 bits)
 * J0 comes from the header (smb2.h); nobody passes a nonce.
 */
#include "key.h"
#include "smb2.h"
#include "util.h"

/* acc * H is what GHASH makes of a zero block. */
static const uint8_t zero_block[16];

static void setup(struct smb3sign_key *key, const uint8_t raw[16])
{
	uint8_t *rk = (uint8_t *)key->secret;
	uint8_t h[16] = {0};

	key->k.aes->expand(rk, raw);
	key->k.aes->encrypt(rk, h, h);
	key->ghash->setkey(rk + key->k.aes->rk_size, h);
	smb3sign_wipe(h, sizeof(h));
}

static void start(const struct smb3sign_key *key, union mac_state *st, const uint8_t hdr[64])
{
	memset(st->gmac.acc, 0, sizeof(st->gmac.acc));
	key->ghash->blocks(gmac_table(key), st->gmac.acc, hdr, 4);
	st->gmac.len = 64;
	smb2_gmac_j0(hdr, st->gmac.j0);
}

static void add(const struct smb3sign_key *key, union mac_state *st, const uint8_t *p, size_t len)
{
	uint8_t *acc = st->gmac.acc;
	size_t used = st->gmac.len % 16, room = used ? 16 - used : 0;

	st->gmac.len += len;
	if (len < room) {
		xor_bytes(acc + used, p, len);
		return;
	}
	if (room) {
		xor_bytes(acc + used, p, room);
		key->ghash->blocks(gmac_table(key), acc, zero_block, 1);
		p += room;
		len -= room;
	}
	if (len >= 16) {
		key->ghash->blocks(gmac_table(key), acc, p, len / 16);
		p += len & ~(size_t)15;
		len %= 16;
	}
	xor_bytes(acc, p, len);
}

static void end(const struct smb3sign_key *key, union mac_state *st, uint8_t tag[16])
{
	uint8_t last[32] = {0}, j0[16];
	uint8_t *acc = st->gmac.acc;

	store_be64(last + 16, st->gmac.len * 8);
	if (st->gmac.len % 16)
		key->ghash->blocks(gmac_table(key), acc, last, 2);
	else
		key->ghash->blocks(gmac_table(key), acc, last + 16, 1);
	store_le64(j0, st->gmac.j0[0]);
	store_le64(j0 + 8, st->gmac.j0[1]);
	key->k.aes->encrypt(gmac_rk(key), j0, tag);
	xor_bytes(tag, acc, 16);
}

const struct smb3sign_mac smb3sign_gmac = {setup, start, add, end};
