/* SPDX-License-Identifier: MIT */
/*
 * The search for what made a wrong signature: nothing wrong at all, then every single mistake, then every two of
 * different dimensions. It stops with the fewest mistakes that give the signature: a mistake without effect on this
 * message gives the same as without it, so what matches needs all of its mistakes.
 */
#include <inttypes.h>
#include <string.h>

#include "mistakes.h"
#include "header.h"

/* Setting up a MAC costs about as much as this many bytes more. */
#define TRIAL_COST 2048

enum { SIGNATURE_AT = 48 };

struct search {
	struct mistakes m;
	const struct option *chosen[DIMENSIONS];
	uint64_t *effort;
	struct explanations *result;
};

static void put(char *to, size_t room, const char *text)
{
	size_t used = strlen(to);

	if (used + 1 < room)
		snprintf(to + used, room - used, "%s", text);
}

/* The template with its signs replaced, see struct option. */
static void put_template(const struct search *s, const struct option *o, const char *text, char *to, size_t room)
{
	char piece[24];

	for (; *text; text++) {
		if (*text == '#')
			snprintf(piece, sizeof piece, "%zu", o->n);
		else
			snprintf(piece, sizeof piece, "%c", *text);
		if (*text == '$')
			put(to, room, algorithm_name(s->m.suspect->alg));
		else
			put(to, room, *text == '@' ? o->name : piece);
	}
}

static void describe(const struct search *s, struct explanation *e)
{
	*e = (struct explanation){.mistakes = 0};
	for (int d = 0; d < DIMENSIONS; d++) {
		const struct option *o = s->chosen[d];

		if (!o->id)
			continue;
		if (e->mistakes++) {
			put(e->id, sizeof e->id, "+");
			put(e->when, sizeof e->when, ", and ");
			put(e->fix, sizeof e->fix, "; ");
		}
		put(e->id, sizeof e->id, o->id);
		put_template(s, o, o->when, e->when, sizeof e->when);
		put_template(s, o, o->fix, e->fix, sizeof e->fix);
	}
}

static void found(struct search *s)
{
	struct explanations *r = s->result;
	struct explanation e;

	if (r->count == FOUND_MAX)
		return;
	describe(s, &e);
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->found[i].id, e.id))
			return;
	r->found[r->count++] = e;
}

static void try(struct search *s)
{
	const uint8_t *signature = s->m.suspect->frame + s->m.suspect->off + SIGNATURE_AT;
	uint64_t cost = s->m.suspect->len + TRIAL_COST;
	uint8_t tag[16];

	if (*s->effort < cost) {
		*s->effort = 0;
		s->result->cut_short = 1;
		return;
	}
	if (mistakes_sign(&s->m, s->chosen, tag))
		return;
	*s->effort -= cost;
	s->result->tried++;
	if (!memcmp(tag, signature, sizeof tag))
		found(s);
}

/* All choices of `mistakes` mistakes in the dimensions from d on, the others being right. */
static void try_mistakes(struct search *s, int d, int mistakes)
{
	if (d == DIMENSIONS) {
		if (!mistakes)
			try(s);
		return;
	}
	for (size_t i = 0; i < s->m.count[d] && !s->result->cut_short; i++) {
		const struct option *o = &s->m.options[d][i];

		if (o->id && !mistakes)
			break;
		s->chosen[d] = o;
		try_mistakes(s, d + 1, mistakes - (o->id != NULL));
	}
}

/* As try_mistakes, of what the id names only. */
static void try_hint(struct search *s, int d, const char *hint)
{
	if (d == DIMENSIONS) {
		if (!*hint)
			try(s);
		return;
	}
	for (size_t i = 0; i < s->m.count[d]; i++) {
		const struct option *o = &s->m.options[d][i];
		size_t n = o->id ? strlen(o->id) : 0;

		if (strncmp(hint, o->id ? o->id : "", n) || (n && hint[n] && hint[n] != '+'))
			continue;
		s->chosen[d] = o;
		try_hint(s, d + 1, hint[n] == '+' && n ? hint + n + 1 : hint + n);
	}
}

/* Signatures that are no MAC of this message at all. */
static void find_foreign(const struct suspect *s, struct explanations *r)
{
	static const uint8_t zeros[16];
	static const struct {
		const char *id, *when, *fix;
	} texts[] = {
		{"signature-zero", "the Signature field was left at zero",
		 "store the signature at offset 48 of the header"},
		{"signature-of-request", "the signature is the request's, copied with its header",
		 "sign the response, or clear SMB2_FLAGS_SIGNED and the Signature field"},
		{"signature-of-message-before", "the signature is that of the message sent before",
		 "sign each message, and each element of a compound"},
	};
	const uint8_t *sources[] = {zeros, s->request ? s->request + SIGNATURE_AT : NULL, s->before};
	const uint8_t *signature = s->frame + s->off + SIGNATURE_AT;

	for (size_t i = 0; i < 3 && !r->count; i++) {
		struct explanation *e = &r->found[0];

		if (!sources[i])
			continue;
		r->tried++;
		if (memcmp(sources[i], signature, 16) != 0)
			continue;
		e->mistakes = 1;
		put(e->id, sizeof e->id, texts[i].id);
		put(e->when, sizeof e->when, texts[i].when);
		put(e->fix, sizeof e->fix, texts[i].fix);
		r->count = 1;
	}
}

void explain(const struct suspect *suspect, const char *hint, uint64_t *effort, struct explanations *result)
{
	struct search s = {.effort = effort, .result = result};

	*result = (struct explanations){.tried = 0};
	mistakes_collect(&s.m, suspect);
	find_foreign(suspect, result);
	if (hint && !result->count)
		try_hint(&s, 0, hint);
	for (int mistakes = 0; mistakes <= 2 && !result->count && !result->cut_short; mistakes++)
		try_mistakes(&s, 0, mistakes);
	mistakes_free(&s.m);
}

void explain_print(const struct explanations *e)
{
	if (e->count && !e->found[0].mistakes) {
		puts("    the signature is right");
	} else if (e->count) {
		printf("    matches if %s: fix: %s", e->found[0].when, e->found[0].fix);
		for (size_t i = 1; i < e->count; i++)
			printf("%s%s", i == 1 ? " [the same on this message: " : ", ", e->found[i].id);
		puts(e->count > 1 ? "]" : "");
	} else {
		printf("    no match: tried %zu mistakes, alone and in pairs%s\n", e->tried,
		       e->cut_short ? " (the message is long: not all were tried)" : "");
	}
}

void explain_print_json_string(const char *name, const char *text)
{
	printf("\"%s\":\"", name);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			putchar('\\');
		if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

void explain_print_json(const struct explanations *e)
{
	printf("\"tried\":%zu,\"complete\":%s,\"matches\":[", e->tried, e->cut_short ? "false" : "true");
	if (e->count && e->found[0].mistakes) {
		putchar('{');
		explain_print_json_string("id", e->found[0].id);
		putchar(',');
		explain_print_json_string("matches_if", e->found[0].when);
		putchar(',');
		explain_print_json_string("fix", e->found[0].fix);
		printf(",\"same_here\":[");
		for (size_t i = 1; i < e->count; i++)
			printf("%s\"%s\"", i > 1 ? "," : "", e->found[i].id);
		printf("]}");
	}
	putchar(']');
}
