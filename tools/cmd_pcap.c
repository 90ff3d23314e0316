/* SPDX-License-Identifier: MIT */
/* The verify-pcap subcommand: a capture file through packets, TCP and frames to the verdicts of smb.c. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "explain_pcap.h"
#include "keyfile.h"
#include "packet.h"
#include "smb.h"
#include "tcp.h"
#include "terminal.h"
#include "tool.h"

static const char usage[] =
	"Usage: smb3sign verify-pcap CAPTURE [KEYS...] [OPTION...]\n"
	"\n"
	"Verifies every SMB2 message of a capture (pcap or pcapng, \"-\": standard input), on any TCP port.\n"
	"Dialect, signing algorithm and preauthentication hash come from the NEGOTIATE and SESSION_SETUP\n"
	"messages in the capture.\n"
	"\n"
	"Keys, each of which may be repeated and mixed with the others:\n"
	"  --session-key [SESSIONID=]HEX   the session key, as the authentication gave it; signing keys are\n"
	"                                  derived from it\n"
	"  --signing-key [SESSIONID=]HEX   a signing key itself: the only sort that helps when the capture\n"
	"                                  begins after the session\n"
	"  --user [DOMAIN\\]NAME%PASSWORD   the session keys of that user's NTLMv2 logons in the capture;\n"
	"                                  without DOMAIN, of any domain\n"
	"  --keys FILE                     keys from a file, whose form is found out: Wireshark's list\n"
	"                                  smb2_seskey_list, a log of smbd or smbclient (written under\n"
	"                                  'debug encryption = yes'), or lines SESSIONID=HEX\n"
	"\n"
	"  -f, --filter EXPRESSION         only messages that fit all its terms, with commas between them:\n"
	"                                  session=HEX, mid=N or N-M, command=NAME, connection=N or N-M;\n"
	"                                  -f again: or such that fit this\n"
	"  -q, --quiet                     the summary only\n"
	"  --explain                       say what was done wrong with each message that is BAD, and how often; see\n"
	"                                  'smb3sign explain --help'\n"
	"  --json                          explain, and print a JSON object a line for each such message and nothing "
	"else\n"
	"\n"
	"--session-key and --signing-key behind CAPTURE take several values. SESSIONID is hexadecimal, with\n"
	"or without 0x. A key without it is for every session that has none of its own. Each connection that\n"
	"is bound to a session (multichannel) has a session key of its own under the same SESSIONID: give\n"
	"them all; which is whose shows at the final SESSION_SETUP response of the channel.\n"
	"\n"
	"A line for each message: packet, seconds, connection, direction, command, MessageId, SessionId,\n"
	"algorithm, verdict:\n"
	"\n"
	"  OK        the signature is right\n"
	"  BAD       signed, and the signature is wrong; or a response sent by the client, or a request by\n"
	"            the server\n"
	"  UNSIGNED  not flagged as signed, and no right signature\n"
	"  EXEMPT    never signed by the protocol, for the reason given\n"
	"  ECHO      an error that a server without the session answers, the request's signature copied:\n"
	"            not verifiable\n"
	"  NO-KEY    signed, and there is no key for the session\n"
	"\n"
	"Encrypted, compressed and SMB1 frames are counted. Verdicts have colours on a terminal, unless\n"
	"NO_COLOR is set.\n"
	"\n"
	"Exit status:\n"
	"  2  the capture cannot be read, lacks bytes of SMB connections, or holds what is malformed\n"
	"     (standard error says where; the rest is verified all the same); it has no SMB, or none that\n"
	"     fits -f, or signed messages and a key for none of them; keys cannot be read, or a --user had\n"
	"     another password\n"
	"  1  else, if a message is BAD\n"
	"  0  else\n";

/* Of the file at a time: a system call for every block of it is a third of the time otherwise. */
enum { READ_AHEAD = 1 << 18 };

struct input {
	pcap_t *pcap;
	int link;
	struct verifier *verifier;
	struct tcp *tcp;
	struct place at;
	int64_t start; /* microseconds of the first packet */
};

/*
 * Microseconds since 1970. pcapng has room for more of them, and the older format for a negative fraction: what no clock
 * shows is brought back to between 0 and about 146,000 years, so that differences fit too.
 */
static int64_t microseconds(const struct timeval *t)
{
	const int64_t most = INT64_MAX / 2 / 1000000;
	int64_t sec = t->tv_sec < most ? t->tv_sec : most;

	return sec < 0 || sec * 1000000 + t->tv_usec < 0 ? 0 : sec * 1000000 + t->tv_usec;
}

static void take_packet(struct input *in, const struct pcap_pkthdr *h, const uint8_t *bytes)
{
	struct report *report = &in->verifier->report;
	int64_t usec = microseconds(&h->ts);
	struct segment segment;

	if (!in->at.packet++)
		in->start = usec;
	in->at.usec = usec > in->start ? usec - in->start : 0;
	switch (packet_parse(in->link, bytes, h->caplen, h->len, &segment)) {
	case PACKET_SEGMENT:
		tcp_segment(in->tcp, &segment, &in->at);
		break;
	case PACKET_FRAGMENT:
		report_problem(report, "packet %" PRIu64 ": an IP fragment: those are not put together", in->at.packet);
		break;
	case PACKET_CUT:
		report_problem(report, "packet %" PRIu64 ": cut in its headers, at byte %u of %u", in->at.packet,
			       h->caplen, h->len);
		break;
	case PACKET_MALFORMED:
		report_problem(report, "packet %" PRIu64 ": malformed headers", in->at.packet);
		break;
	case PACKET_OTHER:
		break;
	}
}

