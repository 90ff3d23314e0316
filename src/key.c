/* SPDX-License-Identifier: MIT */
/*
 * Keys: choose the kernels, size the object, prepare it once, copy it, wipe it. Afterwards it is only read. The kernels
 * are bound to the key because they shape its tables: no other code can ever be given a table it does not understand.
 */
#include <limits.h>
#include <stdlib.h>

#include "key.h"
#include "util.h"

/* The text of smb3sign_key_impl stands at the key's end, where no message looks. */
#define KEY_IMPL_LEN 40

/* Everything that decides how a key of this algorithm looks. */
struct plan {
	const struct smb3sign_mac *mac;
	smb3sign_message_fn *message;
	struct smb3sign_choice kernels;
	size_t size;
};

static void plan_hmac(struct plan *plan)
{
	if (!plan->kernels.sha256)
		plan->kernels.sha256 = smb3sign_best_sha256();
	plan->mac = &smb3sign_hmac_sha256;
	plan->message = plan->kernels.sha256->hmac;
	plan->size += sizeof(struct hmac_secret);
}

static void plan_cmac(struct plan *plan)
{
	if (!plan->kernels.aes)
		plan->kernels.aes = smb3sign_best_aes();
	plan->mac = &smb3sign_cmac;
	plan->message = plan->kernels.aes->cmac;
	plan->size += 32 + plan->kernels.aes->rk_size;
}

static void plan_gmac(struct plan *plan)
{
	const struct smb3sign_aes *inside;

	if (!plan->kernels.ghash)
		plan->kernels.ghash = smb3sign_best_ghash();
	inside = plan->kernels.ghash->aes;
	if (!plan->kernels.aes)
		plan->kernels.aes = inside && smb3sign_kernel_usable(inside->needs) ? inside : smb3sign_best_aes();
	plan->mac = &smb3sign_gmac;
	plan->message = plan->kernels.ghash->aes == plan->kernels.aes ? plan->kernels.ghash->gmac : NULL;
	plan->size += plan->kernels.aes->rk_size + plan->kernels.ghash->table_size;
}

static int make_plan(struct plan *plan, unsigned alg, const struct smb3sign_choice *choice)
{
	static const struct smb3sign_choice best;

	plan->kernels = choice ? *choice : best;
	plan->size = sizeof(struct smb3sign_key) + KEY_IMPL_LEN;
	switch (alg) {
	case SMB3SIGN_HMAC_SHA256:
		plan_hmac(plan);
		return SMB3SIGN_OK;
	case SMB3SIGN_AES_CMAC:
		plan_cmac(plan);
		return SMB3SIGN_OK;
	case SMB3SIGN_AES_GMAC:
		plan_gmac(plan);
		return SMB3SIGN_OK;
	default:
		return SMB3SIGN_E_UNSUPPORTED;
	}
}

size_t smb3sign_key_size_with(unsigned alg, const struct smb3sign_choice *choice)
{
	struct plan plan;

	return make_plan(&plan, alg, choice) == SMB3SIGN_OK ? plan.size : 0;
}

size_t smb3sign_key_size(unsigned alg)
{
	return smb3sign_key_size_with(alg, NULL);
}

/* Append s to the string at out, of KEY_IMPL_LEN bytes in all. */
static void append(char *out, const char *s)
{
	size_t used = strlen(out), n = strlen(s), room = KEY_IMPL_LEN - 1 - used;

	if (n > room)
		n = room;
	memcpy(out + used, s, n);
	out[used + n] = '\0';
}

static void describe(char *out, const struct smb3sign_key *key)
{
	out[0] = '\0';
	if (key->alg == SMB3SIGN_HMAC_SHA256) {
		append(out, "sha256=");
		append(out, key->k.sha256->name);
		return;
	}
	append(out, "aes=");
	append(out, key->k.aes->name);
	if (key->ghash) {
		append(out, " ghash=");
		append(out, key->ghash->name);
	}
}

/* mem is aligned and holds plan->size bytes. */
static void prepare(struct smb3sign_key *key, const struct plan *plan, unsigned alg, const uint8_t *raw, unsigned role)
{
	key->message = plan->message;
	key->mac = plan->mac;
	if (alg == SMB3SIGN_HMAC_SHA256)
		key->k.sha256 = plan->kernels.sha256;
	else
		key->k.aes = plan->kernels.aes;
	key->ghash = alg == SMB3SIGN_AES_GMAC ? plan->kernels.ghash : NULL;
	key->size = (uint32_t)plan->size;
	key->alg = (uint8_t)alg;
	key->role = (uint8_t)role;
	key->mac->setup(key, raw);
	describe((char *)key + key->size - KEY_IMPL_LEN, key);
}

