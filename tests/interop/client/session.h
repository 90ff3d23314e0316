/* SPDX-License-Identifier: MIT */
/* The SESSION_SETUP exchange under way on a channel, as client.c needs to know it. */
#ifndef INTEROP_SESSION_H
#define INTEROP_SESSION_H

#include "client.h"
#include "ntlm.h"

struct setup {
	int binding;
	smb3sign_preauth hash; /* of this exchange: starts from the connection's */
	uint8_t gss_key[NTLM_KEY_LEN];
};

/* Is a SESSION_SETUP with the BINDING flag under way? */
int session_binding(const struct channel *c);

/* A whole message has gone or come: the preauthentication hash takes those that belong into it. */
int session_saw(struct channel *c, const uint8_t *msg, size_t len);

/* Is this the final response of an exchange, which a key that is now due signs? A re-authentication makes none. */
int session_key_due(const struct channel *c, const uint8_t *msg);

/* Make that key. */
int session_derive(struct channel *c, const uint8_t *msg);

#endif
