/* SPDX-License-Identifier: MIT */
/*
 * A program that uses the installed library: runs its self-test, derives a key, signs a request as a client, verifies
 * it as the server, and prints the library's version. Valid C and C++.
 */
#include <smb3sign.h>

#include <stdio.h>
#include <string.h>

/* An ECHO request (MS-SMB2 2.2.28). */
static const unsigned char echo_request[68] = {
	0xfe, 'S', 'M', 'B', 64, 0, 1, 0, 0, 0,    0,    0, 0x0d, 0, 1, 0, 0, 0,    0, 0, 0, 0, 0,
	0,    9,   0,   0,   0,  0, 0, 0, 0, 0xff, 0xfe, 0, 0,    0, 0, 0, 0, 0x19, 0, 0, 0, 0, 0x10,
	0,    0,   0,   0,   0,  0, 0, 0, 0, 0,    0,    0, 0,    0, 0, 0, 0, 0,    4, 0, 0, 0,
};

static smb3sign_key *make_key(unsigned role)
{
	static const unsigned char session_key[16] = {1, 2, 3};
	smb3sign_key *key = NULL;

	if (smb3sign_key_derive(&key, SMB3SIGN_AES_CMAC, 0x0300, session_key, sizeof(session_key), NULL, role))
		return NULL;
	return key;
}

int main(void)
{
	unsigned char msg[sizeof(echo_request)];
	smb3sign_key *client = make_key(SMB3SIGN_ROLE_CLIENT), *server = make_key(SMB3SIGN_ROLE_SERVER);
	int err = smb3sign_selftest(), forged = SMB3SIGN_OK;

	if (!client || !server)
		err = SMB3SIGN_E_NOMEM;
	memcpy(msg, echo_request, sizeof(msg));
	if (!err) {
		err = smb3sign_sign_buf(client, msg, sizeof(msg));
		if (!err)
			err = smb3sign_verify_buf(server, msg, sizeof(msg));
		msg[67] ^= 1;
		forged = smb3sign_verify_buf(server, msg, sizeof(msg));
	}
	smb3sign_key_free(client);
	smb3sign_key_free(server);
	printf("%s\n", smb3sign_version());
	if (err)
		fprintf(stderr, "%s\n", smb3sign_strerror(err));
	return err != SMB3SIGN_OK || forged != SMB3SIGN_E_SIGNATURE;
}
