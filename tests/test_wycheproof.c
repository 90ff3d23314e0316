/* SPDX-License-Identifier: MIT */
/*
 * C2SP/wycheproof, testvectors_v1 (aes_cmac, aes_gmac, hmac_sha256 and aes_gcm _test.json), at the level of primitives
 * and with every kernel. Counted: a case that is not read is a failure. The JSON reader is as large as these files need
 * and stops the test at anything else.
 */
#include "primitives.h"
#include "support.h"

/* ---- JSON ---- */

enum json_type { JSON_STRING, JSON_NUMBER, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	char *name;   /* in an object */
	char *string; /* JSON_STRING */
	unsigned long number;
	struct json *first, *next; /* members of this one; the next member beside it */
};

struct reader {
	const char *text, *at;
};

static void unexpected(const struct reader *r)
{
	ck_abort_msg("JSON: unexpected '%.20s' at byte %td", r->at, r->at - r->text);
}

static void skip_space(struct reader *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

/* The next character that is not white space, if it is this one. */
static int accept(struct reader *r, char c)
{
	skip_space(r);
	if (*r->at != c)
		return 0;
	r->at++;
	return 1;
}

static void expect(struct reader *r, char c)
{
	if (!accept(r, c))
		unexpected(r);
}

/* Escapes stand in comments only: the character behind the backslash is kept, whichever it is. */
static char *read_string(struct reader *r)
{
	const char *end;
	char *s, *to;

	expect(r, '"');
	for (end = r->at; *end && *end != '"'; end++)
		if (*end == '\\' && end[1])
			end++;
	if (*end != '"')
		unexpected(r);
	s = to = malloc((size_t)(end - r->at) + 1);
	ck_assert_ptr_nonnull(s);
	while (r->at < end) {
		if (*r->at == '\\')
			r->at++;
		*to++ = *r->at++;
	}
	*to = '\0';
	r->at++;
	return s;
}

static struct json *read_value(struct reader *r, int depth);

static struct json *read_members(struct reader *r, char close, int depth)
{
	struct json *first = NULL, **tail = &first;

	if (accept(r, close))
		return NULL;
	do {
		char *name = NULL;

		if (close == '}') {
			name = read_string(r);
			expect(r, ':');
		}
		*tail = read_value(r, depth + 1);
		(*tail)->name = name;
		tail = &(*tail)->next;
	} while (accept(r, ','));
	expect(r, close);
	return first;
}

static struct json *read_value(struct reader *r, int depth)
{
	struct json *j = calloc(1, sizeof(*j));

	ck_assert_ptr_nonnull(j);
	ck_assert_int_lt(depth, 20);
	skip_space(r);
	if (*r->at == '"') {
		j->type = JSON_STRING;
		j->string = read_string(r);
	} else if (accept(r, '{')) {
		j->type = JSON_OBJECT;
		j->first = read_members(r, '}', depth);
	} else if (accept(r, '[')) {
		j->type = JSON_ARRAY;
		j->first = read_members(r, ']', depth);
	} else if (*r->at >= '0' && *r->at <= '9') {
		char *end;

		j->type = JSON_NUMBER;
		j->number = strtoul(r->at, &end, 10);
		r->at = end;
	} else {
		unexpected(r);
	}
	return j;
}

static void free_json(struct json *j)
{
	while (j) {
		struct json *next = j->next;

		free_json(j->first);
		free(j->name);
		free(j->string);
		free(j);
		j = next;
	}
}

static const struct json *member(const struct json *object, const char *name, enum json_type type)
{
	ck_assert_int_eq(object->type, JSON_OBJECT);
	for (const struct json *m = object->first; m; m = m->next)
		if (strcmp(m->name, name) == 0) {
			ck_assert_msg(m->type == type, "JSON: '%s' is of another type", name);
			return m;
		}
	ck_abort_msg("JSON: no '%s'", name);
}

static struct json *read_file(const char *name)
{
	char path[1024];
	struct json *root;
	struct reader r;
	char *text;
	long size;
	FILE *f;

	ck_assert_int_lt(snprintf(path, sizeof(path), "%s/wycheproof-%s_test.json", SMB3SIGN_VECTORS, name),
			 sizeof(path));
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "cannot open %s", path);
	ck_assert(fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0);
	text = calloc(1, (size_t)size + 1);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(fread(text, 1, (size_t)size, f), (size_t)size);
	fclose(f);
	r.text = r.at = text;
	root = read_value(&r, 0);
	skip_space(&r);
	if (*r.at)
		unexpected(&r);
	free(text);
	return root;
}

/* ---- Cases ---- */

struct tally {
	unsigned valid, invalid, all; /* cases run; cases in the file */
};

struct wycheproof_case {
	unsigned long id;
	int valid;
	uint8_t key[128], iv[64], msg[512], tag[32];
	size_t key_len, msg_len, tag_len;
};

static size_t hex_member(const struct json *test, const char *name, uint8_t *out, size_t room)
{
	return unhex(out, room, member(test, name, JSON_STRING)->string);
}

static void read_case(const struct json *test, const char *msg_name, struct wycheproof_case *c)
{
	const char *result = member(test, "result", JSON_STRING)->string;

	c->id = member(test, "tcId", JSON_NUMBER)->number;
	c->valid = strcmp(result, "valid") == 0;
	ck_assert_msg(c->valid || strcmp(result, "invalid") == 0, "tcId %lu: result '%s'", c->id, result);
	c->key_len = hex_member(test, "key", c->key, sizeof(c->key));
	c->msg_len = hex_member(test, msg_name, c->msg, sizeof(c->msg));
	c->tag_len = hex_member(test, "tag", c->tag, sizeof(c->tag));
}

