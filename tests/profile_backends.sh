#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Both backends of the profiler tell the same of a program: profile_backends.sh CORECAST PROGRAM...
# A kernel's instructions, loads and mix agree within 3%, and every stretch of the timeline has its class.
set -euo pipefail
corecast=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Valgrind 3.19 does not get through the debug information that clang 14 writes.
objcopy --strip-debug "$1" "$work/program"
shift
set -- "$work/program" "$@"

for backend in qemu valgrind; do
	if ! "$corecast" profile --backend "$backend" --json -o "$work/$backend.ccp" -- "$@" \
		>"$work/$backend.json" 2>"$work/error"; then
		if grep -q 'apt-get install' "$work/error"; then
			tail -n 1 "$work/error"
			exit 77
		fi
		cat "$work/error"
		exit 1
	fi
done
for backend in qemu valgrind; do
	sed -n '/^{/,$p' "$work/$backend.json" >"$work/$backend.only"
done
jq -e -n --slurpfile a "$work/qemu.only" --slurpfile b "$work/valgrind.only" '
	def near($x; $y): ($x - $y | fabs) <= 0.03 * $x + 2000;
	$a[0] as $a | $b[0] as $b |
	$a.quality.unmatched == 0 and $b.quality.unmatched == 0 and
	near($a.instructions; $b.instructions) and near($a.loads; $b.loads) and
	near($a.stores; $b.stores) and near($a.mix.branch; $b.mix.branch)' >/dev/null || {
	cat "$work"/*.only
	exit 1
}
