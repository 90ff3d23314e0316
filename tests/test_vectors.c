/* SPDX-License-Identifier: MIT */
/*
 * Published values, vectors.h, through every kernel that this machine can run: whole SMB messages in every form of the
 * API, key derivation, the preauthentication hash, and the primitives. The file that the values were typed in from is
 * read too where CMake found it (SMB3SIGN_PUBLISHED).
 */
#define _DEFAULT_SOURCE /* strdup */
#include "primitives.h"
#include "smb2.h"
#include "support.h"
#include "vectors.h"

#define COUNT(array)               (sizeof(array) / sizeof((array)[0]))
#define ASSERT_SAME(name, a, b, n) ck_assert_msg(memcmp(a, b, n) == 0, "%s: wrong bytes", name)

/* ---- Whole messages ---- */

struct message {
	const char *name;
	uint8_t *bytes; /* with the right signature */
	size_t len;
};

/* A copy that has everything sign() must overwrite: SIGNED clear, Signature arbitrary. */
static uint8_t *unsigned_copy(const struct message *m)
{
	uint8_t *copy = malloc(m->len);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, m->bytes, m->len);
	copy[16] &= (uint8_t)~8u;
	rng_fill(copy + 48, 16);
	return copy;
}

static void one_shot(const smb3sign_key *key, const struct message *m)
{
	smb3sign_iov iov[5];
	size_t n = random_split(iov, 5, m->bytes + 64, m->len - 64);
	uint8_t *copy = unsigned_copy(m), tag[16];

	ck_assert_int_eq(smb3sign_verify_buf(key, m->bytes, m->len), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify(key, m->bytes, iov, n), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_compute(key, copy, iov, n, tag), SMB3SIGN_OK);
	ASSERT_SAME(m->name, tag, m->bytes + 48, 16);
	ck_assert_int_eq(smb3sign_sign(key, copy, iov, n), SMB3SIGN_OK);
	ASSERT_SAME(m->name, copy, m->bytes, m->len);
	free(copy);

	copy = unsigned_copy(m);
	ck_assert_int_eq(smb3sign_sign_buf(key, copy, m->len), SMB3SIGN_OK);
	ASSERT_SAME(m->name, copy, m->bytes, m->len);
	free(copy);
}

static void stepwise(const smb3sign_key *key, const struct message *m)
{
	smb3sign_iov iov[9];
	size_t n = random_split(iov, 9, m->bytes + 64, m->len - 64);
	uint8_t *copy = unsigned_copy(m);
	smb3sign_ctx sign, verify;

	ck_assert_int_eq(smb3sign_sign_begin(&sign, key, copy), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_begin(&verify, key, m->bytes), SMB3SIGN_OK);
	for (size_t i = 0; i < n; i++) {
		smb3sign_update(&sign, iov[i].iov_base, iov[i].iov_len);
		smb3sign_update(&verify, iov[i].iov_base, iov[i].iov_len);
	}
	ck_assert_int_eq(smb3sign_sign_end(&sign, copy + 48), SMB3SIGN_OK);
	ck_assert_int_eq(smb3sign_verify_end(&verify), SMB3SIGN_OK);
	ASSERT_SAME(m->name, copy, m->bytes, m->len);
	free(copy);
}

static void batch_and_frame(const smb3sign_key *key, const struct message *m)
{
	smb3sign_iov body = {m->bytes + 64, m->len - 64};
	uint8_t *copy = unsigned_copy(m);
	smb3sign_msg msg = {.key = key, .hdr = copy, .body = &body, .body_cnt = 1};

	ck_assert_int_eq(smb3sign_sign_batch(&msg, 1), SMB3SIGN_OK);
	ASSERT_SAME(m->name, copy, m->bytes, 64);
	msg.hdr = m->bytes;
	ck_assert_int_eq(smb3sign_verify_batch(&msg, 1), SMB3SIGN_OK);
	free(copy);

	if (get_le32(m->bytes + 20) != 0)
		return; /* an element of a compound without the others is no frame */
	copy = unsigned_copy(m);
	ck_assert_int_eq(smb3sign_sign_frame(key, copy, m->len), SMB3SIGN_OK);
	ASSERT_SAME(m->name, copy, m->bytes, m->len);
	ck_assert_int_eq(smb3sign_verify_frame(key, m->bytes, m->len, NULL), SMB3SIGN_OK);
	free(copy);
}

