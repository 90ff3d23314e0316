/* SPDX-License-Identifier: MIT */
/* The rules of smb3sign.h, one after the other as they stand there, for the tests to compare with: see oracle.h. */
#include "oracle.h"

#include "support.h"

static uint64_t get_le64(const uint8_t *p)
{
	return get_le32(p) | (uint64_t)get_le32(p + 4) << 32;
}

int oracle_exempt(unsigned alg, const uint8_t *hdr)
{
	const unsigned command = hdr[12] | (unsigned)hdr[13] << 8;
	const int response = hdr[16] & 1;
	const uint64_t mid = get_le64(hdr + 24);

	if (memcmp(hdr, "\xfeSMB\x40\x00", 6) != 0)
		return SMB3SIGN_E_MESSAGE;
	if (command == 0x00)
		return SMB3SIGN_EXEMPT_NEGOTIATE;
	if (get_le64(hdr + 40) == 0)
		return SMB3SIGN_EXEMPT_SESSION0;
	if (response && get_le32(hdr + 8) == 0x00000103)
		return SMB3SIGN_EXEMPT_INTERIM;
	if (response && mid == UINT64_MAX && command == 0x12)
		return SMB3SIGN_EXEMPT_BREAK;
	if (mid == UINT64_MAX)
		return SMB3SIGN_EXEMPT_MID_MAX;
	if (mid == 0 && !(command == 0x0c && !response && alg != SMB3SIGN_AES_GMAC))
		return SMB3SIGN_EXEMPT_MID0;
	if (response && command == 0x0c)
		return SMB3SIGN_EXEMPT_CANCEL_RESPONSE;
	return SMB3SIGN_SIGNABLE;
}

/* ours: 1 if the message is to be our own, 0 if the peer's. */
static int oracle_check(unsigned alg, unsigned role, int ours, const uint8_t *hdr, size_t len)
{
	const int response = hdr[16] & 1;
	const int exempt = oracle_exempt(alg, hdr);

	if (exempt < 0)
		return exempt;
	if (exempt != SMB3SIGN_SIGNABLE)
		return SMB3SIGN_E_EXEMPT;
	/* The client's messages are requests, the server's are responses. */
	if (role == SMB3SIGN_ROLE_CLIENT && response == ours)
		return SMB3SIGN_E_MESSAGE;
	if (role == SMB3SIGN_ROLE_SERVER && response != ours)
		return SMB3SIGN_E_MESSAGE;
	if (get_le32(hdr + 20) != 0 && get_le32(hdr + 20) != len)
		return SMB3SIGN_E_MESSAGE;
	return SMB3SIGN_OK;
}

int oracle_sign(unsigned alg, unsigned role, const uint8_t *hdr, size_t len)
{
	return oracle_check(alg, role, 1, hdr, len);
}

int oracle_verify_forged(unsigned alg, unsigned role, const uint8_t *msg, size_t len)
{
	int err = oracle_check(alg, role, 0, msg, len);

	if (err)
		return err;
	return msg[16] & 8 ? SMB3SIGN_E_SIGNATURE : SMB3SIGN_E_UNSIGNED;
}

int oracle_verify(unsigned alg, const uint8_t raw[16], unsigned role, const uint8_t *msg, size_t len)
{
	uint8_t tag[16];
	int err = oracle_check(alg, role, 0, msg, len);

	if (err)
		return err;
	ref_signature(alg, raw, msg, len, tag);
	return memcmp(tag, msg + 48, 16) == 0 ? SMB3SIGN_OK : oracle_verify_forged(alg, role, msg, len);
}

void any_header(uint8_t *hdr, size_t len)
{
	static const uint16_t commands[] = {0x00, 0x01, 0x03, 0x0c, 0x0c, 0x12, 0x13, 0x0100, 0x0c0c};
	static const uint64_t ids[] = {0, 1, 0xff00, UINT64_MAX, UINT64_MAX - 1, 0x100000000, 0xffffffff};
	const uint32_t next[] = {0, 0, 0, (uint32_t)len, (uint32_t)len + 8, (uint32_t)len - 64, 1, 0x80000000};
	static const uint32_t status[] = {0, 0x103, 0x103, 0xc0000016, 0x10300, 0x00010103};

	random_header(hdr);
	put_le16(hdr + 12, commands[rng_below(9)]);
	put_le32(hdr + 8, status[rng_below(6)]);
	put_le32(hdr + 16, (uint32_t)rng_u64());
	put_le32(hdr + 20, next[rng_below(8)]);
	put_le64(hdr + 24, ids[rng_below(7)]);
	if (rng_below(6) == 0)
		put_le64(hdr + 40, ids[rng_below(7)]);
	/* One bit wrong in what every header has the same. */
	if (rng_below(12) == 0)
		hdr[rng_below(6)] ^= (uint8_t)(1u << rng_below(8));
}
