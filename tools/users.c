/* SPDX-License-Identifier: MIT */
/* The users of --user and what the capture has of them, for the remark that a name is not there. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"
#include "users.h"

void users_note_other(struct users *u, const struct ntlm_outcome *o)
{
	if (o->result != NTLM_OTHER_USER) {
		u->without++;
		return;
	}
	for (unsigned i = 0; i < u->n_others; i++)
		if (!strcmp(u->others[i], o->who))
			return;
	if (u->n_others == OTHERS_SHOWN)
		u->more_others = 1;
	else
		memcpy(u->others[u->n_others++], o->who, sizeof o->who);
}

static void list_others(const struct users *u, char *text, size_t room)
{
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < u->n_others; i++)
		at += (size_t)snprintf(text + at, room - at, "%s%s", i ? ", " : "; there are sessions of ",
				       u->others[i]);
	if (u->more_others)
		at += (size_t)snprintf(text + at, room - at, " and others");
	if (u->without)
		snprintf(text + at, room - at, "; %" PRIu64 " began without a whole NTLM exchange (Kerberos?)",
			 u->without);
}

void users_report_missing(const struct users *u, const char *capture)
{
	char others[OTHERS_SHOWN * (NTLM_WHO_MAX + 2) + 128];

	list_others(u, others, sizeof others);
	for (size_t i = 0; i < u->given.count; i++) {
		const struct ntlm_user *user = &u->given.users[i];

		if (!user->seen)
			complain("%s: --user %.*s: no session of that user's%s", capture, user->shown_len, user->shown,
				 others);
	}
}
