/* SPDX-License-Identifier: MIT */
/*
 * The keys given on the command line, and the signing keys they lead to. A ring holds the candidates for one session or
 * channel; the first that verifies a message is the one, and the others go.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "tool.h"
#include "tree.h"

static int parse_session_id(const char *what, const char *text, size_t len, uint64_t *id)
{
	char digits[24], *end;

	if (len < sizeof digits) {
		memcpy(digits, text, len);
		digits[len] = '\0';
		errno = 0;
		*id = strtoull(digits, &end, 16);
		/* strtoull would take blanks and signs. */
		if (len && !*end && !errno && strspn(digits, "0123456789abcdefABCDEFxX") == len)
			return 0;
	}
	complain("%s: before '=' stands no SessionId of 1 to 16 hexadecimal digits", what);
	return -1;
}

void given_keys_append(struct given_keys *given, const struct given_key *key)
{
	if (given->count == given->room) {
		/* Not realloc, which could leave keys behind in the old place. */
		size_t room = given->room ? 2 * given->room : 8;
		struct given_key *more = allocate(room * sizeof *more);

		if (given->count)
			memcpy(more, given->keys, given->count * sizeof *more);
		wipe(given->keys, given->count * sizeof *more);
		free(given->keys);
		given->keys = more;
		given->room = room;
	}
	given->keys[given->count++] = *key;
}

int given_keys_add(struct given_keys *given, const char *what, const char *text, int is_signing_key)
{
	struct given_key key = {.any = 1, .is_signing_key = is_signing_key};
	const char *equals = strchr(text, '=');
	int err;

	if (equals) {
		key.any = 0;
		if (parse_session_id(what, text, (size_t)(equals - text), &key.session))
			return -1;
		text = equals + 1;
	}
	if (is_signing_key) {
		key.len = SMB3SIGN_KEY_LEN;
		err = hex_decode_exactly(what, text, key.bytes, key.len);
	} else {
		err = hex_decode_session_key(what, text, key.bytes, &key.len);
	}
	if (!err)
		given_keys_append(given, &key);
	wipe(&key, sizeof key);
	return err;
}

int given_keys_name(const struct given_keys *given, uint64_t session)
{
	for (size_t i = 0; i < given->count; i++)
		if (!given->keys[i].any && given->keys[i].session == session)
			return 1;
	return 0;
}

void given_keys_free(struct given_keys *given)
{
	wipe(given->keys, given->count * sizeof *given->keys);
	free(given->keys);
	given->keys = NULL;
	given->count = 0;
	given->room = 0;
}

static void add_candidate(struct ring *r, smb3sign_key *key, struct given_key *from)
{
	r->candidates = reallocate(r->candidates, (r->count + 1) * sizeof *r->candidates);
	r->candidates[r->count].key = key;
	r->candidates[r->count].from = from;
	r->count++;
}

static void add_signing_key(struct ring *r, struct given_key *from, int alg)
{
	unsigned first = alg < 0 ? SMB3SIGN_HMAC_SHA256 : (unsigned)alg;
	unsigned last = alg < 0 ? SMB3SIGN_AES_GMAC : (unsigned)alg;
	smb3sign_key *key;

	for (unsigned a = first; a <= last; a++)
		if (!smb3sign_key_new(&key, a, from->bytes, from->len, SMB3SIGN_ROLE_ANY))
			add_candidate(r, key, from);
}

/* Not if the capture does not say enough. */
static void add_derived_key(struct ring *r, struct given_key *from, const struct negotiated *n,
			    const smb3sign_preauth *hash)
{
	smb3sign_key *key;

	if (n->alg >= 0 &&
	    !smb3sign_key_derive(&key, (unsigned)n->alg, n->dialect, from->bytes, from->len, hash, SMB3SIGN_ROLE_ANY))
		add_candidate(r, key, from);
}

