#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tools/install-missing.sh PACKAGE...
# Installs those of the Debian or Ubuntu packages that are not there yet, as root or through sudo; where there is no apt it
# says what is needed and carries on, since the machine may have it under another name.
set -eu

if ! command -v apt-get >/dev/null 2>&1; then
	echo "no apt-get here; this needs the equivalents of: $*" >&2
	exit 0
fi
missing=
for package in "$@"; do
	# A line for each architecture that it is there for.
	dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "as root, first: apt-get install$missing" >&2
		exit 1
	fi
	as_root=sudo
fi
echo "installing:$missing" >&2
$as_root apt-get -o DPkg::Lock::Timeout=300 -q update >&2
# shellcheck disable=SC2086 # one word a package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q install -y --no-install-recommends \
	$missing >&2
