/* SPDX-License-Identifier: MIT */
/*
 * usage: smb3sign-client PORT USER PASSWORD CHECK DIALECT ALGORITHM [MEGABYTES]
 * Talks to the SMB server on 127.0.0.1:PORT, which exports a folder \\127.0.0.1\share to the user. CHECK: use, spoilt,
 * binds, throughput. DIALECT and ALGORITHM in hexadecimal, as on the wire. Prints a line for each check; exit status 1
 * if one fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ntlm.h"

static const struct {
	const char *name;
	void (*run)(const struct options *o);
} checks[] = {{"use", check_use}, {"spoilt", check_spoilt}, {"binds", check_binds}, {"throughput", check_throughput}};

int main(int argc, char **argv)
{
	struct options o = {.share = "\\\\127.0.0.1\\share", .megabytes = 128};

	if (argc < 7)
		return fputs("usage: smb3sign-client PORT USER PASSWORD CHECK DIALECT ALGORITHM [MEGABYTES]\n", stderr),
		       2;
	if (ntlm_init())
		return fputs("libcrypto has no legacy provider, which NTLM needs\n", stderr), 2;
	o.port = (unsigned)strtoul(argv[1], NULL, 10);
	o.user = argv[2];
	o.password = argv[3];
	o.dialect = (unsigned)strtoul(argv[5], NULL, 16);
	o.alg = (unsigned)strtoul(argv[6], NULL, 16);
	if (argc > 7)
		o.megabytes = (unsigned)strtoul(argv[7], NULL, 10);
	if (o.alg > SMB3SIGN_AES_GMAC)
		return fputs("no such algorithm\n", stderr), 2;
	check_about(o.dialect, o.alg);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (!strcmp(checks[i].name, argv[4])) {
			checks[i].run(&o);
			return checks_failed() != 0;
		}
	}
	return fputs("no such check\n", stderr), 2;
}
