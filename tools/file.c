/* SPDX-License-Identifier: MIT */
/* Whole messages in files, "-" being standard input; output that is complete or absent. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "tool.h"

#define MESSAGE_MAX 0xffffffu

static int read_all(FILE *f, const char *path, uint8_t **bytes, size_t *len)
{
	size_t room = 4096, n = 0;
	uint8_t *p = allocate(room);

	for (;;) {
		size_t got = fread(p + n, 1, room - n, f);

		n += got;
		if (!got || n > MESSAGE_MAX)
			break;
		if (n == room)
			p = reallocate(p, room *= 2);
	}
	if (!ferror(f) && n <= MESSAGE_MAX) {
		*bytes = p;
		*len = n;
		return 0;
	}
	if (ferror(f))
		complain("%s: %s", path, strerror(errno));
	else
		complain("%s: more than %u bytes: no transport frame is that long", path, MESSAGE_MAX);
	free(p);
	return -1;
}

int read_message(const char *path, uint8_t **bytes, size_t *len)
{
	FILE *f = stdin;
	int err;

	if (strcmp(path, "-") != 0)
		f = fopen(path, "rb");
	if (!f) {
		complain("%s: %s", path, strerror(errno));
		return -1;
	}
	err = read_all(f, path, bytes, len);
	if (f != stdin)
		fclose(f);
	return err;
}

/* Everything, and closed: 0, or -1 with errno set. */
static int write_and_close(FILE *f, const uint8_t *bytes, size_t len)
{
	int failed = fwrite(bytes, 1, len, f) != len;

	return fclose(f) || failed ? -1 : 0;
}

/* Beside the file, then in its place: a name never stands for half a message. */
static int replace(const char *path, const uint8_t *bytes, size_t len)
{
	char *temporary = allocate(strlen(path) + sizeof ".XXXXXX");
	mode_t mask = umask(0);
	FILE *f = NULL;
	int fd, err = -1;

	umask(mask);
	strcpy(temporary, path);
	strcat(temporary, ".XXXXXX");
	fd = mkstemp(temporary);
	if (fd >= 0 && !fchmod(fd, 0666 & ~mask))
		f = fdopen(fd, "wb");
	if (f)
		err = write_and_close(f, bytes, len) || rename(temporary, path) ? -1 : 0;
	else if (fd >= 0)
		close(fd);
	if (err)
		complain("%s: %s", path, strerror(errno));
	if (err && fd >= 0)
		unlink(temporary);
	free(temporary);
	return err;
}

static int write_directly(const char *path, const uint8_t *bytes, size_t len)
{
	FILE *f = fopen(path, "wb");

	if (f && !write_and_close(f, bytes, len))
		return 0;
	complain("%s: %s", path, strerror(errno));
	return -1;
}

int write_message(const char *path, const uint8_t *bytes, size_t len)
{
	struct stat st;
	char *real;
	int err;

	if (!path) {
		if (fwrite(bytes, 1, len, stdout) == len && !fflush(stdout))
			return 0;
		complain("standard output: %s", strerror(errno));
		return -1;
	}
	/* Devices and pipes cannot be replaced; of a symbolic link the file behind it is. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return write_directly(path, bytes, len);
	real = realpath(path, NULL);
	err = replace(real ? real : path, bytes, len);
	free(real);
	return err;
}
