# SPDX-License-Identifier: GPL-3.0-or-later
# A trace cut or changed anywhere, closed or as a killed run left it, is read as far as it goes or refused in words.
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }
RANDOM=${CORECAST_SEED:-3}
damages=${CORECAST_DAMAGES:-15}

# A number from 0 to $1 - 1.
random() {
	echo $(((RANDOM * 32768 + RANDOM) % $1))
}

read_damaged() {
	local status=0
	timeout 20 "$CORECAST" criticality --json damaged.cct >json 2>stderr || status=$?
	if [ $status -eq 0 ]; then
		jq -e .version json >version || echo "$1: not JSON"
	elif [ $status -ne 1 ] || ! grep -q '^corecast: .*damaged\.cct' stderr; then
		echo "$1: exit status $status"
		cat stderr
	fi
}

damage() {
	local size at
	size=$(stat -c %s "$1")
	for _ in $(seq "$damages"); do
		at=$(random "$size")
		head -c "$at" "$1" >damaged.cct
		read_damaged "$1 cut at $at"
		# The first bytes matter most: every other change is there.
		at=$(random $((RANDOM % 2 ? size : 512)))
		cp "$1" damaged.cct
		printf '%b' "\\x$(printf '%02x' $((RANDOM % 256)))" |
			dd of=damaged.cct bs=1 seek="$at" conv=notrunc status=none
		read_damaged "$1 changed at $at"
	done
}

"$CORECAST" record --via preload -o closed.cct -- "$CORECAST_BUILD/tests/programs/progress" 500 >dots
damage closed.cct
"$CORECAST" record --via preload -o raw.cct -- "$CORECAST_BUILD/tests/programs/progress" 50000 >raw.dots 2>stderr &
until [ -s raw.dots ]; do
	sleep 0.01
done
read -r child <"/proc/$!/task/$!/children" || [ -n "$child" ] # the list has no newline at its end
kill -KILL $!
while [ -e "/proc/$child" ]; do
	sleep 0.01
done
damage raw.cct
echo "-- what is left is said, and nothing is an error"
"$CORECAST" record --force --via preload -o closed.cct -- "$CORECAST_BUILD/tests/programs/crowd" threads 3 >dots
head -c 4200 closed.cct >start.cct # not even the first chunk
"$CORECAST" criticality start.cct 2>&1 || echo "status $?"
head -c -10 closed.cct >most.cct
"$CORECAST" criticality most.cct 2>&1 | tr -s ' \n' ' ' | grep -oE 'corecast: [^.]*\.cct: .* left out|\(Likely[^)]*\)'
echo "all done"