void ring_prepend(struct ring *r, const uint8_t session_key[SMB3SIGN_KEY_LEN], const struct negotiated *n,
		  const smb3sign_preauth *hash)
{
	size_t before = r->count;
	struct candidate own;

	r->own.session = r->session;
	r->own.len = SMB3SIGN_KEY_LEN;
	memcpy(r->own.bytes, session_key, SMB3SIGN_KEY_LEN);
	add_derived_key(r, &r->own, n, hash);
	if (r->count == before)
		return;
	own = r->candidates[before];
	memmove(r->candidates + 1, r->candidates, before * sizeof *r->candidates);
	r->candidates[0] = own;
}

struct ring *ring_new(struct given_keys *given, uint64_t session, const struct negotiated *n,
		      const smb3sign_preauth *hash)
{
	struct ring *r = allocate(sizeof *r);
	int own = given_keys_name(given, session);

	r->users = 1;
	r->session = session;
	for (size_t i = 0; i < given->count; i++) {
		struct given_key *k = &given->keys[i];

		if (own ? k->any || k->session != session : !k->any)
			continue;
		k->matched = 1;
		if (k->is_signing_key)
			add_signing_key(r, k, n->alg);
		else
			add_derived_key(r, k, n, hash);
	}
	return r;
}

struct ring *ring_share(struct ring *ring)
{
	ring->users++;
	return ring;
}

void ring_drop(struct ring *ring)
{
	if (!ring || --ring->users)
		return;
	for (size_t i = 0; i < ring->count; i++)
		smb3sign_key_free(ring->candidates[i].key);
	free(ring->candidates);
	wipe(&ring->own, sizeof ring->own);
	free(ring);
}

static int is_taken(const struct given_key *k, uint64_t session)
{
	return k->taken && k->taken_by == session;
}

/* The same key given twice, or two of one entry of a file. */
static int belong_together(const struct given_key *a, const struct given_key *b)
{
	if (a->entry && a->entry == b->entry)
		return 1;
	return a->is_signing_key == b->is_signing_key && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

static void take(struct ring *r, struct given_key *k)
{
	k->taken = 1;
	k->taken_by = r->session;
	for (size_t i = 0; i < r->count; i++) {
		struct given_key *other = r->candidates[i].from;

		if (!is_taken(other, r->session) && belong_together(other, k))
			take(r, other);
	}
}

static void settle(struct ring *r, size_t on)
{
	struct candidate chosen = r->candidates[on];

	take(r, chosen.from);
	for (size_t i = 0; i < r->count; i++)
		if (i != on)
			smb3sign_key_free(r->candidates[i].key);
	r->candidates[0] = chosen;
	r->count = 1;
	r->settled = 1;
}

int ring_verify(struct ring *ring, const uint8_t *msg, size_t len)
{
	int err = SMB3SIGN_E_INVAL;

	for (size_t i = 0; i < ring->count; i++) {
		err = smb3sign_verify_buf(ring->candidates[i].key, msg, len);
		if (!err) {
			if (!ring->settled)
				settle(ring, i);
			break;
		}
	}
	return err;
}

int ring_is_foreign(const struct ring *ring)
{
	if (ring->settled)
		return 0;
	for (size_t i = 0; i < ring->count; i++) {
		if (!is_taken(ring->candidates[i].from, ring->session))
			return 0;
	}
	return 1;
}

struct slot {
	uint64_t session; /* first: the key of the tree */
	struct ring *ring;
};

struct ring *ring_table_get(const struct tree *t, uint64_t session)
{
	struct slot *e = tree_find(t, &session, tree_by_id);

	return e ? e->ring : NULL;
}

void ring_table_put(struct tree *t, struct ring *ring)
{
	struct slot *e = tree_find(t, &ring->session, tree_by_id);

	if (e) {
		ring_drop(e->ring);
	} else {
		e = allocate(sizeof *e);
		e->session = ring->session;
		tree_add(t, e, tree_by_id);
	}
	e->ring = ring;
}

void ring_table_free(struct tree *t)
{
	struct slot *e;

	while ((e = tree_any(t))) {
		tree_remove(t, e, tree_by_id);
		ring_drop(e->ring);
		free(e);
	}
}
