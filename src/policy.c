/* SPDX-License-Identifier: MIT */
/*
 * What must be signed, what must be verified, what to answer; and what may be believed of messages that no key can
 * verify. Each of the three policies is a list of rules of which the first that fits decides. The rules are MS-SMB2's,
 * by section; "Samba" and "Windows" stand where the specification is silent or says SHOULD and they are what peers live
 * with.
 */
#include "message.h"

enum {
	STATE_BITS = SMB3SIGN_DECRYPTED | SMB3SIGN_REQUIRED | SMB3SIGN_HAVE_SESSION | SMB3SIGN_HAVE_KEY |
		     SMB3SIGN_GUEST | SMB3SIGN_PEER_SIGNED | SMB3SIGN_SMB311 | SMB3SIGN_BINDING | SMB3SIGN_MUST_SIGN |
		     SMB3SIGN_ECHO
};

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

static int reject(uint32_t *ntstatus, uint32_t status)
{
	*ntstatus = status;
	return SMB3SIGN_ACT_REJECT;
}

/* MS-SMB2 3.3.5.2.4 and what the sections of the commands add. */
static int server_receives(const uint8_t *hdr, unsigned state, uint32_t *ntstatus)
{
	unsigned command = smb2_command(hdr);
	uint32_t flags = smb2_flags(hdr);
	int is_signed = (flags & SMB2_FLAGS_SIGNED) != 0, wanted = is_signed || (state & SMB3SIGN_REQUIRED);

	if (flags & SMB2_FLAGS_SERVER_TO_REDIR)
		return SMB3SIGN_ACT_DISCONNECT; /* 3.3.5.2 */
	if (state & SMB3SIGN_DECRYPTED)
		return SMB3SIGN_ACT_PASS; /* Windows leaves SIGNED set inside, over a zero Signature */
	if (command == SMB2_CANCEL) {     /* never answered (3.3.5.16): what cannot be believed is dropped */
		if (!wanted)
			return SMB3SIGN_ACT_PASS;
		return state & SMB3SIGN_HAVE_KEY ? SMB3SIGN_ACT_VERIFY : SMB3SIGN_ACT_DISCARD;
	}
	if (command == SMB2_NEGOTIATE && is_signed)
		return reject(ntstatus, STATUS_INVALID_PARAMETER);
	if ((flags & SMB2_FLAGS_RELATED_OPERATIONS) && smb2_session_id(hdr) == 0 && wanted)
		return reject(ntstatus, STATUS_INVALID_PARAMETER); /* Samba: no session follows from an id of 0 */
	if (is_signed) {
		if (!(state & SMB3SIGN_HAVE_SESSION))
			return reject(ntstatus, STATUS_USER_SESSION_DELETED);
		if (!(state & SMB3SIGN_HAVE_KEY))
			return reject(ntstatus, STATUS_NOT_SUPPORTED);
		return SMB3SIGN_ACT_VERIFY;
	}
	if (state & SMB3SIGN_BINDING)
		return reject(ntstatus, STATUS_INVALID_PARAMETER); /* 3.3.5.5: a bind is signed */
	if (command == SMB2_SESSION_SETUP && !(state & SMB3SIGN_HAVE_KEY))
		return SMB3SIGN_ACT_PASS; /* there is nothing yet to sign with */
	if (state & SMB3SIGN_REQUIRED)
		return SMB3SIGN_ACT_VERIFY; /* Samba takes a right signature under a clear flag; others fail */
	if (command == SMB2_TREE_CONNECT && (state & SMB3SIGN_SMB311) && !(state & SMB3SIGN_GUEST))
		return SMB3SIGN_ACT_DISCONNECT; /* 3.3.5.7, which means: neither signed nor encrypted */
	if (state & SMB3SIGN_MUST_SIGN)
		return reject(ntstatus, STATUS_ACCESS_DENIED);
	return SMB3SIGN_ACT_PASS;
}

/* A server refuses some session setups where it cannot sign, and the reason is worth having (Samba's client). */
static int is_unsigned_refusal(unsigned command, uint32_t status)
{
	if (status == STATUS_USER_SESSION_DELETED)
		return 1;
	return command == SMB2_SESSION_SETUP && (status == STATUS_REQUEST_OUT_OF_SEQUENCE ||
						 status == STATUS_NOT_SUPPORTED || status == STATUS_ACCESS_DENIED);
}

/* Errors that a server answers without looking a session up (Samba's client). */
static int is_sessionless_error(uint32_t status)
{
	return status == STATUS_NETWORK_NAME_DELETED || status == STATUS_FILE_CLOSED ||
	       status == STATUS_INVALID_PARAMETER;
}

