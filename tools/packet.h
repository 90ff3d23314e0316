/* SPDX-License-Identifier: MIT */
/*
 * One captured packet down to its TCP segment: link layers Ethernet (with VLAN tags), Linux cooked (SLL, SLL2), raw IP,
 * NULL and LOOP; IPv4 with options, IPv6 with extension headers. IP fragments are recognised, not reassembled.
 */
#ifndef SMB3SIGN_PACKET_H
#define SMB3SIGN_PACKET_H

#include <stddef.h>
#include <stdint.h>

struct endpoint {
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint8_t port[2];     /* big-endian: an endpoint is 18 plain bytes to compare */
};

enum { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_RST = 0x04, TCP_ACK = 0x10 };

struct segment {
	struct endpoint from, to;
	uint32_t seq, ack;
	unsigned flags;
	const uint8_t *data;
	uint32_t len;     /* bytes at data */
	uint32_t missing; /* bytes of the segment behind these that were not captured */
};

enum packet_kind {
	PACKET_SEGMENT,
	PACKET_OTHER,    /* not TCP over IP */
	PACKET_FRAGMENT, /* of an IP datagram that carries TCP, or may */
	PACKET_CUT,      /* the capture ends before the TCP header does */
	PACKET_MALFORMED
};

/* link is libpcap's DLT_ value. */
int packet_link_known(int link);

/* The packet of `wire` bytes, the first `captured` of which are at bytes. *s is filled for PACKET_SEGMENT. */
enum packet_kind packet_parse(int link, const uint8_t *bytes, size_t captured, size_t wire, struct segment *s);

#endif
