/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any sequence of claims, holds and drops in one thread, against the rules of smb3sign.h kept as a plain
 * list of every id that has come. Afterwards every nonce of every id is claimed once more.
 */
#include "fuzz.h"

enum { NONCES = 4, MAX_CALLS = 400, MOST_HELD = 4096, READ = 8, CANCEL = 12 };

enum call { CLAIM, HOLD, DROP, WRONGLY };

struct id {
	uint64_t id;
	uint8_t used[NONCES], held, dropped;
};

struct model {
	uint64_t window;
	size_t n, n_held;
	struct id ids[MAX_CALLS];
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* ---- The rules */

/* Searches that the fuzzer is not to watch: that would take most of the time. */
#define UNWATCHED __attribute__((no_sanitize("coverage"), noinline))

UNWATCHED static struct id *known(struct model *m, uint64_t id)
{
	size_t i = 0;

	while (i < m->n && m->ids[i].id != id)
		i++;
	return i < m->n ? &m->ids[i] : NULL;
}

static int is_too_high(const struct model *m, uint64_t id)
{
	return id / m->window >= (uint64_t)1 << 38;
}

/* A claim or hold: the id comes, whatever becomes of it. */
static struct id *come(struct model *m, uint64_t id)
{
	struct id *i = known(m, id);

	if (i)
		return i;
	require(m->n < MAX_CALLS);
	i = &m->ids[m->n++];
	*i = (struct id){.id = id};
	return i;
}

/* An id of the same place has come that is the window higher, or more. */
UNWATCHED static int is_lost(const struct model *m, uint64_t id)
{
	const uint64_t places = m->window / 4; /* a power of two */

	for (size_t i = 0; i < m->n; i++)
		if (((m->ids[i].id ^ id) & (places - 1)) == 0 && m->ids[i].id >= id && m->ids[i].id - id >= m->window)
			return 1;
	return 0;
}

static int model_claim(struct model *m, uint64_t id, unsigned nonce)
{
	struct id *i;

	if (is_too_high(m, id))
		return SMB3SIGN_E_NONCE;
	i = come(m, id);
	if (i->used[nonce] || i->dropped || (!i->held && is_lost(m, id)))
		return SMB3SIGN_E_NONCE;
	i->used[nonce] = 1;
	return SMB3SIGN_OK;
}

static int model_hold(struct model *m, uint64_t id)
{
	struct id *i;

	if (is_too_high(m, id))
		return SMB3SIGN_E_NONCE;
	i = come(m, id);
	if (i->held)
		return SMB3SIGN_OK;
	if (i->dropped || is_lost(m, id) || m->n_held == m->window || m->n_held == MOST_HELD)
		return SMB3SIGN_E_NONCE;
	i->held = 1;
	m->n_held++;
	return SMB3SIGN_OK;
}

static void model_drop(struct model *m, uint64_t id)
{
	struct id *i = known(m, id);

	if (!i || !i->held)
		return;
	i->held = 0;
	i->dropped = 1;
	m->n_held--;
}

/* ---- Calling */

/* The nonce's bit 0: a response, bit 1: a CANCEL. The other fields do not matter. */
static void header_of(uint8_t hdr[64], uint64_t id, unsigned nonce)
{
	random_header(hdr);
	put_le16(hdr + 12, nonce & 2 ? CANCEL : READ);
	hdr[16] = (uint8_t)((hdr[16] & ~1u) | (nonce & 1));
	put_le64(hdr + 24, id);
}

/* No header, or none of SMB2: nothing happens. */
static void call_wrongly(smb3sign_guard *g, const uint8_t made[64])
{
	uint8_t hdr[64];

	memcpy(hdr, made, 64);
	hdr[rng_below(6)] ^= (uint8_t)(1u << rng_below(8));
	require(smb3sign_guard_claim(g, hdr) == SMB3SIGN_E_MESSAGE);
	require(smb3sign_guard_hold(g, hdr) == SMB3SIGN_E_MESSAGE);
	smb3sign_guard_drop(g, hdr);
	require(smb3sign_guard_claim(g, NULL) == SMB3SIGN_E_INVAL);
	require(smb3sign_guard_hold(g, NULL) == SMB3SIGN_E_INVAL);
	smb3sign_guard_drop(g, NULL);
}

static void call(smb3sign_guard *g, struct model *m, enum call what, uint64_t id, unsigned nonce)
{
	uint8_t made[64], hdr[64];

	header_of(made, id, nonce);
	memcpy(hdr, made, 64);
	switch (what) {
	case CLAIM:
		require(smb3sign_guard_claim(g, hdr) == model_claim(m, id, nonce));
		break;
	case HOLD:
		require(smb3sign_guard_hold(g, hdr) == model_hold(m, id));
		break;
	case DROP:
		smb3sign_guard_drop(g, hdr);
		model_drop(m, id);
		break;
	case WRONGLY:
		call_wrongly(g, made);
		break;
	}
	require(memcmp(hdr, made, 64) == 0);
}

/* ---- Drawing */

/* Where ids come close to a limit of theirs. */
static uint64_t draw_start(struct input *in, uint64_t window)
{
	const uint64_t end = window << 38;
	const uint64_t starts[] = {1, 0, window, UINT32_MAX, (uint64_t)1 << 32, end - window, end - 2, UINT64_MAX - 3};

	return starts[take8(in) % 8];
}

/* Seen from the last one: higher, lower, in the same place; or one that has come before. */
static uint64_t draw_id(const struct model *m, unsigned how, uint64_t last, uint64_t by)
{
	switch (how & 3) {
	case 0:
		return last + by;
	case 1:
		return last - by;
	case 2:
		return last + (by - 8) * (m->window / 4);
	default:
		return m->n ? m->ids[m->n - 1 - by % m->n].id : last;
	}
}

/* Two bytes are one call, or, with a third one, a row of calls with ids that are so far apart. */
static void play(struct input *in, smb3sign_guard *g, struct model *m)
{
	uint64_t last = draw_start(in, m->window);
	size_t left = MAX_CALLS;

	while (in->left && left) {
		unsigned how = take8(in), by = take8(in), nonce = how >> 2 & 3;
		enum call what = how >> 4 & 3;
		uint64_t id = draw_id(m, how, last, by), stride = how & 1 ? m->window / 4 : 1;
		size_t times = how & 0x80 ? 1 + 2 * take8(in) : 1;

		for (size_t i = 0; i < times && left; i++, left--, id += stride)
			call(g, m, what, id, nonce);
		if (how & 0x40)
			last = id - stride;
	}
}

static void claim_all(smb3sign_guard *g, struct model *m)
{
	for (size_t i = 0, n = m->n; i < n; i++)
		for (unsigned nonce = 0; nonce < NONCES; nonce++)
			call(g, m, CLAIM, m->ids[i].id, nonce);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t windows[] = {1, 256, 257, 1000, 8192};
	static struct model m;
	struct input in = {data, size};
	size_t window = windows[take8(&in) % 5];
	smb3sign_guard *g;

	seed_from_input(data, size);
	m.n = m.n_held = 0;
	for (m.window = 256; m.window < window;)
		m.window *= 2;
	require(smb3sign_guard_new(&g, window) == SMB3SIGN_OK);
	play(&in, g, &m);
	claim_all(g, &m);
	smb3sign_guard_free(g);
	return 0;
}