/* Another signature, and the right one under another key, are refused. */
static void forged(const smb3sign_key *key, const struct message *m)
{
	size_t bit = rng_below(128);
	uint8_t mask = (uint8_t)(1u << bit % 8);

	m->bytes[48 + bit / 8] ^= mask;
	ck_assert_int_eq(smb3sign_verify_buf(key, m->bytes, m->len), SMB3SIGN_E_SIGNATURE);
	m->bytes[48 + bit / 8] ^= mask;
}

static void check_message(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct message *m = arg;

	(void)raw;
	one_shot(key, m);
	stepwise(key, m);
	batch_and_frame(key, m);
	forged(key, m);
}

static void check_message_all(unsigned alg, const char *key_hex, struct message *m)
{
	uint8_t raw[16];

	ck_assert_uint_eq(unhex(raw, sizeof(raw), key_hex), 16);
	ck_assert_msg(m->bytes[16] & 8, "%s: SIGNED is clear", m->name);
	for_each_kernel(alg, raw, SMB3SIGN_ROLE_ANY, check_message, m);
}

static void check_sign_vector(const struct sign_vector *v)
{
	uint8_t bytes[4096];
	struct message m = {v->name, bytes, unhex(bytes, sizeof(bytes), v->message)};

	check_message_all(v->alg, v->key, &m);
}

static void check_generated_vector(const struct generated_vector *v)
{
	uint8_t *bytes = malloc(64 + 256 + 65536);
	struct message m = {v->name, bytes, 0};

	ck_assert_ptr_nonnull(bytes);
	ck_assert_uint_eq(unhex(bytes, 64, v->header), 64);
	ck_assert_uint_eq(unhex(bytes + 48, 16, v->signature), 16);
	m.len = 64 + unhex(bytes + 64, 256, v->body_prefix);
	for (size_t i = 0; i < 65536; i++)
		bytes[m.len++] = (uint8_t)(7 * i + 3);
	check_message_all(v->alg, v->key, &m);
	free(bytes);
}

START_TEST(test_sign)
{
	check_sign_vector(&sign_vectors[_i]);
}
END_TEST

START_TEST(test_sign_generated)
{
	check_generated_vector(&generated_vectors[_i]);
}
END_TEST

/* ---- Key derivation, preauthentication hash ---- */

static void check_kdf_vector(const struct kdf_vector *v)
{
	uint8_t gss[64], ki[64] = {0}, label[64], context[64], want[32], got[32];
	size_t gss_len = unhex(gss, sizeof(gss), v->session_key);
	size_t label_len = unhex(label, sizeof(label), v->label);
	size_t context_len = unhex(context, sizeof(context), v->context);
	size_t out_len = unhex(want, sizeof(want), v->key), ki_len = gss_len;
	smb3sign_preauth preauth;

	memcpy(ki, gss, gss_len);
	if (v->dialect && out_len == 16)
		ki_len = 16;
	ck_assert_int_eq(smb3sign_kdf(ki, ki_len, label, label_len, context, context_len, got, out_len), SMB3SIGN_OK);
	ASSERT_SAME(v->name, got, want, out_len);
	if (!v->dialect)
		return;
	if (v->dialect == 0x0311) {
		ck_assert_uint_eq(context_len, 64);
		memcpy(preauth.hash, context, 64);
	}
	memset(got, 0, sizeof(got));
	ck_assert_int_eq(
		smb3sign_derive(v->dialect, v->use, gss, gss_len, v->dialect == 0x0311 ? &preauth : NULL, got, out_len),
		SMB3SIGN_OK);
	ASSERT_SAME(v->name, got, want, out_len);
}