static void judge(const struct wycheproof_case *c, const uint8_t *mac)
{
	ck_assert_msg((memcmp(mac, c->tag, c->tag_len) == 0) == c->valid, "tcId %lu should be %s", c->id,
		      c->valid ? "valid" : "invalid");
}

static void count(struct tally *t, const struct wycheproof_case *c)
{
	if (c->valid)
		t->valid++;
	else
		t->invalid++;
}

static void cmac_case(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct wycheproof_case *c = arg;
	uint8_t mac[16];

	(void)raw;
	prim_cmac(key, c->msg, c->msg_len, mac);
	judge(c, mac);
}

static void gmac_case(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct wycheproof_case *c = arg;
	uint8_t tag[16];

	(void)raw;
	prim_gmac(key, c->iv, c->msg, c->msg_len, tag);
	judge(c, tag);
}

static void hmac_case(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct wycheproof_case *c = arg;
	uint8_t mac[32];

	(void)raw;
	prim_hmac(key->k.sha256, c->key, c->key_len, c->msg, c->msg_len, mac);
	judge(c, mac);
}

static void run_cmac(const struct json *group, const struct json *test, struct tally *t)
{
	struct wycheproof_case c;

	if (member(group, "keySize", JSON_NUMBER)->number != 128)
		return;
	read_case(test, "msg", &c);
	ck_assert(c.key_len == 16 && c.tag_len == 16);
	for_each_kernel(SMB3SIGN_AES_CMAC, c.key, SMB3SIGN_ROLE_ANY, cmac_case, &c);
	count(t, &c);
}

static int is_smb_gcm(const struct json *group)
{
	return member(group, "keySize", JSON_NUMBER)->number == 128 &&
	       member(group, "ivSize", JSON_NUMBER)->number == 96;
}

static void run_gmac(const struct json *group, const struct json *test, struct tally *t)
{
	struct wycheproof_case c;

	if (!is_smb_gcm(group))
		return;
	read_case(test, "msg", &c);
	ck_assert_uint_eq(hex_member(test, "iv", c.iv, sizeof(c.iv)), 12);
	ck_assert(c.key_len == 16 && c.tag_len == 16);
	for_each_kernel(SMB3SIGN_AES_GMAC, c.key, SMB3SIGN_ROLE_ANY, gmac_case, &c);
	count(t, &c);
}

/* GCM without plaintext is GMAC of the additional data. */
static void run_gcm(const struct json *group, const struct json *test, struct tally *t)
{
	struct wycheproof_case c;

	if (!is_smb_gcm(group) || *member(test, "msg", JSON_STRING)->string || *member(test, "ct", JSON_STRING)->string)
		return;
	read_case(test, "aad", &c);
	ck_assert_uint_eq(hex_member(test, "iv", c.iv, sizeof(c.iv)), 12);
	ck_assert(c.key_len == 16 && c.tag_len == 16);
	for_each_kernel(SMB3SIGN_AES_GMAC, c.key, SMB3SIGN_ROLE_ANY, gmac_case, &c);
	count(t, &c);
}

static void run_hmac(const struct json *group, const struct json *test, struct tally *t)
{
	static const uint8_t any_key[16];
	struct wycheproof_case c;

	read_case(test, "msg", &c);
	ck_assert_uint_eq(8 * c.tag_len, member(group, "tagSize", JSON_NUMBER)->number);
	ck_assert_uint_eq(8 * c.key_len, member(group, "keySize", JSON_NUMBER)->number);
	for_each_kernel(SMB3SIGN_HMAC_SHA256, any_key, SMB3SIGN_ROLE_ANY, hmac_case, &c);
	count(t, &c);
}

static void run_file(const char *name, void (*run)(const struct json *, const struct json *, struct tally *),
		     unsigned valid, unsigned invalid, unsigned all)
{
	struct json *root = read_file(name);
	struct tally t = {0};

	for (const struct json *g = member(root, "testGroups", JSON_ARRAY)->first; g; g = g->next)
		for (const struct json *test = member(g, "tests", JSON_ARRAY)->first; test; test = test->next) {
			run(g, test, &t);
			t.all++;
		}
	ck_assert_uint_eq(t.all, member(root, "numberOfTests", JSON_NUMBER)->number);
	ck_assert_uint_eq(t.all, all);
	ck_assert_uint_eq(t.valid, valid);
	ck_assert_uint_eq(t.invalid, invalid);
	free_json(root);
}

START_TEST(test_aes_cmac)
{
	run_file("aes_cmac", run_cmac, 21, 81, 311);
}
END_TEST

START_TEST(test_aes_gmac)
{
	run_file("aes_gmac", run_gmac, 15, 54, 414);
}
END_TEST

START_TEST(test_aes_gcm)
{
	run_file("aes_gcm", run_gcm, 1, 0, 316);
}
END_TEST

START_TEST(test_hmac_sha256)
{
	run_file("hmac_sha256", run_hmac, 66, 108, 174);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("wycheproof");
	TCase *tc = add_case(s, "wycheproof");

	tcase_add_test(tc, test_aes_cmac);
	tcase_add_test(tc, test_aes_gmac);
	tcase_add_test(tc, test_aes_gcm);
	tcase_add_test(tc, test_hmac_sha256);
	return run_suite(s);
}
