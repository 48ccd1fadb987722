# SPDX-License-Identifier: GPL-3.0-or-later
# Locks on the heap are called after the members that they are, by the code that uses them.
source "$CORECAST_SOURCE/tests/cli/skips.bash"
skip_without_names
skip_without_machine_code
for program in heap_locks_0 heap_locks_2 heap_locks_cpp_0 heap_locks_cpp_2; do
	skip_without_cpp "$program"
	echo "-- $program"
	"$CORECAST" record --via preload --samples 0 -o run.cct -- "$CORECAST_BUILD/tests/programs/$program" 2>stderr
	"$CORECAST" criticality run.cct --json >json
	jq -r '.locks[] | select(.kind != "barrier") | .name | sub(" used in .*"; "") | sub("\\[[0-9]*\\]"; "[]")' json | sort
	rm run.cct
done