static void check_preauth_vector(const struct preauth_vector *v)
{
	smb3sign_preauth p;
	uint8_t msg[4096];
	size_t len = unhex(msg, sizeof(msg), v->message);
	smb3sign_iov iov[4];

	unhex(p.hash, 64, v->before);
	ck_assert_int_eq(smb3sign_preauth_update(&p, iov, random_split(iov, 4, msg, len)), SMB3SIGN_OK);
	assert_hex(p.hash, v->after);
}

START_TEST(test_kdf)
{
	check_kdf_vector(&kdf_vectors[_i]);
}
END_TEST

START_TEST(test_preauth)
{
	check_preauth_vector(&preauth_vectors[_i]);
}
END_TEST

/* ---- Primitives ---- */

struct primitive {
	const char *name;
	uint8_t key[256], nonce[12], msg[256], mac[32];
	size_t key_len, len, mac_len;
};

static void primitive_from(struct primitive *p, const struct mac_vector *v)
{
	p->name = v->name;
	p->key_len = unhex(p->key, sizeof(p->key), v->key);
	p->len = unhex(p->msg, sizeof(p->msg), v->message);
	p->mac_len = unhex(p->mac, sizeof(p->mac), v->mac);
}

static void check_cmac(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct primitive *p = arg;
	uint8_t mac[16];

	(void)raw;
	prim_cmac(key, p->msg, p->len, mac);
	ASSERT_SAME(p->name, mac, p->mac, 16);
}

static void check_cmac_vector(const struct mac_vector *v)
{
	struct primitive p;

	primitive_from(&p, v);
	ck_assert_uint_eq(p.key_len, 16);
	ck_assert_uint_eq(p.mac_len, 16);
	for_each_kernel(SMB3SIGN_AES_CMAC, p.key, SMB3SIGN_ROLE_ANY, check_cmac, &p);
}

static void check_subkeys(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const char *const *hex = arg;

	(void)raw;
	assert_hex(cmac_subkeys(key), hex[1]);
	assert_hex(cmac_subkeys(key) + 16, hex[2]);
}

static void check_subkey_vector(const char *const hex[3])
{
	uint8_t raw[16];
	const char *copy[3] = {hex[0], hex[1], hex[2]};

	ck_assert_uint_eq(unhex(raw, sizeof(raw), hex[0]), 16);
	for_each_kernel(SMB3SIGN_AES_CMAC, raw, SMB3SIGN_ROLE_ANY, check_subkeys, copy);
}

static void check_gmac(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct primitive *p = arg;
	uint8_t tag[16];

	(void)raw;
	prim_gmac(key, p->nonce, p->msg, p->len, tag);
	ASSERT_SAME(p->name, tag, p->mac, p->mac_len);
}

static void check_gmac_vector(const struct gmac_vector *v)
{
	struct mac_vector without_nonce = {v->name, v->key, v->message, v->mac};
	struct primitive p;

	primitive_from(&p, &without_nonce);
	ck_assert_uint_eq(p.key_len, 16);
	ck_assert_uint_eq(unhex(p.nonce, sizeof(p.nonce), v->nonce), 12);
	ck_assert(p.mac_len == 16 || p.mac_len == 12);
	for_each_kernel(SMB3SIGN_AES_GMAC, p.key, SMB3SIGN_ROLE_ANY, check_gmac, &p);
}

static void check_hmac(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct primitive *p = arg;
	uint8_t mac[32];

	(void)raw;
	prim_hmac(key->k.sha256, p->key, p->key_len, p->msg, p->len, mac);
	ASSERT_SAME(p->name, mac, p->mac, p->mac_len);
}

static void check_hmac_vector(const struct mac_vector *v)
{
	static const uint8_t any_key[16];
	struct primitive p;

	primitive_from(&p, v);
	ck_assert(p.mac_len == 16 || p.mac_len == 32);
	for_each_kernel(SMB3SIGN_HMAC_SHA256, any_key, SMB3SIGN_ROLE_ANY, check_hmac, &p);
}

