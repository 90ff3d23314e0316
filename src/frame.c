/* SPDX-License-Identifier: MIT */
/* Compounds: the one walk over NextCommand, every step checked against the frame's end, and whole frames by it. */
#include "message.h"

int smb3sign_frame_next(const void *frame, size_t len, size_t off, size_t *msg_len)
{
	const uint8_t *hdr;
	size_t left, next;

	if (!frame || !msg_len || (len && off >= len))
		return SMB3SIGN_E_INVAL;
	left = len - off;
	if (off > len || left < SMB3SIGN_HEADER_LEN)
		return SMB3SIGN_E_MESSAGE;
	hdr = (const uint8_t *)frame + off;
	if (!smb2_is_header(hdr))
		return SMB3SIGN_E_MESSAGE;
	next = smb2_next_command(hdr);
	if (!next) {
		*msg_len = left;
		return SMB3SIGN_OK;
	}
	if (next < SMB3SIGN_HEADER_LEN || next > left || left - next < SMB3SIGN_HEADER_LEN)
		return SMB3SIGN_E_MESSAGE;
	*msg_len = next;
	return SMB3SIGN_OK;
}

int smb3sign_sign_frame(const smb3sign_key *key, void *frame, size_t len)
{
	uint8_t *bytes = frame;
	size_t n = 0;

	if (!key || !key->mac || !frame)
		return SMB3SIGN_E_INVAL;
	/* Everything that can be refused is refused here, before the first byte is written. */
	for (size_t off = 0; off < len || !len; off += n) {
		int err = smb3sign_frame_next(frame, len, off, &n);

		if (!err)
			err = smb3sign_check_header(key, bytes + off, TASK_SIGN);
		if (err)
			return err;
	}
	for (size_t off = 0; off < len; off += n) {
		int err = smb3sign_frame_next(frame, len, off, &n);

		if (!err)
			err = smb3sign_sign_buf(key, bytes + off, n);
		if (err)
			return err;
	}
	return SMB3SIGN_OK;
}

int smb3sign_verify_frame(const smb3sign_key *key, const void *frame, size_t len, size_t *bad_off)
{
	size_t n = 0;

	if (!key || !key->mac || !frame)
		return SMB3SIGN_E_INVAL;
	for (size_t off = 0; off < len || !len; off += n) {
		int err = smb3sign_frame_next(frame, len, off, &n);

		if (!err)
			err = smb3sign_verify_buf(key, (const uint8_t *)frame + off, n);
		if (err) {
			if (bad_off)
				*bad_off = off;
			return err;
		}
	}
	return SMB3SIGN_OK;
}
