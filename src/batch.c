/* SPDX-License-Identifier: MIT */
/*
 * Many messages in one call, of any mixture, each with its own result; the first failure is the call's.
 *
 * CMAC and HMAC are serial within a message, so their kernels take several messages side by side, a lane for each: all
 * lanes advance by as many blocks as each of them has in one piece, and a message that is done makes room for the next.
 * What is not in one piece passes through a lane's stage: the header, whose Signature counts as zero; blocks that lie
 * across segments; the end with its padding; and short messages as a whole. Of short messages with GMAC, those of
 * equally many blocks go side by side. Everything else is done one by one, and so are batches too small to gain.
 */
#include "message.h"

/* A result that no message keeps: still to be done. */
#define TO_DO 1

/*
 * A lane costs a message about what this many bytes of it take by themselves: more with CMAC, of whose short messages
 * the core overlaps several by itself. So lanes are worth it if the messages but the longest have WORTH_LANES bytes
 * beyond that together and SORTING for each of the batch, and no message below it takes one.
 */
enum { UPKEEP_HMAC = 160, UPKEEP_CMAC = 176, WORTH_LANES = 180, SORTING = 12 };

/* Rows are worth the sorting if so many messages with GMAC follow each other, or so many of equally many blocks. */
enum { WORTH_ROWS = 12, WORTH_ROW = 6 };

/* Of a first-level cache; a set of its lines holds what lies a multiple of 4096 bytes apart. */
enum { WAYS = 8 };

/*
 * A stage takes two blocks of 64 bytes, so a message of up to SHORT_LEN with its header and HMAC's padding, 9 bytes or
 * more.
 */
enum { STAGE_LEN = 128, SHORT_LEN = STAGE_LEN - 9 };

static int one(const smb3sign_msg *m, enum smb3sign_task task)
{
	if (m->reserved)
		return SMB3SIGN_E_INVAL;
	return task == TASK_SIGN ? smb3sign_sign(m->key, m->hdr, m->body, m->body_cnt)
				 : smb3sign_verify(m->key, m->hdr, m->body, m->body_cnt);
}

INLINE int valid(const smb3sign_msg *m)
{
	return !m->reserved && smb3sign_usable(m->key, m->hdr);
}

INLINE int conclude(uint8_t *hdr, const struct smb3sign_tag *tag, enum smb3sign_task task)
{
	if (task == TASK_VERIFY)
		return smb3sign_judge(tag, hdr + SMB2_SIGNATURE, smb2_flags(hdr));
	smb3sign_put_signature(hdr, tag);
	return SMB3SIGN_OK;
}

/* ---- Lanes */

/* A message on its way through a lane. */
struct flight {
	uint8_t stage[STAGE_LEN];
	smb3sign_msg *msg;
	const smb3sign_iov *segment; /* the one under way */
	size_t taken;                /* bytes of it */
	size_t len;                  /* of the body */
	size_t left;                 /* bytes of the body not taken yet */
	size_t nblk;                 /* blocks that wait at the lane's p */
	enum { MIDDLE, LAST, OUTER } stretch;
};

/* The lanes of one kernel, n of them in use, and the messages that wait for one. */
struct lanes {
	smb3sign_lanes_fn *run;
	const struct smb3sign_chain *chain;
	enum smb3sign_task task;
	smb3sign_msg *next, *end;
	size_t n;
	struct flight *flight[SMB3SIGN_LANES_MAX]; /* lane i's; those of lanes not in use behind them */
	struct smb3sign_lane lane[SMB3SIGN_LANES_MAX];
	struct flight flights[SMB3SIGN_LANES_MAX];
};

/* NULL: none. */
static smb3sign_lanes_fn *lanes_fn(const smb3sign_key *key)
{
	if (!key->mac->chain)
		return NULL;
	return key->alg == SMB3SIGN_HMAC_SHA256 ? key->k.sha256->blocks_lanes : key->k.aes->cbcmac_lanes;
}

static size_t lanes_width(const smb3sign_key *key)
{
	return key->alg == SMB3SIGN_HMAC_SHA256 ? key->k.sha256->width : key->k.aes->width;
}

static size_t upkeep(const smb3sign_key *key)
{
	return key->alg == SMB3SIGN_HMAC_SHA256 ? UPKEEP_HMAC : UPKEEP_CMAC;
}

