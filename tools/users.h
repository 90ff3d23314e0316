/* SPDX-License-Identifier: MIT */
/* The users of --user and what the capture has of them: names that were not given, sessions that NTLM did not begin. */
#ifndef SMB3SIGN_USERS_H
#define SMB3SIGN_USERS_H

#include <stdint.h>

#include "ntlm.h"

enum { OTHERS_SHOWN = 4 };

struct users {
	struct ntlm_users given;
	char others[OTHERS_SHOWN][NTLM_WHO_MAX]; /* each once, the first ones */
	unsigned n_others;
	int more_others;
	uint64_t without; /* sessions whose beginning had no whole exchange of NTLM, or an anonymous one */
};

/* A session has begun whose exchange has given no key, and not because of a password. */
void users_note_other(struct users *u, const struct ntlm_outcome *o);

/* At the end of the capture: users of whom it has nothing, and whom it has instead. */
void users_report_missing(const struct users *u, const char *capture);

#endif
