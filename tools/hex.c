/* SPDX-License-Identifier: MIT */
/* Bytes as hexadecimal digits: on the command line and in the output. */
#include <stdio.h>
#include <string.h>

#include "hex.h"
#include "tool.h"

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int hex_decode(const char *what, const char *text, void *out, size_t room, size_t *len)
{
	size_t digits = strlen(text);
	uint8_t *bytes = out;

	if (digits % 2) {
		complain("%s: %zu hexadecimal digits do not make whole bytes", what, digits);
		return -1;
	}
	if (digits / 2 > room) {
		complain("%s: %zu bytes are too many, at most %zu are possible", what, digits / 2, room);
		return -1;
	}
	for (size_t i = 0; i < digits / 2; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0) {
			complain("%s: character %zu is not a hexadecimal digit", what, 2 * i + (high < 0 ? 1 : 2));
			return -1;
		}
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	*len = digits / 2;
	return 0;
}

int hex_decode_exactly(const char *what, const char *text, void *out, size_t len)
{
	size_t n;

	if (hex_decode(what, text, out, len, &n))
		return -1;
	if (n == len)
		return 0;
	complain("%s: %zu bytes, %zu are needed", what, n, len);
	return -1;
}

int hex_decode_session_key(const char *what, const char *text, void *out, size_t *len)
{
	if (hex_decode(what, text, out, SESSION_KEY_MAX, len))
		return -1;
	if (*len % 8 == 0)
		return 0;
	complain("%s: %zu bytes are no session key: those have 16, 32, 8, 24 or none", what, *len);
	return -1;
}

void hex_print_line(const void *p, size_t n)
{
	const uint8_t *bytes = p;

	for (size_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
}
