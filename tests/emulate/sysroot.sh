#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/emulate/sysroot.sh ARCHITECTURE FOLDER
# Puts Check and OpenSSL of a Debian architecture into a folder, from the mirror that apt uses, past dpkg: what security
# updates give one architecture and not another cannot be installed side by side. Only the static libraries are kept, and
# only what came whole: a folder that is there already is left as it is.
set -eu
architecture=$1 folder=$2
[ ! -e "$folder/complete" ] || exit 0
as=$(mktemp -d)
trap 'rm -rf "$as"' EXIT
mkdir -p "$as/lists/partial" "$as/cache/archives/partial" "$as/parts" "$as/packages"
. /etc/os-release
site=$(apt-get indextargets --format '$(SITE)' | grep -m1 -E '/(debian|ubuntu|ubuntu-ports)/?$')
echo "deb [arch=$architecture] $site $VERSION_CODENAME main" >"$as/parts/main.list"
apt()
{
	apt-get -qq -o "APT::Architectures::=$architecture" -o "Dir::State::lists=$as/lists" -o "Dir::Cache=$as/cache" \
		-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$as/parts" -o APT::Sandbox::User=root "$@"
}
apt update
cd "$as/packages"
for package in check libsubunit-dev libssl-dev; do
	apt download "$package:$architecture"
done
cd - >/dev/null
rm -rf "$folder"
mkdir -p "$folder"
for package in "$as"/packages/*.deb; do
	dpkg -x "$package" "$folder"
done
find "$folder" -name '*.so*' -delete
touch "$folder/complete"
