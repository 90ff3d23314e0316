#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tests/ct/secrets.sh COMMAND...
# COMMAND... runs secrets (secrets.c), under valgrind or built with MemorySanitizer. The leaks on purpose have to be reported,
# each with its place; the same run without one has to be silent. EXPECT_DIVISION=1: the tool knows divisors.
set -eu
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# The command; $kind is the leak.
must_find()
{
	if "$@" "leak-$kind" >"$report" 2>&1; then
		echo "NOT FOUND: leak-$kind"
		exit 1
	fi
	if ! grep -Eq 'depends on uninitialised|Use of uninitialised|use-of-uninitialized-value' "$report" ||
		! grep -q planted "$report"; then
		cat "$report"
		echo "leak-$kind: failed for another reason"
		exit 1
	fi
	echo "found: leak-$kind"
}

for kind in branch lookup memcmp ${EXPECT_DIVISION:+division}; do
	must_find "$@"
done
"$@" leak-none
echo "nothing found: leak-none"
