/* SPDX-License-Identifier: MIT */
/* What verify-pcap finds: a line for each message, complaints about the capture, the summary, and the exit status. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "line.h"
#include "report.h"
#include "terminal.h"
#include "tool.h"

/* A capture that is damaged everywhere need not say so for every packet: the count does. */
#define PROBLEMS_SHOWN 20

enum { ALG_NONE = 3 };

static const char *const verdict_names[VERDICTS] = {
	[VERDICT_OK] = "OK",         [VERDICT_BAD] = "BAD",   [VERDICT_UNSIGNED] = "UNSIGNED",
	[VERDICT_EXEMPT] = "EXEMPT", [VERDICT_ECHO] = "ECHO", [VERDICT_NO_KEY] = "NO-KEY",
};

static const enum colour verdict_colours[VERDICTS] = {
	[VERDICT_OK] = COLOUR_GOOD,    [VERDICT_BAD] = COLOUR_BAD,       [VERDICT_UNSIGNED] = COLOUR_DOUBTFUL,
	[VERDICT_EXEMPT] = COLOUR_DIM, [VERDICT_ECHO] = COLOUR_DOUBTFUL, [VERDICT_NO_KEY] = COLOUR_DOUBTFUL,
};

void report_connection(const struct report *r, unsigned number, const char *client, const char *server)
{
	if (!r->quiet)
		printf("#%u is %s > %s\n", number, client, server);
}

void report_message(struct report *r, const struct finding *f)
{
	const struct header *h = &f->header;
	struct line l;

	r->tally[f->alg < 0 ? ALG_NONE : f->alg][f->verdict]++;
	if (r->quiet)
		return;
	l.len = 0;
	line_number(&l, f->at.packet, 10, 6, ' ');
	line_text(&l, " ");
	line_number(&l, (uint64_t)f->at.usec / 1000000, 10, 4, ' ');
	line_text(&l, ".");
	line_number(&l, (uint64_t)f->at.usec % 1000000, 10, 6, '0');
	line_text(&l, " #");
	line_number(&l, f->connection, 10, 1, ' ');
	line_text(&l, f->from_server ? " S>C " : " C>S ");
	line_column(&l, command_name(h->command), 15);
	line_text(&l, " mid ");
	line_number(&l, h->message_id, 10, 1, ' ');
	line_text(&l, " sid 0x");
	line_number(&l, h->session_id, 16, 16, '0');
	line_text(&l, " ");
	line_column(&l, f->alg < 0 ? "-" : algorithm_name((unsigned)f->alg), 11);
	line_text(&l, " ");
	line_text(&l, colour_begin(verdict_colours[f->verdict]));
	line_text(&l, verdict_names[f->verdict]);
	line_text(&l, colour_end(verdict_colours[f->verdict]));
	if (f->why) {
		line_text(&l, " (");
		line_text(&l, f->why);
		line_text(&l, ")");
	}
	line_text(&l, "\n");
	fwrite(l.text, 1, l.len, stdout);
}

void report_problem(struct report *r, const char *format, ...)
{
	char text[256];
	va_list args;

	if (r->problems++ >= PROBLEMS_SHOWN)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	complain("%s: %s", r->capture, text);
}

static uint64_t total(const struct report *r, enum verdict v)
{
	uint64_t sum = 0;

	for (int alg = 0; alg <= ALG_NONE; alg++)
		sum += r->tally[alg][v];
	return sum;
}

static int nothing_verified(const struct report *r)
{
	return !total(r, VERDICT_OK) && !total(r, VERDICT_BAD) && total(r, VERDICT_NO_KEY);
}

static int nothing_wanted(const struct report *r)
{
	uint64_t shown = 0;

	for (int v = 0; v < VERDICTS; v++)
		shown += total(r, (enum verdict)v);
	return !shown && r->left_out;
}

static int no_message(const struct report *r)
{
	uint64_t frames = r->encrypted + r->compressed + r->smb1 + r->incomplete + r->left_out;

	for (int v = 0; v < VERDICTS; v++)
		frames += total(r, (enum verdict)v);
	return !frames;
}

static void print_table(const struct report *r)
{
	printf("%-11s", "algorithm");
	for (int v = 0; v < VERDICTS; v++)
		printf(" %8s", verdict_names[v]);
	putchar('\n');
	for (int alg = 0; alg <= ALG_NONE; alg++) {
		printf("%-11s", alg == ALG_NONE ? "none" : algorithm_name((unsigned)alg));
		for (int v = 0; v < VERDICTS; v++)
			printf(" %8" PRIu64, r->tally[alg][v]);
		putchar('\n');
	}
	printf("%-11s", "total");
	for (int v = 0; v < VERDICTS; v++)
		printf(" %8" PRIu64, total(r, (enum verdict)v));
	printf("\nnot verified: %" PRIu64 " encrypted, %" PRIu64 " compressed, %" PRIu64 " SMB1, %" PRIu64
	       " incomplete frames\n",
	       r->encrypted, r->compressed, r->smb1, r->incomplete);
	if (r->left_out)
		printf("filtered out: %" PRIu64 " messages\n", r->left_out);
}

void report_summary(const struct report *r)
{
	if (!r->json)
		print_table(r);
	if (r->problems > PROBLEMS_SHOWN)
		complain("%s: %" PRIu64 " more complaints of this sort", r->capture, r->problems - PROBLEMS_SHOWN);
	if (no_message(r))
		complain("%s: no SMB in this capture", r->capture);
	else if (nothing_wanted(r))
		complain("%s: no message fits the filter", r->capture);
	else if (nothing_verified(r))
		complain("%s: nothing was verified: no key for any signed message", r->capture);
}

int report_status(const struct report *r)
{
	if (r->problems || no_message(r) || nothing_wanted(r) || nothing_verified(r))
		return STATUS_TROUBLE;
	return total(r, VERDICT_BAD) ? STATUS_BAD : STATUS_GOOD;
}
