/* SPDX-License-Identifier: MIT */
/*
 * A client asks what a response is worth, before it looks at anything behind the header:
 *
 *     client_verify hmac|cmac|gmac SIGNING_KEY < frames-from-the-server
 *
 * prints a line for each message. Exit status: 0 all can be used, 1 some must not be.
 */
#include "example.h"

enum worth { USE, STATUS_ALONE, NOTHING };

/*
 * The policy knows which messages have to be verified. Looking at the SIGNED flag is not enough: whoever changes a
 * message can clear the flag. With the request at hand, add SMB3SIGN_ECHO if smb3sign_is_echo(response, request).
 */
static enum worth worth_of(const smb3sign_key *key, const uint8_t *msg, size_t len, const char **why)
{
	const unsigned state = SMB3SIGN_HAVE_SESSION | SMB3SIGN_HAVE_KEY | SMB3SIGN_REQUIRED;
	uint32_t ntstatus; /* a server's matter */
	int err;

	switch (smb3sign_receive_policy(SMB3SIGN_ROLE_CLIENT, msg, state, &ntstatus)) {
	case SMB3SIGN_ACT_PASS:
		*why = "need not be signed";
		return USE;
	case SMB3SIGN_ACT_VERIFY:
		err = smb3sign_verify_buf(key, msg, len);
		*why = smb3sign_strerror(err);
		return err == SMB3SIGN_OK ? USE : NOTHING;
	case SMB3SIGN_ACT_STATUS_ONLY:
		*why = "an error that nobody vouches for";
		return STATUS_ALONE;
	default: /* discard it, or disconnect */
		*why = "the policy refuses it";
		return NOTHING;
	}
}

int main(int argc, char **argv)
{
	static const char *const words[] = {"use", "status alone", "nothing"};
	static uint8_t frame[FRAME_MAX];
	smb3sign_key *key = key_of_arguments(argc, argv, SMB3SIGN_ROLE_CLIENT);
	int refused = 0;
	size_t len;

	while (read_frame(frame, &len)) {
		/* Each element of a compound has a signature of its own. */
		for (size_t off = 0, msg_len; off < len; off += msg_len) {
			const char *why;
			enum worth worth;

			if (smb3sign_frame_next(frame, len, off, &msg_len) != SMB3SIGN_OK)
				quit("not SMB2: disconnect");
			worth = worth_of(key, frame + off, msg_len, &why);
			refused |= worth == NOTHING;
			printf("%llu: %s (%s)\n", (unsigned long long)message_id(frame + off), words[worth], why);
		}
	}
	smb3sign_key_free(key);
	return refused;
}
