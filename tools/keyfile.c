/* SPDX-License-Identifier: MIT */
/*
 * Files with keys, line by line. A list begins with digits and a comma or an equals sign; its lines are
 *
 *     SESSIONID,SESSIONKEY[,S2CKEY[,C2SKEY]]   Wireshark's smb2_seskey_list: fields in quotes or not, SESSIONID as the 8
 *                                              bytes on the wire; the last two are for decryption
 *     SESSIONID=SESSIONKEY                     as after --session-key: SESSIONID is a number
 *
 * Everything else is a log, in which smbd or smbclient under "debug encryption = yes" has dumped keys: a label each, an
 * offset in brackets and up to 16 bytes in fixed columns; a further line for what is longer. The rest of a log is not
 * looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "header.h"
#include "hex.h"
#include "keyfile.h"
#include "tool.h"

enum { SESSION_ID_LEN = 8, DUMPED_MAX = 32 };

struct dump {
	uint8_t bytes[DUMPED_MAX];
	size_t len;
};

struct keyfile {
	struct given_keys *given;
	const char *path;
	unsigned long line;
	enum { FORM_UNKNOWN, FORM_LIST, FORM_LOG } form;
	size_t found;
	size_t others; /* lines of Wireshark's with keys for decryption only */
	/* Log: what the dumps have said since the last Session Id. */
	struct dump id, session_key, signing_key;
	struct dump *open; /* may go on in the next line */
};

static void where(const struct keyfile *k, char text[64])
{
	const char *slash = strrchr(k->path, '/');

	snprintf(text, 64, "%.40s:%lu", slash ? slash + 1 : k->path, k->line);
}

static int malformed(const struct keyfile *k, const char *text)
{
	complain("%s:%lu: %s", k->path, k->line, text);
	return -1;
}

/* ---- Lists */

static int is_list_line(const char *line)
{
	size_t n = strspn(line, "0123456789abcdefABCDEFxX\"");

	return n && (line[n] == ',' || line[n] == '=');
}

/* Ends the field at *at and moves *at behind it, NULL at the last one; quotes around it go. NULL: they do not match. */
static char *next_field(char **at)
{
	char *field = *at, *comma = strchr(field, ',');
	size_t len;

	if (comma)
		*comma = '\0';
	*at = comma ? comma + 1 : NULL;
	field += strspn(field, " \t");
	len = strlen(field);
	while (len && (field[len - 1] == ' ' || field[len - 1] == '\t'))
		field[--len] = '\0';
	if (*field != '"')
		return field;
	if (len < 2 || field[len - 1] != '"')
		return NULL;
	field[len - 1] = '\0';
	return field + 1;
}

static int take_wireshark_line(struct keyfile *k, char *line)
{
	char at[64], *fields[4] = {NULL, NULL, NULL, NULL};
	struct given_key key = {0};
	uint8_t id[SESSION_ID_LEN];
	int err;

	for (size_t i = 0; line; i++) {
		if (i == 4)
			return malformed(k, "more than SESSIONID,SESSIONKEY,S2CKEY,C2SKEY");
		fields[i] = next_field(&line);
		if (!fields[i])
			return malformed(k, "a quotation mark without its other one");
	}
	where(k, at);
	if (hex_decode_exactly(at, fields[0], id, sizeof id))
		return -1;
	if (!fields[1] || !*fields[1]) {
		k->others++;
		return 0;
	}
	key.session = get_le64(id);
	key.entry = ++k->given->entries;
	err = hex_decode_session_key(at, fields[1], key.bytes, &key.len);
	if (!err) {
		given_keys_append(k->given, &key);
		k->found++;
	}
	wipe(&key, sizeof key);
	return err;
}

static int take_list_line(struct keyfile *k, char *line)
{
	char at[64];

	if (!is_list_line(line))
		return malformed(k, "neither SESSIONID,SESSIONKEY,S2CKEY,C2SKEY nor SESSIONID=SESSIONKEY");
	if (line[strspn(line, "0123456789abcdefABCDEFxX\"")] == ',')
		return take_wireshark_line(k, line);
	where(k, at);
	if (given_keys_add(k->given, at, line, 0))
		return -1;
	k->given->keys[k->given->count - 1].entry = ++k->given->entries;
	k->found++;
	return 0;
}

/* ---- Logs */

