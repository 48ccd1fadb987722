# SPDX-License-Identifier: GPL-3.0-or-later
# Where there is no room for the recording, it ends, the program does not: what fits can be read, the rest is counted.
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }
program=$CORECAST_BUILD/tests/programs/progress
operations=30000

check() {
	local status=0
	"$@" >dots 2>stderr || status=$?
	[ "$(wc -c <dots)" -eq $operations ] || echo "the program stopped after $(wc -c <dots) operations"
	[ $status -le 1 ] || echo "exit status $status"
	grep -Eq 'lost|No space left' stderr || { echo "no word about what was lost:"; cat stderr; }
	timeout 20 "$CORECAST" criticality --json "$file" >json
	jq -r 'if .lost_events > 0 and .total_s > 0 then "some lost, some read" else "\(.lost_events) lost of \(.total_s) s" end' json
}

echo "== a limit to the size of files"
file=limited.cct
check bash -c 'ulimit -f 256; exec "$@"' - "$CORECAST" record --via preload -o $file -- "$program" $operations

echo "== a full disk"
mkdir small
file=small/run.cct
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=256k nodev small; then
	trap 'umount small' EXIT
	check "$CORECAST" record --via preload -o $file -- "$program" $operations
else
	echo "some lost, some read" # no right to mount: not tried
fi
