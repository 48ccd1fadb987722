#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the pictures of README.md anew, docs/images/*.svg, from runs of bundled programs, and prints the forecast that
# it quotes. On an idle machine, in a minute. CORECAST_BUILD names another build folder than build/.
set -euo pipefail

source_root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
build=$(readlink -f "${CORECAST_BUILD:-$source_root/build}")
images=$source_root/docs/images
corecast=$build/corecast
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # the names of files are in the pictures

"$corecast" measure -n 1-8 -r 3 --sync-stalls -o peaks.csv -- "$build/examples/peaks" '{n}' >/dev/null
"$corecast" forecast peaks.csv --to 16 --svg "$images/forecast.svg"

"$corecast" record -o skewed_barrier.cct -- "$build/examples/bottlenecks/skewed_barrier" -t 4 >/dev/null
"$corecast" criticality skewed_barrier.cct --svg "$images/criticality.svg" >/dev/null

"$corecast" profile -q -o bfs.ccp -- "$build/examples/kernels/bfs" -n 2 >/dev/null
"$corecast" predict bfs.ccp --machine zen4 --machine icelake-sp --machine neoverse-v1 --svg "$images/predict.svg" >/dev/null
