/* SPDX-License-Identifier: MIT */
/*
 * One captured packet down to its TCP segment. Each layer takes its header from the front of what is left; a header
 * that the wire had and the capture has not is CUT, one that the wire cannot have had is MALFORMED.
 */
#include <pcap/pcap.h>
#include <string.h>

#include "packet.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_QINQ = 0x88a8,
	ETHERTYPE_VLAN_OLD = 0x9100 /* stacked tags before IEEE 802.1ad */
};

/* RFC 8200 section 4, RFC 4302 */
enum {
	PROTO_HOP_BY_HOP = 0,
	PROTO_TCP = 6,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AH = 51,
	PROTO_DESTINATION = 60
};

/* What is left of the packet. */
struct rest {
	const uint8_t *at;
	size_t captured, wire;
};

static unsigned get_be16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)get_be16(p) << 16 | get_be16(p + 2);
}

static int has(const struct rest *r, size_t n)
{
	return r->captured >= n;
}

static enum packet_kind too_short(const struct rest *r, size_t n)
{
	return r->wire >= n ? PACKET_CUT : PACKET_MALFORMED;
}

/* The caller has made sure of n captured bytes. */
static const uint8_t *take(struct rest *r, size_t n)
{
	const uint8_t *p = r->at;

	r->at += n;
	r->captured -= n;
	r->wire -= n;
	return p;
}

/* The layer above has n bytes: link padding behind them goes; what it lacks on the wire, the capture lacks too. */
static void set_wire(struct rest *r, size_t n)
{
	r->wire = n;
	if (r->captured > n)
		r->captured = n;
}

static enum packet_kind parse_tcp(struct rest *r, struct segment *s)
{
	const uint8_t *h;
	size_t header;

	if (!has(r, 20))
		return too_short(r, 20);
	h = r->at;
	header = (size_t)(h[12] >> 4) * 4;
	if (header < 20)
		return PACKET_MALFORMED;
	if (!has(r, header))
		return too_short(r, header);
	take(r, header);
	memcpy(s->from.port, h, 2);
	memcpy(s->to.port, h + 2, 2);
	s->seq = get_be32(h + 4);
	s->ack = get_be32(h + 8);
	s->flags = h[13];
	s->data = r->at;
	s->len = (uint32_t)r->captured;
	s->missing = (uint32_t)(r->wire - r->captured);
	return PACKET_SEGMENT;
}

static void map_ipv4(uint8_t address[16], const uint8_t *ipv4)
{
	memset(address, 0, 10);
	memset(address + 10, 0xff, 2);
	memcpy(address + 12, ipv4, 4);
}

static enum packet_kind parse_ipv4(struct rest *r, struct segment *s)
{
	const uint8_t *h;
	size_t header, total;

	if (!has(r, 20))
		return too_short(r, 20);
	h = r->at;
	header = (size_t)(h[0] & 0x0f) * 4;
	total = get_be16(h + 2);
	if (h[0] >> 4 != 4 || header < 20 || (total && total < header))
		return PACKET_MALFORMED;
	if (!has(r, header))
		return too_short(r, header);
	if (h[9] != PROTO_TCP)
		return PACKET_OTHER;
	if (get_be16(h + 6) & 0x3fff) /* more fragments, or an offset */
		return PACKET_FRAGMENT;
	take(r, header);
	/* Linux writes 0 where segmentation offload makes a packet longer than the field can say. */
	if (total)
		set_wire(r, total - header);
	map_ipv4(s->from.address, h + 12);
	map_ipv4(s->to.address, h + 16);
	return parse_tcp(r, s);
}

/* Takes one extension header of the given kind off; PACKET_SEGMENT to go on with *next. */
static enum packet_kind skip_extension(struct rest *r, unsigned kind, unsigned *next)
{
	size_t len = 8;

