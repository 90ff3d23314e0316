#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/packages.sh
# As root on Debian: makes the source tarball and out of it, in a temporary folder, the Debian packages; asks lintian, and
# autopkgtest (debian/tests) on a bare Debian in a chroot. There it installs the packages as a user would, reads manuals,
# asks pkg-config, completes a command line and purges everything, whereupon nothing may be left behind. Installs what
# it needs on this machine.
#
# DEB_BUILD_OPTIONS=nocheck    leaves out the tests in the build
# PACKAGES=DIR                 keeps the packages, the source tarball and the build's log in DIR
# MIRROR, SUITE                of the bare Debian; http://deb.debian.org/debian and that of this machine
set -eu
cd "$(dirname "$0")/.."
[ -z "${PACKAGES-}" ] || { mkdir -p "$PACKAGES" && PACKAGES=$(cd "$PACKAGES" && pwd); }
[ "$(id -u)" = 0 ] || { echo "packages.sh: it takes root to install packages in a chroot" >&2; exit 1; }
sh tools/install-missing.sh autopkgtest build-essential cmake debhelper debootstrap fakeroot lintian
DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-} parallel=$(nproc)"
DEBIAN_FRONTEND=noninteractive
LC_ALL=C.UTF-8
export DEB_BUILD_OPTIONS DEBIAN_FRONTEND LC_ALL

work=$(mktemp -d)
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM
version=$(sed -n 's/^#define SMB3SIGN_VERSION_[A-Z]* *//p' include/smb3sign.h | paste -sd.)

fail() {
	echo "packages.sh: $*" >&2
	exit 1
}

# logged COMMAND...: what it says is shown if it fails.
logged() {
	"$@" >>"$work/log" 2>&1 || { tail -n 100 "$work/log"; fail "failed: $*"; }
}

# mounted COMMAND...: with what a running system has mounted below $root, for as long as the command runs.
mounted() {
	unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount -t devpts devpts "$0/dev/pts" && exec "$@"' "$root" "$@"
}

# inside COMMAND...: shown as a session, and run on the bare Debian.
inside() {
	echo "# $*"
	mounted chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 MANPAGER=cat \
		DEBIAN_FRONTEND=noninteractive sh -c "$*"
}

# What is called after the library on the bare Debian; what man(1) has formatted is its own to forget.
named() {
	find "$root" -xdev \( -path "$root/root" -o -path "$root/var/cache/man" \) -prune -o -name '*smb3sign*' -print
}

echo "== the source tarball"
logged cmake -S . -B "$work/tarball" -DSMB3SIGN_TESTS=OFF -DSMB3SIGN_TOOLS=OFF
logged cmake --build "$work/tarball" --target package_source
tarball=$work/tarball/libsmb3sign-$version.tar.gz
tar -xzf "$tarball" -C "$work"
[ "$(dpkg-parsechangelog -l debian/changelog -S Version | sed 's/-[^-]*$//')" = "$version" ] ||
	fail "debian/changelog is not of version $version"
# Debian's original has no debian/, which comes beside it.
tar -czf "$work/libsmb3sign_$version.orig.tar.gz" -C "$work" --exclude=debian "libsmb3sign-$version"
ls -l "$tarball" | awk '{ print $5, "bytes" }'

echo "== dpkg-buildpackage"
cd "$work/libsmb3sign-$version"
logged apt-get -o DPkg::Lock::Timeout=300 -q build-dep -y ./
logged dpkg-buildpackage -us -uc
cd "$work"
ls ./*.deb
[ -z "${PACKAGES-}" ] || cp -- *.deb *.dsc *.tar.* *.changes *.buildinfo log "$PACKAGES"

echo "== the binary tarball"
logged cmake --build "libsmb3sign-$version/build-shared" --target package
mkdir unpacked
tar -xzf "libsmb3sign-$version/build-shared/libsmb3sign-$version-$(uname -s).tar.gz" -C unpacked --strip-components=1
for file in bin/smb3sign include/smb3sign.h share/man/man1/smb3sign.1 share/man/man3/smb3sign_sign.3 share/doc/smb3sign/LICENSE \
	share/bash-completion/completions/smb3sign; do
	[ -s "unpacked/$file" ] || fail "the tarball has no $file"
done
libdir=$(dirname "$(find unpacked/lib -name 'libsmb3sign.so.*.*.*')")
LD_LIBRARY_PATH=$libdir unpacked/bin/smb3sign --version | grep -x "smb3sign $version" || fail "the tarball's smb3sign does not run"

echo "== lintian"
lintian --allow-root --info --display-info --fail-on error,warning ./*.changes
echo "lintian: neither an error nor a warning"

echo "== a bare Debian"
suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
logged debootstrap --variant=minbase "$suite" "$root" "${MIRROR:-http://deb.debian.org/debian}"
cp /etc/resolv.conf "$root/etc/resolv.conf"
logged inside apt-get -q update
logged inside apt-get -q install -y --no-install-recommends apt-utils bash-completion man-db pkg-config
[ -z "$(named)" ] || fail "it is there already: $(named)"

echo "== a session on it"
mkdir "$root/root/packages"
cp libsmb3sign0.1_*.deb libsmb3sign-dev_*.deb smb3sign_*.deb "$root/root/packages"
inside "cd /root/packages && apt-get -q -o Dpkg::Use-Pty=0 install -y --no-install-recommends ./*.deb 2>&1"
inside pkg-config --modversion libsmb3sign | tee "$work/out"
grep -qx "$version" "$work/out" || fail "pkg-config has another version than $version"
inside pkg-config --cflags --libs libsmb3sign
inside "man smb3sign 2>&1" >"$work/out"
head -n 25 "$work/out"
grep -q 'verify-pcap' "$work/out" || fail "man smb3sign does not show the command"
inside "man smb3sign_key_dup 2>&1" >"$work/out"
head -n 12 "$work/out"
grep -q 'smb3sign_key_dup(smb3sign_key \*\*copy' "$work/out" || fail "man smb3sign_key_dup does not show the function"
inside "apropos smb3sign_verify" | tee "$work/out"
grep -q '^smb3sign_verify_buf (3)' "$work/out" || fail "apropos does not know smb3sign_verify_buf"
inside smb3sign selftest
# What bash-completion loads when somebody presses Tab behind "smb3sign verify-".
cat >"$root/root/complete" <<-'END'
	. /usr/share/bash-completion/bash_completion
	_completion_loader smb3sign
	COMP_WORDS=(smb3sign verify-) COMP_CWORD=1
	_smb3sign smb3sign
	echo "smb3sign verify-<Tab>: ${COMPREPLY[*]}"
END
inside bash /root/complete | tee "$work/out"
grep -q 'Tab>: verify-pcap' "$work/out" || fail "bash completes nothing"
rm "$root/root/complete"

echo "== purged"
inside "apt-get -q -o Dpkg::Use-Pty=0 purge -y libsmb3sign0.1 libsmb3sign-dev smb3sign"
[ -z "$(named)" ] || fail "left behind: $(named)"
echo "nothing is left behind"

echo "== autopkgtest"
mounted autopkgtest --no-built-binaries ./libsmb3sign0.1_*.deb ./libsmb3sign-dev_*.deb ./smb3sign_*.deb "$work/libsmb3sign-$version/" \
	-- chroot "$root" 2>"$work/autopkgtest" >"$work/out" || { cat "$work/autopkgtest"; fail "autopkgtest"; }
grep -E '(PASS|FAIL|SKIP)' "$work/autopkgtest" "$work/out"
echo "packages.sh: all is well"
