/* SPDX-License-Identifier: MIT */
/* What results mean, in words and as NTSTATUS; the version. */
#include "smb2.h"

#define STRING(x)   #x
#define EXPANDED(x) STRING(x)

const char *smb3sign_version(void)
{
	return EXPANDED(SMB3SIGN_VERSION_MAJOR) "." EXPANDED(SMB3SIGN_VERSION_MINOR) "." EXPANDED(
		SMB3SIGN_VERSION_PATCH);
}

const char *smb3sign_strerror(int err)
{
	switch (err) {
	case SMB3SIGN_OK:
		return "success";
	case SMB3SIGN_E_SIGNATURE:
		return "the signature is wrong";
	case SMB3SIGN_E_UNSIGNED:
		return "the message is not signed";
	case SMB3SIGN_E_EXEMPT:
		return "the protocol never signs this message; it was not verified";
	case SMB3SIGN_E_MESSAGE:
		return "malformed message or chain, or a message of the wrong direction";
	case SMB3SIGN_E_INVAL:
		return "invalid argument";
	case SMB3SIGN_E_UNSUPPORTED:
		return "unknown or unusable algorithm, dialect or use";
	case SMB3SIGN_E_NOMEM:
		return "out of memory";
	case SMB3SIGN_E_NONCE:
		return "this nonce was already used";
	default:
		return "unknown error";
	}
}

uint32_t smb3sign_ntstatus(int err)
{
	switch (err) {
	case SMB3SIGN_OK:
		return STATUS_SUCCESS;
	case SMB3SIGN_E_SIGNATURE:
	case SMB3SIGN_E_UNSIGNED:
	case SMB3SIGN_E_EXEMPT:
		return STATUS_ACCESS_DENIED;
	case SMB3SIGN_E_MESSAGE:
		return STATUS_INVALID_PARAMETER;
	case SMB3SIGN_E_UNSUPPORTED:
		return STATUS_NOT_SUPPORTED;
	case SMB3SIGN_E_NOMEM:
		return STATUS_INSUFFICIENT_RESOURCES;
	default:
		return STATUS_INTERNAL_ERROR;
	}
}
