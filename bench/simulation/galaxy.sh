# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
# Galaxy: the time of an iteration over the threads of both pools; the model is made from 2 and 2.

galaxy_counts=(1 2 4 6 8 12 16)
galaxy_repeats=3
galaxy_size=(-n 3000 -i 20)
if [ -n "$quick" ]; then
	galaxy_counts=(1 2 4 8)
	galaxy_repeats=1
fi
galaxy=$build/examples/galaxy/galaxy

measure_galaxy() {
	local table=$work/galaxy.csv repeat forces collisions seconds
	begin_table "$table" forces,collisions,repeat,iteration_s,load
	for ((repeat = 1; repeat <= galaxy_repeats; repeat++)); do
		for collisions in "${galaxy_counts[@]}"; do
			for forces in "${galaxy_counts[@]}"; do
				has_row "$table" "$forces" "$collisions" "$repeat" && continue
				seconds=$("${first[@]}" "$galaxy" "${galaxy_size[@]}" "$forces" "$collisions" |
					sed -n 's/^iteration: \([^ ]*\) s.*/\1/p')
				echo "$forces,$collisions,$repeat,$seconds,$(load)" >>"$table"
			done
			record_among galaxy "$galaxy" "${galaxy_size[@]}" 2 2
		done
		say "galaxy: repeat $repeat of $galaxy_repeats measured"
	done
	keep_among galaxy
}

predict_galaxy() {
	local both=$work/galaxy.both iterations=${galaxy_size[3]}
	make_model galaxy || return
	predict galaxy --set "force_threads=$(IFS=, && echo "${galaxy_counts[*]}")" \
		--set "collision_threads=$(IFS=, && echo "${galaxy_counts[*]}")" || return
	predictions galaxy ".set.force_threads, .set.collision_threads, .run_s.mean / $iterations, .utilisation.cores.mean" \
		>"$work/galaxy.predicted"
	join_tables 2 <(medians "$work/galaxy.csv" 2) "$work/galaxy.predicted" >"$both"
	# forces, collisions, measured, load, predicted, utilisation
	matrix 'Galaxy, measured time of an iteration [ms]; columns: force threads, rows: collision threads' '' %.2f \
		< <(awk -F, '{ print $1 "," $2 "," 1000 * $3 }' "$both")
	matrix 'Table 1: relative errors for predicting the iteration length' '' %.3f \
		< <(cut -d, -f1-3,5 "$both" | error_of)
	matrix 'Table 2: predicted utilisation of the processors, % of one core' '' %.1f \
		< <(awk -F, -v cores="$(nproc)" '{ print $1 "," $2 "," 100 * cores * $6 }' "$both")
	echo
	cut -d, -f1-3,5 "$both" | error_of | summary 'galaxy: iteration length' 'paper: mean 7.3%, worst 17.9%'
	repeats "$work/galaxy.csv" 2 4
}
