# SPDX-License-Identifier: GPL-3.0-or-later
# A thread of C++ is known by what its program gave it to run, not by the function in which all of them start.
source "$CORECAST_SOURCE/tests/cli/skips.bash"
skip_without_names
program=$CORECAST_BUILD/examples/bottlenecks/cpp_producer
if [ ! -x "$program" ]; then
	echo "cpp_producer is not built here" >&2
	exit 77
fi
"$CORECAST" record --via preload --samples 0 -o run.cct -- "$program" -t 4 -s 0.02 >stdout
"$CORECAST" criticality --json run.cct >run.json
jq -r '[.threads[] | select(.name | test("^(producer|consumer-[0-9])$")) | .routine]
	| "\(length) threads, \(unique | length) routines, \(map(select(. == null)) | length) unknown"' run.json
# A lambda's code lies in the library's header: it is the program's all the same. Clang numbers them: main::$_0.
program=$CORECAST_BUILD/tests/programs/heap_locks_cpp_2
skip_without_cpp heap_locks_cpp_2
"$CORECAST" record --via preload --samples 0 --force -o run.cct -- "$program" >stdout
"$CORECAST" criticality --json run.cct | jq -r '.threads[].name' | sed -n 's/::\$_0 /::{lambda(bool)#1} /; s/ ([0-9]*)$//p'
