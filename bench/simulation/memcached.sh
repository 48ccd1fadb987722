# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
# Memcached, as Debian ships it, on one core: throughput and response time of 16 connections, each with one request
# under way, over its worker threads and the load (the mean time that a connection thinks before its next request, by which
# it alone would ask for 16 / think); the model is made from 2 threads and 100 us. The client has a core of its own.
# Its response times hold its own system calls and the way through the kernel, which the model is told by the mean response
# that it measured in other runs of the recorded setting, without a recorder.

memcached_counts=(1 2 4 8)
memcached_thinks=(800 400 200 100 50 10) # us
memcached_repeats=3
memcached_requests=20000
if [ -n "$quick" ]; then
	memcached_counts=(1 4)
	memcached_thinks=(400 100)
	memcached_repeats=1
fi

# load_memcached THINK REQUESTS COMMAND...: the command's server under load; prints requests/s and response, s.
load_memcached() {
	local socket=$work/socket think=$1 requests=$2 server
	shift 2
	rm -f "$socket" "$work/pid"
	taskset -c 1 "${first[@]}" "$@" -u "$(id -un)" -s "$socket" -P "$work/pid" >"$work/memcached.log" 2>&1 &
	server=$!
	until [ -e "$socket" ] && [ -s "$work/pid" ]; do
		kill -0 $server
		sleep 0.02
	done
	taskset -c 0 "${first[@]}" "$build/bench/recording/memcached_load" "$socket" 16 "$requests" "$think" |
		awk -v n="$requests" '{ printf "%.1f,%.9f\n", n / $1, $2 }'
	kill -TERM "$(<"$work/pid")"
	wait $server || true
}

# record_memcached REPEAT: among the measurements, so that the machine's drift meets all alike; and what clients measure without.
record_memcached() {
	echo "$(load_memcached 100 $((3 * memcached_requests)) "$corecast" record --samples 0 --budget none --force \
		-o "$work/memcached.$1.cct" -- memcached -t 2 | cut -d, -f2) $1" >>"$work/memcached.recordings"
	load_memcached 100 $memcached_requests memcached -t 2 | cut -d, -f2 >>"$work/memcached.responses"
}

measure_memcached() {
	local table=$work/memcached.csv repeat count think
	command -v memcached >/dev/null || { say 'memcached: not installed' && return; }
	[ "$(nproc)" -ge 2 ] || { say 'memcached: needs two cores' && return; }
	begin_table "$table" threads,think,repeat,throughput,response,load
	for ((repeat = 1; repeat <= memcached_repeats; repeat++)); do
		for think in "${memcached_thinks[@]}"; do
			for count in "${memcached_counts[@]}"; do
				has_row "$table" "$count" "$think" "$repeat" && continue
				echo "$count,$think,$repeat,$(load_memcached "$think" $memcached_requests \
					memcached -t "$count"),$(load)" >>"$table"
			done
		done
		[ -s "$work/memcached.cct" ] || record_memcached "$repeat"
	done
	[ -s "$work/memcached.cct" ] || keep_middle memcached
	[ -s "$work/memcached.response" ] || median <"$work/memcached.responses" >"$work/memcached.response"
	say 'memcached: measured'
}

predict_memcached() {
	local both=$work/memcached.both
	[ -s "$work/memcached.cct" ] || return 0
	make_model memcached || return
	predict memcached --set "workers=$(IFS=, && echo "${memcached_counts[*]}")" \
		--set "think=$(printf '%s us,' "${memcached_thinks[@]}" | sed 's/,$//')" || return
	predictions memcached '.set.workers, (.set.think * 1e6 | round), .throughput_per_s.mean, .response_s.mean' \
		>"$work/memcached.predicted"
	# threads, think, measured throughput, response, load, predicted throughput, response
	join_tables 2 <(medians "$work/memcached.csv" 2) "$work/memcached.predicted" >"$both"
	matrix 'memcached: measured requests/ms; columns: mean thinking time [us], rows: threads' '' %.1f \
		< <(awk -F, '{ print $2 "," $1 "," $3 / 1000 }' "$both")
	matrix 'relative errors: throughput' '' %.3f < <(awk -F, '{ print $2 "," $1 "," $3 "," $6 }' "$both" | error_of)
	matrix 'measured response time at the client [us]' '' %.1f < <(awk -F, '{ print $2 "," $1 "," 1e6 * $4 }' "$both")
	matrix 'predicted response time [us]' '' %.1f < <(awk -F, '{ print $2 "," $1 "," 1e6 * $7 }' "$both")
	echo
	cut -d, -f1,2,3,6 "$both" | error_of | summary 'memcached: throughput' ''
	repeats "$work/memcached.csv" 2 4
	awk -F, '$2 >= 100' "$both" | cut -d, -f1,2,3,6 | error_of | summary 'memcached: below saturation' ''
	cut -d, -f1,2,4,7 "$both" | error_of | summary 'memcached: response time' ''
	repeats "$work/memcached.csv" 2 5
}
