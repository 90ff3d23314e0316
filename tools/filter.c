/* SPDX-License-Identifier: MIT */
/* Filter expressions: each field has a range of numbers, of one number mostly. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "header.h"
#include "tool.h"

static const char *const field_names[FILTER_FIELDS] = {
	[FILTER_SESSION] = "session",
	[FILTER_MID] = "mid",
	[FILTER_COMMAND] = "command",
	[FILTER_CONNECTION] = "connection",
};

/* A whole number up to `end`, which stands before the terminating 0 or within. */
static int parse_number(const char *text, const char *end, int base, uint64_t *n)
{
	char *stop;

	if (!isxdigit((unsigned char)*text)) /* strtoull would take blanks and signs */
		return -1;
	errno = 0;
	*n = strtoull(text, &stop, base);
	return errno || stop != end ? -1 : 0;
}

/* "N" or "N-M": decimal, or hexadecimal with 0x. */
static int parse_range(const char *text, uint64_t *first, uint64_t *last)
{
	const char *end = text + strlen(text), *dash = strchr(text, '-');
	const char *low_end = dash ? dash : end;

	if (parse_number(text, low_end, strncmp(text, "0x", 2) ? 10 : 16, first))
		return -1;
	*last = *first;
	if (dash && parse_number(dash + 1, end, strncmp(dash + 1, "0x", 2) ? 10 : 16, last))
		return -1;
	return *first <= *last ? 0 : -1;
}

static int same_ignoring_case(const char *a, const char *b)
{
	while (*a && toupper((unsigned char)*a) == *b) {
		a++;
		b++;
	}
	return !*a && !*b;
}

static int parse_command(const char *text, uint64_t *command)
{
	for (unsigned i = 0; *command_name(i) != '('; i++) {
		if (same_ignoring_case(text, command_name(i))) {
			*command = i;
			return 0;
		}
	}
	return -1;
}

static int parse_value(enum filter_field field, const char *text, uint64_t *first, uint64_t *last)
{
	int err;

	switch (field) {
	case FILTER_SESSION: /* hexadecimal, as everywhere */
		err = parse_number(text, text + strlen(text), 16, first);
		*last = *first;
		return err;
	case FILTER_COMMAND:
		err = parse_command(text, first);
		*last = *first;
		return err;
	default:
		return parse_range(text, first, last);
	}
}

static int parse_term(const char *what, char *term, struct filter_expression *e)
{
	static const char *const wanted[FILTER_FIELDS] = {
		[FILTER_SESSION] = "a SessionId in hexadecimal",
		[FILTER_MID] = "a MessageId or two with '-' between them",
		[FILTER_COMMAND] = "the name of a command (READ, say)",
		[FILTER_CONNECTION] = "the number of a connection or two with '-' between them",
	};
	char *equals = strchr(term, '=');
	unsigned field = 0;

	if (equals)
		*equals = '\0';
	while (field < FILTER_FIELDS && strcmp(term, field_names[field]) != 0)
		field++;
	if (!equals || field == FILTER_FIELDS) {
		complain("%s: '%s' is not session=, mid=, command= or connection=", what, term);
		return -1;
	}
	if (e->fields & 1u << field) {
		complain("%s: %s= stands twice; either of two is two options %s", what, term, what);
		return -1;
	}
	if (parse_value((enum filter_field)field, equals + 1, &e->first[field], &e->last[field])) {
		complain("%s: %s=%s: %s is needed", what, term, equals + 1, wanted[field]);
		return -1;
	}
	e->fields |= 1u << field;
	return 0;
}

int filter_add(struct filter *f, const char *what, const char *text)
{
	struct filter_expression e = {0, {0}, {0}};
	char *copy = allocate(strlen(text) + 1), *term = copy, *comma;
	int err = 0;

	strcpy(copy, text);
	do {
		comma = strchr(term, ',');
		if (comma)
			*comma = '\0';
		err = parse_term(what, term, &e);
		term = comma ? comma + 1 : NULL;
	} while (!err && comma);
	free(copy);
	if (err)
		return -1;
	f->expressions = reallocate(f->expressions, (f->count + 1) * sizeof *f->expressions);
	f->expressions[f->count++] = e;
	return 0;
}

static int expression_matches(const struct filter_expression *e, const struct filter_subject *subject)
{
	for (unsigned field = 0; field < FILTER_FIELDS; field++) {
		uint64_t value = subject->of[field];

		if (e->fields & 1u << field && (value < e->first[field] || value > e->last[field]))
			return 0;
	}
	return 1;
}

int filter_matches(const struct filter *f, const struct filter_subject *subject)
{
	for (size_t i = 0; i < f->count; i++)
		if (expression_matches(&f->expressions[i], subject))
			return 1;
	return !f->count;
}

void filter_free(struct filter *f)
{
	free(f->expressions);
	f->expressions = NULL;
	f->count = 0;
}
