# SPDX-License-Identifier: GPL-3.0-or-later
# The kernel knows futexes only: what the program called says what each one is, and which member.
if "$CORECAST" doctor | grep -E 'no (libdw|libiberty)' >/dev/null; then
	echo 'this build knows no names in the source'
	exit 77
fi
if [ ! -e "$CORECAST_BUILD/plugin/libcorecast-profile.so" ] || [ "$(uname -m)" != x86_64 ]; then
	echo 'this build does not read machine code'
	exit 77
fi
for program in heap_locks_2 heap_locks_cpp_2; do
	if [ ! -x "$CORECAST_BUILD/tests/programs/$program" ]; then
		echo 'no C++ compiler here' >&2
		exit 77
	fi
	# A thread that comes late does not wait: what it would have waited for may be seen in another run.
	: >found
	for _ in $(seq 8); do
		if ! "$CORECAST" record --via bpf --samples 0 --force -o run.cct -- "$CORECAST_BUILD/tests/programs/$program" >stdout 2>stderr; then
			sed 's/^corecast: //' stderr
			exit 77
		fi
		"$CORECAST" criticality --json run.cct | jq -r '.locks[] | select(.name | test("together|^barrier|^join|^futex") | not)
			| "\(.kind): \(.name)" | sub(" used in .*"; "") | sub("\\[[0-9]*\\]"; "[]")' >>found
		[ "$(sort -u found | wc -l)" -lt 4 ] || break
	done
	echo "-- $program"
	sort -u found
done