/* MS-SMB2 3.2.5.1.3 and what the sections of the commands add. */
static int client_receives(const uint8_t *hdr, unsigned state)
{
	unsigned command = smb2_command(hdr);
	uint32_t flags = smb2_flags(hdr), status = smb2_status(hdr);
	int is_signed = (flags & SMB2_FLAGS_SIGNED) != 0;

	if (!(flags & SMB2_FLAGS_SERVER_TO_REDIR))
		return SMB3SIGN_ACT_DISCARD;
	if (state & SMB3SIGN_DECRYPTED)
		return SMB3SIGN_ACT_PASS;
	if (command == SMB2_NEGOTIATE)
		return SMB3SIGN_ACT_PASS; /* never signed, and there is no session yet */
	if (command == SMB2_OPLOCK_BREAK && smb2_message_id(hdr) == UINT64_MAX)
		return SMB3SIGN_ACT_PASS;
	if (status == STATUS_PENDING && (flags & SMB2_FLAGS_ASYNC_COMMAND))
		return SMB3SIGN_ACT_PASS;
	/*
	 * 3.2.5.14.12: neither signed nor encrypted ends the connection, errors too, so this comes before those that are
	 * believed unsigned. Clients take a signed FILE_CLOSED for a server that is too old to answer (Samba's lets it
	 * pass); a forged one would hide that the dialect was tampered with.
	 */
	if ((state & SMB3SIGN_MUST_SIGN) && !is_signed)
		return SMB3SIGN_ACT_DISCONNECT;
	if (state & SMB3SIGN_MUST_SIGN)
		return state & SMB3SIGN_HAVE_SESSION ? SMB3SIGN_ACT_VERIFY : SMB3SIGN_ACT_DISCARD;
	if (is_unsigned_refusal(command, status))
		return SMB3SIGN_ACT_STATUS_ONLY;
	if ((state & SMB3SIGN_ECHO) && is_sessionless_error(status))
		return SMB3SIGN_ACT_STATUS_ONLY;
	if (!(state & SMB3SIGN_HAVE_SESSION))
		return SMB3SIGN_ACT_DISCARD;
	if (command == SMB2_SESSION_SETUP && status == STATUS_SUCCESS && !(state & SMB3SIGN_GUEST) &&
	    (is_signed || (state & (SMB3SIGN_SMB311 | SMB3SIGN_REQUIRED))))
		return SMB3SIGN_ACT_VERIFY; /* 3.2.5.3.1; some servers leave it unsigned below 3.1.1 */
	if (command == SMB2_SERVER_TO_CLIENT_NOTIFICATION)
		return is_signed ? SMB3SIGN_ACT_VERIFY : SMB3SIGN_ACT_PASS; /* 4.11.1: "MAY be signed" */
	if (is_signed || (state & SMB3SIGN_REQUIRED))
		return SMB3SIGN_ACT_VERIFY;
	return SMB3SIGN_ACT_PASS;
}

/* NULLs, the role, the state. */
static int check_arguments(unsigned role, const uint8_t *hdr, unsigned state)
{
	if (!hdr || (role != SMB3SIGN_ROLE_CLIENT && role != SMB3SIGN_ROLE_SERVER) || state & ~(unsigned)STATE_BITS)
		return SMB3SIGN_E_INVAL;
	return smb2_is_header(hdr) ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE;
}

int smb3sign_receive_policy(unsigned role, const void *hdr, unsigned state, uint32_t *ntstatus)
{
	int err = ntstatus ? check_arguments(role, hdr, state) : SMB3SIGN_E_INVAL;

	if (err)
		return err;
	*ntstatus = STATUS_SUCCESS;
	return role == SMB3SIGN_ROLE_SERVER ? server_receives(hdr, state, ntstatus) : client_receives(hdr, state);
}

/* MS-SMB2 3.2.4.1.1, 3.2.5.14.12 (MUST_SIGN), 3.3.5.7 (TREE_CONNECT). */
static int client_signs(const uint8_t *hdr, unsigned state)
{
	if (state & (SMB3SIGN_REQUIRED | SMB3SIGN_BINDING | SMB3SIGN_MUST_SIGN))
		return 1;
	return (state & SMB3SIGN_SMB311) && smb2_command(hdr) == SMB2_TREE_CONNECT;
}

/* MS-SMB2 3.3.4.1.1, 3.3.5.5.3. */
static int server_signs(const uint8_t *hdr, unsigned state)
{
	if (state & (SMB3SIGN_REQUIRED | SMB3SIGN_PEER_SIGNED | SMB3SIGN_BINDING))
		return 1;
	return smb2_command(hdr) == SMB2_SESSION_SETUP && smb2_status(hdr) == STATUS_SUCCESS;
}

/*
 * Whether an element that ought to be signed goes out without, for want of a key: a client's first legs of a session
 * setup; what a server answers without a session, and errors (STATUS_MORE_PROCESSING_REQUIRED is one), which all that
 * it could not verify ends in.
 */
static int needs_no_key(unsigned role, const uint8_t *hdr, unsigned state)
{
	if (role == SMB3SIGN_ROLE_CLIENT)
		return smb2_command(hdr) == SMB2_SESSION_SETUP && !(state & SMB3SIGN_BINDING);
	return !(state & SMB3SIGN_HAVE_SESSION) || is_error(smb2_status(hdr));
}

int smb3sign_send_policy(unsigned role, const void *hdr, unsigned state)
{
	int err = check_arguments(role, hdr, state);

	if (err)
		return err;
	if (smb2_is_response(hdr) != (role == SMB3SIGN_ROLE_SERVER))
		return SMB3SIGN_E_MESSAGE;
	/* By CMAC's rules: a CANCEL with MessageId 0 is to be signed. If the key is GMAC's, sign refuses it, as it should. */
	if (smb3sign_exempt_reason(SMB3SIGN_AES_CMAC, hdr) || (state & (SMB3SIGN_DECRYPTED | SMB3SIGN_GUEST)))
		return 0;
	if (!(role == SMB3SIGN_ROLE_CLIENT ? client_signs(hdr, state) : server_signs(hdr, state)))
		return 0;
	if (state & SMB3SIGN_HAVE_KEY)
		return 1;
	return needs_no_key(role, hdr, state) ? 0 : SMB3SIGN_E_UNSUPPORTED;
}
