/* SPDX-License-Identifier: MIT */
/*
 * Which connections a session can be bound to. MS-SMB2 3.3.5.5 has the dialect's and the cipher's rules; those for the
 * signing algorithm, and that they come first, are Windows' behaviour as Samba's tests recorded it
 * (smb2.session.bind_negative_*).
 */
#include "smb2.h"

static int is_dialect(unsigned dialect)
{
	return dialect == 0x0202 || dialect == 0x0210 || dialect == 0x0300 || dialect == 0x0302 || dialect == 0x0311;
}

static int is_valid(const smb3sign_binding *b)
{
	return b && is_dialect(b->dialect) && b->alg <= SMB3SIGN_AES_GMAC &&
	       !(b->reserved[0] | b->reserved[1] | b->reserved[2]);
}

uint32_t smb3sign_bind_status(const smb3sign_binding *session, const smb3sign_binding *connection)
{
	if (!is_valid(session) || !is_valid(connection))
		return STATUS_INVALID_PARAMETER;
	/* GMAC goes with GMAC only: HMAC and CMAC may be mixed. */
	if (session->alg == SMB3SIGN_AES_GMAC && connection->alg != SMB3SIGN_AES_GMAC)
		return STATUS_REQUEST_OUT_OF_SEQUENCE;
	if (connection->alg == SMB3SIGN_AES_GMAC && session->alg != SMB3SIGN_AES_GMAC)
		return STATUS_NOT_SUPPORTED;
	if (connection->dialect < 0x0300)
		return STATUS_REQUEST_NOT_ACCEPTED;
	if (session->dialect != connection->dialect || session->cipher != connection->cipher)
		return STATUS_INVALID_PARAMETER;
	return STATUS_SUCCESS;
}
