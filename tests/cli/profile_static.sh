#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Profiles of static programs, into which nothing can be preloaded: the same events and instructions as when they are linked dynamically.
set -euo pipefail
[ -e "$CORECAST_BUILD/plugin/libcorecast-profile.so" ] || exit 77
for tool in qemu-x86_64 jq sqlite3; do
	command -v "$tool" >/dev/null || exit 77
done
programs=$CORECAST_BUILD/tests/programs

# profile KIND PROGRAM ARGS...: KIND.ccp and KIND.json
profile() {
	local kind=$1 program=$2
	shift 2
	"$CORECAST" profile --force --json -o "$kind.ccp" -- "$programs/${program}_$kind" "$@" 2>stderr |
		sed -n '/^{/,$p' >"$kind.json"
}

# Releases are what a program does, however its threads meet; waits depend on that.
releases() {
	sqlite3 "$1.ccp" "SELECT what, sum(count) FROM sync WHERE kind = 'release' AND what NOT IN ('mutex', 'spin') GROUP BY what"
	# Of spin locks their taking: initialising one is the same code as its release.
	sqlite3 "$1.ccp" "SELECT 'spin', sum(count) FROM sync WHERE kind = 'pass' AND what = 'spin'"
	sqlite3 "$1.ccp" "SELECT 'yield', sum(count) FROM sync WHERE kind = 'try_failed' AND what = 'spin'"
	sqlite3 "$1.ccp" "SELECT 'barrier', sum(count) FROM sync WHERE kind = 'pass' AND what = 'barrier'"
	sqlite3 "$1.ccp" "SELECT 'join', sum(count) > 0 FROM sync WHERE kind = 'pass' AND what = 'join'"
}

for kind in static dynamic; do
	profile "$kind" synchronised
	echo "$kind: $(jq -c '[.quality.lost, .quality.unmatched, (.threads | length)]' "$kind.json")"
	releases "$kind"
done
# 50 of each thread, 10 turns of each, one more whenever a turn was waited for, and in a static program what
# the C library itself locks with the same function.
for kind in static dynamic; do
	sqlite3 "$kind.ccp" "SELECT sum(count) BETWEEN 120 AND 150 FROM sync WHERE what = 'mutex' AND kind = 'pass'"
done

for kind in static dynamic; do
	profile "$kind" pathfinder -n 2 -s 0.3
	"$CORECAST" predict "$kind.ccp" --machine zen4 --json | jq '.machines[0].predicted_s' >"$kind.time"
done
jq -n --slurpfile a static.json --slurpfile b dynamic.json --slurpfile s static.time --slurpfile d dynamic.time \
	'($a[0].instructions / $b[0].instructions - 1 | fabs) < 0.02 and ($s[0] / $d[0] - 1 | fabs) < 0.05'

status=0
"$CORECAST" profile --backend valgrind --force -o none.ccp -- "$programs/synchronised_static" >stdout 2>stderr || status=$?
[ -e none.ccp ] || echo "valgrind: status $status"