/*
 * Whether a valid message, not of GMAC, gains by a lane if others do. One in pieces is taken for long; most are short.
 */
INLINE int takes_lane(const smb3sign_msg *m)
{
	size_t least = upkeep(m->key) - SMB3SIGN_HEADER_LEN;

	if (m->body_cnt <= 1 && (!m->body_cnt || !m->body || m->body->iov_len <= least))
		return 0;
	return lanes_fn(m->key) != NULL;
}

/* The next n bytes of the body, which has them. */
static void gather(struct flight *f, uint8_t *p, size_t n)
{
	f->left -= n;
	while (n) {
		size_t here = f->segment->iov_len - f->taken, part = here < n ? here : n;

		if (part)
			memcpy(p, (const uint8_t *)f->segment->iov_base + f->taken, part);
		p += part;
		n -= part;
		f->taken += part;
		if (part == here) {
			f->segment++;
			f->taken = 0;
		}
	}
}

/* The last n bytes are in the stage from `at` on. */
static void stage_last(const struct smb3sign_chain *chain, struct flight *f, size_t at, size_t n)
{
	f->nblk = (at >> chain->shift) +
		  chain->last(f->msg->key, f->stage + at, n, SMB3SIGN_HEADER_LEN + (uint64_t)f->len);
	f->stretch = LAST;
}

/* The header, and the body too if it fits. */
static void take_off(const struct smb3sign_chain *chain, struct smb3sign_lane *lane, struct flight *f,
		     enum smb3sign_task task)
{
	size_t len = SMB3SIGN_HEADER_LEN + f->len, whole = (len - chain->hold) >> chain->shift << chain->shift;

	chain->start(f->msg->key, lane);
	lane->p = f->stage;
	memcpy(f->stage, f->msg->hdr, SMB2_SIGNATURE);
	memset(f->stage + SMB2_SIGNATURE, 0, SMB3SIGN_SIG_LEN);
	f->stage[SMB2_FLAGS] |= smb3sign_set_flags(task);
	if (len <= SHORT_LEN) {
		gather(f, f->stage + SMB3SIGN_HEADER_LEN, f->len);
		stage_last(chain, f, whole, len - whole);
	} else {
		f->nblk = SMB3SIGN_HEADER_LEN >> chain->shift;
		f->stretch = MIDDLE;
	}
}

/* The next blocks of the body: where they lie if they are in one piece, else a block in the stage; or the end. */
static void next_blocks(const struct smb3sign_chain *chain, struct smb3sign_lane *lane, struct flight *f)
{
	size_t block = (size_t)1 << chain->shift, here, nblk;

	lane->p = f->stage;
	if (f->left < block + chain->hold) {
		size_t n = f->left;

		gather(f, f->stage, n);
		stage_last(chain, f, 0, n);
		return;
	}
	for (; f->taken == f->segment->iov_len; f->segment++)
		f->taken = 0;
	here = f->segment->iov_len - f->taken;
	nblk = (here < f->left - chain->hold ? here : f->left - chain->hold) >> chain->shift;
	if (!nblk) {
		gather(f, f->stage, block);
		f->nblk = 1;
		return;
	}
	lane->p = (const uint8_t *)f->segment->iov_base + f->taken;
	f->nblk = nblk;
	f->taken += nblk << chain->shift;
	f->left -= nblk << chain->shift;
}

/* Put the next message that can be signed or verified on lane i. 0 if there is none. */
static int board(struct lanes *l, size_t i)
{
	for (; l->next < l->end; l->next++) {
		smb3sign_msg *m = l->next;
		struct flight *f = l->flight[i];
		struct smb3sign_extent e;

		if (m->result != TO_DO || lanes_fn(m->key) != l->run)
			continue;
		m->result = smb3sign_measure(&e, m->body, m->body_cnt);
		if (!m->result)
			m->result = smb3sign_check(m->key, m->hdr, &e, l->task);
		if (m->result)
			continue;
		f->msg = m;
		f->segment = m->body;
		f->taken = 0;
		f->len = f->left = e.len;
		take_off(l->chain, &l->lane[i], f, l->task);
		l->next++;
		return 1;
	}
	return 0;
}

