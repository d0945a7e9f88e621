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

# The day, the umask and the machine's settings for Go are others the second time, too.
make_release() { # CLONE UMASK TIMEZONE GOENV
	git clone --quiet . "$work/$1"
	mkdir "$work/$1/bin"
	[ ! -x bin/cyclonedx-gomod ] || cp bin/cyclonedx-gomod "$work/$1/bin/"
	(umask "$2" && TZ=$3 GOENV=$4 GOCACHE="$work/$1.cache" "$work/$1/scripts/release.sh" "$gomod_version" "$work/$1/out")
}

settings=$(go env GOENV)
[ ! -f "$settings" ] || cp "$settings" "$work/goenv"
GOENV=$work/goenv go env -w GOFLAGS=-tags=of_another_machine # would be told in the programs

make_release a 022 UTC "$settings"
make_release another/place/that/is/longer 077 Asia/Shanghai "$work/goenv"
if ! diff "$work/a/out/SHA256SUMS" "$work/another/place/that/is/longer/out/SHA256SUMS"; then
	echo "reproducible: the two builds differ" >&2
	exit 1
fi
cat "$work/a/out/SHA256SUMS"
echo "reproducible: two builds of $(git rev-parse --short=12 HEAD) have the same $(wc -l <"$work/a/out/SHA256SUMS") files"
