/* SPDX-License-Identifier: MIT */
/*
 * The client's own processor time for a file that goes to the server and comes back: signed by the library, with
 * AES-CMAC also by OpenSSL in its place, and, where the server allows it, unsigned. Only that it all works is a check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "command.h"
#include "peer.h"

enum { ROUNDS = 2 };

enum way { LIBRARY, OPENSSL, UNSIGNED, WAYS };
static const char *const names[WAYS] = {"libsmb3sign", "OpenSSL", "unsigned"};

struct seconds {
	double write, read;
};

static double cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static const char *transfer(struct channel *c, unsigned command, const uint8_t *file, uint64_t len, double *seconds)
{
	static const uint8_t data[IO_MAX];
	static struct request r;
	const char *why = NULL;
	double start = cpu();

	for (uint64_t at = 0; !why && at < len; at += c->io_max) {
		request_init(&r);
		if (command == WRITE)
			add_write(c, &r, file, at, data, c->io_max);
		else
			add_read(c, &r, file, at, c->io_max);
		why = call_gives(c, &r, STATUS_SUCCESS);
	}
	*seconds = cpu() - start;
	return why;
}

static const char *both_ways(const struct options *o, struct channel *c, struct seconds *s)
{
	const uint64_t len = (uint64_t)o->megabytes << 20;
	uint8_t file[FILE_ID_LEN];
	const char *why = open_file(c, "large", FILE_OVERWRITE_IF, DELETE_ON_CLOSE, file);

	if (!why)
		why = transfer(c, WRITE, file, len, &s->write);
	if (!why)
		why = transfer(c, READ, file, len, &s->read);
	return why ? why : close_file(c, file);
}

/* One connection, one file. 0: done; 1: this way is not open; -1: a check has failed. */
static int once(const struct options *o, enum way way, struct seconds *s)
{
	struct channel c;
	struct session session;
	const char *why = NULL;
	int not_open;

	if (connect_all(o, &c, &session, way != UNSIGNED))
		return -1;
	not_open = way == UNSIGNED && session.required;
	if (way == OPENSSL) {
		c.peer = peer_new(c.raw_key);
		why = c.peer ? NULL : "libcrypto has no CMAC";
	}
	if (!why && !not_open)
		why = both_ways(o, &c, s);
	if (why)
		check(0, why, "%u MiB, %s", o->megabytes, names[way]);
	peer_free(c.peer);
	disconnect(&c, &session);
	return why ? -1 : not_open;
}

/* The least of the rounds, which take turns, so that all ways see the same disturbances. */
void check_throughput(const struct options *o)
{
	struct seconds best[WAYS] = {{0, 0}};

	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned way = 0; way < WAYS; way++) {
			struct seconds s;
			int result = 1;

			if (way != OPENSSL || o->alg == SMB3SIGN_AES_CMAC)
				result = once(o, (enum way)way, &s);
			if (result < 0)
				return;
			if (!result && (!round || s.write < best[way].write))
				best[way].write = s.write;
			if (!result && (!round || s.read < best[way].read))
				best[way].read = s.read;
		}
	}
	for (unsigned way = 0; way < WAYS; way++)
		if (best[way].write > 0)
			check(1, "", "%u MiB, %s: %.3f s of the client's CPU to write, %.3f s to read", o->megabytes,
			      names[way], best[way].write, best[way].read);
}
