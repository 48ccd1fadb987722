# SPDX-License-Identifier: GPL-3.0-or-later
# A model from a timeline that is known: main starts two workers, each of which takes a lock ten times.
awk 'BEGIN {
	print "time_ns,tid,event,what,object,site,value,cpu_ns"
	print "0,10,start,,,0x1,,1"
	print "1000,11,start,,0x50,0x2,10,1"
	print "2000,12,start,,0x50,0x2,10,1"
	print "3000,10,wait,join,0x60,0x3,11,3000"
	for (i = 0; i < 10; i++) {
		t = 10000 + i * 100000
		for (w = 0; w < 2; w++) {
			c = 1 + i * 40000
			printf "%d,%d,pass,mutex,0x70,0x4,,%d\n", t + w * 50000, 11 + w, c + 30000
			printf "%d,%d,release,mutex,0x70,0x5,,%d\n", t + w * 50000 + 10000, 11 + w, c + 40000
		}
	}
	print "1100000,11,exit,,,,,420001"
	print "1100000,12,exit,,,,,420001"
	print "1101000,10,pass,join,0x60,0x3,11,3000"
	print "1102000,10,exit,,,,,4000"
}' >run.csv
"$CORECAST" model run.csv -o app.yaml --cores 2
cat app.yaml
"$CORECAST" model run.csv -o again.yaml --cores 2 --json | jq -c '[.threads[].name], [.objects[].kind], .fit.cpu_s.error < 1e-9'
cmp app.yaml again.yaml

"$CORECAST" model --show app.yaml --svg app.svg --html app.html | sed -n '/starts with/,$p'
grep -o '<text[^>]*>[^<]*' app.svg | sed 's/.*>//' | head -20
python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("app.svg")'
grep -c 'What can be set' app.html

# What a fragment asks of a disk.
"$CORECAST" model --show "$CORECAST_SOURCE/examples/models/webserver.yaml" | grep -o '^  [a-z]* .* requests of .*'

# How its CPU time changes in the course of the work.
printf '%s\n' 'corecast_model: 1' 'threads: { w: { count: 1, fragments: { work: { cpu: [1 us, 3 us], visits: 4,' \
	'  course: { factors: [0.5, 1.5] } }, turns: { loop: work, times: 3, next: exit } } } }' >course.yaml
"$CORECAST" model --show course.yaml | grep 'in its course'

# A lock of its own making, at which half of the samples find the workers.
awk -F, -v OFS=, '{ print $0, NR == 1 ? "pid" : 10 }
	$3 == "pass" && $4 == "mutex" { print $1 + 1, $2, "sample", "", "", "0x7", n++ % 2 ? "" : 9, "", 10 }' run.csv >spins.csv
"$CORECAST" model spins.csv -o spins.yaml --cores 2 | tail -3
"$CORECAST" simulate spins.yaml --set workers=8 | grep -A 2 'threads spun'

fails() {
	local status=0
	"$CORECAST" model "$@" 2>&1 || status=$?
	echo "status $status"
}
printf 'time_ns,tid,event\n0,main,start\n' >empty.csv
fails empty.csv -o none.yaml
fails run.csv
fails --show empty.csv
fails missing.cct -o none.yaml
if [ -e none.yaml ]; then echo "a file was left"; fi

# Why a model cannot be simulated is said in lines that fit, and simulate refuses it with the same reason.
cat >forgets.yaml <<'YAML'
corecast_model: 1
queues: { q: {} }
sources: { s: { every: 1 ms, queue: q } }
threads:
  main: { count: 1, fragments: { get: { get: q }, start: { cpu: 1 us, spawn: one, next: get } } }
  one: { fragments: { end: { cpu: 1 us, do: end_request } } }
recorded: { duration: 10 s }
YAML
"$CORECAST" model --show forgets.yaml >forgets.out
sed -n '/cannot be simulated/,/^$/p' forgets.out
awk 'length > 80' forgets.out
status=0
"$CORECAST" simulate forgets.yaml >forgets.out 2>forgets.err || status=$?
echo "simulate: $status"
grep -c 'none of them ends' forgets.err
