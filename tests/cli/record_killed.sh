# SPDX-License-Identifier: GPL-3.0-or-later
# kill -9 of the program or of the recorder at a random moment loses nothing that was recorded: the lock was
# taken at least as often as the program said (what a budget leaves out is told of when it goes on recording). CORECAST_KILLS: how
# many times (10).
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }
program=$CORECAST_BUILD/tests/programs/progress
operations=60000
RANDOM=${CORECAST_SEED:-3}

# await SECONDS COMMAND...: until the command succeeds.
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -le "$end" ] || return 1
		sleep 0.01
	done
}
# Sets `child`. The list has no newline at its end.
has_child() {
	read -r child <"/proc/$1/task/$1/children" || [ -n "$child" ]
}
is_gone() {
	[ ! -e "/proc/$1" ]
}

for kill in $(seq "${CORECAST_KILLS:-10}"); do
	victim=$([ $((kill % 2)) -eq 0 ] && echo program || echo recorder)
	"$CORECAST" record --via preload --budget none -o "$kill.cct" -- "$program" $operations >"$kill.dots" 2>stderr &
	recorder=$!
	await 20 test -s "$kill.dots"
	has_child $recorder
	sleep "0.$(printf '%03d' $((RANDOM % 150)))"
	status=0
	if [ "$victim" = program ]; then
		kill -KILL "$child" || true # it may be over
		wait $recorder || status=$?
		[ $status -ne 0 ] || [ "$(wc -c <"$kill.dots")" -eq $operations ] || echo "$kill: a killed program, exit status 0"
		[ $status -lt 124 ] || [ $status -eq 137 ] || echo "$kill: the recorder ended with status $status"
	else
		kill -KILL $recorder || true # as above
		wait $recorder || status=$?
		await 60 is_gone "$child" || { echo "$kill: the program hangs without its recorder"; kill -KILL "$child"; }
		[ "$(wc -c <"$kill.dots")" -eq $operations ] || echo "$kill: the program stopped with its recorder"
	fi
	timeout 20 "$CORECAST" criticality --json "$kill.cct" >"$kill.json" || echo "$kill: not readable, $victim killed"
	jq -r --argjson dots "$(wc -c <"$kill.dots")" --arg kill "$kill" '([.locks[].acquisitions] | add // 0) as $taken
		| select($taken < $dots) | "\($kill): \($taken) of \($dots) acquisitions"' "$kill.json"
done
echo "all done"
