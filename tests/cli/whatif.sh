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

cp "$CORECAST_SOURCE"/tests/man/timeline.csv lock.csv
echo "--- one prediction"
"$CORECAST" whatif lock.csv --without cache --replications 1
echo "--- several"
"$CORECAST" whatif amdahl.csv --cores 1-4 --replications 1

echo "--- files"
"$CORECAST" whatif lock.csv --speed cache=2 -o out.cct --svg out.svg --html out.html >text
"$CORECAST" whatif lock.csv --speed cache=2 -o out.csv >again
cmp text again
"$CORECAST" criticality out.cct >a
"$CORECAST" criticality out.csv >b
diff <(grep -v '^  - ' a) <(grep -v '^  - ' b)
grep -c '<svg' out.svg
grep -c 'Predictions' out.html

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
fails lock.csv --speed cache=0
fails lock.csv --speed cache
fails lock.csv --without main
fails lock.csv --cores 0
fails lock.csv --cores 2000
fails missing.csv
fails
[ ! -e never.csv ]
fails lock.csv --recorded-cores 1 -o never.csv
[ ! -e never.csv ]