/* Lane i has no blocks left: give it more, of its message or of the next. 0 if there are none. */
static int go_on(struct lanes *l, size_t i)
{
	struct smb3sign_lane *lane = &l->lane[i];
	struct flight *f = l->flight[i];
	struct smb3sign_tag tag;

	if (f->stretch == MIDDLE) {
		next_blocks(l->chain, lane, f);
		return 1;
	}
	if (f->stretch == LAST && l->chain->outer) {
		l->chain->outer(f->msg->key, lane, f->stage);
		lane->p = f->stage;
		f->nblk = 1;
		f->stretch = OUTER;
		return 1;
	}
	l->chain->tag(lane, &tag);
	f->msg->result = conclude(f->msg->hdr, &tag, l->task);
	smb3sign_wipe(&tag, sizeof(tag)); /* the right signature of a forged message is worth having */
	/* The last block: CMAC's has a subkey in it, HMAC's is the inner hash, at the stage's start. */
	if (l->chain->outer)
		smb3sign_wipe(f->stage, 64);
	else
		smb3sign_wipe(f->stage + (lane->p - f->stage) - 16, 16);
	return board(l, i);
}

/* All blocks that every lane has. */
static void advance(struct lanes *l)
{
	size_t nblk = l->flight[0]->nblk;

	for (size_t i = 1; i < l->n; i++)
		if (l->flight[i]->nblk < nblk)
			nblk = l->flight[i]->nblk;
	l->run(l->lane, l->n, nblk);
	for (size_t i = l->n; i-- > 0;) {
		l->lane[i].p += nblk << l->chain->shift;
		l->flight[i]->nblk -= nblk;
		if (l->flight[i]->nblk || go_on(l, i))
			continue;
		/* No message is left for the lane: the last one moves here. */
		l->n--;
		if (i < l->n) {
			struct flight *free = l->flight[i];

			l->lane[i] = l->lane[l->n];
			l->flight[i] = l->flight[l->n];
			l->flight[l->n] = free;
		}
	}
}

/* The bytes of a message beyond what a lane costs. */
INLINE size_t gain(const smb3sign_msg *m)
{
	size_t len = SMB3SIGN_HEADER_LEN, cost = upkeep(m->key);

	for (size_t i = 0; m->body && i < m->body_cnt; i++)
		len += m->body[i].iov_len;
	return len - (len < cost ? len : cost);
}

/* Those of several messages, and of the longest. */
struct gains {
	size_t total, longest;
};

/* Whether they make lanes worth it in a batch of n. */
INLINE int add_gain(struct gains *g, size_t gain, size_t n)
{
	g->total += gain;
	g->longest = g->longest > gain ? g->longest : gain;
	return g->total - g->longest >= WORTH_LANES + n * SORTING;
}

/* Whether the messages with this kernel are worth it. */
static int worth_lanes(const smb3sign_msg *msgs, size_t n, smb3sign_lanes_fn *kernel)
{
	struct gains all = {0, 0};

	for (size_t i = 0; i < n; i++)
		if (valid(&msgs[i]) && lanes_fn(msgs[i].key) == kernel && add_gain(&all, gain(&msgs[i]), n))
			return 1;
	return 0;
}

/*
 * Whether bodies lie as pages do, at the same place of 4096 bytes: then more lanes than WAYS would drive each other's
 * lines out of the cache, and those beyond start a header later, which is a line.
 */
static int compete(const struct flight *a, const struct flight *b)
{
	return a->stretch == MIDDLE && b->stretch == MIDDLE &&
	       (((uintptr_t)a->segment->iov_base ^ (uintptr_t)b->segment->iov_base) & (4096 - 64)) == 0;
}

/* All messages to do that have the first one's kernel. */
NOINLINE void on_lanes(smb3sign_msg *msgs, size_t n, enum smb3sign_task task)
{
	const smb3sign_key *key = msgs->key;
	size_t width = lanes_width(key), used = 0;
	struct lanes l;

	l.run = lanes_fn(key);
	l.chain = key->mac->chain;
	l.task = task;
	l.next = msgs;
	l.end = msgs + n;
	l.n = 0;
	for (size_t i = 0; i < width; i++)
		l.flight[i] = &l.flights[i];
	while (l.n < width && board(&l, l.n)) {
		used = ++l.n;
		if (l.n == WAYS && compete(l.flight[0], l.flight[WAYS - 1]))
			advance(&l);
	}
	while (l.n)
		advance(&l);
	smb3sign_wipe(l.lane, used * sizeof(l.lane[0]));
}

