#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds with ThreadSanitizer what of corecast has threads, and programs to record, and runs them:
# scripts/tsan.sh. Every report of a data race is printed, and fails it. As root also the recorder in the kernel.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=${CORECAST_BUILD:-$source/build-tsan}
programs=(hot_lock slow_stage serial)
[ -f "$build/build.ninja" ] || CC=clang CXX=clang++ meson setup "$build" "$source" -Db_sanitize=thread \
	-Db_lundef=false -Doptimization=0 -Dhtml=disabled -Ddocs=disabled >&2
ninja -C "$build" corecast preload/libcorecast-sync.so "${programs[@]/#/examples/bottlenecks/}" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TSAN_OPTIONS="log_path=$work/race exitcode=0"
ran=0
# clang's runtime wants memory where newer kernels put other things at random.
fixed=()
setarch -R true 2>/dev/null && fixed=(setarch -R)

# run COMMAND...: its output is of no interest unless it fails.
run() {
	ran=$((ran + 1))
	"${fixed[@]}" "$@" >"$work/out" 2>&1 || {
		echo "failed: $*"
		tail -n 5 "$work/out"
		status=1
	}
}

status=0
recorders=(preload)
if [ "$(id -u)" -eq 0 ] && [ -r /sys/kernel/btf/vmlinux ]; then
	recorders+=(bpf)
else
	echo "not root: the recorder in the kernel is not tried"
fi
for program in "${programs[@]}"; do
	for recorder in "${recorders[@]}"; do
		run "$build/corecast" record --force --via "$recorder" -o "$work/run.cct" -- \
			"$build/examples/bottlenecks/$program" -t 4
		run "$build/corecast" criticality "$work/run.cct"
	done
done
for race in "$work"/race.*; do
	[ -e "$race" ] || continue
	cat "$race"
	status=1
done
echo "$ran commands, $(find "$work" -name 'race.*' | wc -l) with reports"
exit "$status"
