/* SPDX-License-Identifier: MIT */
/*
 * A capture as long as wanted, to measure `smb3sign verify-pcap` with: one connection whose beginning is missing, READ
 * requests and their responses, signed with a fixed key, in segments of a given length.
 *
 *     smb3sign-make-capture hmac|cmac|gmac MEGABYTES DATA SEGMENT >FILE
 *
 * DATA is the length of a response's data. The key to give is --signing-key 000102030405060708090a0b0c0d0e0f.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smb3sign.h"

enum { PREFIX_LEN = 4, HEADERS_LEN = 14 + 20 + 20, READ_REQUEST_LEN = 49, READ_RESPONSE_LEN = 17, COMMAND_READ = 8 };

struct output {
	size_t segment;
	uint64_t packets, bytes;
	uint32_t seq[2];
};

static void put_le(uint8_t *p, size_t n, uint64_t v)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static void put_be(uint8_t *p, size_t n, uint64_t v)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
}

static void write_all(struct output *o, const void *p, size_t n)
{
	if (fwrite(p, 1, n, stdout) != n) {
		perror("standard output");
		exit(2);
	}
	o->bytes += n;
}

/* Direction 0 is the client's. */
static void write_segment(struct output *o, int dir, const uint8_t *data, size_t n)
{
	uint8_t packet[16 + HEADERS_LEN] = {0};
	uint8_t *ip = packet + 16 + 14, *tcp = ip + 20;

	put_le(packet, 4, 1700000000 + o->packets / 1000000);
	put_le(packet + 4, 4, o->packets % 1000000);
	put_le(packet + 8, 4, HEADERS_LEN + n);
	put_le(packet + 12, 4, HEADERS_LEN + n);
	put_be(packet + 16 + 12, 2, 0x0800);
	put_be(ip, 2, 0x4500);
	/* As with segmentation offload: 0 where the length is beyond 16 bits. */
	put_be(ip + 2, 2, 40 + n > 65535 ? 0 : 40 + n);
	ip[8] = 64;
	ip[9] = 6;
	put_be(ip + 12, 4, dir ? 0x0a000001 : 0x0a000002);
	put_be(ip + 16, 4, dir ? 0x0a000002 : 0x0a000001);
	put_be(tcp, 2, dir ? 445 : 50000);
	put_be(tcp + 2, 2, dir ? 50000 : 445);
	put_be(tcp + 4, 4, o->seq[dir]);
	put_be(tcp + 8, 4, o->seq[!dir]);
	put_be(tcp + 12, 2, 0x5018);
	put_be(tcp + 14, 2, 65535);
	write_all(o, packet, sizeof packet);
	write_all(o, data, n);
	o->seq[dir] += (uint32_t)n;
	o->packets++;
}

static void write_message(struct output *o, const smb3sign_key *key, uint8_t *frame, size_t len, int response,
			  uint64_t id)
{
	uint8_t *m = frame + PREFIX_LEN;

	put_be(frame, 4, len);
	memset(m, 0, SMB3SIGN_HEADER_LEN);
	memcpy(m, "\xfeSMB\x40", 5);
	put_le(m + 12, 2, COMMAND_READ);
	put_le(m + 16, 4, response ? 1 : 0);
	put_le(m + 24, 8, id);
	put_le(m + 40, 8, 0x42);
	if (smb3sign_sign_buf(key, m, len)) {
		fputs("not signed\n", stderr);
		exit(2);
	}
	for (size_t at = 0; at < PREFIX_LEN + len; at += o->segment) {
		size_t left = PREFIX_LEN + len - at;

		write_segment(o, response, frame + at, left < o->segment ? left : o->segment);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"hmac", "cmac", "gmac"};
	uint8_t raw[SMB3SIGN_KEY_LEN], file[24] = {0}, *frame;
	struct output o = {0, 0, 0, {1, 1}};
	unsigned alg = SMB3SIGN_HMAC_SHA256;
	uint64_t wanted;
	size_t data;
	smb3sign_key *key;

	while (argc == 5 && alg <= SMB3SIGN_AES_GMAC && strcmp(argv[1], names[alg]) != 0)
		alg++;
	if (argc != 5 || alg > SMB3SIGN_AES_GMAC || !strtoull(argv[4], NULL, 10)) {
		fputs("usage: smb3sign-make-capture hmac|cmac|gmac MEGABYTES DATA SEGMENT >FILE\n", stderr);
		return 2;
	}
	wanted = strtoull(argv[2], NULL, 10) * 1000000;
	data = (size_t)strtoull(argv[3], NULL, 10);
	o.segment = (size_t)strtoull(argv[4], NULL, 10);
	for (size_t i = 0; i < sizeof raw; i++)
		raw[i] = (uint8_t)i;
	frame = calloc(1, PREFIX_LEN + SMB3SIGN_HEADER_LEN + READ_REQUEST_LEN + data);
	if (!frame || smb3sign_key_new(&key, alg, raw, sizeof raw, SMB3SIGN_ROLE_ANY)) {
		fputs("no key, or no memory\n", stderr);
		return 2;
	}
	put_le(file, 4, 0xa1b2c3d4);
	put_le(file + 4, 2, 2);
	put_le(file + 6, 2, 4);
	put_le(file + 16, 4, 262144);
	put_le(file + 20, 4, 1); /* Ethernet */
	write_all(&o, file, sizeof file);
	for (uint64_t id = 1; o.bytes < wanted; id++) {
		write_message(&o, key, frame, SMB3SIGN_HEADER_LEN + READ_REQUEST_LEN, 0, id);
		write_message(&o, key, frame, SMB3SIGN_HEADER_LEN + READ_RESPONSE_LEN + data, 1, id);
	}
	smb3sign_key_free(key);
	free(frame);
	return fclose(stdout) ? 2 : 0;
}