	if (!has(r, 8))
		return too_short(r, 8);
	if (kind == PROTO_FRAGMENT && get_be16(r->at + 2) & 0xfff9) /* an offset, or more of them */
		return r->at[0] == PROTO_TCP ? PACKET_FRAGMENT : PACKET_OTHER;
	if (kind == PROTO_AH)
		len = ((size_t)r->at[1] + 2) * 4;
	else if (kind != PROTO_FRAGMENT)
		len = ((size_t)r->at[1] + 1) * 8;
	if (!has(r, len))
		return too_short(r, len);
	*next = take(r, len)[0];
	return PACKET_SEGMENT;
}

static enum packet_kind parse_ipv6(struct rest *r, struct segment *s)
{
	enum packet_kind kind;
	const uint8_t *h;
	unsigned next;
	size_t payload;

	if (!has(r, 40))
		return too_short(r, 40);
	h = take(r, 40);
	if (h[0] >> 4 != 6)
		return PACKET_MALFORMED;
	payload = get_be16(h + 4);
	if (payload) /* else a jumbogram (RFC 2675), or offload as with IPv4 */
		set_wire(r, payload);
	memcpy(s->from.address, h + 8, 16);
	memcpy(s->to.address, h + 24, 16);
	next = h[6];
	while (next == PROTO_HOP_BY_HOP || next == PROTO_ROUTING || next == PROTO_FRAGMENT || next == PROTO_AH ||
	       next == PROTO_DESTINATION) {
		kind = skip_extension(r, next, &next);
		if (kind != PACKET_SEGMENT)
			return kind;
	}
	return next == PROTO_TCP ? parse_tcp(r, s) : PACKET_OTHER;
}

static enum packet_kind parse_by_version(struct rest *r, struct segment *s)
{
	if (!has(r, 1))
		return too_short(r, 1);
	if (r->at[0] >> 4 == 4)
		return parse_ipv4(r, s);
	return r->at[0] >> 4 == 6 ? parse_ipv6(r, s) : PACKET_MALFORMED;
}

static enum packet_kind parse_by_ethertype(struct rest *r, unsigned type, struct segment *s)
{
	while (type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ || type == ETHERTYPE_VLAN_OLD) {
		if (!has(r, 4))
			return too_short(r, 4);
		type = get_be16(take(r, 4) + 2);
	}
	if (type == ETHERTYPE_IPV4)
		return parse_ipv4(r, s);
	return type == ETHERTYPE_IPV6 ? parse_ipv6(r, s) : PACKET_OTHER;
}

/* A link header of `len` bytes with an EtherType at `at`. */
static enum packet_kind parse_link(struct rest *r, size_t len, size_t at, struct segment *s)
{
	if (!has(r, len))
		return too_short(r, len);
	return parse_by_ethertype(r, get_be16(take(r, len) + at), s);
}

/* The 4-byte address family of NULL and LOOP differs by system and byte order: the IP version says the same. */
static enum packet_kind parse_loopback(struct rest *r, struct segment *s)
{
	if (!has(r, 4))
		return too_short(r, 4);
	take(r, 4);
	return parse_by_version(r, s);
}

int packet_link_known(int link)
{
	switch (link) {
	case DLT_EN10MB:
	case DLT_LINUX_SLL:
	case DLT_LINUX_SLL2:
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
	case DLT_NULL:
	case DLT_LOOP:
		return 1;
	default:
		return 0;
	}
}

enum packet_kind packet_parse(int link, const uint8_t *bytes, size_t captured, size_t wire, struct segment *s)
{
	struct rest r = {bytes, captured, wire < captured ? captured : wire};

	switch (link) {
	case DLT_EN10MB:
		return parse_link(&r, 14, 12, s);
	case DLT_LINUX_SLL:
		return parse_link(&r, 16, 14, s);
	case DLT_LINUX_SLL2:
		return parse_link(&r, 20, 0, s);
	case DLT_NULL:
	case DLT_LOOP:
		return parse_loopback(&r, s);
	default:
		return parse_by_version(&r, s);
	}
}
