/* SPDX-License-Identifier: MIT */
/*
 * The nonce guard: which GMAC nonces (MessageId, direction, CANCEL; MS-SMB2 3.1.4.1) a sender has used, in two arrays
 * of 64-bit words that threads change by compare-and-swap, one word at a time.
 *
 * place[id % places]  window / 4 words, for all MessageIds that agree modulo their number. id / places is the id's lap;
 *                     a place has the number of the latest lap it has seen, and six bits for each of the last four.
 *                     So an id is lost when one of its place that is the window higher, or more, has come, and never
 *                     before. Nothing knows of a highest MessageId of all: a stray one costs the ids of its own place
 *                     and no others.
 * held[]              a hash table of the held ids, each with its four nonces.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "smb2.h"

/*
 * place[]: the latest lap in the 40 high bits, above the states of it (lowest) and of the three laps before. In a state
 * bits 0..3 say which of the id's nonces are used. HOLDING is set by the one thread that may enter the id in held[],
 * HELD when it has: from then on the table answers for the id, and these four bits stay as they are. An id whose lap
 * has more than 40 bits is refused, so no id ever passes for another one. All zero is lap 0 with nothing used, which is
 * true of a new guard; the laps before it do not exist.
 *
 * held[]: the id in the 59 high bits (58 suffice, for laps of 40 in 2^18 places), READY, the used nonces. 0: free. Until
 * it is READY an entry says that all four are used.
 */
enum {
	NONCES = 0x0f,
	HOLDING = 0x10,
	HELD = 0x20,
	STATE_BITS = 6,
	LAPS = 4,
	LAP_SHIFT = LAPS * STATE_BITS,
	LAP_BITS = 64 - LAP_SHIFT,
	STATES = (1 << LAP_SHIFT) - 1,
	ANY_HELD = HELD | HELD << STATE_BITS | HELD << 2 * STATE_BITS | HELD << 3 * STATE_BITS,

	MIN_PLACES_BITS = 6, /* a window of 256: its ids go up to 2^46 */
	MAX_WINDOW = 1 << 20,
	MAX_HELD_BITS = 12,

	READY = 0x10,
	ENTRY_BITS = 5
};

/*
 * Why no nonce is granted twice, and none that is fresh refused.
 *
 * 1. Within a place the lap only grows, and a state only gains bits until its lap is pushed out, four laps later. So a
 *    word that a thread has seen does not come back after it has changed, and what a swap finds equal is the same (no
 *    ABA). HOLDING alone may be cleared again, by the thread that set it: then the word says what it said before, and
 *    everything that was decided on it holds again.
 * 2. Until it is HELD or lost, an id's used nonces are in its state and only there. A claim is one swap that sets one
 *    bit of one word: of any number of threads one sees the bit clear, and HELD too, and gets it set.
 * 3. An id gets one entry in the life of the guard at most. HOLDING belongs to one thread, which makes the entry, in
 *    one slot, and then sets HELD. It gives HOLDING up only where there was no room and so no entry; HELD stays until
 *    the id is lost, and a lost id gets neither. So what a late thread wants to do to the entry of an id meets the only
 *    one there is, or none: a dropped one does not rise again. It becomes READY once, and then only gains bits, so a
 *    word of held[] with an id in it does not come back after it has changed either.
 * 4. The swap that sets HELD is one from the very word that was seen, so the nonces in the state are the last that are
 *    claimed there. Whoever sees HELD knows them, and may make the entry READY with them: by a swap from the value that
 *    a new entry has and never again, hence once, whoever comes first. Everybody does so before going on: who wants to
 *    claim or hold, and who is about to push the lap out. If there is no entry the id has been dropped.
 * 5. So the entry of an id that was HELD and is lost is READY or gone: a lap is pushed out by a swap from the very word
 *    that was seen, after the entries of all ids that are HELD in it were made READY. The entry of a lost id that is
 *    not READY belongs to a hold that finds the lap gone before it can set HELD, and removes it; nobody has seen HELD
 *    and makes it READY, and until then it says that all is used. Once READY, a claim is a swap of one bit of one word
 *    again (2).
 * 6. A nonce that has not been claimed is refused only where the id is too high, lost without having been HELD, or
 *    dropped. A hold that is under way refuses nothing: up to the swap that sets HELD the state answers, from then on
 *    the entry, which whoever needs it completes. An id less than the window below the highest is not lost, as those of
 *    its place are at most three laps after it.
 *
 * Orders. Each word by itself needs no order: swaps of one word are in one sequence for all threads. Between words
 * there are two rules: who sees HELD sees the entry and a `reach` that covers it, and who sees a lap pushed out sees
 * the entry READY. The swap that says so is a release and the load that sees it an acquire; the swaps between them, of
 * whatever thread, carry that on. On x86 this is what a compare-and-swap and a load are anyway.
 *
 * Progress. A swap fails only when another thread's swap of the same word succeeded. While a place's latest lap stays,
 * that happens at most 24 times (four nonces, HOLDING, HELD of each id), and twice more for each hold that finds no
 * room; laps change by other threads' calls that succeed. Searches are bounded by the table. Nobody waits for anybody:
 * a thread that stops anywhere leaves at most one id that cannot be held, and its entry.
 */

