# SPDX-License-Identifier: GPL-3.0-or-later
# A timeline that a person wrote goes through every form; what is wrong is told with its line.
cat >hand.csv <<'CSV'
# cores: 3
# wake_cost_ns: 6000
# doze_ns: 1500
# others_ns: 700
# others_wall_ns: 600
# own_locks_ns: 50
# own_rest_ns: 60
time_ns,tid,event,what,object,woken_ns
0,main,start
0,worker,start
100,worker,pass,mutex,cache
150,main,wait,mutex,cache
400,worker,release,mutex,cache
430,main,pass,mutex,cache,400
450,worker,exit
500,main,release,mutex,cache
600,main,exit
CSV
"$CORECAST" export hand.csv --to cct -o run.cct
"$CORECAST" export run.cct --to csv -o run.csv
cat run.csv
"$CORECAST" export run.csv --to csv | cmp run.csv -
"$CORECAST" export run.csv --to cct -o again.cct
"$CORECAST" export again.cct --to csv | cmp run.csv -

"$CORECAST" export run.cct --to json -o run.json
jq -c '.version, (.events | length), .threads, .cores, .cores_online, .wake_cost_ns, .doze_ns, .others_ns, .others_wall_ns, .own_locks_ns, .own_rest_ns, .events[7]' run.json
"$CORECAST" export run.cct --to folded -o folded.txt
"$CORECAST" export run.cct --to perfetto -o perfetto.json
jq -c '.traceEvents[] | select(.ph == "X" or .ph == "M") | [.ph, .tid, .name, .ts, .dur, .args.name]' perfetto.json
jq -c '[.traceEvents[] | select(.ph == "C") | .args.count]' perfetto.json

fails() {
	local status=0
	"$CORECAST" export "$@" 2>&1 || status=$?
	echo "status $status"
}
printf 'time_ns,tid,event\n10,a,start\n5,a,exit\n' >order.csv
fails order.csv --to csv
printf 'time_ns,tid,event\n10,a,begin\n' >word.csv
fails word.csv --to cct -o none.cct
printf 'time_ns,tid,event\n# cores: many\n' >cores.csv
fails cores.csv --to csv
printf '# cores_online: 65537\ntime_ns,tid,event\n' >cores.csv
fails cores.csv --to csv
printf '# doze_ns: 100000001\ntime_ns,tid,event\n' >cores.csv
fails cores.csv --to csv
printf 'time_ns,event\n' >column.csv
fails column.csv --to csv
head -c 3000 run.cct >cut.cct
fails cut.cct --to csv
: >empty.cct
fails empty.cct --to csv
fails run.cct --to svg
fails run.cct --to cct
fails missing.cct --to csv
ls
