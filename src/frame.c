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

/* Whether the first message is all of the frame, as nearly always. */
static int whole_frame(const void *frame, size_t len)
{
	size_t n;

	return smb3sign_frame_next(frame, len, 0, &n) == SMB3SIGN_OK && n == len;
}

/* Some messages of a compound in a row, for batch.c. */
struct row {
	size_t n;
	smb3sign_msg msg[16];
	smb3sign_iov body[16];
};

/* As many as a row takes from *off on, and *off behind them. What ends it early: an error of the frame's. */
static int fill_row(struct row *r, const smb3sign_key *key, uint8_t *frame, size_t len, size_t *off)
{
	r->n = 0;
	while (r->n < 16 && (*off < len || !len)) {
		uint8_t *hdr = frame + *off;
		size_t msg_len;
		int err = smb3sign_frame_next(frame, len, *off, &msg_len);

		if (err)
			return err;
		r->body[r->n] = (smb3sign_iov){hdr + SMB3SIGN_HEADER_LEN, msg_len - SMB3SIGN_HEADER_LEN};
		r->msg[r->n] = (smb3sign_msg){.key = key, .hdr = hdr, .body = &r->body[r->n], .body_cnt = 1};
		r->n++;
		*off += msg_len;
	}
	return SMB3SIGN_OK;
}

int smb3sign_sign_frame(const smb3sign_key *key, void *frame, size_t len)
{
	uint8_t *bytes = frame;
	size_t n = 0, off = 0;
	struct row r;

	if (!key || !key->mac || !frame)
		return SMB3SIGN_E_INVAL;
	if (whole_frame(frame, len))
		return smb3sign_sign_buf(key, frame, len);
	/* Everything that can be refused is refused here, before the first byte is written. */
	do {
		int err = smb3sign_frame_next(frame, len, off, &n);

		if (!err)
			err = smb3sign_check_header(key, bytes + off, TASK_SIGN);
		if (err)
			return err;
		off += n;
	} while (off < len);
	for (off = 0; off < len;) {
		int err = fill_row(&r, key, frame, len, &off);

		if (!err)
			err = smb3sign_sign_batch(r.msg, r.n);
		if (err)
			return err;
	}
	return SMB3SIGN_OK;
}

/* The first message of a row that failed. */
static size_t first_bad(const struct row *r, const uint8_t *frame)
{
	size_t i = 0;

	while (!r->msg[i].result)
		i++;
	return (size_t)((const uint8_t *)r->msg[i].hdr - frame);
}

int smb3sign_verify_frame(const smb3sign_key *key, const void *frame, size_t len, size_t *bad_off)
{
	size_t off = 0, bad = 0;
	struct row r;
	int err;

	if (!key || !key->mac || !frame)
		return SMB3SIGN_E_INVAL;
	if (whole_frame(frame, len)) {
		err = smb3sign_verify_buf(key, frame, len);
	} else {
		do {
			int frame_err = fill_row(&r, key, (uint8_t *)(uintptr_t)frame, len, &off);

			bad = off;
			err = smb3sign_verify_batch(r.msg, r.n);
			if (err)
				bad = first_bad(&r, frame);
			else
				err = frame_err;
		} while (!err && off < len);
	}
	if (err && bad_off)
		*bad_off = bad;
	return err;
}
