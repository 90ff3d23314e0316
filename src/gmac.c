/* SPDX-License-Identifier: MIT */
/*
 * AES-128-GMAC (SP 800-38D): GCM with an empty plaintext and the message as additional data, so
 *     tag = E(J0) ^ GHASH(message padded with zeros to whole blocks || bit length, 64 bits || 0, 64 bits)
 * J0 comes from the header (smb2.h); nobody passes a nonce.
 */
#include "key.h"
#include "smb2.h"
#include "util.h"

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
	key->ghash->blocks(gmac_table(key), st->gmac.acc, 0, hdr, 4);
	st->gmac.len = 64;
	smb2_gmac_j0(hdr, st->gmac.j0);
}

static void add(const struct smb3sign_key *key, union mac_state *st, const uint8_t *p, size_t len)
{
	uint8_t *acc = st->gmac.acc;
	size_t used = st->gmac.len % 16, room = used ? 16 - used : 0;

	st->gmac.len += len;
	if (len < room) {
		xor_into(acc, used, p, len);
		return;
	}
	xor_into(acc, used, p, room);
	p += room;
	len -= room;
	if (used || len >= 16)
		key->ghash->blocks(gmac_table(key), acc, used != 0, p, len / 16);
	xor_into(acc, 0, p + (len & ~(size_t)15), len % 16);
}

static void end(const struct smb3sign_key *key, union mac_state *st, uint8_t tag[16])
{
	uint8_t length[16] = {0}, j0[16];
	uint8_t *acc = st->gmac.acc;

	store_be64(length, st->gmac.len * 8);
	key->ghash->blocks(gmac_table(key), acc, st->gmac.len % 16 != 0, length, 1);
	store_le64(j0, st->gmac.j0[0]);
	store_le64(j0 + 8, st->gmac.j0[1]);
	key->k.aes->encrypt(gmac_rk(key), j0, tag);
	xor_into(tag, 0, acc, 16);
}

const struct smb3sign_mac smb3sign_gmac = {setup, start, add, end, NULL};