/* HMAC(key, 00000001 || fixed input): the first block of SP 800-108's counter mode. */
static void check_kbkdf_vector(const struct mac_vector *v)
{
	static const uint8_t any_key[16];
	struct primitive p;

	primitive_from(&p, v);
	ck_assert(p.mac_len == 16 || p.mac_len == 32);
	ck_assert_uint_le(p.len + 4, sizeof(p.msg));
	memmove(p.msg + 4, p.msg, p.len);
	memcpy(p.msg, "\0\0\0\1", 4);
	p.len += 4;
	for_each_kernel(SMB3SIGN_HMAC_SHA256, any_key, SMB3SIGN_ROLE_ANY, check_hmac, &p);
}

START_TEST(test_cmac)
{
	check_cmac_vector(&cmac_vectors[_i]);
}
END_TEST

START_TEST(test_cmac_subkeys)
{
	check_subkey_vector(cmac_subkey_vector);
}
END_TEST

START_TEST(test_gmac)
{
	check_gmac_vector(&gmac_vectors[_i]);
}
END_TEST

START_TEST(test_gmac_nist)
{
	check_gmac_vector(&nist_gmac_vectors[_i]);
}
END_TEST

START_TEST(test_hmac_rfc4231)
{
	check_hmac_vector(&rfc4231_vectors[_i]);
}
END_TEST

START_TEST(test_kbkdf_prefix)
{
	check_kbkdf_vector(&kbkdf_prefix_vectors[_i]);
}
END_TEST

START_TEST(test_kbkdf_nist)
{
	check_kbkdf_vector(&nist_kbkdf_vectors[_i]);
}
END_TEST

/* ---- GMAC nonces ---- */

struct nonce_case {
	const char *name;
	uint8_t msg[100], nonce[12];
};

static void check_nonce(const smb3sign_key *key, const uint8_t raw[16], void *arg)
{
	const struct nonce_case *c = arg;
	uint8_t msg[100], tag[16];

	memcpy(msg, c->msg, sizeof(msg));
	msg[16] |= 8;
	memset(msg + 48, 0, 16);
	ref_gmac(raw, c->nonce, msg, sizeof(msg), tag);
	memcpy(msg, c->msg, sizeof(msg));
	if (msg[12] == 0x0c && msg[16] & 1) {
		/* The vector is arithmetic: nobody sends a CANCEL response. */
		ck_assert_int_eq(smb3sign_sign_buf(key, msg, sizeof(msg)), SMB3SIGN_E_EXEMPT);
		return;
	}
	ck_assert_int_eq(smb3sign_sign_buf(key, msg, sizeof(msg)), SMB3SIGN_OK);
	ASSERT_SAME(c->name, msg + 48, tag, 16);
}

static void check_nonce_vector(const struct nonce_vector *v)
{
	struct nonce_case c = {.name = v->name};
	uint8_t raw[16], j0_bytes[16];
	uint64_t j0[2];

	rng_fill(raw, sizeof(raw));
	make_header(c.msg, 0, 0, 0, 0x1234);
	rng_fill(c.msg + 64, sizeof(c.msg) - 64);
	ck_assert_uint_eq(unhex(c.msg + 24, 8, v->message_id), 8);
	ck_assert_uint_eq(unhex(c.msg + 16, 4, v->flags), 4);
	ck_assert_uint_eq(unhex(c.msg + 12, 2, v->command), 2);
	ck_assert_uint_eq(unhex(c.nonce, 12, v->nonce), 12);
	smb2_gmac_j0(c.msg, j0);
	put_le64(j0_bytes, j0[0]);
	put_le64(j0_bytes + 8, j0[1]);
	ASSERT_SAME(v->name, j0_bytes, c.nonce, 12);
	ASSERT_SAME(v->name, j0_bytes + 12, "\0\0\0\1", 4);
	for_each_kernel(SMB3SIGN_AES_GMAC, raw, SMB3SIGN_ROLE_ANY, check_nonce, &c);
}

START_TEST(test_nonce)
{
	check_nonce_vector(&nonce_vectors[_i]);
}
END_TEST

/* ---- The file ---- */

#ifdef SMB3SIGN_PUBLISHED
enum { FIELDS_MAX = 24 };

/* One record: "field = value" lines up to an empty one. */
struct record {
	char *field[FIELDS_MAX], *value[FIELDS_MAX];
	size_t n;
};

