# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
# Webserver: response time, throughput and errors over workers and the rate of requests. Rates are, as in the paper, 13
# steps up to twice what saturates the disk; the model is made from 4 workers at the ninth, where descriptors run out.
#
# Pages of 1 MB are read in chunks of 256 KiB past the page cache. That keeps even a fast disk busy, while sending takes
# a tenth of the processor's time (the client takes what it is sent without copying it).

web_workers=(2 4 6 8)
web_steps=(1 2 3 4 5 6 7 8 9 10 11 12 13)
web_repeats=3
web_seconds=4
web_warm_up=1.5
web_descriptors=256
web_recorded=9 # the step of the recorded setting, with 4 workers
if [ -n "$quick" ]; then
	web_workers=(2 6)
	web_steps=(2 5 7 10)
	web_repeats=1
	web_seconds=3
fi
web_reading=(-r direct -c 262144)

# serve LOG RATE REQUESTS COMMAND...: runs the server (the command) under load; its log is LOG. Arrivals are drawn with the
# seed web_seed, another one for each measured run.
web_seed=1
serve() {
	local log=$1 rate=$2 requests=$3 server port='' out=$work/server.out
	shift 3
	: >"$out"
	"${first[@]}" "$@" -n "$requests" -d $web_descriptors "${web_reading[@]}" -l "$log" "$work/pages" >>"$out" 2>&1 &
	server=$!
	while [ -z "$port" ]; do
		kill -0 $server
		sleep 0.02
		port=$(sed -n 's/^port: //p' "$out")
	done
	"${first[@]}" "$build/examples/loadgen/loadgen" -r "$rate" -n "$requests" -s $web_seed "$port" "$work/pages/LIST" \
		>"$work/client.out" || true
	# Requests that the kernel had no room for, and that the client gave up, never come.
	kill -TERM $server 2>/dev/null || true
	wait $server
}

# Mean response, throughput, share of errors, mean stat and read times of the requests accepted after the warm-up until
# the last arrival. Those are accepted later when no descriptor is left: arrivals last for web_seconds.
web_metrics() {
	awk -F, -v warm=$web_warm_up -v last=$web_seconds 'NR == 1 { next }
	{ at[NR] = $1; response[NR] = $3; stat += $4; reading += $5; status[NR] = $6; n++ }
	NR == 2 || $1 < start { start = $1 }
	END {
		for (i in at) {
			accepted = at[i] - start
			done = accepted + response[i]
			if (accepted >= warm && accepted < last) { sum += response[i]; count++; errors += status[i] != 200 }
			if (done >= warm && done < last) completed++
		}
		printf "%.6g,%.6g,%.6g,%.6g,%.6g", sum / count, completed / (last - warm), errors / count,
			stat / n, reading / n
	}' "$1"
}

# The rate at which 4 workers work when they never wait for a request.
find_saturation() {
	[ -s "$work/saturation" ] && return
	for _ in 1 2 3; do
		web_descriptors=4096 serve "$work/web.log" 1000000 3000 "$build/examples/webserver/webserver" -w 4
		sed -n 's/^throughput: \([0-9]*\).*/\1/p' "$work/server.out"
	done | median >"$work/saturation"
}

web_rate() {
	awk -v top="$(<"$work/saturation")" -v step="$1" 'BEGIN { printf "%.0f", top * step / 6.5 }'
}

web_requests() {
	awk -v rate="$1" -v seconds=$web_seconds 'BEGIN { printf "%.0f", rate * seconds }'
}

# Three times as long as a measured run: the disk's speed changes from one second to the next. With the kernel's
# view of the disk where it can be had.
record_webserver() {
	local rate how=(--via both --disk)
	"$corecast" record "${how[@]}" --force -o "$work/webserver.cct" -- true 2>"$work/webserver.how" || how=()
	rate=$(web_rate $web_recorded)
	serve "$work/web.log" "$rate" $((3 * $(web_requests "$rate"))) "$corecast" record "${how[@]}" --samples 0 \
		--budget none --force -o "$work/webserver.cct" -- "$build/examples/webserver/webserver" -w 4
}

measure_webserver() {
	local table=$work/webserver.csv repeat workers step rate
	[ -s "$work/pages/LIST" ] || "$source/examples/loadgen/make_pages" "$work/pages" 200 1000000
	find_saturation
	begin_table "$table" workers,rate,repeat,response_s,throughput,errors,stat_s,read_s,load
	for ((repeat = 1; repeat <= web_repeats; repeat++)); do
		for step in "${web_steps[@]}"; do
			for workers in "${web_workers[@]}"; do
				rate=$(web_rate "$step")
				has_row "$table" "$workers" "$rate" "$repeat" && continue
				web_seed=$((100 * repeat + 10 * step + workers))
				serve "$work/web.log" "$rate" "$(web_requests "$rate")" \
					"$build/examples/webserver/webserver" -w "$workers"
				echo "$workers,$rate,$repeat,$(web_metrics "$work/web.log"),$(load)" >>"$table"
			done
		done
		say "webserver: repeat $repeat of $web_repeats measured"
		[ -s "$work/webserver.cct" ] || record_webserver
	done
}

predict_webserver() {
	local both=$work/webserver.both rates=() step
	for step in "${web_steps[@]}"; do
		rates+=("$(web_rate "$step")")
	done
	make_model webserver || return
	predict webserver --set "workers=$(IFS=, && echo "${web_workers[*]}")" --set "rate=$(IFS=, && echo "${rates[*]}")" ||
		return
	predictions webserver '.set.workers, .set.rate, .response_s.mean, .throughput_per_s.mean + .errors.per_s.mean, .errors.share.mean' \
		>"$work/webserver.predicted"
	join_tables 2 <(medians "$work/webserver.csv" 2) "$work/webserver.predicted" >"$both"
	# workers, rate, response, throughput, errors, stat, read, load, predicted response, throughput, errors
	matrix 'Webserver, measured response time [ms]; columns: requests/s, rows: workers' '' %.1f \
		< <(awk -F, '{ print $2 "," $1 "," 1000 * $3 }' "$both")
	matrix 'Predicted response time [ms]' '' %.1f < <(awk -F, '{ print $2 "," $1 "," 1000 * $9 }' "$both")
	matrix 'Table 3: relative errors: response time' '' %.3f \
		< <(awk -F, '{ print $2 "," $1 "," $3 "," $9 }' "$both" | error_of)
	matrix 'throughput' '' %.3f < <(awk -F, '{ print $2 "," $1 "," $4 "," $10 }' "$both" | error_of)
	matrix 'share of error responses' '' %.3f < <(awk -F, '{ print $2 "," $1 "," $5 "," $11 }' "$both" | error_of)
	echo
	cut -d, -f1,2,3,9 "$both" | error_of | summary 'webserver: response time' 'paper: mean 20.3%'
	repeats "$work/webserver.csv" 2 4
	cut -d, -f1,2,4,10 "$both" | error_of | summary 'webserver: throughput' 'paper: mean 2.1%'
	repeats "$work/webserver.csv" 2 5
	cut -d, -f1,2,5,11 "$both" | error_of | summary 'webserver: error responses' 'paper: mean 21.4%'
}
