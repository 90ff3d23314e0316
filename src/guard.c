/* SPDX-License-Identifier: MIT */
/*
 * The nonce guard: which GMAC nonces (MessageId, direction, CANCEL; MS-SMB2 3.1.4.1) a sender has used, in two arrays
 * of 64-bit words that threads change by compare-and-swap, one word at a time.
 *
 * place[id % window]  belongs to one MessageId: the highest so far of those that agree modulo the window. The word is
 *                     that id's epoch, id / window, above six bits of state. Nothing knows of a highest MessageId of
 *                     all, so a stray one, however high, costs the ids of its own place and no others.
 * held[]              a hash table of the held ids, each with its four nonces: for ids that have lost their place.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "smb2.h"

/*
 * place[]: bits 0..3 say which of the id's nonces are used. HOLDING is set by the one thread that may enter the id in
 * held[], HELD when it has. The epoch has the other 58 bits, all that 2^64 ids divided by the least window can need: it
 * is never truncated, so no id passes for another one, however far it jumps. All zero is epoch 0 with nothing used,
 * which is true of a new guard.
 *
 * held[]: the id in the 59 high bits (a MessageId counts the connection's messages from 0 and does not get there;
 * higher ones cannot be held), HANDED_OVER, the used nonces. 0: free. Until it is handed over an entry says that all
 * four are used.
 */
enum {
	NONCES = 0x0f,
	HOLDING = 0x10,
	HELD = 0x20,
	STATE_BITS = 6,
	STATE = (1 << STATE_BITS) - 1,
	MIN_BITS = STATE_BITS, /* of the window: so that the epoch has room */
	MAX_BITS = 20,

	HANDED_OVER = 0x10,
	ENTRY_BITS = 5
};

/*
 * Why no nonce is granted twice, and none that is fresh refused.
 *
 * 1. The used nonces of an id are in its place while the place has its epoch, and only there: nobody looks into held[]
 *    before having seen a later epoch. There a claim is one compare-and-swap that sets one bit of one word: of any
 *    number of threads one sees the bit clear and gets it set. Epochs only grow, and within an epoch no NONCES or HELD
 *    bit is ever cleared, so a word that a thread has seen does not come back after it has changed: what a swap finds
 *    equal is the same (no ABA). HOLDING alone may be cleared, by the thread that set it: the word then says again what
 *    it said before, and everything that was decided on it holds again.
 * 2. A place is taken from id y by a swap from the very word that was seen, so its NONCES are y's last. If HELD is
 *    among them, they have been OR-ed into y's entry before. Whoever then sees the later epoch (acquire; the swap is a
 *    release) sees them in the entry too, and claims there, by a swap of one word again. If the swap failed since more
 *    nonces were used meanwhile, the entry is OR-ed into again with those. A thread that is late may OR in what it saw
 *    long ago: that was true and stays so, hence does no harm.
 * 3. An entry of y is made once in the life of the guard, if it ever counts: HOLDING belongs to one thread, which makes
 *    the entry and then sets HELD. It gives HOLDING up only where there was no room and so no entry. If it finds that
 *    the place is gone, it takes back the entry, which has never been handed over, as nobody has ever seen HELD; all
 *    four nonces count as used in it, so nobody could claim there. So what a late thread wants to hand over or claim
 *    meets y's only entry or none: a dropped one does not rise again, and a word of held[] that has changed does not
 *    come back either.
 * 4. An id is refused unseen only where its place has a later epoch, that is after an id higher by a multiple of the
 *    window was claimed or held. An id less than the window below the highest never is.
 *
 * Orders. Each word by itself needs no order: swaps of one word are in one sequence for all threads. Between words
 * there are two rules: who sees HELD sees the entry and a `reach` that covers it, and who sees a later epoch sees the
 * entry as it was handed over. The swap that says so is a release and the load that sees it an acquire; the swaps
 * between them, of whatever thread, carry that on. On x86 this is what a compare-and-swap and a load are anyway.
 *
 * Progress. A swap fails only when another thread's swap of the same word succeeded. Within one epoch that happens at
 * most six times (four nonces, HOLDING, HELD), and twice more for each hold that finds no room; epochs change by other
 * threads' calls that succeed. Searches are bounded by the window. Nobody waits for anybody: a thread that stops
 * anywhere leaves at most one id that cannot be held, and its entry.
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
	unsigned bits; /* of the window */
	size_t mask;
	word *held;
	atomic_size_t reach; /* no entry is farther from its home than this */
	word place[];
};

/* ---- Held ids */

/* Multiplication by 2^64 divided by the golden ratio spreads ids in any arithmetic progression (Knuth, 6.4). */
static word *entry_at(smb3sign_guard *g, uint64_t id, size_t distance)
{
	uint64_t home = id * UINT64_C(0x9e3779b97f4a7c15) >> (64 - g->bits);

	return &g->held[((size_t)home + distance) & g->mask];
}

