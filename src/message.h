/* SPDX-License-Identifier: MIT */
/* Which messages may be signed or verified with a key: the checks that message.c, stream.c and frame.c share. */
#ifndef SMB3SIGN_MESSAGE_H
#define SMB3SIGN_MESSAGE_H

#include "key.h"
#include "smb2.h"

enum smb3sign_task { TASK_SIGN, TASK_VERIFY };

/* The header alone: E_MESSAGE (no SMB2 header), E_EXEMPT, E_MESSAGE (direction), in this order. hdr may be any 64 bytes. */
int smb3sign_check_header(const smb3sign_key *key, const uint8_t *hdr, enum smb3sign_task task);

/* NextCommand, where there is one, is the length of the message (MS-SMB2 3.2.4.1.4): E_MESSAGE if it is not. */
static inline int smb3sign_check_length(uint32_t next_command, uint64_t message_len)
{
	return next_command && next_command != message_len ? SMB3SIGN_E_MESSAGE : SMB3SIGN_OK;
}

/* The verdict over a message whose MAC is `tag`. */
static inline int smb3sign_judge(const uint8_t tag[16], const uint8_t *signature, uint32_t flags)
{
	if (equal_16(tag, signature))
		return SMB3SIGN_OK;
	return flags & SMB2_FLAGS_SIGNED ? SMB3SIGN_E_SIGNATURE : SMB3SIGN_E_UNSIGNED;
}

#endif
