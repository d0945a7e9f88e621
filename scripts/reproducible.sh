#!/bin/sh
# Builds the release of the last commit twice, in two clones at paths of different lengths
# and with caches of their own, and compares the bytes:
#
#	scripts/reproducible.sh CYCLONEDX_GOMOD_VERSION    PLATFORMS="linux/amd64 …", VERSION=v1.2.3
set -eu
cd "$(dirname "$0")/.."
gomod_version=${1:?usage: scripts/reproducible.sh CYCLONEDX_GOMOD_VERSION}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# The day, the user and the umask are others the second time, too.
make_release() { # CLONE UMASK TIMEZONE
	git clone --quiet . "$work/$1"
	mkdir "$work/$1/bin"
	[ ! -x bin/cyclonedx-gomod ] || cp bin/cyclonedx-gomod "$work/$1/bin/"
	(umask "$2" && TZ=$3 GOCACHE="$work/$1.cache" "$work/$1/scripts/release.sh" "$gomod_version" "$work/$1/out")
}

make_release a 022 UTC
make_release another/place/that/is/longer 077 Asia/Shanghai
if ! diff "$work/a/out/SHA256SUMS" "$work/another/place/that/is/longer/out/SHA256SUMS"; then
	echo "reproducible: the two builds differ" >&2
	exit 1
fi
cat "$work/a/out/SHA256SUMS"
echo "reproducible: two builds of $(git rev-parse --short=12 HEAD) have the same $(wc -l <"$work/a/out/SHA256SUMS") files"
