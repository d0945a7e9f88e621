#!/bin/sh
# Builds all programs for every platform, with a bill of materials for each program, and
# packs them into the directory given:
#
#	scripts/release.sh CYCLONEDX_GOMOD_VERSION OUT    PLATFORMS="linux/amd64 …", VERSION=v1.2.3
#
# The same commit, Go and versions of the tools make the same bytes, wherever they are built:
# paths are trimmed, and times are those of the commit. scripts/reproducible.sh tries that.
# A VERSION is of a commit: changes that are in none, or its tag elsewhere, are refused.
set -eu
cd "$(dirname "$0")/.."
usage='usage: scripts/release.sh CYCLONEDX_GOMOD_VERSION OUT'
gomod_version=${1:?$usage}
out=${2:?$usage}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
programs='gateway worker warmup loadtest'

say() { printf 'release: %s\n' "$*"; }
fail() {
	printf 'release: %s\n' "$*" >&2
	exit 1
}

tar=tar
command -v gtar >/dev/null 2>&1 && tar=gtar
$tar --version 2>/dev/null | grep -q GNU || fail "GNU tar is not on the PATH (macOS: brew install gnu-tar), and no other packs the same bytes twice"
gzip --version 2>/dev/null | grep -q 'Free Software Foundation' || fail "GNU gzip is not on the PATH (macOS: brew install gzip), and others pack other bytes"
command -v sha256sum >/dev/null 2>&1 || fail "sha256sum is not on the PATH (macOS: brew install coreutils)"

# of_a_commit wants what is built to be what whoever checks VERSION out builds.
of_a_commit() {
	changes=$(git status --porcelain) || fail "git cannot say whether the clone has changes, so that nobody knows what $VERSION holds"
	[ -z "$changes" ] ||
		fail "the clone has changes that are in no commit, and nobody could build $VERSION again: commit them, or set them aside with git stash -u; without VERSION they are packed as …-dirty"
	tagged=$(git rev-parse --quiet --verify "refs/tags/$VERSION^{commit}") || return 0
	[ "$tagged" = "$(git rev-parse HEAD)" ] ||
		fail "the tag $VERSION is at another commit, $(git rev-parse --short=12 "$tagged"): check it out with git checkout $VERSION, or give another VERSION"
}
[ -z "${VERSION:-}" ] || [ ! -e .git ] || of_a_commit

# What go env -w wrote for this machine does not count, but for where modules come from and are
# kept. An empty variable would not do: Go takes it for one that is not set, and reads the file.
GOPROXY=$(go env GOPROXY) GOSUMDB=$(go env GOSUMDB) GOMODCACHE=$(go env GOMODCACHE) GOCACHE=$(go env GOCACHE)
export GOPROXY GOSUMDB GOMODCACHE GOCACHE GOENV=off

stamp=$(scripts/stamp.sh)
version=$(echo "$stamp" | sed -n 's/.*stampedVersion=\([^ ]*\).*/\1/p')
version=${version:-devel}
case $version in *-dirty) say "the clone has changes that are not committed: nobody can build $version again" ;; esac
epoch=$(git show --no-patch --format=%ct HEAD 2>/dev/null || echo "${SOURCE_DATE_EPOCH:-0}")

case $(bin/cyclonedx-gomod version 2>/dev/null || true) in
*"${gomod_version#v}"*) ;;
*)
	say "building cyclonedx-gomod $gomod_version"
	mkdir -p bin
	GOBIN=$PWD/bin GOFLAGS= CGO_ENABLED=0 go install -trimpath "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$gomod_version"
	;;
esac

# What the environment would change is set here; GOENV=off leaves it no more to say.
build() { # OS ARCH DIRECTORY
	for program in $programs; do
		GOOS=$1 GOARCH=$2 GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT='' GOFIPS140=off CGO_ENABLED=0 GOFLAGS='' GOWORK=$PWD/go.work \
			go build -trimpath -buildvcs=false -ldflags "-s -w $stamp" -o "$3/$program" "./$program"
	done
}

pack() { # NAME, a directory below $work
	$tar -C "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode='u+rwX,go+rX,go-w' \
		--format=ustar -cf - "$1" | gzip -9n >"$out/$1.tar.gz"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
rm -rf "$out"
mkdir -p "$out"
for platform in $platforms; do
	os=${platform%/*} arch=${platform#*/}
	name=sluice_${version}_${os}_$arch
	say "$name"
	mkdir "$work/$name"
	build "$os" "$arch" "$work/$name"
	cp LICENSE README.md README.zh-CN.md CHANGELOG.md docs/upgrade.md docs/runbook.md "$work/$name/"
	for program in $programs; do
		bin/cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$version" \
			-output "$out/$name.$program.cdx.json" "$work/$name/$program" 2>"$work/log" ||
			fail "cannot write the bill of materials of $name/$program: $(cat "$work/log")"
	done
	pack "$name"
	rm -r "${work:?}/$name"
done
(cd "$out" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
say "$(go version | cut -d' ' -f3) made $out; check a download with: sha256sum -c --ignore-missing SHA256SUMS"
