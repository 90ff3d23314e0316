/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 and UTF-16LE (RFC 3629, RFC 2781). Upper case is what the C library knows of Unicode whatever the user's locale
 * is; a machine without C.UTF-8 has that of ASCII.
 */
#include <locale.h>
#include <string.h>
#include <wctype.h>

#include "header.h"
#include "utf16.h"

/* The character at text and its length, 0 if there is none: overlong forms, surrogates and what is above 10FFFF. */
static size_t decode_utf8(const uint8_t *text, size_t len, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = text[0] < 0x80   ? 1
		   : text[0] < 0xc0 ? 0
		   : text[0] < 0xe0 ? 2
		   : text[0] < 0xf0 ? 3
		   : text[0] < 0xf8 ? 4
				    : 0;

	if (!n || n > len)
		return 0;
	*c = n == 1 ? text[0] : text[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (text[i] & 0x3f);
	}
	return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

static size_t put_unit(uint8_t *out, uint32_t unit)
{
	out[0] = (uint8_t)unit;
	out[1] = (uint8_t)(unit >> 8);
	return 2;
}

long utf16_from_utf8(const char *text, size_t len, uint8_t *out)
{
	size_t at = 0;

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c;

		n = decode_utf8((const uint8_t *)text + i, len - i, &c);
		if (!n)
			return -1;
		if (c >= 0x10000) {
			at += put_unit(out + at, 0xd7c0 + (c >> 10)); /* 0xd800 + ((c - 0x10000) >> 10) */
			c = 0xdc00 | (c & 0x3ff);
		}
		at += put_unit(out + at, c);
	}
	return (long)at;
}

void utf16_upper(uint8_t *text, size_t len)
{
	locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

	for (size_t i = 0; i + 1 < len; i += 2) {
		unsigned c = get_le16(text + i);
		wint_t upper = unicode ? towupper_l(c, unicode) : c - 'a' < 26u ? c - 32 : c;

		/* What leaves the 16 bits, or is the upper case of a surrogate, does not exist there. */
		if (upper < 0x10000)
			put_unit(text + i, upper);
	}
	if (unicode)
		freelocale(unicode);
}

static size_t encode_utf8(uint32_t c, uint8_t out[4])
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* The character at text, which has at least one unit, and the bytes it takes. */
static size_t decode_utf16(const uint8_t *text, size_t len, uint32_t *c)
{
	*c = get_le16(text);
	if (*c >= 0xd800 && *c < 0xdc00 && len >= 4) {
		uint32_t low = get_le16(text + 2);

		if (low >= 0xdc00 && low < 0xe000) {
			*c = 0x10000 + ((*c & 0x3ff) << 10 | (low & 0x3ff));
			return 4;
		}
	}
	/* A terminal would obey the controls of ASCII and of Latin-1. */
	if (*c < 0x20 || (*c >= 0x7f && *c < 0xa0) || (*c >= 0xd800 && *c < 0xe000))
		*c = '?';
	return 2;
}

size_t utf16_show(const uint8_t *text, size_t len, char *out, size_t room)
{
	size_t at = 0;

	for (size_t i = 0; i + 1 < len;) {
		uint8_t bytes[4];
		uint32_t c;
		size_t n;

		i += decode_utf16(text + i, len - i, &c);
		n = encode_utf8(c, bytes);
		if (at + n >= room)
			break;
		memcpy(out + at, bytes, n);
		at += n;
	}
	out[at] = '\0';
	return at;
}
