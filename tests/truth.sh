#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Records a program with a planted bottleneck as the rows of truth.tsv say, once each, and checks that
# the first finding names the plant: truth.sh PROGRAM RECORDER. Exit status 77: skipped.
set -euo pipefail

program=$1
via=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export LC_ALL=C.UTF-8

skip() {
	echo "$*"
	exit 77
}

path=$CORECAST_BUILD/examples/bottlenecks/$program
[ -x "$path" ] || skip "$program is not built here"
command -v jq >/dev/null || skip "jq is not installed"
if [ "$via" = bpf ]; then
	[ "$(id -u)" -eq 0 ] || skip "the recorder in the kernel needs root"
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel does not describe its types (BTF)"
fi

# equals TEXT EXTENDED_REGULAR_EXPRESSION: the whole text.
equals() {
	[[ $1 =~ ^($2)$ ]]
}

# Prints what is wrong with the report in $1.json.
check_report() {
	local kind subject
	kind=$(jq -r '.findings[0].kind' "$1.json")
	subject=$(jq -r '.findings[0].subject // ""' "$1.json")
	equals "$kind" "$2" || echo "the first finding is of kind '$kind', not '$2'"
	equals "$subject" "$3" || echo "the first finding is about '$subject', not '$3'"
	jq -r 'select(.lost_events != 0) | "lost \(.lost_events) events"' "$1.json"
	jq -r '([.threads[].criticality_s] | add) as $sum
		| select((($sum - .total_s) | fabs) > 1e-6 * .total_s)
		| "criticality sums to \($sum) s of \(.total_s) s"' "$1.json"
	jq -r '.threads[] | select(.share > 0.05 and (.name | IN("timer", "signals", "logger")))
		| "\(.name) does nothing and has \(.share) of the criticality"' "$1.json"
}

status=0
while IFS=$'\t' read -r row threads recorder kind subject _; do
	[[ $row = "$program" && $recorder =~ ^(both|$via)$ ]] || continue
	name=$program.$threads
	"$CORECAST" record --via "$via" -o "$name.cct" -- "$path" -t "$threads" >"$name.out"
	grep -q '^checksum: ' "$name.out"
	# The kernel sees that threads wait for one another, not at what.
	if [ "$via" = bpf ] && [[ $kind =~ barrier|pipeline|serial ]]; then
		kind="barrier|pipeline|serial|thread"
	fi
	"$CORECAST" criticality --json "$name.cct" >"$name.json"
	wrong=$(check_report "$name" "$kind" "$subject")
	echo "$program with $threads threads, $via: $(jq -r '.findings[0].text' "$name.json")"
	if [ -n "$wrong" ]; then
		printf '%s\n' "$wrong"
		jq -c '{total_s, findings, threads: [.threads[:8][] | {name, share, running_s}], locks: .locks[:3]}' "$name.json"
		status=1
	fi
done <"$CORECAST_SOURCE/tests/truth.tsv"
exit "$status"
