# SPDX-License-Identifier: GPL-3.0-or-later
# A thousand threads at a time, and two hundred processes: every one is in the report.
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }
crowd=$CORECAST_BUILD/tests/programs/crowd

count() {
	timeout 100 "$CORECAST" record --via preload -o "$1.cct" -- "$crowd" "$1" "$2"
	timeout 100 "$CORECAST" criticality --json "$1.cct" >"$1.json"
	jq -r '"\(.threads | length) threads, \([.locks[].acquisitions] | max) acquisitions of one lock, \(.lost_events) lost"' "$1.json"
}
count threads 1000
count forks 200
