/* SPDX-License-Identifier: MIT */
/* The SMB2 header's offsets, flags and commands (MS-SMB2 2.2.1), read in place; and the GMAC counter block. */
#ifndef SMB3SIGN_SMB2_H
#define SMB3SIGN_SMB2_H

#include "smb3sign.h"
#include "util.h"

enum {
	SMB2_PROTOCOL_ID = 0,
	SMB2_STRUCTURE_SIZE = 4,
	SMB2_STATUS = 8,
	SMB2_COMMAND = 12,
	SMB2_FLAGS = 16,
	SMB2_NEXT_COMMAND = 20,
	SMB2_MESSAGE_ID = 24,
	SMB2_SESSION_ID = 40,
	SMB2_SIGNATURE = 48
};

#define SMB2_MAGIC 0x424d53feu /* FE 'S' 'M' 'B' */

enum {
	SMB2_FLAGS_SERVER_TO_REDIR = 0x1, /* the message is a response */
	SMB2_FLAGS_ASYNC_COMMAND = 0x2,
	SMB2_FLAGS_RELATED_OPERATIONS = 0x4,
	SMB2_FLAGS_SIGNED = 0x8
};

enum {
	SMB2_NEGOTIATE = 0x00,
	SMB2_SESSION_SETUP = 0x01,
	SMB2_TREE_CONNECT = 0x03,
	SMB2_CANCEL = 0x0c,
	SMB2_OPLOCK_BREAK = 0x12,
	SMB2_SERVER_TO_CLIENT_NOTIFICATION = 0x13
};

/* MS-ERREF 2.3.1. */
#define STATUS_SUCCESS                  0x00000000u
#define STATUS_PENDING                  0x00000103u
#define STATUS_INVALID_PARAMETER        0xc000000du
#define STATUS_MORE_PROCESSING_REQUIRED 0xc0000016u
#define STATUS_ACCESS_DENIED            0xc0000022u
#define STATUS_INSUFFICIENT_RESOURCES   0xc000009au
#define STATUS_NOT_SUPPORTED            0xc00000bbu
#define STATUS_NETWORK_NAME_DELETED     0xc00000c9u
#define STATUS_REQUEST_NOT_ACCEPTED     0xc00000d0u
#define STATUS_INTERNAL_ERROR           0xc00000e5u
#define STATUS_FILE_CLOSED              0xc0000128u
#define STATUS_USER_SESSION_DELETED     0xc0000203u
#define STATUS_REQUEST_OUT_OF_SEQUENCE  0xc000042au

static inline uint32_t smb2_status(const uint8_t *hdr)
{
	return load_le32(hdr + SMB2_STATUS);
}

static inline unsigned smb2_command(const uint8_t *hdr)
{
	return load_le16(hdr + SMB2_COMMAND);
}

static inline uint32_t smb2_flags(const uint8_t *hdr)
{
	return load_le32(hdr + SMB2_FLAGS);
}

static inline uint32_t smb2_next_command(const uint8_t *hdr)
{
	return load_le32(hdr + SMB2_NEXT_COMMAND);
}

static inline uint64_t smb2_message_id(const uint8_t *hdr)
{
	return load_le64(hdr + SMB2_MESSAGE_ID);
}

static inline uint64_t smb2_session_id(const uint8_t *hdr)
{
	return load_le64(hdr + SMB2_SESSION_ID);
}

static inline int smb2_is_response(const uint8_t *hdr)
{
	return (smb2_flags(hdr) & SMB2_FLAGS_SERVER_TO_REDIR) != 0;
}

/* ProtocolId and StructureSize, the fields every SMB2 header has the same. */
static inline int smb2_is_header(const uint8_t *hdr)
{
	return load_le32(hdr + SMB2_PROTOCOL_ID) == SMB2_MAGIC && load_le16(hdr + SMB2_STRUCTURE_SIZE) == 64;
}

/*
 * GCM's first counter block J0 = nonce || 00000001 (SP 800-38D 7.1), as two words whose little-endian bytes it is. The
 * nonce (MS-SMB2 3.1.4.1) is MessageId, then 32 bits little-endian: bit 0 set by a server, bit 1 in a CANCEL request.
 */
static inline void smb2_gmac_j0(const uint8_t *hdr, uint64_t j0[2])
{
	uint64_t high = smb2_flags(hdr) & SMB2_FLAGS_SERVER_TO_REDIR;

	if (smb2_command(hdr) == SMB2_CANCEL)
		high |= 2;
	j0[0] = smb2_message_id(hdr);
	j0[1] = high | (uint64_t)1 << 56;
}

#endif
