/* SPDX-License-Identifier: MIT */
/* Names for what stands in an SMB2 header (MS-SMB2 2.2.1.2) and for what the library says of it. */
#include <stdio.h>
#include <string.h>

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

static void complain_of(const char *what, const struct named *list, const char *name)
{
	char names[128] = "";

	for (const struct named *n = list; n->name; n++) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof names - used, "%s%s",
			 n == list   ? ""
			 : n[1].name ? ", "
				     : " or ",
			 n->name);
	}
	complain("%s: '%s' is not %s", what, name, names);
}

const struct named *find_named(const char *what, const struct named *list, const char *name)
{
	for (const struct named *n = list; n->name; n++)
		if (!strcmp(n->name, name))
			return n;
	complain_of(what, list, name);
	return NULL;
}

const struct named algorithm_options[] = {
	{"gmac", SMB3SIGN_AES_GMAC},
	{"cmac", SMB3SIGN_AES_CMAC},
	{"hmac", SMB3SIGN_HMAC_SHA256},
	{NULL, 0},
};

const struct named dialect_options[] = {
	{"2.0.2", 0x0202}, {"2.1", 0x0210}, {"3.0", 0x0300}, {"3.0.2", 0x0302}, {"3.1.1", 0x0311}, {NULL, 0},
};

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