static const char *get(const struct record *r, const char *field)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->field[i], field) == 0)
			return strcmp(r->value[i], "(empty)") == 0 ? "" : r->value[i];
	ck_abort_msg("%s: no field '%s'", r->n ? r->value[0] : "?", field);
}

static int has(const struct record *r, const char *field)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->field[i], field) == 0)
			return 1;
	return 0;
}

static unsigned record_alg(const struct record *r)
{
	static const char *const names[] = {"hmac-sha256", "aes-128-cmac", "aes-128-gmac"};
	const char *name = get(r, "algorithm");

	for (unsigned alg = 0; alg < COUNT(names); alg++)
		if (strcmp(name, names[alg]) == 0)
			return alg;
	ck_abort_msg("unknown algorithm %s", name);
}

static unsigned record_use(const struct record *r)
{
	static const struct {
		const char *begins;
		unsigned use;
	} uses[] = {{"SigningKey", SMB3SIGN_USE_SIGNING},
		    {"Channel.SigningKey", SMB3SIGN_USE_SIGNING},
		    {"client-to-server", SMB3SIGN_USE_CLIENT_TO_SERVER},
		    {"cipher key", SMB3SIGN_USE_CLIENT_TO_SERVER},
		    {"server-to-client", SMB3SIGN_USE_SERVER_TO_CLIENT},
		    {"ApplicationKey", SMB3SIGN_USE_APPLICATION}};
	const char *purpose = get(r, "purpose");

	for (size_t i = 0; i < COUNT(uses); i++)
		if (strncmp(purpose, uses[i].begins, strlen(uses[i].begins)) == 0)
			return uses[i].use;
	ck_abort_msg("unknown purpose %s", purpose);
}

static void record_sign(const struct record *r)
{
	const struct sign_vector v = {get(r, "name"), record_alg(r), get(r, "signing_key"), get(r, "message")};

	ck_assert_msg(strncmp(v.message + 96, get(r, "signature"), 32) == 0, "%s: another signature", v.name);
	check_sign_vector(&v);
}

static void record_generated(const struct record *r)
{
	const struct generated_vector v = {get(r, "name"),        record_alg(r),
					   get(r, "signing_key"), get(r, "header_zero_sig"),
					   get(r, "body_prefix"), get(r, "signature")};

	ck_assert_str_eq(get(r, "body_rule"), "65536 further bytes, byte i = (7*i+3) mod 256");
	check_generated_vector(&v);
}

static void record_kdf(const struct record *r)
{
	unsigned dialect = (unsigned)strtoul(get(r, "dialect"), NULL, 16);
	const struct kdf_vector v = {get(r, "name"),
				     dialect,
				     dialect ? record_use(r) : 0,
				     get(r, has(r, "gss_key") ? "gss_key" : "session_key"),
				     get(r, "label"),
				     get(r, "context"),
				     get(r, "derived_key")};

	ck_assert_uint_eq(strtoul(get(r, "length_bits"), NULL, 16), 4 * strlen(v.key));
	check_kdf_vector(&v);
}

static void record_preauth(const struct record *r)
{
	check_preauth_vector(&(struct preauth_vector){get(r, "name"), get(r, "hash_before"), get(r, "message"),
						      get(r, "hash_after")});
}

static void record_cmac(const struct record *r)
{
	check_cmac_vector(&(struct mac_vector){get(r, "name"), get(r, "key"), get(r, "message"), get(r, "mac")});
}

static void record_subkeys(const struct record *r)
{
	check_subkey_vector((const char *const[]){get(r, "key"), get(r, "k1"), get(r, "k2")});
}

static void record_gmac(const struct record *r)
{
	check_gmac_vector(&(struct gmac_vector){get(r, "name"), get(r, "key"), get(r, "nonce"), get(r, "message"),
						get(r, "mac")});
}

static void record_hmac_prefix(const struct record *r)
{
	check_kbkdf_vector(
		&(struct mac_vector){get(r, "name"), get(r, "kdk"), get(r, "fixed_input"), get(r, "derived_key")});
}

static void record_nonce(const struct record *r)
{
	check_nonce_vector(&(struct nonce_vector){get(r, "name"), get(r, "message_id_le"), get(r, "flags_le"),
						  get(r, "command_le"), get(r, "nonce")});
}

