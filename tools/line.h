/* SPDX-License-Identifier: MIT */
/*
 * A line of the report, put together piece by piece: there may be millions, and printf() takes longer over one than the
 * MAC of a small message does.
 */
#ifndef SMB3SIGN_LINE_H
#define SMB3SIGN_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct line {
	char text[320]; /* the longest has 200 */
	size_t len;
};

static inline void line_text(struct line *l, const char *text)
{
	size_t n = strlen(text);

	if (n > sizeof l->text - l->len)
		n = sizeof l->text - l->len;
	memcpy(l->text + l->len, text, n);
	l->len += n;
}

/* With blanks behind it up to a width of at most 16. */
static inline void line_column(struct line *l, const char *text, size_t width)
{
	size_t n = strlen(text);

	line_text(l, text);
	if (n < width)
		line_text(l, &"                "[16 - (width - n)]);
}

/* With `pad` before it up to a width of at most 20; base 10 or 16. */
static inline void line_number(struct line *l, uint64_t n, unsigned base, size_t width, char pad)
{
	char digits[21];
	size_t at = sizeof digits - 1;

	digits[at] = '\0';
	do {
		digits[--at] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	while (sizeof digits - 1 - at < width)
		digits[--at] = pad;
	line_text(l, digits + at);
}

#endif
