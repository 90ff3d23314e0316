/* SPDX-License-Identifier: MIT */
/* Names for what stands in an SMB2 header (MS-SMB2 2.2.1.2) and for what the library says of it. */
#include "header.h"
#include "tool.h"

const char *command_name(unsigned command)
{
	static const char *const names[] = {
		"NEGOTIATE",     "SESSION_SETUP", "LOGOFF",   "TREE_CONNECT", "TREE_DISCONNECT",
		"CREATE",        "CLOSE",         "FLUSH",    "READ",         "WRITE",
		"LOCK",          "IOCTL",         "CANCEL",   "ECHO",         "QUERY_DIRECTORY",
		"CHANGE_NOTIFY", "QUERY_INFO",    "SET_INFO", "OPLOCK_BREAK", "NOTIFICATION",
	};

	return command < sizeof names / sizeof names[0] ? names[command] : "(unknown)";
}

const char *algorithm_name(unsigned alg)
{
	static const char *const names[] = {"HMAC-SHA256", "AES-CMAC", "AES-GMAC"};

	return alg < sizeof names / sizeof names[0] ? names[alg] : "-";
}

int algorithm_from_option(const char *what, const char *name, unsigned *alg)
{
	static const struct {
		const char *name;
		unsigned alg;
	} options[] = {{"gmac", SMB3SIGN_AES_GMAC}, {"cmac", SMB3SIGN_AES_CMAC}, {"hmac", SMB3SIGN_HMAC_SHA256}};

	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		if (!strcmp(name, options[i].name)) {
			*alg = options[i].alg;
			return 0;
		}
	}
	complain("%s: '%s' is not gmac, cmac or hmac", what, name);
	return -1;
}

const char *exemption_name(int reason)
{
	static const char *const names[] = {
		[SMB3SIGN_EXEMPT_NEGOTIATE] = "NEGOTIATE",
		[SMB3SIGN_EXEMPT_SESSION0] = "no session",
		[SMB3SIGN_EXEMPT_INTERIM] = "interim response",
		[SMB3SIGN_EXEMPT_BREAK] = "break notification",
		[SMB3SIGN_EXEMPT_MID_MAX] = "MessageId -1",
		[SMB3SIGN_EXEMPT_MID0] = "MessageId 0",
		[SMB3SIGN_EXEMPT_CANCEL_RESPONSE] = "CANCEL response",
	};

	return reason > 0 && (size_t)reason < sizeof names / sizeof names[0] ? names[reason] : "?";
}
