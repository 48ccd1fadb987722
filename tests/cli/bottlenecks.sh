# SPDX-License-Identifier: GPL-3.0-or-later
# The programs with a planted bottleneck do the same work with and without the plant, and the plant can be made small.
folder=$CORECAST_BUILD/examples/bottlenecks

# Processor seconds in user mode of a run.
user_s() {
	TIMEFORMAT=%U
	{ time "$@" >/dev/null; } 2>&1
}

while IFS=$'\t' read -r program threads _ _ _ critical others; do
	run=("$folder/$program" -t "$threads" -s 0.2)
	if [ ! -x "${run[0]}" ]; then
		echo "$program: not built here" >&2
		continue
	fi
	if [ "$program" != "${last:-}" ]; then
		"${run[0]}" -h | grep "^Usage: $program " >stdout
		for wrong in '-t 1' '-t x' '-s 0' '-s -1' '--speedup x' '--speedup x=0' 'more'; do
			status=0
			# shellcheck disable=SC2086 # an option and its argument
			"${run[0]}" $wrong >stdout 2>stderr || status=$?
			[ "$status" -eq 2 ]
		done
	fi
	{
		"${run[@]}"
		"${run[@]}" --fix
		"${run[@]}" --speedup "$critical=8"
		"${run[@]}" --speedup "$others=8"
	} | grep '^checksum: [0-9a-f]\{16\}$' | sort | uniq -c >checksums
	[ "$(awk '{ print $1 }' checksums)" = 4 ] || echo "$program $threads: checksums differ"
	# What is planted is most of the work of few threads: without it, little is left.
	if [ "$threads" -lt 8 ] && [ "$critical" != - ]; then
		awk -v plain="$(user_s "${run[@]}")" -v quick="$(user_s "${run[@]}" --speedup "$critical=100")" \
			-v program="$program" 'BEGIN { if (quick > 0.75 * plain) print program, quick, plain }'
	fi
	last=$program
done < <(grep -v '^#' "$CORECAST_SOURCE/tests/truth.tsv")
echo 'done'
