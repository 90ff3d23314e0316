/* SPDX-License-Identifier: MIT */
/* Whole messages in files, "-" being standard input; output that is complete or absent. */
#ifndef SMB3SIGN_FILE_H
#define SMB3SIGN_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads a file of at most 16 MiB - 1, the most that a transport prefix can announce. *bytes is the caller's to free. 0,
 * or -1 after a complaint.
 */
int read_message(const char *path, uint8_t **bytes, size_t *len);

/*
 * Writes all of it to path, or to standard output if path is NULL. An existing file keeps its content unless everything
 * was written. 0, or -1 after a complaint.
 */
int write_message(const char *path, const uint8_t *bytes, size_t len);

#endif
