/* SPDX-License-Identifier: MIT */
/*
 * Session keys from NTLMv2 exchanges (MS-NLMP) and the users' passwords. The hashes and the cipher come from nettle; a
 * build without it knows the option and says that it cannot.
 */
#ifndef SMB3SIGN_NTLM_H
#define SMB3SIGN_NTLM_H

#include <stddef.h>
#include <stdint.h>

enum { NTLM_KEY_LEN = 16, NTLM_CHALLENGE_LEN = 8, NTLM_WHO_MAX = 160 };

struct ntlm_text {
	uint8_t *bytes; /* UTF-16LE */
	size_t len;
};

struct ntlm_user {
	const char *shown; /* the part before '%': the caller's text */
	int shown_len;
	int any_domain;
	struct ntlm_text domain;    /* in upper case */
	struct ntlm_text name;      /* in upper case */
	uint8_t hash[NTLM_KEY_LEN]; /* MD4 of the password */
	int seen;                   /* the capture has an exchange of this user's */
};

struct ntlm_users {
	struct ntlm_user *users;
	size_t count;
};

enum ntlm_result {
	NTLM_NONE,           /* no exchange of NTLM, or its beginning is missing */
	NTLM_KEY,            /* the proof fits: there is the key */
	NTLM_OTHER_USER,     /* none of the users */
	NTLM_WRONG_PASSWORD, /* the user's, and the proof fits no password given */
	NTLM_VERSION_1,      /* the user's, with a response of NTLMv1 or LM */
	NTLM_ANONYMOUS,
	NTLM_MALFORMED
};

struct ntlm_outcome {
	enum ntlm_result result;
	uint8_t key[NTLM_KEY_LEN]; /* ExportedSessionKey */
	char who[NTLM_WHO_MAX];    /* DOMAIN\NAME as the AUTHENTICATE message has it, in UTF-8; may be cut */
};

/* "[DOMAIN\]NAME%PASSWORD", the value of --user, which must outlive *users: 0, or -1 after a complaint. */
int ntlm_users_add(struct ntlm_users *users, const char *what, const char *text);
/* Wipes and frees. */
void ntlm_users_free(struct ntlm_users *users);

/* ServerChallenge of the CHALLENGE message in a security buffer, SPNEGO or bare: 0, or -1 if there is none. */
int ntlm_find_challenge(const uint8_t *buffer, size_t len, uint8_t challenge[NTLM_CHALLENGE_LEN]);

/* Fills *out from the AUTHENTICATE message in a security buffer, if it has one; else *out stays as it is. */
void ntlm_authenticate(struct ntlm_users *users, const uint8_t challenge[NTLM_CHALLENGE_LEN], const uint8_t *buffer,
		       size_t len, struct ntlm_outcome *out);

#endif
