#!/bin/sh
# Fuzzes every target of the modules named, each for a time such as 5s, two at a time:
#
#	scripts/fuzz.sh TIME MODULE...     with SLUICE_FUZZ_JOBS=N, N at a time
#	scripts/fuzz.sh list MODULE...     names them: "package target", one a line
#
# The test binaries are built first, with the instrumentation that guides the fuzzer.
# What fails is written under testdata/fuzz of its package, where every test run finds it.
set -eu
cd "$(dirname "$0")/.."
usage='usage: scripts/fuzz.sh TIME|list MODULE...'
fuzztime=${1:?$usage}
shift
[ $# -gt 0 ] || { echo "$usage" >&2; exit 2; }

targets() {
	for module in "$@"; do
		grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*\(' "$module" |
			sed -E 's,^(.*)/[^/]*_test\.go:[0-9]+:func (Fuzz[A-Za-z0-9_]*)\($,\1 \2,'
	done | LC_ALL=C sort -u
}

list=$(targets "$@")
[ -n "$list" ] || { echo "fuzz: no targets in $*" >&2; exit 1; }
if [ "$fuzztime" = list ]; then
	echo "$list"
	exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
binary() { echo "$work/$(echo "$1" | tr / _).test"; }

# With -c the pattern matters to nobody but the compiler: it instruments.
echo "$list" | cut -d' ' -f1 | sort -u | while read -r dir; do
	go test -c -fuzz=Fuzz -o "$(binary "$dir")" "./$dir"
done

# One target: its own log, one line when it went well.
cat >"$work/one" <<'ONE'
#!/bin/sh
binary=$1 dir=$2 target=$3 fuzztime=$4 work=$5 cache=$6
log=$work/$(echo "$dir" | tr / _)-$target.log
status=0
(cd "$dir" && timeout 900 "$binary" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="$fuzztime" -test.fuzzminimizetime=10s \
	-test.parallel=1 -test.fuzzcachedir="$cache/$dir") >"$log" 2>&1 || status=$?
if [ $status -ne 0 ] && ! grep -q 'Failing input written' "$log" && grep -q 'context deadline exceeded' "$log"; then
	status=0 # the time was up while an input ran: nothing was found
fi
if [ $status -eq 0 ]; then
	echo "fuzz: $dir $target: $(ls "$dir/testdata/fuzz/$target" 2>/dev/null | wc -l) cases kept, $(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log" | tail -1) inputs in $fuzztime"
	exit 0
fi
cat "$log"
echo "fuzz: $dir $target FAILED"
sed -n 's,^ *Failing input written to \(.*\)$,\1,p' "$log" | while read -r case; do
	echo "fuzz: the input is in $dir/$case. Fix what it shows and keep it: git add $dir/$case"
	echo "fuzz: until it is fixed: go test -run '^$target\$' ./$dir"
done
exit 1
ONE
chmod +x "$work/one"

cache=$(go env GOCACHE)/fuzz/sluice
echo "$list" | while read -r dir target; do
	echo "$(binary "$dir") $dir $target $fuzztime $work $cache"
done | xargs -P "${SLUICE_FUZZ_JOBS:-2}" -n 6 "$work/one" || { echo "fuzz: something was found" >&2; exit 1; }