static int is_entry_of(uint64_t e, uint64_t id)
{
	return e && e >> ENTRY_BITS == id;
}

/* The id's entry, with what it held; NULL if there is none. */
static word *find_entry(smb3sign_guard *g, uint64_t id, uint64_t *e)
{
	size_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);

	for (size_t distance = 0; distance <= reach; distance++) {
		word *entry = entry_at(g, id, distance);

		*e = load(entry);
		if (is_entry_of(*e, id))
			return entry;
	}
	return NULL;
}

/* Setting HELD publishes it. */
static void extend_reach(smb3sign_guard *g, size_t distance)
{
	size_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);

	while (reach < distance && !atomic_compare_exchange_strong_explicit(&g->reach, &reach, distance,
									    memory_order_relaxed, memory_order_relaxed))
		;
}

/* An entry that has not been handed over. 0: there is no room. */
static int make_entry(smb3sign_guard *g, uint64_t id)
{
	for (size_t distance = 0; distance <= g->mask; distance++) {
		word *entry = entry_at(g, id, distance);
		uint64_t e = load(entry);

		if (!e && swap(entry, &e, id << ENTRY_BITS | NONCES)) {
			extend_reach(g, distance);
			return 1;
		}
	}
	return 0;
}

static void remove_entry(smb3sign_guard *g, uint64_t id)
{
	uint64_t e;
	word *entry = find_entry(g, id, &e);

	while (entry && is_entry_of(e, id) && !swap(entry, &e, 0))
		;
}

/* Its place has seen these nonces used, and is about to be taken from it. */
static void hand_over(smb3sign_guard *g, uint64_t id, uint64_t used)
{
	uint64_t e;
	word *entry = find_entry(g, id, &e);

	while (entry && is_entry_of(e, id)) {
		uint64_t next = e & HANDED_OVER ? e | used : id << ENTRY_BITS | HANDED_OVER | used;

		if (next == e || swap(entry, &e, next))
			return;
	}
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
	WAS_SET,
	GONE /* the place has a later epoch */
};

static word *place_of(smb3sign_guard *g, uint64_t id)
{
	return &g->place[(size_t)id & g->mask];
}

/* The id's epoch in position, with no state. */
static uint64_t epoch_of(const smb3sign_guard *g, uint64_t id)
{
	return id >> g->bits << STATE_BITS;
}

/* Set one bit of the id's state. The place becomes the id's if an earlier one has it. */
static enum outcome set_state(smb3sign_guard *g, uint64_t id, uint64_t bit)
{
	word *place = place_of(g, id);
	uint64_t epoch = epoch_of(g, id), seen = load(place), next;

	do {
		if (seen < epoch) {
			if (seen & HELD)
				hand_over(g, seen >> STATE_BITS << g->bits | (id & g->mask), seen & NONCES);
			next = epoch | bit;
		} else if ((seen ^ epoch) > STATE) {
			return GONE;
		} else if (seen & bit) {
			return WAS_SET;
		} else {
			next = seen | bit;
		}
	} while (!swap(place, &seen, next));
	return SET;
}

/* By the thread that set it. */
static void clear_holding(smb3sign_guard *g, uint64_t id)
{
	word *place = place_of(g, id);
	uint64_t epoch = epoch_of(g, id), seen = load(place);

	while ((seen ^ epoch) <= STATE && !swap(place, &seen, seen & ~(uint64_t)HOLDING))
		;
}

/* For an id whose place is HOLDING or gone. An entry counts from HELD on; where the place is gone, if handed over. */
static int is_held(smb3sign_guard *g, uint64_t id)
{
	uint64_t seen = load(place_of(g, id)), e;

	if ((seen ^ epoch_of(g, id)) <= STATE)
		return seen & HELD && find_entry(g, id, &e);
	return find_entry(g, id, &e) && e & HANDED_OVER;
}

static int hold(smb3sign_guard *g, uint64_t id)
{
	if (id >> (64 - ENTRY_BITS))
		return SMB3SIGN_E_NONCE;
	if (set_state(g, id, HOLDING) != SET)
		return is_held(g, id) ? SMB3SIGN_OK : SMB3SIGN_E_NONCE;
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
	unsigned bits = MIN_BITS;
	smb3sign_guard *made;

	if (!g || !window || window > (size_t)1 << MAX_BITS)
		return SMB3SIGN_E_INVAL;
	if (!LOCK_FREE)
		return SMB3SIGN_E_UNSUPPORTED;
	while ((size_t)1 << bits < window)
		bits++;
	/* Zero is the first state of every word; pages that no id has come to stay untouched. */
	made = calloc(1, sizeof(*made) + ((size_t)2 << bits) * sizeof(word));
	if (!made)
		return SMB3SIGN_E_NOMEM;
	made->bits = bits;
	made->mask = ((size_t)1 << bits) - 1;
	made->held = made->place + made->mask + 1;
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
	case WAS_SET:
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