/*
 * Where a 64-bit compare-and-swap is not an instruction (Armv5, MIPS32, i486), the compiler would call libatomic, which
 * takes locks and is a library more. smb3sign_guard_new refuses there, and the rest is never reached. clang leaves
 * ATOMIC_LLONG_LOCK_FREE at 1 on i386, since a long long is aligned to 4 there; an atomic one is not.
 */
#if ATOMIC_LLONG_LOCK_FREE == 2 || defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_8)
#define LOCK_FREE 1
typedef _Atomic uint64_t word;

static inline uint64_t load(word *w)
{
	return atomic_load_explicit(w, memory_order_acquire);
}

/* 1: it was *seen and is now `next`. 0: *seen is what it is. */
static inline int swap(word *w, uint64_t *seen, uint64_t next)
{
	return atomic_compare_exchange_strong_explicit(w, seen, next, memory_order_acq_rel, memory_order_acquire);
}
#else
#define LOCK_FREE 0
typedef uint64_t word;

static inline uint64_t load(word *w)
{
	return *w;
}

static inline int swap(word *w, uint64_t *seen, uint64_t next)
{
	*seen = *w = next;
	return 1;
}
#endif

struct smb3sign_guard {
	unsigned places_bits, held_bits;
	atomic_size_t reach; /* all entries are nearer to their home than this; 0: nothing has ever been held */
	word *held;
	word place[];
};

static size_t low_bits(unsigned bits)
{
	return ((size_t)1 << bits) - 1;
}

/* ---- Held ids */

/* Multiplication by 2^64 divided by the golden ratio spreads ids in any arithmetic progression (Knuth, 6.4). */
static word *entry_at(smb3sign_guard *g, uint64_t id, size_t distance)
{
	uint64_t home = id * UINT64_C(0x9e3779b97f4a7c15) >> (64 - g->held_bits);

	return &g->held[((size_t)home + distance) & low_bits(g->held_bits)];
}

static int is_entry_of(uint64_t e, uint64_t id)
{
	return e && e >> ENTRY_BITS == id;
}

static uint64_t new_entry(uint64_t id)
{
	return id << ENTRY_BITS | NONCES;
}

/* The id's entry, with what it held; NULL if there is none. */
static word *find_entry(smb3sign_guard *g, uint64_t id, uint64_t *e)
{
	size_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);

	for (size_t distance = 0; distance < reach; distance++) {
		word *entry = entry_at(g, id, distance);

		*e = load(entry);
		if (is_entry_of(*e, id))
			return entry;
	}
	return NULL;
}

/* Setting HELD publishes it. */
static void extend_reach(smb3sign_guard *g, size_t least)
{
	size_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);

	while (reach < least && !atomic_compare_exchange_strong_explicit(&g->reach, &reach, least, memory_order_relaxed,
									 memory_order_relaxed))
		;
}

/* 0: there is no room. */
static int make_entry(smb3sign_guard *g, uint64_t id)
{
	for (size_t distance = 0; distance <= low_bits(g->held_bits); distance++) {
		word *entry = entry_at(g, id, distance);
		uint64_t e = load(entry);

		if (!e && swap(entry, &e, new_entry(id))) {
			extend_reach(g, distance + 1);
			return 1;
		}
	}
	return 0;
}

/* By anyone who has seen HELD, and these nonces with it. */
static void make_ready(smb3sign_guard *g, uint64_t id, uint64_t used)
{
	uint64_t e;
	word *entry = find_entry(g, id, &e);

	if (entry && e == new_entry(id))
		swap(entry, &e, id << ENTRY_BITS | READY | used);
}

static void remove_entry(smb3sign_guard *g, uint64_t id)
{
	uint64_t e;
	word *entry = find_entry(g, id, &e);

	while (entry && is_entry_of(e, id) && !swap(entry, &e, 0))
		;
}

static int claim_held(smb3sign_guard *g, uint64_t id, uint64_t nonce)
{
	uint64_t e;
	word *entry = find_entry(g, id, &e);

	while (entry && is_entry_of(e, id) && !(e & nonce))
		if (swap(entry, &e, e | nonce))
			return SMB3SIGN_OK;
	return SMB3SIGN_E_NONCE;
}

/* ---- Places */

enum outcome {
	SET,
	REFUSED, /* it was set, or the id is too high */
	IN_TABLE /* the table answers for the id: if it has an entry that is READY */
};

static word *place_of(smb3sign_guard *g, uint64_t id)
{
	return &g->place[(size_t)id & low_bits(g->places_bits)];
}

static uint64_t lap_of(const smb3sign_guard *g, uint64_t id)
{
	return id >> g->places_bits;
}

