/* SPDX-License-Identifier: MIT */
/*
 * usage: transfer SERVER SHARE USER PASSWORD MEGABYTES
 * Writes a file with libsmb2, signing required, and reads it back; prints the seconds of processor time that took.
 * SERVER is HOST:PORT. Declares the few functions of libsmb2's public interface that it calls, so that it needs the
 * library alone.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct smb2_context;
struct smb2fh;

struct smb2_context *smb2_init_context(void);
void smb2_destroy_context(struct smb2_context *smb2);
void smb2_set_security_mode(struct smb2_context *smb2, uint16_t mode);
void smb2_set_user(struct smb2_context *smb2, const char *user);
void smb2_set_password(struct smb2_context *smb2, const char *password);
int smb2_connect_share(struct smb2_context *smb2, const char *server, const char *share, const char *user);
int smb2_disconnect_share(struct smb2_context *smb2);
const char *smb2_get_error(struct smb2_context *smb2);
struct smb2fh *smb2_open(struct smb2_context *smb2, const char *path, int flags);
int smb2_pread(struct smb2_context *smb2, struct smb2fh *fh, uint8_t *buf, uint32_t count, uint64_t offset);
int smb2_pwrite(struct smb2_context *smb2, struct smb2fh *fh, const uint8_t *buf, uint32_t count, uint64_t offset);
int smb2_close(struct smb2_context *smb2, struct smb2fh *fh);
int smb2_unlink(struct smb2_context *smb2, const char *path);

enum { SIGNING_ENABLED = 1, SIGNING_REQUIRED = 2, PIECE = 1 << 20 };

static const char name[] = "libsmb2-transfer";

static void fill(uint8_t *piece, unsigned number)
{
	for (unsigned i = 0; i < PIECE; i++)
		piece[i] = (uint8_t)(i * (number + 1) >> 5);
}

static int write_all(struct smb2_context *smb2, struct smb2fh *fh, unsigned megabytes)
{
	static uint8_t data[PIECE];

	for (unsigned i = 0; i < megabytes; i++) {
		fill(data, i);
		for (uint32_t at = 0; at < PIECE;) {
			int n = smb2_pwrite(smb2, fh, data + at, PIECE - at, (uint64_t)i * PIECE + at);

			if (n <= 0)
				return -1;
			at += (uint32_t)n;
		}
	}
	return 0;
}

/* 1: other bytes than were written. */
static int read_all(struct smb2_context *smb2, struct smb2fh *fh, unsigned megabytes)
{
	static uint8_t data[PIECE], expected[PIECE];

	for (unsigned i = 0; i < megabytes; i++) {
		for (uint32_t at = 0; at < PIECE;) {
			int n = smb2_pread(smb2, fh, data + at, PIECE - at, (uint64_t)i * PIECE + at);

			if (n <= 0)
				return -1;
			at += (uint32_t)n;
		}
		fill(expected, i);
		if (memcmp(data, expected, PIECE))
			return 1;
	}
	return 0;
}

static int transfer(struct smb2_context *smb2, unsigned megabytes)
{
	struct smb2fh *fh = smb2_open(smb2, name, O_WRONLY | O_CREAT);
	int err = fh ? write_all(smb2, fh, megabytes) : -1;

	if (fh && smb2_close(smb2, fh))
		err = -1;
	fh = err ? NULL : smb2_open(smb2, name, O_RDONLY);
	if (!fh)
		return -1;
	err = read_all(smb2, fh, megabytes);
	if (smb2_close(smb2, fh) || smb2_unlink(smb2, name))
		return -1;
	return err;
}

int main(int argc, char **argv)
{
	struct smb2_context *smb2 = smb2_init_context();
	clock_t start;
	int err;

	if (argc != 6 || !smb2)
		return 2;
	smb2_set_security_mode(smb2, SIGNING_ENABLED | SIGNING_REQUIRED);
	smb2_set_user(smb2, argv[3]);
	smb2_set_password(smb2, argv[4]);
	err = smb2_connect_share(smb2, argv[1], argv[2], argv[3]) ? -1 : 0;
	start = clock();
	if (!err)
		err = transfer(smb2, (unsigned)strtoul(argv[5], NULL, 10));
	if (!err && smb2_disconnect_share(smb2))
		err = -1;
	if (err)
		fprintf(stderr, "transfer: %s\n", err > 0 ? "other bytes than were written" : smb2_get_error(smb2));
	else
		printf("%.2f\n", (double)(clock() - start) / CLOCKS_PER_SEC);
	smb2_destroy_context(smb2);
	return err != 0;
}
