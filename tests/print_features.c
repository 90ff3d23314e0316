/* SPDX-License-Identifier: MIT */
/* Prints the processor features that the library sees as usable: for test_set_user_id.sh. */
#include <stdio.h>

#include "cpu.h"

int main(void)
{
	printf("%x\n", (unsigned)smb3sign_cpu_features());
	return 0;
}
