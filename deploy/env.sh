#!/bin/sh
# Writes .env for docker-compose.yml: .env.example, with a random secret for each variable
# that is empty there. Leaves a .env that is there alone.
#
#	deploy/env.sh [FILE]
set -eu
example=$(dirname "$0")/../.env.example
file=${1:-$(dirname "$0")/../.env}
[ ! -e "$file" ] || { echo "$file is there already: its secrets stay. Take it away to have new ones" >&2; exit 1; }
umask 077
while IFS= read -r line; do
	case $line in
	'#'*) echo "$line" ;;
	*=) echo "$line$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')" ;;
	*) echo "$line" ;;
	esac
done <"$example" >"$file.new"
mv "$file.new" "$file"
echo "$file has new secrets; keep a copy where your other secrets are"
