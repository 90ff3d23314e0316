/* SPDX-License-Identifier: MIT */
/*
 * NTLMv2 seen from the outside. The AUTHENTICATE message holds a proof that depends on the password, and mostly the
 * session key, random and encrypted (MS-NLMP 2.2.1.3, 3.3.2, 3.4.5.1):
 *
 *     ResponseKey = HMAC-MD5(MD4(password), upper case of the user's name + domain)                     NTOWFv2
 *     NTProofStr  = HMAC-MD5(ResponseKey, ServerChallenge + rest of NtChallengeResponse)     its first 16 bytes
 *     SessionBaseKey = HMAC-MD5(ResponseKey, NTProofStr)
 *     ExportedSessionKey = RC4(SessionBaseKey, EncryptedRandomSessionKey)    with KEY_EXCH, else SessionBaseKey
 */
#include <nettle/arcfour.h>
#include <nettle/hmac.h>
#include <nettle/md4.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>

#include "header.h"
#include "ntlm.h"
#include "tool.h"
#include "utf16.h"

enum { TYPE_CHALLENGE = 2, TYPE_AUTHENTICATE = 3 };
enum { FLAG_UNICODE = 0x00000001, FLAG_KEY_EXCH = 0x40000000 };
enum { PROOF_LEN = 16, V1_RESPONSE_LEN = 24 };

/* ---- Users */

static int to_utf16(const char *what, const char *text, size_t len, struct ntlm_text *out)
{
	long n;

	out->bytes = allocate(2 * len);
	n = utf16_from_utf8(text, len, out->bytes);
	if (n < 0) {
		complain("%s: that is not UTF-8", what);
		return -1;
	}
	out->len = (size_t)n;
	return 0;
}

static int to_upper_utf16(const char *what, const char *text, size_t len, struct ntlm_text *out)
{
	if (to_utf16(what, text, len, out))
		return -1;
	utf16_upper(out->bytes, out->len);
	return 0;
}

static int hash_password(const char *what, const char *password, uint8_t hash[NTLM_KEY_LEN])
{
	struct ntlm_text text = {NULL, 0};
	struct md4_ctx md4;
	size_t len = strlen(password);
	int err = to_utf16(what, password, len, &text);

	if (!err) {
		md4_init(&md4);
		md4_update(&md4, text.len, text.bytes);
		md4_digest(&md4, NTLM_KEY_LEN, hash);
		wipe(&md4, sizeof md4);
	}
	wipe(text.bytes, 2 * len);
	free(text.bytes);
	return err;
}

static void user_free(struct ntlm_user *u)
{
	free(u->domain.bytes);
	free(u->name.bytes);
	wipe(u, sizeof *u);
}

static int parse_user(const char *what, const char *text, struct ntlm_user *u)
{
	const char *percent = strchr(text, '%');
	const char *backslash = percent ? memchr(text, '\\', (size_t)(percent - text)) : NULL;
	const char *name = backslash ? backslash + 1 : text;

	if (!percent || percent == name) {
		complain("%s: NAME%%PASSWORD or DOMAIN\\NAME%%PASSWORD is needed", what);
		return -1;
	}
	u->shown = text;
	u->shown_len = (int)(percent - text);
	u->any_domain = !backslash;
	if (backslash && to_upper_utf16(what, text, (size_t)(backslash - text), &u->domain))
		return -1;
	if (to_upper_utf16(what, name, (size_t)(percent - name), &u->name))
		return -1;
	return hash_password(what, percent + 1, u->hash);
}

int ntlm_users_add(struct ntlm_users *users, const char *what, const char *text)
{
	struct ntlm_user user = {0};
	struct ntlm_user *more;

	if (parse_user(what, text, &user)) {
		user_free(&user);
		return -1;
	}
	/* Not realloc, which could leave hashes behind in the old place. */
	more = allocate((users->count + 1) * sizeof *more);
	if (users->count)
		memcpy(more, users->users, users->count * sizeof *more);
	more[users->count] = user;
	wipe(&user, sizeof user);
	wipe(users->users, users->count * sizeof *more);
	free(users->users);
	users->users = more;
	users->count++;
	return 0;
}

