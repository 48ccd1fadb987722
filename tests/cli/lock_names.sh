# SPDX-License-Identifier: GPL-3.0-or-later
# Locks without a symbol of their own are called after the variable that holds them, or where they were made.
source "$CORECAST_SOURCE/tests/cli/skips.bash"
skip_without_names
for program in lock_names lock_names_cpp; do
	skip_without_cpp "$program"
	echo "-- $program"
	"$CORECAST" record --via preload --samples 0 -o run.cct -- "$CORECAST_BUILD/tests/programs/$program" 2>stderr
	"$CORECAST" criticality run.cct --json >json
	python3 -c 'import json; print("\n".join(sorted(l["name"] for l in json.load(open("json"))["locks"])))'
	rm run.cct
done
echo '-- threads, after the function that they began in'
"$CORECAST" record --via preload --samples 0 -o threads.cct -- "$CORECAST_BUILD/tests/programs/lock_names" >stdout 2>stderr
for name in thread:take_turns 'take_turns #2' take_turns; do
	"$CORECAST" whatif threads.cct --force --speed "$name=2" >/dev/null
	echo "$name"
done
{ "$CORECAST" whatif threads.cct --force --speed thread:nobody=2 2>&1 || true; } | grep -o 'thread:take_turns #.' | sort
echo '-- a futex'
"$CORECAST" record --via preload --samples 0 -o own_futex.cct -- "$CORECAST_BUILD/tests/programs/own_futex" >stdout 2>stderr
"$CORECAST" whatif own_futex.cct --speed shop_lock=2 2>&1 || echo "status $?"
echo '-- functions'
python3 -c 'import json; print("\n".join(sorted({s["function"] for s in json.load(open("json"))["sites"] if s["function"] and "pool" in s["function"]})))'
