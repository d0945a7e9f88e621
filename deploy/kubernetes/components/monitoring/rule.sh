#!/bin/sh
# Makes prometheus-rule.yaml of deploy/prometheus/rules.yml.
set -eu
cd "$(dirname "$0")"
{
	printf '# Made by rule.sh of deploy/prometheus/rules.yml: change that, then run rule.sh.\n'
	printf 'apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: sluice\nspec:\n'
	sed -n '/^groups:/,$p' ../../../prometheus/rules.yml | sed 's/^\(.\)/  \1/'
} >"${1:-prometheus-rule.yaml}"