static void run_record(const struct record *r)
{
	static const struct {
		const char *type;
		void (*run)(const struct record *r);
	} types[] = {{"sign", record_sign},  {"sign-generated", record_generated},
		     {"kdf", record_kdf},    {"preauth-hash", record_preauth},
		     {"cmac", record_cmac},  {"cmac-subkeys", record_subkeys},
		     {"gmac", record_gmac},  {"hmac-prefix", record_hmac_prefix},
		     {"nonce", record_nonce}};
	const char *type = get(r, "type");

	for (size_t i = 0; i < COUNT(types); i++)
		if (strcmp(type, types[i].type) == 0) {
			types[i].run(r);
			return;
		}
	ck_abort_msg("unknown type %s", type);
}

/* Cuts "field = value" in place. */
static void add_field(struct record *r, char *line)
{
	char *equals = strstr(line, " = ");

	ck_assert_msg(equals && r->n < FIELDS_MAX, "not a field, or too many: %s", line);
	*equals = '\0';
	r->field[r->n] = strdup(line);
	r->value[r->n] = strdup(equals + 3);
	r->n++;
}

static size_t end_record(struct record *r)
{
	if (!r->n)
		return 0;
	run_record(r);
	for (; r->n; r->n--) {
		free(r->field[r->n - 1]);
		free(r->value[r->n - 1]);
	}
	return 1;
}

START_TEST(test_file)
{
	static char line[8192];
	struct record r = {.n = 0};
	size_t records = 0;
	FILE *f = fopen(SMB3SIGN_PUBLISHED, "r");

	ck_assert_msg(f != NULL, "cannot open %s", SMB3SIGN_PUBLISHED);
	while (fgets(line, sizeof(line), f)) {
		ck_assert_msg(strchr(line, '\n') != NULL, "line too long: %.60s", line);
		line[strcspn(line, "\r\n")] = '\0';
		if (!*line)
			records += end_record(&r);
		else if (*line != '#')
			add_field(&r, line);
	}
	records += end_record(&r);
	ck_assert(!ferror(f));
	fclose(f);
	/* As many as were typed in, or more of them by now. */
	ck_assert_uint_ge(records, COUNT(sign_vectors) + COUNT(generated_vectors) + COUNT(kdf_vectors) +
					   COUNT(preauth_vectors) + COUNT(cmac_vectors) + 1 + COUNT(gmac_vectors) +
					   COUNT(kbkdf_prefix_vectors) + COUNT(nonce_vectors));
}
END_TEST
#endif

static void add_loop(Suite *s, const char *name, const TTest *test, size_t n)
{
	tcase_add_loop_test(add_case(s, name), test, 0, (int)n);
}

int main(void)
{
	Suite *s = suite_create("vectors");

	add_loop(s, "sign", test_sign, COUNT(sign_vectors));
	add_loop(s, "sign generated", test_sign_generated, COUNT(generated_vectors));
	add_loop(s, "kdf", test_kdf, COUNT(kdf_vectors));
	add_loop(s, "preauth", test_preauth, COUNT(preauth_vectors));
	add_loop(s, "cmac", test_cmac, COUNT(cmac_vectors));
	add_loop(s, "cmac subkeys", test_cmac_subkeys, 1);
	add_loop(s, "gmac", test_gmac, COUNT(gmac_vectors));
	add_loop(s, "gmac nist", test_gmac_nist, COUNT(nist_gmac_vectors));
	add_loop(s, "hmac rfc4231", test_hmac_rfc4231, COUNT(rfc4231_vectors));
	add_loop(s, "kbkdf prefix", test_kbkdf_prefix, COUNT(kbkdf_prefix_vectors));
	add_loop(s, "kbkdf nist", test_kbkdf_nist, COUNT(nist_kbkdf_vectors));
	add_loop(s, "nonce", test_nonce, COUNT(nonce_vectors));
#ifdef SMB3SIGN_PUBLISHED
	add_loop(s, "published.txt", test_file, 1);
#endif
	return run_suite(s);
}
