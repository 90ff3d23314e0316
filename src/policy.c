/* SPDX-License-Identifier: MIT */
/* What may be believed of messages that no key can verify. */
#include "smb2.h"

/* NTSTATUS severity, the two high bits: 3 is an error (MS-ERREF 2.3). */
static int is_error(uint32_t status)
{
	return status >> 30 == 3;
}

int smb3sign_is_echo(const void *response_hdr, const void *request_hdr)
{
	static const uint8_t zero[SMB3SIGN_SIG_LEN];
	const uint8_t *rsp = response_hdr, *req = request_hdr;

	if (!rsp || !req || !smb2_is_header(rsp) || !smb2_is_header(req))
		return 0;
	if (!smb2_is_response(rsp) || smb2_is_response(req))
		return 0;
	if (smb2_command(rsp) != smb2_command(req) || smb2_message_id(rsp) != smb2_message_id(req))
		return 0;
	return is_error(smb2_status(rsp)) &&
	       (equal_16(rsp + SMB2_SIGNATURE, zero) || equal_16(rsp + SMB2_SIGNATURE, req + SMB2_SIGNATURE));
}
