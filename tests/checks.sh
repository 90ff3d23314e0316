# SPDX-License-Identifier: MIT
# What tests of the smb3sign command from outside share; sourced. $command: the built program; $subcommand: what `exits`
# puts before its arguments, if anything.
set -u
LC_ALL=C
export LC_ALL

here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failures=0
checks=0

# check NAME COMMAND...: the command succeeds.
check() {
	what=$1
	shift
	checks=$((checks + 1))
	if "$@"; then
		echo "ok: $what"
	else
		echo "FAILED: $what"
		[ ! -s "$scratch/err" ] || sed 's/^/    stderr: /' "$scratch/err" | head -5
		failures=$((failures + 1))
	fi
}

# exits N ARGUMENT...: the command exits with N. What it prints is in $scratch/out and $scratch/err.
exits() {
	expected=$1
	shift
	"$command" ${subcommand:+"$subcommand"} "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	[ "$status" -eq "$expected" ] && return
	echo "    exit status $status, expected $expected"
	return 1
}

# complains N TEXT ARGUMENT...: it exits with N and says TEXT on standard error.
complains() {
	expected_status=$1
	expected_text=$2
	shift 2
	exits "$expected_status" "$@" && grep -qF -- "$expected_text" "$scratch/err"
}

# The test's own exit status.
conclude() {
	echo "$checks checks, $failures failures"
	[ "$failures" -eq 0 ]
}