/* ---- Short messages with GMAC */

/* Those that wait for others of as many blocks. */
struct row {
	size_t n;
	struct smb3sign_short arg[SMB3SIGN_SHORT_WIDTH];
};

/* One row for each number of blocks; all with the same kernel. */
struct rows {
	const struct smb3sign_ghash *ghash; /* NULL: not known yet */
	uint32_t waiting;                   /* bit i: row[i] has messages; else its n means nothing */
	struct row row[SMB3SIGN_SHORT_BLOCKS + 1];
};

static int has_shorts(const smb3sign_key *key)
{
	return key->ghash && key->ghash->gmac_short && key->message;
}

INLINE void conclude_row(struct row *r, size_t n, enum smb3sign_task task)
{
	for (size_t i = 0; i < n; i++) {
		smb3sign_msg *m = r->arg[i].caller;

		m->result = conclude(m->hdr, &r->arg[i].tag, task);
		if (task == TASK_VERIFY)
			smb3sign_wipe(&r->arg[i].tag, sizeof(r->arg[i].tag));
	}
}

/* Those that found no others. */
static void one_by_one(struct row *r, enum smb3sign_task task)
{
	for (size_t i = 0; i < r->n; i++)
		((smb3sign_msg *)r->arg[i].caller)->result = one(r->arg[i].caller, task);
}

/* Whether a valid message with GMAC is short, in one piece, and of the rows' kernel. The first such one chooses it. */
INLINE int fits_row(const struct smb3sign_ghash **ghash, const smb3sign_msg *m)
{
	if (m->body_cnt != 1 || !m->body || m->body->iov_len > 16 * SMB3SIGN_SHORT_BLOCKS || !m->body->iov_base)
		return 0;
	if (*ghash)
		return m->key->ghash == *ghash && m->key->message;
	*ghash = has_shorts(m->key) ? m->key->ghash : NULL;
	return *ghash != NULL;
}

/* One that fits finds its row, and the kernel takes it once the row is full. */
INLINE void place(struct rows *rows, smb3sign_msg *m, enum smb3sign_task task)
{
	struct smb3sign_extent e = {m->body->iov_len, m->body->iov_base, 1};
	size_t nblk = (e.len + 15) / 16, i;
	struct row *r = &rows->row[nblk];

	m->result = smb3sign_check(m->key, m->hdr, &e, task);
	if (m->result)
		return;
	i = rows->waiting >> nblk & 1 ? r->n : 0;
	r->arg[i].key = m->key;
	r->arg[i].hdr = m->hdr;
	r->arg[i].body = e.piece;
	r->arg[i].len = e.len;
	r->arg[i].caller = m;
	r->n = i + 1;
	rows->waiting |= (uint32_t)1 << nblk;
	if (r->n < rows->ghash->width)
		return;
	rows->waiting &= ~((uint32_t)1 << nblk);
	rows->ghash->gmac_short(r->arg, smb3sign_set_flags(task));
	conclude_row(r, i + 1, task);
}

/* ---- */

/* All messages, but those that lanes may take: they are marked as still to be done. Whether there are any. */
NOINLINE int but_lanes(smb3sign_msg *msgs, size_t n, enum smb3sign_task task)
{
	struct rows rows;
	int left = 0;

	rows.ghash = NULL;
	rows.waiting = 0;
	for (smb3sign_msg *m = msgs; m < msgs + n; m++) {
		if (!valid(m) || !(m->key->ghash ? fits_row(&rows.ghash, m) : takes_lane(m))) {
			m->result = one(m, task);
		} else if (m->key->ghash) {
			place(&rows, m, task);
		} else {
			m->result = TO_DO;
			left = 1;
		}
	}
	for (struct row *r = rows.row; rows.waiting; rows.waiting >>= 1, r++)
		if (rows.waiting & 1)
			one_by_one(r, task);
	return left;
}

/* Those to do with this kernel, one by one. */
static void without_lanes(smb3sign_msg *msgs, size_t n, smb3sign_lanes_fn *kernel, enum smb3sign_task task)
{
	for (size_t i = 0; i < n; i++)
		if (msgs[i].result == TO_DO && lanes_fn(msgs[i].key) == kernel)
			msgs[i].result = one(&msgs[i], task);
}

