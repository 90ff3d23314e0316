/* SPDX-License-Identifier: MIT */
/* Text of the command line in the form that NTLM hashes, and back for people. */
#ifndef SMB3SIGN_UTF16_H
#define SMB3SIGN_UTF16_H

#include <stddef.h>
#include <stdint.h>

/*
 * The len bytes of UTF-8 at text as UTF-16LE at out, which has room for 2 * len bytes. The number of bytes, or -1 if that
 * is no UTF-8.
 */
long utf16_from_utf8(const char *text, size_t len, uint8_t *out);

/* Upper case in place: one code unit stays one, as in Windows, whose table differs in a few rare characters. */
void utf16_upper(uint8_t *text, size_t len);

/*
 * For people: UTF-16LE as UTF-8 with a 0 at the end, cut to room bytes; control characters and halves of surrogate
 * pairs show as '?'. The number of bytes before the 0.
 */
size_t utf16_show(const uint8_t *text, size_t len, char *out, size_t room);

#endif
