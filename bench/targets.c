/* SPDX-License-Identifier: MIT */
/*
 * The targets, one line for each algorithm and size, from the figures of this run. All are for the kernels that the
 * library chooses. A figure is compared as it is printed, to two decimals (whole ns and bytes), so that a tie is not
 * decided by noise.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "batches.h"
#include "figures.h"
#include "limits.h"
#include "matrix.h"
#include "ours.h"
#include "peer.h"
#include "smb3sign.h"
#include "targets.h"
#include "threads.h"

static unsigned n_met, n_missed;

/* One line. at_least: whether more is better. */
static void line(const char *what, int at_least, double target, double measured, const char *unit)
{
	int decimals = *unit ? 0 : 2;
	double scale = *unit ? 1 : 100, rounded = floor(measured * scale + 0.5) / scale;
	int met = at_least ? rounded >= target : rounded <= target;

	printf("  %-76s %2s %8.*f %8.*f %-5s %s\n", what, at_least ? ">=" : "<=", decimals, target, decimals, measured,
	       unit, met ? "met" : "NOT MET");
	n_met += met != 0;
	n_missed += !met;
}

static const struct figure *ours(unsigned alg, const char *work, size_t size)
{
	return figures_find(alg_names[alg], ours_best(alg), work, size);
}

static double peer_ns(unsigned alg, const char *peer, const char *work, size_t size)
{
	const struct figure *f = figures_find(alg_names[alg], peer, work, size);

	return f ? f->ns : 0;
}

/* The quickest peer; NULL if there is none. */
static const char *best_peer(unsigned alg, const char *work, size_t size)
{
	const char *best = NULL;

	for (const struct peer *const *p = peers; *p; p++) {
		double ns = peer_ns(alg, (*p)->name, work, size);

		if (ns > 0 && (!best || ns < peer_ns(alg, best, work, size)))
			best = (*p)->name;
	}
	return best;
}

/* One message: what is asked for from size `from` to size `to`; 0: nothing is. */
static const struct one_message {
	unsigned alg;
	size_t from, to;
	double of_limit, over_best, over_openssl, over_ipsec_mb, ns;
} one_message[] = {
	{SMB3SIGN_AES_GMAC, 16384, SIZE_MAX, .of_limit = 0.85, .over_best = 1.8},
	{SMB3SIGN_AES_GMAC, 64, 64, .ns = 27, .over_openssl = 8, .over_ipsec_mb = 1.2},
	{SMB3SIGN_AES_GMAC, 256, 4096, .over_best = 1.5},
	{SMB3SIGN_AES_CMAC, 1024, SIZE_MAX, .of_limit = 0.97, .over_best = 1, .over_openssl = 2},
	{SMB3SIGN_AES_CMAC, 64, 64, .of_limit = 0.85, .over_best = 1.35},
	{SMB3SIGN_HMAC_SHA256, 4096, SIZE_MAX, .of_limit = 0.97, .over_best = 1},
	{SMB3SIGN_HMAC_SHA256, 64, 64, .of_limit = 0.88, .over_best = 1.2},
};

static void print_ratio(unsigned alg, size_t size, const char *peer, const char *rank, double target)
{
	double theirs = peer ? peer_ns(alg, peer, "mac", size) : 0;
	char what[96];

	if (!(theirs > 0) || !(target > 0))
		return;
	snprintf(what, sizeof(what), "%s, 1 message of %zu bytes: times %s%s", alg_names[alg], size, rank, peer);
	line(what, 1, target, theirs / ours(alg, "sign", size)->ns, "");
}

static void print_one_message(const struct one_message *t, size_t size)
{
	const struct figure *chained = ours(t->alg, "chained", size);
	double limit = limits_cycles(t->alg, size);
	char what[96];

	if (t->of_limit > 0 && limit > 0 && chained->cycles > 0) {
		snprintf(what, sizeof(what), "%s, 1 message of %zu bytes: of the core's limit", alg_names[t->alg],
			 size);
		line(what, 1, t->of_limit, limit / chained->cycles, "");
	}
	if (t->ns > 0) {
		snprintf(what, sizeof(what), "%s, 1 message of %zu bytes", alg_names[t->alg], size);
		line(what, 0, t->ns, ours(t->alg, "sign", size)->ns, "ns");
	}
	print_ratio(t->alg, size, best_peer(t->alg, "mac", size), "the best peer, ", t->over_best);
	print_ratio(t->alg, size, "OpenSSL", "", t->over_openssl);
	print_ratio(t->alg, size, "intel-ipsec-mb", "", t->over_ipsec_mb);
}

