/* SPDX-License-Identifier: MIT */
/*
 * A server verifies a request, answers it, and signs the answer:
 *
 *     server_reply hmac|cmac|gmac SIGNING_KEY < frames-from-the-client > frames-to-the-client
 *
 * It answers every request that is in order as ECHO, LOCK, LOGOFF and TREE_DISCONNECT are answered, whose responses
 * have an empty body. docs/integrate-server.md has a server with sessions, compounds and answers that come late.
 */
#include "example.h"
#include <sys/uio.h>
#include <unistd.h>

/* The structures of an empty response and of an error response: MS-SMB2 2.2.29 (and others), 2.2.2 */
static const uint8_t empty_body[4] = {4};
static const uint8_t error_body[9] = {9};

/* What to answer to a request, in *ntstatus. 0: nothing, it is dropped. */
static int judge(const smb3sign_key *key, const uint8_t *msg, size_t len, unsigned state, uint32_t *ntstatus)
{
	int err;

	switch (smb3sign_receive_policy(SMB3SIGN_ROLE_SERVER, msg, state, ntstatus)) {
	case SMB3SIGN_ACT_PASS:
	case SMB3SIGN_ACT_REJECT:
		return 1;
	case SMB3SIGN_ACT_VERIFY:
		err = smb3sign_verify_buf(key, msg, len);
		*ntstatus = smb3sign_ntstatus(err);
		return err == SMB3SIGN_OK || (get32(msg + HDR_COMMAND) & 0xffff) != CANCEL; /* a CANCEL has no answer */
	default:
		return 0;
	}
}

/* The header of the answer: ids, credits and command are the request's. */
static void make_header(uint8_t hdr[SMB3SIGN_HEADER_LEN], const uint8_t *request, uint32_t ntstatus)
{
	memcpy(hdr, request, SMB3SIGN_HEADER_LEN);
	put32(hdr + HDR_STATUS, ntstatus);
	put32(hdr + HDR_FLAGS, (get32(request + HDR_FLAGS) & ~(uint32_t)FLAG_SIGNED) | FLAG_RESPONSE);
}

static void send_all(const smb3sign_iov *iov, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (writev(STDOUT_FILENO, iov, n) != (ssize_t)len)
		quit("cannot write the answer");
}

/* Header and body are signed where they lie: the array that goes to writev() goes to smb3sign_sign() too. */
static int answer(const smb3sign_key *key, const uint8_t *request, uint32_t ntstatus, unsigned state)
{
	const uint8_t *body = ntstatus ? error_body : empty_body;
	size_t body_len = ntstatus ? sizeof(error_body) : sizeof(empty_body);
	uint8_t prefix[PREFIX_LEN], hdr[SMB3SIGN_HEADER_LEN];
	const smb3sign_iov iov[] = {
		{prefix, sizeof(prefix)}, {hdr, sizeof(hdr)}, {(void *)(uintptr_t)body, body_len}, /* only read */
	};
	int sign;

	make_header(hdr, request, ntstatus);
	put_prefix(prefix, sizeof(hdr) + body_len);
	sign = smb3sign_send_policy(SMB3SIGN_ROLE_SERVER, hdr, state);
	if (sign > 0)
		sign = smb3sign_sign(key, hdr, iov + 2, 1); /* the last step before sending */
	if (sign < 0)
		return sign; /* it has to be signed and cannot be: it is not sent */
	send_all(iov, 3);
	return SMB3SIGN_OK;
}

int main(int argc, char **argv)
{
	static uint8_t frame[FRAME_MAX];
	smb3sign_key *key = key_of_arguments(argc, argv, SMB3SIGN_ROLE_SERVER);
	const unsigned state = SMB3SIGN_HAVE_SESSION | SMB3SIGN_HAVE_KEY | SMB3SIGN_REQUIRED;
	size_t len, msg_len;

	while (read_frame(frame, &len)) {
		uint32_t ntstatus;
		int err;

		if (smb3sign_frame_next(frame, len, 0, &msg_len) != SMB3SIGN_OK || msg_len != len)
			quit("not one SMB2 message");
		if (!judge(key, frame, len, state, &ntstatus))
			continue;
		err = answer(key, frame, ntstatus, state);
		if (err)
			quit(smb3sign_strerror(err));
	}
	smb3sign_key_free(key);
	return 0;
}
