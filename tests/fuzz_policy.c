/* SPDX-License-Identifier: MIT */
/*
 * What the policies may answer about any header, for fuzz_frame: the promises of smb3sign.h that hold whatever rule
 * decides. Which rule does is test_policy's matter.
 */
#include "fuzz.h"

enum { ALL_BITS = 1023, UNCHANGED = 4711, NOTIFICATION = 0x13, OPLOCK_BREAK = 0x12 };

static unsigned command(const uint8_t *hdr)
{
	return hdr[12] | (unsigned)hdr[13] << 8;
}

static int is_response(const uint8_t *hdr)
{
	return hdr[16] & 1;
}

static int is_error(const uint8_t *hdr)
{
	return get_le32(hdr + 8) >= 0xc0000000;
}

/* What the arguments alone decide, OK if nothing. */
static int refused(unsigned role, const uint8_t *hdr, unsigned state)
{
	if ((role != SMB3SIGN_ROLE_CLIENT && role != SMB3SIGN_ROLE_SERVER) || state > ALL_BITS)
		return SMB3SIGN_E_INVAL;
	return memcmp(hdr, "\xfeSMB\x40\0", 6) == 0 ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE;
}

/* Of the messages of a session that requires signing, those that a client believes unsigned. */
static int is_never_signed(const uint8_t *hdr)
{
	static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	return command(hdr) == 0 || command(hdr) == NOTIFICATION || get_le32(hdr + 8) == 0x103 ||
	       (command(hdr) == OPLOCK_BREAK && memcmp(hdr + 24, ones, 8) == 0);
}

static void require_receive(unsigned role, const uint8_t *hdr, unsigned state)
{
	const int is_client = role == SMB3SIGN_ROLE_CLIENT, wrong_way = is_response(hdr) != is_client;
	const unsigned required = SMB3SIGN_REQUIRED | SMB3SIGN_HAVE_SESSION | SMB3SIGN_HAVE_KEY;
	uint32_t ntstatus = UNCHANGED;
	int act = smb3sign_receive_policy(role, hdr, state, &ntstatus);

	if (refused(role, hdr, state)) {
		require(act == refused(role, hdr, state) && ntstatus == UNCHANGED);
		return;
	}
	require(act >= SMB3SIGN_ACT_PASS && act <= SMB3SIGN_ACT_DISCONNECT);
	if (act == SMB3SIGN_ACT_REJECT)
		require(ntstatus >= 0xc0000000 && !is_client);
	else
		require(ntstatus == 0);
	if (wrong_way)
		require(act == (is_client ? SMB3SIGN_ACT_DISCARD : SMB3SIGN_ACT_DISCONNECT));
	else if (state & SMB3SIGN_DECRYPTED)
		require(act == SMB3SIGN_ACT_PASS);
	else if (act == SMB3SIGN_ACT_PASS && (state & required) == required)
		require(is_client && is_never_signed(hdr));
	if (act == SMB3SIGN_ACT_STATUS_ONLY)
		require(is_client && is_error(hdr) && !(state & SMB3SIGN_MUST_SIGN));
}

static void require_send(unsigned role, const uint8_t *hdr, unsigned state)
{
	int sign = smb3sign_send_policy(role, hdr, state), refusal = refused(role, hdr, state);

	if (!refusal && is_response(hdr) != (role == SMB3SIGN_ROLE_SERVER))
		refusal = SMB3SIGN_E_MESSAGE;
	if (refusal) {
		require(sign == refusal);
		return;
	}
	require(sign == 0 || sign == 1 || sign == SMB3SIGN_E_UNSUPPORTED);
	if (oracle_exempt(SMB3SIGN_AES_CMAC, hdr) != SMB3SIGN_SIGNABLE ||
	    (state & (SMB3SIGN_DECRYPTED | SMB3SIGN_GUEST)))
		require(sign == 0);
	else if (state & SMB3SIGN_HAVE_KEY)
		require(sign == 1 || (sign == 0 && !(state & SMB3SIGN_REQUIRED)));
	else
		require(sign != 1);
}

static int is_echo(const uint8_t *response, const uint8_t *request)
{
	static const uint8_t none[16];

	return !refused(SMB3SIGN_ROLE_CLIENT, response, 0) && !refused(SMB3SIGN_ROLE_SERVER, request, 0) &&
	       is_response(response) && !is_response(request) && memcmp(response + 12, request + 12, 2) == 0 &&
	       memcmp(response + 24, request + 24, 8) == 0 && is_error(response) &&
	       (memcmp(response + 48, none, 16) == 0 || memcmp(response + 48, request + 48, 16) == 0);
}

/* The header with a message of the other direction that nearly always could be its answer or its request. */
static void require_echo(const uint8_t *hdr)
{
	uint8_t other[64];

	memcpy(other, hdr, 64);
	other[16] ^= 1;
	if (rng_below(2))
		put_le32(other + 8, (uint32_t)rng_u64() | 0xc0000000);
	if (rng_below(2))
		memset(other + 48, 0, 16);
	if (rng_below(4) == 0)
		other[rng_below(64)] ^= (uint8_t)(1u << rng_below(8));
	require(smb3sign_is_echo(hdr, other) == is_echo(hdr, other));
	require(smb3sign_is_echo(other, hdr) == is_echo(other, hdr));
	require(smb3sign_is_echo(hdr, hdr) == 0);
}

void require_policies(const uint8_t *hdr, unsigned state)
{
	uint8_t *copy = exact_copy(hdr, 64, rng_below(16));

	for (unsigned role = 0; role < 4; role++) {
		require_receive(role, copy, state);
		require_send(role, copy, state);
	}
	require_echo(copy);
	require(memcmp(copy, hdr, 64) == 0);
	exact_free(copy);
}