/* The checks that key_new and key_init share, E_INVAL before E_UNSUPPORTED. */
static int check_and_plan(struct plan *plan, smb3sign_key **key, unsigned alg, const void *raw, size_t raw_len,
			  unsigned role, const struct smb3sign_choice *choice)
{
	if (!key || !raw || raw_len != SMB3SIGN_KEY_LEN || role > SMB3SIGN_ROLE_SERVER)
		return SMB3SIGN_E_INVAL;
	return make_plan(plan, alg, choice);
}

int smb3sign_key_init_with(smb3sign_key **key, void *mem, size_t mem_len, unsigned alg, const void *raw, size_t raw_len,
			   unsigned role, const struct smb3sign_choice *choice)
{
	struct plan plan;
	int err = check_and_plan(&plan, key, alg, raw, raw_len, role, choice);

	if (err)
		return err;
	if (!mem || (uintptr_t)mem % KEY_ALIGN || mem_len < plan.size)
		return SMB3SIGN_E_INVAL;
	prepare(mem, &plan, alg, raw, role);
	*key = mem;
	return SMB3SIGN_OK;
}

int smb3sign_key_init(smb3sign_key **key, void *mem, size_t mem_len, unsigned alg, const void *raw, size_t raw_len,
		      unsigned role)
{
	return smb3sign_key_init_with(key, mem, mem_len, alg, raw, raw_len, role, NULL);
}

int smb3sign_key_new(smb3sign_key **key, unsigned alg, const void *raw, size_t raw_len, unsigned role)
{
	struct plan plan;
	int err = check_and_plan(&plan, key, alg, raw, raw_len, role, NULL);
	smb3sign_key *mem;

	if (err)
		return err;
	mem = malloc(plan.size);
	if (!mem)
		return SMB3SIGN_E_NOMEM;
	prepare(mem, &plan, alg, raw, role);
	*key = mem;
	return SMB3SIGN_OK;
}

/* MS-SMB2 3.2.5.3.1, 3.3.5.5: which algorithms a dialect can have agreed on. */
static int dialect_has(unsigned dialect, unsigned alg)
{
	switch (dialect) {
	case 0x0202:
	case 0x0210:
		return alg == SMB3SIGN_HMAC_SHA256;
	case 0x0300:
	case 0x0302:
		return alg == SMB3SIGN_AES_CMAC;
	case 0x0311:
		return alg <= SMB3SIGN_AES_GMAC;
	default:
		return 0;
	}
}

int smb3sign_key_derive(smb3sign_key **key, unsigned alg, unsigned dialect, const void *session_key,
			size_t session_key_len, const smb3sign_preauth *preauth, unsigned role)
{
	uint8_t raw[SMB3SIGN_KEY_LEN];
	int err;

	if (!key || !session_key || role > SMB3SIGN_ROLE_SERVER)
		return SMB3SIGN_E_INVAL;
	if (!dialect_has(dialect, alg))
		return SMB3SIGN_E_UNSUPPORTED;
	err = smb3sign_derive(dialect, SMB3SIGN_USE_SIGNING, session_key, session_key_len, preauth, raw, sizeof(raw));
	if (!err)
		err = smb3sign_key_new(key, alg, raw, sizeof(raw), role);
	smb3sign_wipe(raw, sizeof(raw));
	return err;
}

int smb3sign_key_dup(smb3sign_key **copy, const smb3sign_key *key)
{
	smb3sign_key *mem;

	if (!copy || !key || !key->mac)
		return SMB3SIGN_E_INVAL;
	mem = malloc(key->size);
	if (!mem)
		return SMB3SIGN_E_NOMEM;
	memcpy(mem, key, key->size);
	*copy = mem;
	return SMB3SIGN_OK;
}

void smb3sign_key_wipe(smb3sign_key *key)
{
	if (key)
		smb3sign_wipe(key, key->mac ? key->size : sizeof(*key));
}

void smb3sign_key_free(smb3sign_key *key)
{
	smb3sign_key_wipe(key);
	free(key);
}

unsigned smb3sign_key_alg(const smb3sign_key *key)
{
	return key && key->mac ? key->alg : UINT_MAX;
}

const char *smb3sign_key_impl(const smb3sign_key *key)
{
	return key && key->mac ? (const char *)key + key->size - KEY_IMPL_LEN : "none";
}