void ntlm_users_free(struct ntlm_users *users)
{
	for (size_t i = 0; i < users->count; i++)
		user_free(&users->users[i]);
	free(users->users);
	users->users = NULL;
	users->count = 0;
}

/* ---- Messages */

/*
 * The NTLM message of a type, from its signature to the end of the buffer. SPNEGO (RFC 4178) wraps the message whole and
 * in one piece, so that the signature finds it without the wrapping's ASN.1.
 */
static const uint8_t *find_message(const uint8_t *buffer, size_t len, uint8_t type, size_t *left)
{
	const uint8_t start[12] = {'N', 'T', 'L', 'M', 'S', 'S', 'P', 0, type, 0, 0, 0};

	for (size_t i = 0; i + sizeof start <= len; i++) {
		if (!memcmp(buffer + i, start, sizeof start)) {
			*left = len - i;
			return buffer + i;
		}
	}
	return NULL;
}

int ntlm_find_challenge(const uint8_t *buffer, size_t len, uint8_t challenge[NTLM_CHALLENGE_LEN])
{
	const size_t at = 24; /* MS-NLMP 2.2.1.2, ServerChallenge */
	size_t n;
	const uint8_t *m = find_message(buffer, len, TYPE_CHALLENGE, &n);

	if (!m || n < at + NTLM_CHALLENGE_LEN)
		return -1;
	memcpy(challenge, m + at, NTLM_CHALLENGE_LEN);
	return 0;
}

struct field {
	const uint8_t *bytes;
	size_t len;
};

/* MS-NLMP 2.2.1.3 */
struct authenticate {
	struct field response, domain, user, encrypted_key;
	uint32_t flags;
};

/* A field's length, allocated length and offset are at `at`. */
static int read_field(const uint8_t *m, size_t len, size_t at, struct field *f)
{
	size_t offset = get_le32(m + at + 4);

	f->len = get_le16(m + at);
	if (offset > len || f->len > len - offset)
		return -1;
	f->bytes = m + offset;
	return 0;
}

static int read_authenticate(const uint8_t *m, size_t len, struct authenticate *a)
{
	if (len < 64)
		return -1;
	a->flags = get_le32(m + 60);
	if (read_field(m, len, 20, &a->response) || read_field(m, len, 28, &a->domain) ||
	    read_field(m, len, 36, &a->user) || read_field(m, len, 52, &a->encrypted_key))
		return -1;
	if (a->flags & FLAG_KEY_EXCH && a->encrypted_key.len && a->encrypted_key.len != NTLM_KEY_LEN)
		return -1;
	/* NTLMv2 is defined with these in Unicode. */
	return a->flags & FLAG_UNICODE ? 0 : -1;
}

static void show_who(const struct authenticate *a, char who[NTLM_WHO_MAX])
{
	size_t n = utf16_show(a->domain.bytes, a->domain.len, who, NTLM_WHO_MAX / 2);

	if (n)
		who[n++] = '\\';
	utf16_show(a->user.bytes, a->user.len, who + n, NTLM_WHO_MAX - n);
}

/* ---- Keys */

struct part {
	const void *bytes;
	size_t len;
};

static void hmac_md5(const uint8_t key[NTLM_KEY_LEN], const struct part *parts, size_t n, uint8_t out[NTLM_KEY_LEN])
{
	struct hmac_md5_ctx ctx;

	hmac_md5_set_key(&ctx, NTLM_KEY_LEN, key);
	for (size_t i = 0; i < n; i++)
		hmac_md5_update(&ctx, parts[i].len, parts[i].bytes);
	hmac_md5_digest(&ctx, NTLM_KEY_LEN, out);
	wipe(&ctx, sizeof ctx);
}

