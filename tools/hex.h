/* SPDX-License-Identifier: MIT */
/* Bytes as hexadecimal digits: on the command line and in the output. */
#ifndef SMB3SIGN_HEX_H
#define SMB3SIGN_HEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes text into at most room bytes at out and their number into *len. 0, or -1 after a complaint that names the
 * option `what` (and not its value, which may be a key).
 */
int hex_decode(const char *what, const char *text, void *out, size_t room, size_t *len);

/* The same for a secret of exactly len bytes. */
int hex_decode_exactly(const char *what, const char *text, void *out, size_t len);

/*
 * The same for a session key: 16 bytes mostly, 32 of Kerberos AES-256, 8 or 24 of DES; empty: an anonymous session's.
 */
enum { SESSION_KEY_MAX = 32 };
int hex_decode_session_key(const char *what, const char *text, void *out, size_t *len);

/* The n bytes at p as a line of lower-case digits on standard output. */
void hex_print_line(const void *p, size_t n);

#endif
