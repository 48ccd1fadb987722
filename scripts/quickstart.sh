#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# From a fresh clone to the whole story of a bundled program whose throughput peaks because of a lock: installs
# what is missing, builds corecast, measures, forecasts, records, says who held the others up, and puts it all
# on one page. Results are in build/quickstart/
# (CORECAST_BUILD names another build folder).
set -euo pipefail

source_root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
build=${CORECAST_BUILD:-$source_root/build}
results=$build/quickstart
corecast=$build/corecast

# Shows a command as a user would type it, then runs it.
run() {
	printf '\n$ %s\n' "${*//$source_root\//}"
	"$@" </dev/null
}

"$source_root/scripts/deps.sh"
if ! [ -e "$build/build.ninja" ]; then
	meson setup "$build" "$source_root" </dev/null
fi
ninja -C "$build" </dev/null
mkdir -p "$results"

# All cores, but enough counts for a forecast on a small machine, and few enough for a quick start.
last=$(nproc)
last=$((last < 6 ? 6 : last))
last=$((last > 12 ? 12 : last))

run "$corecast" doctor
run "$corecast" measure -n "1-$last" -r 3 --force -o "$results/peaks.csv" -- "$build/examples/peaks" '{n}'
run "$corecast" forecast "$results/peaks.csv" --to $((2 * last))
run "$corecast" record --force -o "$results/peaks.cct" -- "$build/examples/peaks" "$last" 200
run "$corecast" criticality "$results/peaks.cct"
run "$corecast" report "$results/peaks.csv" "$results/peaks.cct" -o "$results/peaks.html"

printf '\nAll of it as a page: file://%s\n' "$results/peaks.html"
printf 'Next: %s measure -n 1-%d -o runs.csv -- YOUR-PROGRAM {n}\n' "$corecast" "$last"
