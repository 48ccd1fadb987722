# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
# Webserver: response time, throughput and errors over workers and the rate of requests. Rates are, as in the paper, 13
# steps up to twice what saturates the disk; the model is made from 4 workers at the ninth, where descriptors run out.
#
# Pages are read in chunks past the page cache, from a disk whose speed nobody else changes
# (examples/loadgen/steady_disk.c, a block device for the kernel): 1 ms for a chunk, two at once, so that 4 workers
# saturate it. With --real-disk they are on the folder's disk, and larger, so that they keep even a fast one busy, while
# sending takes a tenth of the processor's time (the client takes what it is sent without copying it).
#
# The speed of a virtual disk is its host's, and changes by a fifth from minute to minute. Around each setting, and around the
# recording, it is measured: what 4 workers answer that never wait for a request. Beside the errors of all settings
# those of settings are printed at which the disk was as fast as when it was recorded, within web_same_disk, whatever came out.

web_workers=(2 4 6 8)
web_steps=(1 2 3 4 5 6 7 8 9 10 11 12 13)
web_repeats=3
web_seconds=4
web_warm_up=1.5
web_descriptors=256
web_same_disk=0.05
web_backlog=4096 # of the server: connections that the kernel keeps until they are accepted
web_recorded=9 # the step of the recorded setting, with 4 workers
if [ -n "$quick" ]; then
	web_workers=(2 6)
	web_steps=(2 5 7 10)
	web_repeats=1
	web_seconds=3
fi
web_chunk=32768
web_page_bytes=32000 # the mean
web_disk_options=(-p 2 -t 0.001)
if [ -n "$real_disk" ]; then
	web_chunk=262144
	web_page_bytes=1000000
fi
web_files=$work/pages.files
web_pages=$web_files # where the server finds them

# Puts the pages on a steady disk. Says in disk.out what is missing.
web_loop=
open_disk() {
	local image=$work/pages.img disk=$work/disk server
	web_pages=$work/pages
	mkdir -p "$disk" "$web_pages"
	if [ ! -s "$image" ]; then
		truncate -s $((2 * $(du -sb "$web_files" | cut -f1) + (32 << 20))) "$image"
		mkfs.ext4 -q -O ^has_journal -d "$web_files" "$image" 2>"$work/disk.out" || return
	fi
	chrt -r 20 "$build/examples/loadgen/steady_disk" "${web_disk_options[@]}" "$image" "$disk" >"$work/disk.out" 2>&1 &
	server=$!
	until grep -q '^mounted' "$work/disk.out"; do
		kill -0 $server 2>/dev/null || return
		sleep 0.02
	done
	web_loop=$(losetup --find --show --read-only --direct-io=on "$disk/disk" 2>"$work/disk.out") &&
		mount -o ro "$web_loop" "$web_pages" 2>"$work/disk.out"
}

close_disk() {
	! mountpoint -q "$work/pages" || umount "$work/pages"
	[ -z "$web_loop" ] || losetup -d "$web_loop"
	web_loop=
	! mountpoint -q "$work/disk" || umount "$work/disk"
}

make_pages() {
	[ -s "$web_files/LIST" ] || "$source/examples/loadgen/make_pages" "$web_files" 200 $web_page_bytes
	[ -z "$real_disk" ] || return 0
	open_disk && return
	close_disk
	say "webserver: no steady disk here, not measured: $(tail -n 1 "$work/disk.out") (see --real-disk)"
	return 1
}

# serve LOG RATE REQUESTS COMMAND...: runs the server (the command) under load; its log is LOG. Arrivals are drawn with the
# seed web_seed, another one for each measured run.
web_seed=1
serve() {
	local log=$1 rate=$2 requests=$3 server port='' out=$work/server.out
	shift 3
	: >"$out"
	"${first[@]}" "$@" -n "$requests" -d "$web_descriptors" -r direct -c $web_chunk -l "$log" "$web_pages" >>"$out" 2>&1 &
	server=$!
	while [ -z "$port" ]; do
		kill -0 $server
		sleep 0.02
		port=$(sed -n 's/^port: //p' "$out")
	done
	"${first[@]}" "$build/examples/loadgen/loadgen" -r "$rate" -n "$requests" -s $web_seed "$port" "$web_files/LIST" \
		>"$work/client.out" || true
	# It ends with its last request, but what the client gave up never comes.
	if is_incomplete; then
		kill -TERM $server
	fi
	wait $server
}

