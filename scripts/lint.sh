#!/bin/sh
# Everything that is checked without running the code. Every check runs, so that one
# run shows all there is to mend; the exit code is 1 if any failed. golangci-lint is
# installed into bin/ if this version is not there.
set -u
cd "$(dirname "$0")/.."
usage='usage: scripts/lint.sh GOLANGCI_LINT_VERSION MODULE…'
golangci_version=${1:?$usage}
shift
modules=${*:?$usage}
failed=0

check() {
	name=$1
	shift
	if output=$("$@" 2>&1); then
		printf 'ok    %s\n' "$name"
	else
		printf 'FAIL  %s\n%s\n' "$name" "$output"
		failed=1
	fi
}

formatted() {
	# shellcheck disable=SC2086 # one word a module
	unformatted=$(gofmt -l $modules deploy) && [ -z "$unformatted" ] || { echo "not formatted by gofmt: $unformatted"; return 1; }
}

# In its module alone, as somebody who depends on it would have it.
tidy() { (cd "$1" && GOWORK=off go mod tidy -diff); }
builds_alone() { (cd "$1" && GOWORK=off go build ./...); }

no_postgres_driver() {
	deps=$(go list -deps ./gateway/...) || { echo "$deps"; return 1; }
	if echo "$deps" | grep -E '^(github.com/jackc/|sluice/shared/pgstore)'; then
		echo "the gateway must not be able to reach Postgres"
		return 1
	fi
}

golangci() {
	patterns=
	for module in $modules; do patterns="$patterns ./$module/..."; done
	if [ "v$(bin/golangci-lint version --short 2>/dev/null)" != "$golangci_version" ]; then
		GOBIN=$PWD/bin go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$golangci_version" || return 1
	fi
	# shellcheck disable=SC2086 # one word a pattern
	bin/golangci-lint run $patterns && (cd deploy && GOWORK=off ../bin/golangci-lint run ./...)
}

# Outside the workspace: see deploy/doc.go.
vets_alone() { (cd "$1" && GOWORK=off go vet ./...); }

check "gofmt" formatted
check "go vet" go vet work
check "golangci-lint" golangci
check "deploy: go vet" vets_alone deploy
for module in $modules deploy; do
	check "$module: go.mod is tidy" tidy "$module"
	check "$module: builds alone" builds_alone "$module"
done
check "gateway is built without a Postgres driver" no_postgres_driver
exit $failed