/* Those that are to be done: the first takes along all that have its kernel. */
static void by_lanes(smb3sign_msg *msgs, size_t n, enum smb3sign_task task)
{
	for (; n; msgs++, n--) {
		smb3sign_lanes_fn *kernel;

		if (msgs->result != TO_DO)
			continue;
		kernel = lanes_fn(msgs->key);
		if (worth_lanes(msgs, n, kernel))
			on_lanes(msgs, n, task);
		else
			without_lanes(msgs, n, kernel, task);
	}
}

/* Whether n messages like this one would be worth sorting. A body in pieces is taken for long. */
INLINE int worth_a_look(const smb3sign_msg *m, size_t n)
{
	size_t least;

	if (!m->key || !m->body || !m->body_cnt)
		return 0;
	if (m->key->ghash)
		return n >= WORTH_ROW && m->body->iov_len <= 16 * SMB3SIGN_SHORT_BLOCKS;
	if (!m->key->mac) /* what belongs to no key is not looked at */
		return 0;
	if (m->body_cnt > 1)
		return n > 1;
	least = upkeep(m->key) - SMB3SIGN_HEADER_LEN;
	return m->body->iov_len > least && (m->body->iov_len - least) * (n - 1) >= WORTH_LANES + n * SORTING;
}

/*
 * Whether some of these messages gain by going side by side. A guess, made quickly: all of HMAC, and all of CMAC, are
 * taken to have one kernel, and those of GMAC to be in one piece.
 */
static int worth_sorting(const smb3sign_msg *msgs, size_t n)
{
	struct gains gains[2] = {{0, 0}, {0, 0}};
	size_t shorts = 0, alike = 0, nblk = 0;

	for (const smb3sign_msg *m = msgs; m < msgs + n; m++) {
		if (m->key && m->key->ghash && m->body && m->body_cnt &&
		    m->body->iov_len <= 16 * SMB3SIGN_SHORT_BLOCKS) {
			size_t here = (m->body->iov_len + 15) / 16;

			alike = here == nblk ? alike + 1 : 1;
			nblk = here;
			if (++shorts == WORTH_ROWS || alike == WORTH_ROW)
				return 1;
			continue;
		}
		shorts = alike = 0;
		if (valid(m) && !m->key->ghash && lanes_fn(m->key) &&
		    add_gain(&gains[m->key->alg == SMB3SIGN_AES_CMAC], gain(m), n))
			return 1;
	}
	return 0;
}

/* With a look at all of them first; the first result that is not OK. */
NOINLINE int run_with_a_look(smb3sign_msg *msgs, size_t n, enum smb3sign_task task)
{
	int first = SMB3SIGN_OK;

	if (!worth_sorting(msgs, n))
		for (size_t i = 0; i < n; i++)
			msgs[i].result = one(&msgs[i], task);
	else if (but_lanes(msgs, n, task))
		by_lanes(msgs, n, task);
	for (size_t i = n; i-- > 0;)
		first = msgs[i].result ? msgs[i].result : first;
	return first;
}

/*
 * One by one, up to where a look at the others may be worth it. What sign and verify do is inline here: to decide about
 * a message costs what calling them would.
 */
INLINE int run(smb3sign_msg *m, size_t n, enum smb3sign_task task)
{
	int first = SMB3SIGN_OK, result;

	if (!m && n)
		return SMB3SIGN_E_INVAL;
	for (; n; m++, n--) {
		if (worth_a_look(m, n)) {
			result = run_with_a_look(m, n, task);
			return first ? first : result;
		}
		if (m->reserved)
			result = SMB3SIGN_E_INVAL;
		else if (task == TASK_SIGN)
			result = smb3sign_sign_message(m->key, m->hdr, m->body, m->body_cnt);
		else
			result = smb3sign_verify_message(m->key, m->hdr, m->body, m->body_cnt);
		m->result = result;
		first = first ? first : result;
	}
	return first;
}

int smb3sign_sign_batch(smb3sign_msg *msgs, size_t n)
{
	return run(msgs, n, TASK_SIGN);
}

int smb3sign_verify_batch(smb3sign_msg *msgs, size_t n)
{
	return run(msgs, n, TASK_VERIFY);
}

size_t smb3sign_batch_width(const smb3sign_key *key)
{
	if (!key || !key->mac)
		return 0;
	if (has_shorts(key))
		return key->ghash->width;
	return lanes_fn(key) ? lanes_width(key) : 1;
}