static int digit(char c)
{
	const char digits[] = "0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/*
 * Up to 16 bytes in columns of three, two more blanks after the eighth; blanks where there are no more bytes. Behind the
 * columns stand the same bytes as text.
 */
static int append_columns(struct dump *d, const char *columns)
{
	size_t len = strlen(columns);

	for (size_t i = 0; i < 16; i++) {
		size_t at = 3 * i + (i < 8 ? 0 : 2);
		int high, low;

		if (at + 1 >= len || columns[at] == ' ')
			return i ? 0 : -1;
		high = digit(columns[at]);
		low = digit(columns[at + 1]);
		if (high < 0 || low < 0 || d->len == DUMPED_MAX)
			return -1;
		d->bytes[d->len++] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

/* What is known since the last Session Id becomes keys. */
static void finish_dumps(struct keyfile *k)
{
	struct given_key key = {0};

	if (k->id.len == SESSION_ID_LEN) {
		key.session = get_le64(k->id.bytes);
		key.entry = ++k->given->entries;
		if (k->session_key.len) {
			memcpy(key.bytes, k->session_key.bytes, k->session_key.len);
			key.len = k->session_key.len;
			given_keys_append(k->given, &key);
			k->found++;
		}
		if (k->signing_key.len) {
			key.is_signing_key = 1;
			key.len = SMB3SIGN_KEY_LEN;
			memcpy(key.bytes, k->signing_key.bytes, SMB3SIGN_KEY_LEN);
			given_keys_append(k->given, &key);
			k->found++;
		}
	}
	wipe(&key, sizeof key);
	wipe(&k->id, sizeof k->id);
	wipe(&k->session_key, sizeof k->session_key);
	wipe(&k->signing_key, sizeof k->signing_key);
}

static int check_lengths(const struct keyfile *k)
{
	if (k->id.len && k->id.len != SESSION_ID_LEN)
		return malformed(k, "Session Id is not 8 bytes long");
	if (k->session_key.len % 8)
		return malformed(k, "Session Key is not 16, 32, 8 or 24 bytes long");
	if (k->signing_key.len && k->signing_key.len != SMB3SIGN_KEY_LEN)
		return malformed(k, "Signing Key is not 16 bytes long");
	return 0;
}

/* The columns behind "LABEL   [OFFSET] ", wherever in the line that is (syslog puts more before it); NULL: not there. */
static const char *after_label(const char *line, const char *label, const char *offset)
{
	const char *at = strstr(line, label);

	if (!at)
		return NULL;
	at += strlen(label);
	at += strspn(at, " ");
	return strncmp(at, offset, strlen(offset)) ? NULL : at + strlen(offset);
}

static int take_log_line(struct keyfile *k, const char *line)
{
	const struct {
		const char *label;
		struct dump *dump;
	} labels[] = {{"Session Id ", &k->id}, {"Session Key ", &k->session_key}, {"Signing Key ", &k->signing_key}};
	const char *columns = k->open ? after_label(line, " ", "[0010] ") : NULL;

	if (!columns && k->open)
		columns = after_label(line, "", "[0010] ");
	for (size_t i = 0; !columns && i < sizeof labels / sizeof labels[0]; i++) {
		columns = after_label(line, labels[i].label, "[0000] ");
		if (!columns)
			continue;
		if (labels[i].dump == &k->id)
			finish_dumps(k);
		k->open = labels[i].dump;
		wipe(k->open, sizeof *k->open);
	}
	if (!columns) {
		if (check_lengths(k))
			return -1;
		k->open = NULL;
		return 0;
	}
	return append_columns(k->open, columns) ? malformed(k, "a dump of a key that is cut or malformed") : 0;
}

/* ---- Files */

static int take_line(struct keyfile *k, char *line)
{
	k->line++;
	line[strcspn(line, "\r\n")] = '\0';
	if (k->form == FORM_UNKNOWN) {
		if (!*line || *line == '#')
			return 0;
		k->form = is_list_line(line) ? FORM_LIST : FORM_LOG;
	}
	if (k->form == FORM_LOG)
		return take_log_line(k, line);
	return *line && *line != '#' ? take_list_line(k, line) : 0;
}

static int take_end(struct keyfile *k)
{
	if (check_lengths(k))
		return -1;
	finish_dumps(k);
	if (k->found)
		return 0;
	if (k->others)
		complain("%s: keys for decryption only; signatures need the session key, the second field", k->path);
	else
		complain("%s: no keys: neither Wireshark's list (SESSIONID,SESSIONKEY,...), nor lines "
			 "SESSIONID=SESSIONKEY, nor a log that Samba wrote under 'debug encryption = yes', for SMB 3",
			 k->path);
	return -1;
}

int keyfile_read(struct given_keys *given, const char *path)
{
	struct keyfile k = {.given = given, .path = path};
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	int err = 0;

	if (!f) {
		complain("%s: %s", path, strerror(errno));
		return -1;
	}
	while (!err && getline(&line, &room, f) != -1)
		err = take_line(&k, line);
	if (!err && ferror(f)) {
		complain("%s: %s", path, strerror(errno));
		err = -1;
	}
	if (!err)
		err = take_end(&k);
	if (line)
		wipe(line, room);
	free(line);
	fclose(f);
	wipe(&k, sizeof k);
	return err;
}
