# SPDX-License-Identifier: GPL-3.0-or-later
# Locks on the heap are called after the members that they are, by the code that uses them.
if "$CORECAST" doctor | grep -E 'no (libdw|libiberty)' >/dev/null; then
	echo 'this build knows no names in the source'
	exit 77
fi
if [ ! -e "$CORECAST_BUILD/plugin/libcorecast-profile.so" ] || [ "$(uname -m)" != x86_64 ]; then
	echo 'this build does not read machine code'
	exit 77
fi
for program in heap_locks_0 heap_locks_2 heap_locks_cpp_0 heap_locks_cpp_2; do
	if [ ! -x "$CORECAST_BUILD/tests/programs/$program" ]; then
		echo 'no C++ compiler here' >&2
		exit 77
	fi
	echo "-- $program"
	"$CORECAST" record --via preload --samples 0 -o run.cct -- "$CORECAST_BUILD/tests/programs/$program" 2>stderr
	"$CORECAST" criticality run.cct --json >json
	jq -r '.locks[] | select(.kind != "barrier") | .name | sub(" used in .*"; "") | sub("\\[[0-9]*\\]"; "[]")' json | sort
	rm run.cct
done
