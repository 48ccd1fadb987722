# SPDX-License-Identifier: GPL-3.0-or-later
# corecast whatif: predictions with closed forms, its outputs, and what it refuses.

# Amdahl: 20 ms alone, then four threads of 20 ms.
{
	echo time_ns,tid,event,what,object,value
	echo 0,main,start
	for thread in a b c d; do echo "20000000,$thread,start,,,main"; done
	echo 20000000,main,wait,join,a,a
	for thread in a b c d; do echo "40000000,$thread,exit"; done
	echo 40000000,main,pass,join,a
	for thread in b c d; do
		echo "40000000,main,wait,join,$thread,$thread"
		echo "40000000,main,pass,join,$thread"
	done
	echo 40000000,main,exit
} >amdahl.csv

seconds() {
	python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["recorded_cores"], d["measured_s"], d["replayed_s"], [(p["cores"], round(p["predicted_s"], 9), round(p["speedup"], 3)) for p in d["points"]], d["changes"])
for p in d["points"]:
    assert p["low_s"] <= p["predicted_s"] <= p["high_s"]
    assert abs(sum(t["criticality_s"] for t in p["threads"]) - p["predicted_s"]) < 1e-9'
}
echo "--- curve"
"$CORECAST" whatif amdahl.csv --cores 1,2,4,16 --json | seconds
echo "--- changes"
"$CORECAST" whatif amdahl.csv --cores 4 --speed main=4 --speed thread:a=0.5 --json | seconds
"$CORECAST" whatif amdahl.csv --cores 4 --pin a=2 --pin b=2 --json | seconds

# Of threads with one name all are meant.
{
	echo time_ns,tid,event,what,object,value,text
	echo 0,1,start
	for thread in 2 3; do
		echo "0,$thread,name,thread,$thread,,worker"
		echo "0,$thread,start,,,1"
	done
	echo 20000000,2,exit
	echo 40000000,3,exit
	echo 50000000,1,exit
} >workers.csv
echo "--- all of one name"
"$CORECAST" whatif workers.csv --cores 1,3 --speed worker=2 --json | seconds

cp "$CORECAST_SOURCE"/tests/man/timeline.csv lock.csv
echo "--- one prediction"
"$CORECAST" whatif lock.csv --without cache --replications 1
echo "--- several"
"$CORECAST" whatif amdahl.csv --cores 1-4 --replications 1
echo "--- no faster on more"
"$CORECAST" whatif amdahl.csv --cores 4,8 --replications 1 | head -n 3

"$CORECAST" whatif amdahl.csv --cores 1-4 --json --jobs 1 >one.json
"$CORECAST" whatif amdahl.csv --cores 1-4 --json --jobs 3 >three.json
cmp one.json three.json

echo "--- files"
"$CORECAST" whatif lock.csv --speed cache=2 -o out.cct --svg out.svg --html out.html >text
"$CORECAST" whatif lock.csv --speed cache=2 -o out.csv >again
cmp text again
"$CORECAST" criticality out.cct >a
"$CORECAST" criticality out.csv >b
diff <(grep -v '^  - ' a) <(grep -v '^  - ' b)
grep -c '<svg' out.svg
grep -c 'Predictions' out.html
"$CORECAST" whatif amdahl.csv --cores 1-6 --csv curve.csv >text
cut -d, -f1,2 curve.csv
"$CORECAST" forecast curve.csv --to 12 >/dev/null

# a takes the first item and makes the second from it, b takes that. With b faster, b would take the first, for which a
# then waits forever: who gets what is no matter of counting items, so the recorded order is kept.
cat >order.csv <<-END
	time_ns,tid,event,what,object,site,value,flags
	0,maker,start
	0,a,start
	0,b,start
	1000000,a,pass,mutex,m,7
	1000000,a,release,mutex,m,7,,implicit
	1000000,a,wait,cond,c,7,m
	5000000,b,pass,mutex,m,7
	5000000,b,release,mutex,m,7,,implicit
	5000000,b,wait,cond,c,7,m
	10000000,maker,pass,mutex,m,8
	10000000,maker,release,cond,c,9
	10000000,maker,release,mutex,m,9
	10000000,maker,exit
	10000000,a,pass,cond,c,7,maker,waited
	10000000,a,pass,mutex,m,7,,implicit
	10000000,a,release,mutex,m,7
	12000000,a,pass,mutex,m,8
	12000000,a,release,cond,c,9
	12000000,a,release,mutex,m,9
	12000000,b,pass,cond,c,7,a,waited
	12000000,b,pass,mutex,m,7,,implicit
	12000000,b,release,mutex,m,7
	13000000,a,exit
	20000000,b,exit
END
echo "--- a meaning that leads to a deadlock"
order() {
	"$CORECAST" whatif order.csv --json "$@" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(*(d[key] for key in ("predicted_s", "condition_waits", "condition_waits_by_order", "meanings_left_out")))'
}
order
order --speed b=10
"$CORECAST" whatif order.csv --speed b=10 --replications 1 | sed -n 7,10p

# On one core this could not have been measured.
echo "--- refused"
fails() {
	local status=0
	{ "$CORECAST" whatif "$@" >/dev/null; } 2>&1 || status=$?
	echo "$status"
}
fails lock.csv --recorded-cores 1
"$CORECAST" whatif lock.csv --recorded-cores 1 --force | sed -n 3,5p
fails lock.csv --speed nothing=2
fails workers.csv --speed nothing=2
fails lock.csv --speed cache=0
fails lock.csv --speed cache=1e-300
fails lock.csv --speed cache
fails lock.csv --without main
fails lock.csv --pin cache=0
fails lock.csv --pin main=one
fails lock.csv --pin main=7
fails lock.csv --cores 0
fails lock.csv --cores 2000
fails missing.csv
fails
[ ! -e never.csv ]
fails lock.csv --recorded-cores 1 -o never.csv --csv never2.csv
[ ! -e never.csv ] && [ ! -e never2.csv ]