static void print_one_messages(const struct options *o)
{
	for (size_t i = 0; i < sizeof(one_message) / sizeof(one_message[0]); i++) {
		const struct one_message *t = &one_message[i];

		for (const size_t *size = matrix_sizes(o); o->algs[t->alg] && *size; size++)
			if (*size >= t->from && *size <= t->to)
				print_one_message(t, *size);
	}
}

/* This many messages at once. */
enum { BATCH = 16 };

static const struct batch {
	unsigned alg;
	size_t size;
	double over_best, over_one_by_one;
} batches[] = {
	{SMB3SIGN_AES_CMAC, 1024, 1.15, 6.5},
	{SMB3SIGN_AES_CMAC, 4096, 1.15, 6.5},
	{SMB3SIGN_HMAC_SHA256, 1024, 1.8, 1.8},
	{SMB3SIGN_HMAC_SHA256, 4096, 1.8, 1.8},
};

static double batch_ns(unsigned alg, enum batch_way way, size_t width, int own_keys, size_t size)
{
	char work[WORK_LEN];

	batches_work(work, way, width, own_keys);
	return ours(alg, work, size)->ns;
}

static void print_batches(const struct options *o)
{
	char work[WORK_LEN], what[96];

	batches_work(work, SIGN_BATCH, BATCH, 0);
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		const struct batch *t = &batches[i];
		const char *peer = best_peer(t->alg, work, t->size);
		double ns;

		if (!o->algs[t->alg])
			continue;
		ns = batch_ns(t->alg, SIGN_BATCH, BATCH, 0, t->size);
		if (peer) {
			snprintf(what, sizeof(what), "%s, %d messages of %zu bytes: times the batch of %s",
				 alg_names[t->alg], BATCH, t->size, peer);
			line(what, 1, t->over_best, peer_ns(t->alg, peer, work, t->size) / ns, "");
		}
		snprintf(what, sizeof(what), "%s, %d messages of %zu bytes: times one by one", alg_names[t->alg], BATCH,
			 t->size);
		line(what, 1, t->over_one_by_one, batch_ns(t->alg, SIGN_ONE_BY_ONE, BATCH, 0, t->size) / ns, "");
	}
	if (o->algs[SMB3SIGN_AES_GMAC])
		line("AES-GMAC, 16 messages of 64 bytes, each", 0, 14,
		     batch_ns(SMB3SIGN_AES_GMAC, SIGN_BATCH, BATCH, 0, 64), "ns");
}

/* A place in the batches' tables. */
struct at {
	enum batch_way way; /* SIGN_BATCH or VERIFY_BATCH */
	size_t width, size;
	int own_keys;
};

/*
 * What one by one takes longer than a batch of one. The difference is a constant, which is lost in the noise of the
 * long messages' times: places beyond 1 KiB do not count.
 */
static double lead_of_one(const struct at *at, double batch, double one_by_one)
{
	return at->width == 1 && at->size <= 1024 ? one_by_one - batch : HUGE_VAL;
}

static double gain_of_many(const struct at *at, double batch, double one_by_one)
{
	return at->width > 1 ? one_by_one / batch : HUGE_VAL;
}

/* Where that is least. */
static double least(unsigned alg, double (*of)(const struct at *at, double batch, double one_by_one), struct at *where)
{
	double value = HUGE_VAL;

	*where = (struct at){SIGN_BATCH, 0, 0, 0};
	for (const size_t *width = batch_widths; *width; width++)
		for (const size_t *size = batch_sizes; *size; size++)
			for (int i = 0; i < 4; i++) {
				struct at at = {i < 2 ? SIGN_BATCH : VERIFY_BATCH, *width, *size, i % 2};
				enum batch_way one = i < 2 ? SIGN_ONE_BY_ONE : VERIFY_ONE_BY_ONE;
				double here = of(&at, batch_ns(alg, at.way, *width, at.own_keys, *size),
						 batch_ns(alg, one, *width, at.own_keys, *size));

				if (here < value) {
					value = here;
					*where = at;
				}
			}
	return value;
}

