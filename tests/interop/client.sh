#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/interop/client.sh
#
# A client of our own, which signs and verifies with the library alone, against Samba's smbd: every dialect, at 3.1.1
# every algorithm; ordinary use, compounds, asynchronous requests, binds of every pair of connections; requests and
# answers with a flipped bit or without a signature, which the server and the client must refuse; and what signing costs
# the client.
#
# As root (see server.sh). Installs the Debian packages that are missing. Takes about 25 seconds after the build. Prints
# a line for each check; exit status 1 if one fails. Build folder: $BUILD (default: build), as tests/run.sh leaves it or
# new.
set -eu
. "$(dirname "$0")/server.sh"

# Dialect and algorithm, as on the wire.
all='0202:0 0210:0 0300:1 0302:1 0311:0 0311:1 0311:2'

# run PORT CHECK DIALECT:ALGORITHM
run() {
	status=0
	"$client" "$1" "$user" "$password" "$2" "${3%:*}" "${3#*:}" >>lines 2>&1 || status=$?
	# 1: a check has failed, and its line says which. Anything else is the client's end.
	[ "$status" -le 1 ] || echo "FAILED: $3: $2: the client ends with status $status" >>lines
	tail -n +$((seen + 1)) lines
	seen=$(wc -l <lines)
}

inside() {
	client=$1 seen=0
	: >lines
	start_server mandatory 4455 mandatory
	for each in $all; do
		for what in use spoilt binds; do
			run 4455 "$what" "$each"
		done
	done
	# Where signing is left to the client, it can also do without.
	start_server optional 4456 auto
	for each in 0311:0 0311:1 0311:2; do
		run 4456 throughput "$each"
	done
	passed=$(grep -c '^ok: ' lines) || true
	failed=$(grep -c '^FAILED: ' lines) || true
	echo "$passed passed, $failed failed"
	# A client that checks nothing is no success either.
	[ "$failed" = 0 ] && [ "$passed" -ge 470 ]
}

if [ "${1-}" = --inside ]; then
	enter "$2"
	inside "$3"
else
	# shellcheck disable=SC2086 # one word a package
	sh "$root/tools/install-missing.sh" gcc libc6-dev make cmake libssl-dev $server_packages
	build_library
	cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
		-I"$root/include" -o "$build/interop/smb3sign-client" "$root"/tests/interop/client/*.c \
		-L"$build" -lsmb3sign -Wl,-rpath,"$build" -lcrypto
	in_namespaces "$0" "$build/interop/smb3sign-client"
fi
