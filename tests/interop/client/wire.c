/* SPDX-License-Identifier: MIT */
/* Frames on a TCP connection. A peer that says nothing is as good as one that is gone: every wait ends. */
#define _POSIX_C_SOURCE 200809L
#include "wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PREFIX_LEN = 4, PIECES_MAX = 4 };

size_t put_utf16(uint8_t *out, const char *ascii)
{
	size_t n = 0;

	for (; *ascii; ascii++, n += 2)
		put16(out + n, (unsigned char)*ascii);
	return n;
}

int wire_connect(unsigned port)
{
	const struct timeval limit = {.tv_sec = 10};
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		return -1;
	if (!connect(fd, (const struct sockaddr *)&to, sizeof(to)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) &&
	    !setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		return fd;
	close(fd);
	return -1;
}

/* All of it, however many calls that takes; the array is used up. */
static int write_all(int fd, struct iovec *iov, int count)
{
	while (count) {
		struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)count};
		ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);

		if (n <= 0)
			return -1;
		for (; count && (size_t)n >= iov->iov_len; iov++, count--)
			n -= (ssize_t)iov->iov_len;
		if (count) {
			iov->iov_base = (uint8_t *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

int wire_send(int fd, const struct iovec *pieces, int count)
{
	uint8_t prefix[PREFIX_LEN];
	struct iovec iov[1 + PIECES_MAX] = {{prefix, PREFIX_LEN}};
	size_t len = 0;

	if (count > PIECES_MAX)
		return -1;
	for (int i = 0; i < count; i++) {
		iov[1 + i] = pieces[i];
		len += pieces[i].iov_len;
	}
	if (len > 0xffffff)
		return -1;
	prefix[0] = 0;
	prefix[1] = (uint8_t)(len >> 16);
	prefix[2] = (uint8_t)(len >> 8);
	prefix[3] = (uint8_t)len;
	return write_all(fd, iov, 1 + count);
}

static int read_all(int fd, uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = recv(fd, p, len, 0);

		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

long wire_receive(int fd, uint8_t *buf, size_t cap)
{
	uint8_t prefix[PREFIX_LEN];
	size_t len;

	if (read_all(fd, prefix, PREFIX_LEN) || prefix[0])
		return -1;
	len = (size_t)prefix[1] << 16 | (size_t)prefix[2] << 8 | prefix[3];
	if (len > cap || read_all(fd, buf, len))
		return -1;
	return (long)len;
}
