#!/bin/sh
# Fuzzes every target of the modules named after the first argument, which says for
# how long each: one target at a time, as go test wants it.
set -eu
cd "$(dirname "$0")/.."
fuzztime=${1:?usage: scripts/fuzz.sh TIME MODULE...}
shift

found=0
# The targets: "package target", one a line.
targets=$(for module in "$@"; do
	for dir in $(grep -rlE --include='*_test.go' '^func Fuzz[A-Z]' "$module" | xargs -rn1 dirname | sort -u); do
		for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -d' ' -f2 | sort -u); do
			echo "$dir $target"
		done
	done
done)
while read -r dir target; do
	[ -n "$target" ] || continue
	found=$((found + 1))
	echo "fuzz: $dir $target for $fuzztime"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" "./$dir"
done <<LIST
$targets
LIST
[ "$found" -gt 0 ] || { echo "fuzz: no targets in $*" >&2; exit 1; }