/* The file is unreadable from here on. Its offset says where, if it has one. */
static void report_end(struct input *in)
{
	struct report *report = &in->verifier->report;
	FILE *f = pcap_file(in->pcap);
	long offset = f ? ftell(f) : -1;

	if (offset >= 0)
		report_problem(report, "after packet %" PRIu64 ", byte offset %ld: %s", in->at.packet, offset,
			       pcap_geterr(in->pcap));
	else
		report_problem(report, "after packet %" PRIu64 ": %s", in->at.packet, pcap_geterr(in->pcap));
}

static void read_capture(struct input *in)
{
	struct pcap_pkthdr *h;
	const u_char *bytes;
	int got;

	in->tcp = tcp_new(in->verifier);
	/* Lines of the report on the same terminal show the progress themselves. */
	if (in->verifier->report.quiet || !isatty(STDOUT_FILENO))
		progress_start(pcap_file(in->pcap));
	while ((got = pcap_next_ex(in->pcap, &h, &bytes)) == 1) {
		take_packet(in, h, bytes);
		progress_step();
	}
	progress_clear();
	if (got == PCAP_ERROR)
		report_end(in);
	tcp_finish(in->tcp, &in->at);
}

static void report_unused_keys(const struct verifier *v)
{
	for (size_t i = 0; i < v->given.count; i++) {
		const struct given_key *k = &v->given.keys[i];

		if (!k->any && !k->matched && !k->entry)
			complain("%s: no session 0x%016" PRIx64 " in this capture", v->report.capture, k->session);
	}
}

static pcap_t *open_capture(const char *path)
{
	char error[PCAP_ERRBUF_SIZE];
	FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	pcap_t *pcap;

	if (!f) {
		complain("%s: %s", path, strerror(errno));
		return NULL;
	}
	setvbuf(f, NULL, _IOFBF, READ_AHEAD);
	pcap = pcap_fopen_offline(f, error);
	if (pcap)
		return pcap; /* which closes the file in its time */
	complain("%s: %s", path, error);
	if (f != stdin)
		fclose(f);
	return NULL;
}

static int verify_capture(struct verifier *v)
{
	struct input in = {.verifier = v};

	in.pcap = open_capture(v->report.capture);
	if (!in.pcap)
		return STATUS_TROUBLE;
	in.link = pcap_datalink(in.pcap);
	if (!packet_link_known(in.link)) {
		const char *name = pcap_datalink_val_to_name(in.link);

		complain("%s: link layer %s (%d) is not known here", v->report.capture, name ? name : "?", in.link);
		pcap_close(in.pcap);
		return STATUS_TROUBLE;
	}
	read_capture(&in);
	pcap_close(in.pcap);
	ring_table_free(&v->sessions);
	report_unused_keys(v);
	users_report_missing(&v->users, v->report.capture);
	report_summary(&v->report);
	explainer_summary(v->explainer);
	return report_status(&v->report);
}

/* What stands without an option of its own: CAPTURE, then further keys for the option before. */
static int take_argument(struct verifier *v, const char *arg, int last_option)
{
	if (!v->report.capture) {
		v->report.capture = arg;
		return 0;
	}
	if (last_option == 's')
		return given_keys_add(&v->given, "--session-key", arg, 0);
	if (last_option == 'g')
		return given_keys_add(&v->given, "--signing-key", arg, 1);
	complain("unexpected argument '%s'", arg);
	return -1;
}

/* Fills *v; 1 to go on, 0 if only help was asked for, -1 after a complaint. */
static int prepare(struct verifier *v, int argc, char **argv)
{
	static const struct option options[] = {
		{"session-key", required_argument, NULL, 's'},
		{"signing-key", required_argument, NULL, 'g'},
		{"user", required_argument, NULL, 'u'},
		{"keys", required_argument, NULL, 'k'},
		{"filter", required_argument, NULL, 'f'},
		{"quiet", no_argument, NULL, 'q'},
		{"explain", no_argument, NULL, 'e'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt, err = 0, last = 0, explaining = 0;

	/* "-": arguments come in their order, as option 1. */
	while (!err && (opt = getopt_long(argc, argv, "-f:qh", options, NULL)) != -1) {
		switch (opt) {
		case 1:
			err = take_argument(v, optarg, last);
			break;
		case 's':
			err = given_keys_add(&v->given, "--session-key", optarg, 0);
			break;
		case 'g':
			err = given_keys_add(&v->given, "--signing-key", optarg, 1);
			break;
		case 'u':
			err = ntlm_users_add(&v->users.given, "--user", optarg);
			break;
		case 'k':
			err = keyfile_read(&v->given, optarg);
			break;
		case 'f':
			err = filter_add(&v->filter, "-f", optarg);
			break;
		case 'q':
			v->report.quiet = 1;
			break;
		case 'j':
			v->report.json = v->report.quiet = 1;
			explaining = 1;
			break;
		case 'e':
			explaining = 1;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			err = -1;
			break;
		}
		if (opt != 1)
			last = opt;
	}
	for (; !err && optind < argc; optind++) /* behind "--" */
		err = take_argument(v, argv[optind], 0);
	if (!err && !v->report.capture) {
		complain("a CAPTURE is needed");
		err = -1;
	}
	if (!err && explaining) {
		v->explainer = explainer_new(v->report.json);
		err = v->explainer ? 0 : -1;
	}
	return err ? -1 : 1;
}

int cmd_verify_pcap(int argc, char **argv)
{
	struct verifier v = {0};
	int go = prepare(&v, argc, argv);
	int status = STATUS_GOOD;

	if (go < 0)
		status = bad_usage(argv[0]);
	else if (go)
		status = verify_capture(&v);
	explainer_free(v.explainer);
	given_keys_free(&v.given);
	ntlm_users_free(&v.users.given);
	filter_free(&v.filter);
	return status;
}