static void print_no_loss(unsigned alg)
{
	struct at at;
	char what[96];
	double value = least(alg, lead_of_one, &at);

	snprintf(what, sizeof(what), "%s, %s batch of one above one alone at worst (%zu bytes)", alg_names[alg],
		 at.way == SIGN_BATCH ? "sign" : "verify", at.size);
	line(what, 0, 5, -value, "ns");
	value = least(alg, gain_of_many, &at);
	snprintf(what, sizeof(what), "%s, worst %s batch (%zu of %zu B, %s): times one by one", alg_names[alg],
		 at.way == SIGN_BATCH ? "sign" : "verify", at.width, at.size, at.own_keys ? "own keys" : "one key");
	line(what, 1, 1, value, "");
}

static void print_no_losses(const struct options *o)
{
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		if (o->algs[alg])
			print_no_loss(alg);
}

static void print_keys(const struct options *o)
{
	static const double sizes[N_ALGS] = {256, 512, 1536};
	char what[96];

	if (o->algs[SMB3SIGN_AES_GMAC]) {
		double one = ours(SMB3SIGN_AES_GMAC, "rotate-1", 64)->ns;

		line("AES-GMAC, 64 bytes, 10000 keys in rotation: times one key's", 0, 2.5,
		     ours(SMB3SIGN_AES_GMAC, "rotate-10000", 64)->ns / one, "");
		line("AES-GMAC, 64 bytes, 10000 keys, shuffled: times one key's", 0, 2.5,
		     ours(SMB3SIGN_AES_GMAC, "rotate-10000-shuffled", 64)->ns / one, "");
	}
	for (unsigned alg = 0; alg < N_ALGS; alg++) {
		if (!o->algs[alg])
			continue;
		snprintf(what, sizeof(what), "%s, a key", alg_names[alg]);
		line(what, 0, sizes[alg], (double)smb3sign_key_size(alg), "bytes");
		snprintf(what, sizeof(what), "%s, key_new and key_free", alg_names[alg]);
		line(what, 0, 300, ours(alg, "key-new", 0)->ns, "ns");
	}
}

/* With two threads, where there are two processors. */
static void print_threads(const struct options *o)
{
	static const size_t sizes[] = {64, 4096};

	if (processors() < 2)
		return;
	for (unsigned alg = 0; alg < N_ALGS; alg++)
		for (size_t i = 0; o->algs[alg] && i < 2; i++) {
			char what[96];

			snprintf(what, sizeof(what), "%s, %zu bytes, 2 threads with one key: times 1 thread",
				 alg_names[alg], sizes[i]);
			line(what, 1, 1.95,
			     ours(alg, "threads-1-shared-key", sizes[i])->ns /
				     ours(alg, "threads-2-shared-key", sizes[i])->ns,
			     "");
		}
}

/* Within 3 % or 2 ns, whichever is more. The worst of all sizes. */
static void print_verify(const struct options *o)
{
	for (unsigned alg = 0; alg < N_ALGS; alg++) {
		double worst = -1e9;
		size_t at = 0;
		char what[96];

		for (const size_t *size = matrix_sizes(o); o->algs[alg] && *size; size++) {
			double sign = ours(alg, "sign", *size)->ns, verify = ours(alg, "verify", *size)->ns;
			double allowed = 0.03 * sign > 2 ? 0.03 * sign : 2, used = (verify - sign) / allowed;

			if (used > worst) {
				worst = used;
				at = *size;
			}
		}
		if (!at)
			continue;
		snprintf(what, sizeof(what), "%s, verify above sign at worst (%zu bytes), of 3 %% or 2 ns",
			 alg_names[alg], at);
		line(what, 0, 1, worst, "");
	}
}

static void print_pieces(const struct options *o)
{
	for (unsigned alg = 0; alg < N_ALGS; alg++) {
		char what[96];

		if (!o->algs[alg])
			continue;
		snprintf(what, sizeof(what), "%s, 65536 bytes in 16 uneven pieces: times one piece's", alg_names[alg]);
		line(what, 0, 1.1, ours(alg, "pieces", 65536)->ns / ours(alg, "sign", 65536)->ns, "");
	}
}

void targets_print(const struct options *o)
{
	printf("Targets%*s %11s %8s\n", 71, "", "target", "here");
	print_one_messages(o);
	print_batches(o);
	print_no_losses(o);
	print_keys(o);
	print_threads(o);
	print_verify(o);
	print_pieces(o);
	printf("  %u met, %u not met\n", n_met, n_missed);
}
