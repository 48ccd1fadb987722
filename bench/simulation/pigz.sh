# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
# Pigz, as Debian ships it: the time to compress a file over its threads; the model is made from 2.

pigz_counts=(1 2 3 4 6 8 12 16)
pigz_repeats=3
if [ -n "$quick" ]; then
	pigz_counts=(1 2 4)
	pigz_repeats=1
fi

measure_pigz() {
	local table=$work/pigz.csv repeat count
	command -v pigz >/dev/null || { say 'pigz: not installed' && return; }
	[ -s "$work/text" ] || awk 'BEGIN {
		srand(1)
		for (i = 0; i < 2000000; i++) printf "%s %x\n", i % 7 ? "request" : "answer of server", rand() * 65536
	}' >"$work/text"
	begin_table "$table" threads,repeat,seconds,load
	for ((repeat = 1; repeat <= pigz_repeats; repeat++)); do
		for count in "${pigz_counts[@]}"; do
			has_row "$table" "$count" "$repeat" && continue
			echo "$count,$repeat,$(timed pigz -p "$count" -c "$work/text"),$(load)" >>"$table"
		done
		record_among pigz pigz -p 2 -c "$work/text"
	done
	keep_among pigz
	say 'pigz: measured'
}

predict_pigz() {
	local threads
	[ -s "$work/pigz.cct" ] || return 0
	make_model pigz && threads=$(parameter_of pigz) || return
	predict pigz --set "$threads=$(IFS=, && echo "${pigz_counts[*]}")" || return
	predictions pigz ".set.$threads, .run_s.mean" >"$work/pigz.predicted"
	join_tables 1 <(medians "$work/pigz.csv" 1) "$work/pigz.predicted" >"$work/pigz.both"
	# threads, measured, load, predicted
	matrix 'pigz: measured and predicted time [s]; columns: threads' '' %.3f \
		< <(awk -F, '{ print $1 ",measured," $2; print $1 ",predicted," $4 }' "$work/pigz.both")
	echo
	cut -d, -f1,2,4 "$work/pigz.both" | error_of | summary 'pigz: time' ''
	repeats "$work/pigz.csv" 1 3
}
