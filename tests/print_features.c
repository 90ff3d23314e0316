/* SPDX-License-Identifier: MIT */
/*
 * Prints the processor features that the library sees as usable, for test_set_user_id.sh; with an argument,
 * smb3sign_cpu().
 */
#include <stdio.h>

#include "cpu.h"
#include "smb3sign.h"

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		fputs(smb3sign_cpu(), stdout);
	else
		printf("%x\n", (unsigned)smb3sign_cpu_features());
	return 0;
}
