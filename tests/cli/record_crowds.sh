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

# One after another: neither the recorder's memory nor the file follow their number.
timeout 100 "$CORECAST" record --via preload -o churn.cct -- "$CORECAST_BUILD/tests/programs/churn" 20000 >memory
awk 'NR == 1 { quarter = $1 } NR == 2 && $1 > quarter + 1024 { print $1 - quarter, "KiB more from 5,000 threads to 20,000" }' memory
[ "$(stat -c %s churn.cct)" -le $((20000 * 50)) ] || echo "$(stat -c %s churn.cct) bytes for 20,000 threads"
timeout 100 "$CORECAST" criticality --json churn.cct | jq -r '"\(.threads | length) threads, \(.lost_events) lost"'
