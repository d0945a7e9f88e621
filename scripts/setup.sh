#!/bin/sh
# Installs what Sluice needs to build, test and run here, if it is missing:
# redis-server, a Postgres server, a C compiler (for go test -race), e2fsprogs, HAProxy (for
# tests of the proxy's configuration), Chromium with a font (for tests of pages), bin/nats-server at the version given as the first
# argument, and bin/promtool. Changes nothing on a machine that has it all. Services of the
# system are never started or stopped.
set -eu
cd "$(dirname "$0")/.."
nats_version=${1:?usage: scripts/setup.sh NATS_SERVER_VERSION}

say() { printf 'setup: %s\n' "$*"; }
fail() {
	printf 'setup: %s\n' "$@" >&2
	exit 1
}

has_redis() { command -v redis-server >/dev/null 2>&1; }

# A client-only package has postgres's tools without initdb.
has_postgres() {
	for initdb in /usr/lib/postgresql/*/bin/initdb "$(command -v initdb 2>/dev/null)"; do
		[ -x "$initdb" ] && [ -x "$(dirname "$initdb")/postgres" ] && return 0
	done
	return 1
}

has_compiler() {
	printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | ${CC:-cc} -x c -o /dev/null - 2>/dev/null
}

# For tests that take a disk's power away; /usr/sbin may be off the PATH.
has_ext4() { [ "$(uname)" != Linux ] || command -v mkfs.ext4 >/dev/null 2>&1 || [ -x /usr/sbin/mkfs.ext4 ]; }

# /usr/sbin may be off the PATH.
has_haproxy() { command -v haproxy >/dev/null 2>&1 || [ -x /usr/sbin/haproxy ]; }

# Any name that chromedp looks for.
has_chromium() {
	for browser in chromium chromium-browser google-chrome google-chrome-stable headless-shell; do
		command -v "$browser" >/dev/null 2>&1 && return 0
	done
	[ -x /Applications/Chromium.app/Contents/MacOS/Chromium ] || [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ]
}

# Without one, text on a screenshot is boxes.
has_font() { [ "$(uname)" != Linux ] || [ -n "$(fc-list 2>/dev/null | head -n 1)" ]; }

missing_packages() {
	has_redis || echo redis-server
	has_postgres || echo postgresql
	has_compiler || echo gcc libc6-dev
	has_ext4 || echo e2fsprogs
	has_haproxy || echo haproxy
	has_chromium || echo chromium
	has_font || echo fontconfig fonts-dejavu-core fonts-wqy-microhei
}

# as_root runs a command as root, without ever asking for a password.
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_be_root() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

# Debian starts a service as soon as its package is installed, unless policy-rc.d
# says no. One that is there already is the machine's own, and stays.
forbid_service_starts() {
	[ -e /usr/sbin/policy-rc.d ] && return 0
	trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
	as_root chmod 755 /usr/sbin/policy-rc.d
}

# keep_off_at_boot is for packages that were just installed, never for a service
# that somebody set up before.
keep_off_at_boot() {
	command -v systemctl >/dev/null 2>&1 || return 0
	for package in "$@"; do
		case $package in
		redis-server | postgresql | haproxy) as_root systemctl disable "$package" >/dev/null 2>&1 || true ;;
		esac
	done
}

install_packages() {
	[ $# -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null 2>&1; then
		fail "missing here: $*" \
			"install redis-server 7 or newer, PostgreSQL 15 or newer (the server, with initdb), a C compiler with headers, HAProxy, and Chromium" \
			"(macOS: brew install redis postgresql@17 haproxy chromium && xcode-select --install), then run it again;" \
			"or run the stack in containers: docker compose up"
	fi
	can_be_root || fail "missing here: $*" "run: sudo apt-get install -y $*"
	say "installing $*"
	forbid_service_starts
	# The package lists may be older than what the mirror still has.
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
	keep_off_at_boot "$@"
}

build_nats_server() {
	case $(bin/nats-server --version 2>/dev/null || true) in
	*"$nats_version") return 0 ;;
	esac
	say "building nats-server $nats_version"
	mkdir -p bin
	GOBIN=$PWD/bin CGO_ENABLED=0 go install -trimpath "github.com/nats-io/nats-server/v2@$nats_version"
}

download_prometheus() { (cd "$unpacked" && apt-get download -qq prometheus >/dev/null 2>&1); }

# promtool checks the rules in deploy/prometheus. Its package brings a server and a service,
# so it is taken out of it, not installed. Other systems: put promtool 2.42 or newer on the PATH.
fetch_promtool() {
	[ -x bin/promtool ] && return 0
	mkdir -p bin
	if command -v promtool >/dev/null 2>&1; then
		ln -sf "$(command -v promtool)" bin/promtool
		return 0
	fi
	command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 ||
		fail "promtool is missing: install Prometheus 2.42 or newer (macOS: brew install prometheus), then run it again"
	say "fetching promtool"
	unpacked=$(mktemp -d)
	chmod 755 "$unpacked" # apt downloads as a user of its own
	download_prometheus || { can_be_root && as_root apt-get update -qq && download_prometheus; } ||
		fail "cannot download the package prometheus; run: sudo apt-get update, then this again"
	dpkg-deb -x "$unpacked"/prometheus_*.deb "$unpacked"
	cp "$unpacked/usr/bin/promtool" bin/promtool
	rm -rf "$unpacked"
}

command -v go >/dev/null 2>&1 || fail "Go 1.26 or newer is not on the PATH: see https://go.dev/doc/install"
# shellcheck disable=SC2046 # one word a package
install_packages $(missing_packages)
[ -z "$(missing_packages)" ] || fail "still missing after the installation:" $(missing_packages)
build_nats_server
fetch_promtool
