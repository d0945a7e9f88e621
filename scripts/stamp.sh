#!/bin/sh
# Prints the linker's flags that tell programs which version they are (shared/service/version.go).
# VERSION names it; else it is the newest tag, with what came after it. Prints nothing
# for sources that are no clone, whose programs say "devel".
set -eu
cd "$(dirname "$0")/.."
at=sluice/shared/service
[ -e .git ] && commit=$(git rev-parse HEAD 2>/dev/null) || commit=
[ -n "$commit" ] || { [ -z "${VERSION:-}" ] || echo "-X $at.stampedVersion=$VERSION"; exit 0; }
version=${VERSION:-$(git describe --tags --always --abbrev=12 --dirty)}
time=$(TZ=UTC0 git show --no-patch --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ HEAD)
echo "-X $at.stampedVersion=$version -X $at.stampedCommit=$commit -X $at.stampedTime=$time"