/* The entries of all ids that are HELD in `seen`; its latest lap is so many before the id's. */
static void make_all_ready(smb3sign_guard *g, uint64_t id, uint64_t seen, uint64_t laps_before)
{
	for (unsigned back = 0; back < LAPS; back++) {
		const uint64_t state = seen >> back * STATE_BITS;

		if (state & HELD)
			make_ready(g, id - ((laps_before + back) << g->places_bits), state & NONCES);
	}
}

/* Set one bit of the id's state. */
static enum outcome set_state(smb3sign_guard *g, uint64_t id, uint64_t bit)
{
	const uint64_t lap = lap_of(g, id);
	word *place = place_of(g, id);
	uint64_t seen, next;

	if (lap >> LAP_BITS)
		return REFUSED;
	seen = load(place);
	do {
		const uint64_t top = seen >> LAP_SHIFT;

		if (lap > top) {
			const uint64_t laps = lap - top;

			if (seen & ANY_HELD)
				make_all_ready(g, id, seen, laps);
			next = laps < LAPS ? seen << laps * STATE_BITS & STATES : 0;
			next |= lap << LAP_SHIFT | bit;
		} else if (top - lap < LAPS) {
			const unsigned slot = (unsigned)(top - lap) * STATE_BITS;
			const uint64_t state = seen >> slot;

			if (state & HELD) {
				make_ready(g, id, state & NONCES);
				return IN_TABLE;
			}
			if (state & bit)
				return REFUSED;
			next = seen | bit << slot;
		} else {
			return IN_TABLE;
		}
	} while (!swap(place, &seen, next));
	return SET;
}

/* By the thread that set it. */
static void clear_holding(smb3sign_guard *g, uint64_t id)
{
	const uint64_t lap = lap_of(g, id);
	word *place = place_of(g, id);
	uint64_t seen = load(place), back;

	do
		back = (seen >> LAP_SHIFT) - lap;
	while (back < LAPS && !swap(place, &seen, seen & ~((uint64_t)HOLDING << back * STATE_BITS)));
}

static int is_held(smb3sign_guard *g, uint64_t id)
{
	uint64_t e;

	return find_entry(g, id, &e) && e & READY;
}

static int hold(smb3sign_guard *g, uint64_t id)
{
	switch (set_state(g, id, HOLDING)) {
	case SET:
		break;
	case REFUSED:
		return SMB3SIGN_E_NONCE;
	default:
		return is_held(g, id) ? SMB3SIGN_OK : SMB3SIGN_E_NONCE;
	}
	if (!make_entry(g, id)) {
		clear_holding(g, id);
		return SMB3SIGN_E_NONCE;
	}
	if (set_state(g, id, HELD) != SET) {
		remove_entry(g, id);
		return SMB3SIGN_E_NONCE;
	}
	return SMB3SIGN_OK;
}

/* ---- The interface */

int smb3sign_guard_new(smb3sign_guard **g, size_t window)
{
	unsigned places_bits = MIN_PLACES_BITS, held_bits;
	smb3sign_guard *made;
	size_t places;

	if (!g || !window || window > MAX_WINDOW)
		return SMB3SIGN_E_INVAL;
	if (!LOCK_FREE)
		return SMB3SIGN_E_UNSUPPORTED;
	while ((size_t)LAPS << places_bits < window)
		places_bits++;
	places = (size_t)1 << places_bits;
	held_bits = places_bits + 2 < MAX_HELD_BITS ? places_bits + 2 : MAX_HELD_BITS;
	/* Zero is the first state of every word; the table is last, so that its pages stay untouched until a hold. */
	made = calloc(1, sizeof(*made) + (places + ((size_t)1 << held_bits)) * sizeof(word));
	if (!made)
		return SMB3SIGN_E_NOMEM;
	made->places_bits = places_bits;
	made->held_bits = held_bits;
	made->held = made->place + places;
	*g = made;
	return SMB3SIGN_OK;
}

void smb3sign_guard_free(smb3sign_guard *g)
{
	free(g);
}

static int check(const smb3sign_guard *g, const void *hdr)
{
	if (!g || !hdr)
		return SMB3SIGN_E_INVAL;
	return smb2_is_header(hdr) ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE;
}

int smb3sign_guard_claim(smb3sign_guard *g, const void *hdr)
{
	int err = check(g, hdr);
	uint64_t j0[2], nonce;

	if (err)
		return err;
	smb2_gmac_j0(hdr, j0);
	nonce = (uint64_t)1 << (j0[1] & 3);
	switch (set_state(g, j0[0], nonce)) {
	case SET:
		return SMB3SIGN_OK;
	case REFUSED:
		return SMB3SIGN_E_NONCE;
	default:
		return claim_held(g, j0[0], nonce);
	}
}

int smb3sign_guard_hold(smb3sign_guard *g, const void *hdr)
{
	int err = check(g, hdr);

	return err ? err : hold(g, smb2_message_id(hdr));
}

void smb3sign_guard_drop(smb3sign_guard *g, const void *hdr)
{
	if (!check(g, hdr))
		remove_entry(g, smb2_message_id(hdr));
}
