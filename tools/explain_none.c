/* SPDX-License-Identifier: MIT */
/* In the place of the explain files in a program that was built without Nettle: says so. */
#include "explain_pcap.h"
#include "tool.h"

static void say(void)
{
	complain("built without Nettle, which explaining takes (Debian: nettle-dev)");
}

int cmd_explain(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	say();
	return STATUS_TROUBLE;
}

struct explainer *explainer_new(int json)
{
	(void)json;
	say();
	return NULL;
}

void explainer_summary(const struct explainer *x)
{
	(void)x;
}

void explainer_free(struct explainer *x)
{
	(void)x;
}

struct chain *explainer_negotiate(struct explainer *x, struct chain *chain, unsigned connection,
				  const struct message *m)
{
	(void)x;
	(void)connection;
	(void)m;
	return chain;
}

struct chain *explainer_begin(struct explainer *x, const struct chain *connection, const struct smb *c,
			      const struct message *m, int binding)
{
	(void)x;
	(void)connection;
	(void)c;
	(void)m;
	(void)binding;
	return NULL;
}

void explainer_setup(struct chain *exchange, struct chain *connection, const struct message *m)
{
	(void)exchange;
	(void)connection;
	(void)m;
}

void explainer_ring(struct explainer *x, struct ring *ring, struct smb *c, const struct message *m,
		    struct chain *exchange, int bound)
{
	(void)x;
	(void)ring;
	(void)c;
	(void)m;
	(void)exchange;
	(void)bound;
}

void explainer_message(struct explainer *x, struct smb *c, const struct message *m, const struct finding *f)
{
	(void)x;
	(void)c;
	(void)m;
	(void)f;
}
