# SPDX-License-Identifier: GPL-3.0-or-later
# What a library's own thread waits for is called after the library's code that called the C library, not after that one's.
source "$CORECAST_SOURCE/tests/cli/skips.bash"
skip_without_names
skip_without_machine_code
[ "$(uname -m)" = x86_64 ] || exit 77
if ! "$CORECAST" record --via bpf --samples 0 --force -o run.cct -- "$CORECAST_BUILD/tests/programs/queue_user" >stdout 2>stderr; then
	sed 's/^corecast: //' stderr
	exit 77
fi
"$CORECAST" criticality --json run.cct | jq -r '.locks[] | select(.kind == "condition" and (.name | test("take_items"))) | .kind' | sort -u
# What a thread runs is in the C library's memory.
"$CORECAST" criticality --json run.cct | jq -r '.threads[].name' | sed 's/ ([0-9]*)//' | sort