# Whether the client that ran last gave up requests, for which the kernel had no room: then the load was another one.
is_incomplete() {
	! grep -q '^unanswered: 0$' "$work/client.out"
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

# saturate REQUESTS: the rate at which 4 workers answer them when they never wait for one.
saturate() {
	web_descriptors=4096 serve "$work/probe.log" 1000000 "$1" "$build/examples/webserver/webserver" -w 4
	sed -n 's/^throughput: \([0-9]*\).*/\1/p' "$work/server.out"
}

find_saturation() {
	[ -s "$work/saturation" ] && return
	for _ in 1 2 3; do
		saturate 3000
	done | median >"$work/saturation"
}

# around COMMAND...: runs it; web_disk is then the disk's speed before and after.
web_disk_after=
around() {
	if [ -z "$real_disk" ]; then
		"$@"
		return
	fi
	local before=${web_disk_after:-$(saturate 800)}
	"$@"
	web_disk_after=$(saturate 800)
	web_disk=$(((before + web_disk_after) / 2))
}

web_rate() {
	awk -v top="$(<"$work/saturation")" -v step="$1" 'BEGIN { printf "%.0f", top * step / 6.5 }'
}

web_requests() {
	awk -v rate="$1" -v seconds=$web_seconds 'BEGIN { printf "%.0f", rate * seconds }'
}

# Up to three times as many as in a measured run, since the disk's speed changes from one second to the next: as many as the
# kernel has room for. With its view of the disk where it can be had.
record_webserver() {
	local rate requests how=(--via both --disk)
	"$corecast" record "${how[@]}" --force -o "$work/webserver.cct" -- true 2>"$work/webserver.how" || how=()
	rate=$(web_rate $web_recorded)
	requests=$(awk -v rate="$rate" -v served="$(<"$work/saturation")" -v room=$web_backlog \
		-v most=$((3 * $(web_requests "$rate"))) 'BEGIN {
			n = 0.8 * room * rate / (rate - served)
			printf "%d", n < most ? n : most
		}')
	around serve "$work/web.log" "$rate" "$requests" "$corecast" record "${how[@]}" --samples 0 \
		--budget none --force -o "$work/webserver.cct" -- "$build/examples/webserver/webserver" -w 4
	[ -z "$real_disk" ] || echo "$web_disk" >"$work/webserver.recorded_disk"
	if is_incomplete; then
		rm -f "$work/webserver.cct"
		say 'webserver: the recorded load was not complete: not recorded'
	fi
}

# measure_setting WORKERS RATE REPEAT: one row of the table; none where the load was not complete twice.
measure_setting() {
	local workers=$1 rate=$2 repeat=$3 try
	for try in 1 2; do
		web_seed=$((100 * repeat + 10 * workers + rate + 1000000 * try))
		around serve "$work/web.log" "$rate" "$(web_requests "$rate")" \
			"$build/examples/webserver/webserver" -w "$workers"
		is_incomplete && continue
		# The log and the disk's speed belong to the same run.
		echo "$workers,$rate,$repeat,$(web_metrics "$work/web.log"),$(load)" >>"$work/webserver.csv"
		[ -z "$real_disk" ] || echo "$workers,$rate,$repeat,$web_disk" >>"$work/webserver.disk.csv"
		return
	done
	say "webserver: $workers workers at $rate/s: the kernel had no room for all requests: not measured"
}

measure_webserver() {
	make_pages || return 0
	measure_settings
	close_disk
}

measure_settings() {
	local table=$work/webserver.csv repeat workers step rate
	find_saturation
	begin_table "$table" workers,rate,repeat,response_s,throughput,errors,stat_s,read_s,load
	[ -z "$real_disk" ] || begin_table "$work/webserver.disk.csv" workers,rate,repeat,disk
	for ((repeat = 1; repeat <= web_repeats; repeat++)); do
		for step in "${web_steps[@]}"; do
			for workers in "${web_workers[@]}"; do
				rate=$(web_rate "$step")
				has_row "$table" "$workers" "$rate" "$repeat" ||
					measure_setting "$workers" "$rate" "$repeat"
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
	predict_same_disk
}

# The errors at those settings alone at which the disk was as fast as it was when it was recorded: what others did to it says
# nothing of a model.
predict_same_disk() {
	local same=$work/webserver.same_disk
	[ -s "$work/webserver.disk.csv" ] && [ -s "$work/webserver.recorded_disk" ] || return 0
	awk -F, -v recorded="$(<"$work/webserver.recorded_disk")" -v within=$web_same_disk '
		FNR == NR { ratio = $4 / recorded; same[$1 "," $2 "," $3] = ratio > 1 - within && ratio < 1 + within; next }
		FNR == 1 || same[$1 "," $2 "," $3]' "$work/webserver.disk.csv" "$work/webserver.csv" >"$same.csv"
	awk -F, 'FNR > 1 { print $4 }' "$work/webserver.disk.csv" | sort -g |
		awk -v recorded="$(<"$work/webserver.recorded_disk")" '{ v[NR] = $1 } END {
			printf "the disk gave %d to %d answers/s (median %d), when it was recorded %d\n", v[1], v[NR],
				v[int((NR + 1) / 2)], recorded }'
	join_tables 2 <(medians "$same.csv" 2) "$work/webserver.predicted" >"$same.both"
	echo "at the $(wc -l <"$same.both") settings where it was within $web_same_disk of that:"
	cut -d, -f1,2,3,9 "$same.both" | error_of | summary '  webserver: response time' ''
	cut -d, -f1,2,4,10 "$same.both" | error_of | summary '  webserver: throughput' ''
}
