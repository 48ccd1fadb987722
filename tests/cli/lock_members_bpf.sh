# SPDX-License-Identifier: GPL-3.0-or-later
# The kernel knows futexes only: what the program called says what each one is, and which member.
source "$CORECAST_SOURCE/tests/cli/skips.bash"
skip_without_names
skip_without_machine_code
for program in heap_locks_2 heap_locks_cpp_2; do
	skip_without_cpp "$program"
	# A thread that comes late does not wait: what it would have waited for may be seen in another run.
	: >found
	all=4
	[ "$program" = heap_locks_2 ] || all=5
	for _ in $(seq 8); do
		if ! "$CORECAST" record --via bpf --samples 0 --force -o run.cct -- "$CORECAST_BUILD/tests/programs/$program" >stdout 2>stderr; then
			sed 's/^corecast: //' stderr
			exit 77
		fi
		"$CORECAST" criticality --json run.cct | jq -r '.locks[] | select(.name | test("together|^barrier|^join|^futex") | not)
			| "\(.kind): \(.name)" | sub(" used in .*"; "") | sub("\\[[0-9]*\\]"; "[]")' >>found
		[ "$(sort -u found | wc -l)" -lt "$all" ] || break
	done
	echo "-- $program"
	sort -u found
done
