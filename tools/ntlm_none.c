/* SPDX-License-Identifier: MIT */
/* In the place of ntlm.c where there is no nettle: --user is refused, and so nothing is ever looked for. */
#include "ntlm.h"
#include "tool.h"

int ntlm_users_add(struct ntlm_users *users, const char *what, const char *text)
{
	(void)users;
	(void)text;
	complain("%s: this smb3sign was built without nettle, which that needs", what);
	return -1;
}

void ntlm_users_free(struct ntlm_users *users)
{
	(void)users;
}

int ntlm_find_challenge(const uint8_t *buffer, size_t len, uint8_t challenge[NTLM_CHALLENGE_LEN])
{
	(void)buffer;
	(void)len;
	(void)challenge;
	return -1;
}

void ntlm_authenticate(struct ntlm_users *users, const uint8_t challenge[NTLM_CHALLENGE_LEN], const uint8_t *buffer,
		       size_t len, struct ntlm_outcome *out)
{
	(void)users;
	(void)challenge;
	(void)buffer;
	(void)len;
	(void)out;
}
