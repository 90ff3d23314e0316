/* SPDX-License-Identifier: MIT */
/*
 * A client verifies a large response while it comes from the socket, in whatever pieces read() gives: when the last
 * byte is there, so is the verdict. Nothing of the body is used before.
 *
 *     stream_verify hmac|cmac|gmac SIGNING_KEY < frames-from-the-server > their-bodies
 *
 * The frames go through a socket in small pieces of changing size. It ends at the first message that must not be used.
 * Exit status: 0 all were right, 1 that one was not.
 */
#include "example.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is there, at most len bytes; 0 at the end. */
static size_t receive_some(int fd, uint8_t *p, size_t len)
{
	ssize_t n;

	do
		n = read(fd, p, len);
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

/* Exactly len bytes; less at the end. */
static size_t receive_all(int fd, uint8_t *p, size_t len)
{
	size_t got = 0, n;

	while (got < len && (n = receive_some(fd, p + got, len - got)) > 0)
		got += n;
	return got;
}

/* The body straight to where it belongs, each piece through the MAC as soon as it is there. */
static int receive_verified(int fd, const smb3sign_key *key, const uint8_t *hdr, uint8_t *body, size_t len)
{
	smb3sign_ctx ctx;
	int err = smb3sign_verify_begin(&ctx, key, hdr);

	for (size_t got = 0, n; !err && got < len; got += n) {
		n = receive_some(fd, body + got, len - got);
		if (n == 0)
			err = SMB3SIGN_E_MESSAGE; /* the connection broke off */
		smb3sign_update(&ctx, body + got, n);
	}
	if (err) {
		smb3sign_abort(&ctx);
		return err;
	}
	return smb3sign_verify_end(&ctx);
}

/*
 * One response: OK with its body and *len. After anything else the connection is of no use: the rest of the frame may
 * not have been read. A compound gives E_MESSAGE, for its NextCommand is not the length of the frame; a client that
 * expects one begins anew at each element.
 */
static int receive(int fd, const smb3sign_key *key, size_t frame_len, uint8_t *body, size_t *len)
{
	const unsigned state = SMB3SIGN_HAVE_SESSION | SMB3SIGN_HAVE_KEY | SMB3SIGN_REQUIRED;
	uint8_t hdr[SMB3SIGN_HEADER_LEN];
	uint32_t ntstatus;

	if (frame_len < sizeof(hdr) || receive_all(fd, hdr, sizeof(hdr)) != sizeof(hdr))
		return SMB3SIGN_E_MESSAGE;
	*len = frame_len - sizeof(hdr);
	switch (smb3sign_receive_policy(SMB3SIGN_ROLE_CLIENT, hdr, state, &ntstatus)) {
	case SMB3SIGN_ACT_VERIFY:
		return receive_verified(fd, key, hdr, body, *len);
	case SMB3SIGN_ACT_PASS: /* an interim response, say */
		return receive_all(fd, body, *len) == *len ? SMB3SIGN_OK : SMB3SIGN_E_MESSAGE;
	default:
		return SMB3SIGN_E_UNSIGNED;
	}
}

/* The server's side: standard input, in pieces of 1 to 1499 bytes. */
static void play_server(int fd)
{
	uint8_t piece[1500];
	size_t want = 1, n;

	while ((n = fread(piece, 1, want, stdin)) > 0) {
		for (size_t sent = 0; sent < n;) {
			ssize_t more = write(fd, piece + sent, n - sent);

			if (more < 0)
				return;
			sent += (size_t)more;
		}
		want = want * 7 % 1499 + 1;
	}
}

int main(int argc, char **argv)
{
	static uint8_t body[FRAME_MAX];
	smb3sign_key *key = key_of_arguments(argc, argv, SMB3SIGN_ROLE_CLIENT);
	uint8_t prefix[PREFIX_LEN];
	int fd[2], err = SMB3SIGN_OK, status;
	size_t len, got = 0;
	pid_t server;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0 || (server = fork()) < 0)
		quit("no socket or no process");
	if (server == 0) {
		close(fd[0]);
		play_server(fd[1]);
		_exit(0);
	}
	close(fd[1]);
	while (!err && (got = receive_all(fd[0], prefix, sizeof(prefix))) == sizeof(prefix)) {
		err = receive(fd[0], key, get_prefix(prefix), body, &len);
		if (!err && fwrite(body, 1, len, stdout) != len) /* the body is used here, and not before */
			quit("cannot write");
	}
	if (!err && got > 0)
		err = SMB3SIGN_E_MESSAGE;
	close(fd[0]);
	smb3sign_key_free(key);
	if (err)
		fprintf(stderr, "%s\n", smb3sign_strerror(err));
	if (waitpid(server, &status, 0) != server || fflush(stdout) != 0)
		quit("cannot write, or the server's process is lost");
	return err != SMB3SIGN_OK;
}