static void decrypt_key(const uint8_t base[NTLM_KEY_LEN], const struct authenticate *a, uint8_t key[NTLM_KEY_LEN])
{
	struct arcfour_ctx rc4;

	if (!(a->flags & FLAG_KEY_EXCH) || !a->encrypted_key.len) {
		memcpy(key, base, NTLM_KEY_LEN);
		return;
	}
	arcfour_set_key(&rc4, NTLM_KEY_LEN, base);
	arcfour_crypt(&rc4, NTLM_KEY_LEN, key, a->encrypted_key.bytes);
	wipe(&rc4, sizeof rc4);
}

/* 1 if the proof fits the user's password: then the key is the exchange's. */
static int prove(const struct ntlm_user *u, const struct ntlm_text *upper, const uint8_t challenge[NTLM_CHALLENGE_LEN],
		 const struct authenticate *a, uint8_t key[NTLM_KEY_LEN])
{
	const struct part identity[] = {{upper->bytes, upper->len}, {a->domain.bytes, a->domain.len}};
	const struct part proven[] = {{challenge, NTLM_CHALLENGE_LEN},
				      {a->response.bytes + PROOF_LEN, a->response.len - PROOF_LEN}};
	const struct part proof[] = {{a->response.bytes, PROOF_LEN}};
	uint8_t response_key[NTLM_KEY_LEN], found[NTLM_KEY_LEN];
	int fits;

	hmac_md5(u->hash, identity, 2, response_key);
	hmac_md5(response_key, proven, 2, found);
	fits = memeql_sec(found, a->response.bytes, PROOF_LEN);
	if (fits) {
		hmac_md5(response_key, proof, 1, found);
		decrypt_key(found, a, key);
	}
	wipe(response_key, sizeof response_key);
	wipe(found, sizeof found);
	return fits;
}

static int same(const struct ntlm_text *a, const struct ntlm_text *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->bytes, b->bytes, a->len));
}

static struct ntlm_text upper_copy(const struct field *f)
{
	struct ntlm_text t = {allocate(f->len), f->len};

	if (f->len)
		memcpy(t.bytes, f->bytes, f->len);
	utf16_upper(t.bytes, t.len);
	return t;
}

static enum ntlm_result try_users(struct ntlm_users *users, const uint8_t challenge[NTLM_CHALLENGE_LEN],
				  const struct authenticate *a, uint8_t key[NTLM_KEY_LEN])
{
	struct ntlm_text name = upper_copy(&a->user), domain = upper_copy(&a->domain);
	enum ntlm_result result = NTLM_OTHER_USER;

	for (size_t i = 0; i < users->count && result != NTLM_KEY; i++) {
		struct ntlm_user *u = &users->users[i];

		if (!same(&u->name, &name) || (!u->any_domain && !same(&u->domain, &domain)))
			continue;
		u->seen = 1;
		if (a->response.len <= V1_RESPONSE_LEN)
			result = NTLM_VERSION_1;
		else
			result = prove(u, &name, challenge, a, key) ? NTLM_KEY : NTLM_WRONG_PASSWORD;
	}
	free(name.bytes);
	free(domain.bytes);
	return result;
}

void ntlm_authenticate(struct ntlm_users *users, const uint8_t challenge[NTLM_CHALLENGE_LEN], const uint8_t *buffer,
		       size_t len, struct ntlm_outcome *out)
{
	struct authenticate a;
	size_t n;
	const uint8_t *m = find_message(buffer, len, TYPE_AUTHENTICATE, &n);

	if (!m)
		return;
	if (read_authenticate(m, n, &a)) {
		out->result = NTLM_MALFORMED;
		return;
	}
	show_who(&a, out->who);
	out->result = a.user.len || a.response.len ? try_users(users, challenge, &a, out->key) : NTLM_ANONYMOUS;
}
