# SPDX-License-Identifier: GPL-3.0-or-later
# The larger examples: physics of galaxy, and answers of webserver as loadgen counts them.
galaxy=$CORECAST_BUILD/examples/galaxy/galaxy
webserver=$CORECAST_BUILD/examples/webserver/webserver
loadgen=$CORECAST_BUILD/examples/loadgen/loadgen

for program in "$galaxy" "$webserver" "$loadgen"; do
	"$program" --help | head -1
	status=0
	"$program" --nonsense >stdout 2>stderr || status=$?
	[ "$status" -eq 2 ]
done

# below VALUE BOUND
below() {
	awk -v value="$1" -v bound="$2" 'BEGIN { exit !(value == value + 0 && value < bound) }'
}

# The same, whoever computes what; bodies touch and merge.
for threads in '1 1' '2 3' '5 1'; do
	# shellcheck disable=SC2086
	"$galaxy" -n 300 -i 30 -r 0.02 $threads >"galaxy.${threads% *}"
	sed -n 's/^bodies: //p; s/^checksum: //p' "galaxy.${threads% *}"
done | sort -u >results
[ "$(wc -l <results)" -eq 2 ]
merged=$(sed -n 's/^\([0-9]*\) of 300$/\1/p' results)
[ "$merged" -gt 100 ] && [ "$merged" -lt 300 ]

# By all pairs momentum stays to the last digits, with mergers, too; energy as exactly as the steps are short.
"$galaxy" -c -t 0 -n 300 -i 30 -r 0.02 2 2 >merging
below "$(sed -n 's/^momentum: changed by //p' merging)" 1e-13
"$galaxy" -c -t 0 -n 300 -i 100 -d 0.002 -r 0 -e 0.1 2 2 >pairs
below "$(sed -n 's/^energy: changed by \(.*\) of itself/\1/p' pairs)" 1e-4
"$galaxy" -c -t 0.5 -n 300 -i 100 -d 0.002 -r 0 -e 0.1 2 2 >tree
below "$(sed -n 's/^energy: changed by \(.*\) of itself/\1/p' tree)" 1e-2
below "$(sed -n 's/^momentum: changed by //p' tree)" 1e-3
echo 'galaxy: conserved, for any threads'

# field NAME FILE
field() {
	sed -n "s/^$1: \([^ ]*\).*/\1/p" "$2"
}

before=()
# start OPTIONS...: a server, started by $before, whose process is $server and whose port is $port
start() {
	: >server
	"${before[@]}" "$webserver" "$@" pages >>server 2>log &
	server=$!
	port=
	while [ -z "$port" ]; do
		sleep 0.01
		port=$(field port server)
		kill -0 $server
	done
}

# serve SERVER-OPTIONS... -- LOADGEN-OPTIONS...: 40 requests, answered
serve() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	start -n 40 "${options[@]}"
	"$loadgen" -n 40 "${@:2}" "$port" pages/LIST >client
	wait $server
	[ "$(field answers server)" -eq 40 ] && [ "$(field unanswered client)" -eq 0 ]
	[ "$(field errors server)" -eq "$(field errors client)" ]
}

"$CORECAST_SOURCE/examples/loadgen/make_pages" pages 5 8000
"$CORECAST_SOURCE/examples/loadgen/make_pages" again 5 8000
cmp pages/LIST again/LIST
for page in $(<pages/LIST); do
	[ "$(stat -c %s "pages/$page")" -eq "$(stat -c %s "again/$page")" ]
done

for how in drop keep; do
	serve -r $how -w 3 -l answers.csv -- -r 400 -l load.csv
	[ "$(field errors server)" -eq 0 ] && [ "$(wc -l <answers.csv)" -eq 41 ]
	# Every answer is a page and a head of 60 to 80 bytes.
	find pages -name '*.html' -printf '%s\n' >sizes
	awk -F, 'FNR == NR { size[$1] = 1; next }
		FNR > 1 { for (head = 60; head < 80; head++) found[FNR] += ($4 - head) in size
			n += found[FNR] > 0 }
		END { exit n != 40 }' sizes load.csv
done
serve -w 2 -- -a constant -r 400
echo 'pages: answered'

echo no_such_page >none
start -n 1
"$loadgen" -n 1 "$port" none >client
wait $server
echo "missing page: $(field errors client) error"

# One descriptor is left beside the server's own: no connection can open a page; the last may, as nothing listens then.
serve -d 6 -w 2 -- -r 4000 3<&- 4<&- 5<&-
[ "$(field errors client)" -ge 39 ]
echo 'no descriptors: errors'

# It ends when it is told to.
start
"$loadgen" -n 3 "$port" pages/LIST >client
kill -TERM $server
wait $server
echo "terminated after $(field answers server)"

# A recording shows connections as requests and tells what was waited for (4: accept).
before=("$CORECAST" record -o run.cct --)
serve -w 2 -- -r 400
"$CORECAST" export run.cct --to csv -o run.csv
awk -F, '$4 ~ /^request_/ && $5 == "io" && $11 != "implicit" { where[$4 " " $8]++; requests++ }
	$4 == "wait" && $5 == "io" { waits[$8]++ }
	END {
		for (i = 1; i <= 40; i++)
			ended += where["request_begin " i] == 1 && where["request_end " i] == 1
		print "recorded: " ended " requests of " requests / 2 (waits[4] > 0 ? ", accepting" : "")
	}' run.csv

# Descriptors that are opened, closed, and not to be had. The server's own are the standard ones, a folder and the listener.
before=("$CORECAST" record -o full.cct --)
serve -d 6 -w 1 -- -r 4000 3<&- 4<&- 5<&-
"$CORECAST" export full.cct --to csv -o full.csv
awk -F, '$5 == "io" && $8 == 6 { told[$4]++ } $4 == "release" && $5 == "io" { closed++ }
	END { print "opened: " (told["pass"] >= 40) ", closed: " (closed >= 40) ", refused: " (told["try_failed"] >= 39) }' full.csv
