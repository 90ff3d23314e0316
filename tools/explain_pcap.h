/* SPDX-License-Identifier: MIT */
/*
 * verify-pcap --explain: remembers what the keys of a capture were made of, and gives explain.c what surrounds a
 * message that is BAD. All calls are free with v->explainer NULL, which it is without --explain.
 */
#ifndef SMB3SIGN_EXPLAIN_PCAP_H
#define SMB3SIGN_EXPLAIN_PCAP_H

#include "report.h"
#include "smb.h"

struct explainer;
struct chain;

/* NULL after a complaint if this program was built without what it takes. */
struct explainer *explainer_new(int json);
void explainer_summary(const struct explainer *x); /* what was found how often */
void explainer_free(struct explainer *x);

/* A connection's chain of preauthentication hashes; NULL without explainer. Freed with free(). */
struct chain *explainer_negotiate(struct explainer *x, struct chain *chain, unsigned connection,
				  const struct message *m);
/* An exchange that starts on the connection, which binds a session or not; freed with free(). */
struct chain *explainer_begin(struct explainer *x, const struct chain *connection, const struct smb *c,
			      const struct message *m, int binding);
void explainer_setup(struct chain *exchange, struct chain *connection, const struct message *m);
/* The message, an exchange's final response, has made the ring; or, with exchange NULL, given keys have. */
void explainer_ring(struct explainer *x, struct ring *ring, struct smb *c, const struct message *m,
		    struct chain *exchange, int bound);

/* A message, and what was reported of it; f NULL: it is filtered out. */
void explainer_message(struct explainer *x, struct smb *c, const struct message *m, const struct finding *f);

#endif
