# SPDX-License-Identifier: GPL-3.0-or-later
# Recording notes what ran and who called it: two threads that spend all their processor time in known functions.
program=$CORECAST_BUILD/tests/programs/busy

record() {
	"$CORECAST" record --force -o run.cct "$@" 2>stderr
}
share() { # of the criticality, in percent, of stacks that match
	"$CORECAST" export run.cct --to folded >folded
	awk -v what="$1" '{ all += $NF } $0 ~ what { some += $NF } END { print int(100 * some / all) }' folded
}

if ! record --via preload --samples 2000 -- "$program"; then
	sed 's/^corecast: //' stderr
	exit 77
fi
grep -q '^corecast: [0-9]* samples of what ran, [0-9]* lost$' stderr
"$CORECAST" criticality run.cct --json >run.json
# What code is blamed for is what the threads accrued, to the nanosecond that a double has of a second.
jq -e '.sites_from == "samples" and (([.sites[].blame_s] | add) - .total_s | fabs) < 1e-9' run.json >jq.out
"$CORECAST" criticality run.cct >text
grep '^Code: criticality of what ran, by samples' text >found
# 200 ms of processor time in each thread: 400 samples at least, were none lost; half are asked for.
jq -e '.samples >= 400' run.json >jq.out
if "$CORECAST" doctor | grep ' build .*, libdw' >found && [ "$(uname -m)" = x86_64 ]; then
	# Nor does a leaf function hide its caller.
	[ "$(share ';work;spend_most ')" -ge 50 ] || { cat folded; exit 1; }
fi

# Into what a program starts, and into whatever that starts.
record --via preload --samples 2000 -- sh -c "'$program'; '$program'"
[ "$(share .)" -eq 100 ]
"$CORECAST" criticality run.cct --json | jq -e '.samples >= 800' >jq.out

# Not what others run meanwhile.
"$program" &
record --via preload --samples 2000 -- "$program"
wait $!
"$CORECAST" export run.cct --to csv | awk -F, '$4 == "start" { ours[$2] } $4 == "sample" { sampled[$2] }
	END { for (pid in sampled) if (!(pid in ours)) exit 1 }'

# None when none are wanted.
record --via preload --samples 0 -- "$program"
"$CORECAST" criticality run.cct --json | jq -e '.sites_from == "calls"' >jq.out
! grep 'samples of what ran' stderr

# Killed, if it is not over by then: what is there can be read.
"$CORECAST" record --force -o killed.cct -- sh -c "'$program'; '$program'" 2>stderr &
recorder=$!
sleep 0.3
kill -9 "$recorder" 2>kill.log || true
wait "$recorder" 2>stderr || true
"$CORECAST" export killed.cct --to csv >killed.csv 2>stderr
