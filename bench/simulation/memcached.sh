# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
# Memcached, as Debian ships it: the throughput of 16 connections, each with one request under way, over its worker
# threads; the model is made from 2. The client runs beside it on the same cores.

memcached_counts=(1 2 3 4 6 8)
memcached_repeats=3
memcached_requests=200000
if [ -n "$quick" ]; then
	memcached_counts=(1 2 4)
	memcached_repeats=1
fi

# load_memcached COMMAND...: the command's server under load; prints requests/s.
load_memcached() {
	local socket=$work/socket seconds server
	rm -f "$socket" "$work/pid"
	"${first[@]}" "$@" -u "$(id -un)" -s "$socket" -P "$work/pid" >"$work/memcached.log" 2>&1 &
	server=$!
	until [ -e "$socket" ] && [ -s "$work/pid" ]; do
		kill -0 $server
		sleep 0.02
	done
	seconds=$("${first[@]}" "$build/bench/recording/memcached_load" "$socket" 16 $memcached_requests)
	kill -TERM "$(<"$work/pid")"
	wait $server || true
	awk -v n=$memcached_requests -v s="$seconds" 'BEGIN { printf "%.1f\n", n / s }'
}

measure_memcached() {
	local table=$work/memcached.csv repeat count
	command -v memcached >/dev/null || { say 'memcached: not installed' && return; }
	begin_table "$table" threads,repeat,throughput,load
	for ((repeat = 1; repeat <= memcached_repeats; repeat++)); do
		for count in "${memcached_counts[@]}"; do
			has_row "$table" "$count" "$repeat" && continue
			echo "$count,$repeat,$(load_memcached memcached -t "$count"),$(load)" >>"$table"
		done
	done
	[ -s "$work/memcached.cct" ] ||
		load_memcached "$corecast" record --samples 0 --force -o "$work/memcached.cct" -- memcached -t 2 >"$work/memcached.recorded"
	say 'memcached: measured'
}

predict_memcached() {
	local threads
	[ -s "$work/memcached.cct" ] || return 0
	make_model memcached && threads=$(parameter_of memcached mc-worker) || return
	predict memcached --set "$threads=$(IFS=, && echo "${memcached_counts[*]}")" || return
	predictions memcached ".set.$threads, .throughput_per_s.mean" >"$work/memcached.predicted"
	join_tables 1 <(medians "$work/memcached.csv" 1) "$work/memcached.predicted" >"$work/memcached.both"
	matrix 'memcached: measured and predicted requests/s; columns: threads' '' %.0f \
		< <(awk -F, '{ print $1 ",measured," $2; print $1 ",predicted," $4 }' "$work/memcached.both")
	echo
	cut -d, -f1,2,4 "$work/memcached.both" | error_of | summary 'memcached: throughput' ''
}
