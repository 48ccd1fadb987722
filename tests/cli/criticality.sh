# SPDX-License-Identifier: GPL-3.0-or-later
# corecast criticality on timelines written by hand: what it prints, sums, windows, and two of them.

# The example of the paper's figure 2: 6.5, 5, 5 and 5.5 of 22.
cat >figure2.csv <<'END'
time_ns,tid,event,what,object
0,t0,start
0,t1,start
0,t2,start
0,t3,start
3000000,t0,wait,mutex,section
6000000,t1,wait,mutex,section
7000000,t1,pass,mutex,section
10000000,t2,wait,mutex,section
11000000,t2,pass,mutex,section
14000000,t0,pass,mutex,section
17000000,t1,wait,barrier,end
17000000,t2,wait,barrier,end
17000000,t3,wait,barrier,end
22000000,t0,pass,barrier,end
22000000,t1,pass,barrier,end
22000000,t2,pass,barrier,end
22000000,t3,pass,barrier,end
END
"$CORECAST" criticality figure2.csv

cp "$CORECAST_SOURCE"/tests/man/run.csv "$CORECAST_SOURCE"/tests/man/mended.csv .
echo "--- two"
"$CORECAST" criticality run.csv mended.csv

check() {
	python3 - "$@" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert abs(sum(t["criticality_s"] for t in d["threads"]) - d["total_s"]) < 1e-12
assert abs(d["total_s"] + d["idle_s"] - d["elapsed_s"]) < 1e-12
assert abs(sum(t["share"] for t in d["threads"]) - 1) < 1e-9
f = d["findings"][0]
print(f["kind"], f["subject"], "%.3f" % f["speedup_bound"], "%.4f" % d["elapsed_s"], len(d["threads"]))
END
}
echo "--- json"
"$CORECAST" criticality figure2.csv --json >json && check json
"$CORECAST" criticality run.csv --json >json && check json
"$CORECAST" criticality mended.csv --json >json && check json
"$CORECAST" criticality run.csv --json --window 0.005-0.020 >json && check json
"$CORECAST" criticality run.csv --json --by routine >json && check json
"$CORECAST" criticality run.csv --json --cores 1 >json && check json

echo "--- files"
"$CORECAST" criticality run.csv --svg run.svg --html run.html --folded run.folded >/dev/null
"$CORECAST" report "$CORECAST_SOURCE/tests/man/runs.csv" run.csv -o page.html
python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("run.svg")'
grep -c '<figure>' run.html page.html
grep -o 'worker-b arrives last at barrier round' page.html | head -n 1

echo "--- notes"
# shellcheck disable=SC2069 # what it says, not what it prints
"$CORECAST" criticality run.csv --active on-cpu 2>&1 >report | cut -c 1-60
# shellcheck disable=SC2069 # what it says, not what it prints
"$CORECAST" criticality run.csv --window 90-91 2>&1 >report

echo "--- all is lost"
printf 'time_ns,pid,tid,event,what,object,site,value,woken_ns,cpu_ns,flags,text\n0,0,0,lost,,,,8160,,,,\n' >lost.csv
"$CORECAST" criticality lost.csv | head -n 2

# Of what was locked only "late" was waited for.
echo "--- what nobody waited for"
cat >free.csv <<'END'
time_ns,tid,event,what,object
0,t0,start
0,t1,start
1000,t0,pass,mutex,late
1500,t1,pass,mutex,free
1600,t1,release,mutex,free
2000,t1,wait,mutex,late
4000,t0,release,mutex,late
4000,t1,pass,mutex,late
5000,t1,release,mutex,late
6000,t0,exit
6000,t1,exit
END
"$CORECAST" criticality free.csv | sed -n "/^Locks/,/^$/p"
grep -v late free.csv >all_free.csv
"$CORECAST" criticality all_free.csv | sed -n "/^Locks/,/^$/p"

echo "--- a name that begins with a dash"
cp free.csv ./-free.csv
"$CORECAST" criticality --json -- -free.csv | cmp - <("$CORECAST" criticality --json ./-free.csv) && echo "read"
echo "--- refusals"
for wrong in '' 'a b c' 'run.csv --by lock' 'run.csv --window x' 'run.csv --window 3-1' 'run.csv --active never' \
	'run.csv mended.csv --svg x.svg' 'run.csv -- true'; do
	# shellcheck disable=SC2086 # several words
	"$CORECAST" criticality $wrong >/dev/null 2>refusal && echo "not refused: $wrong"
	head -n 1 refusal
done
"$CORECAST" report run.csv 2>&1 | head -n 1 || true
"$CORECAST" criticality missing.cct 2>&1 || echo "status $?"
"$CORECAST" report run.csv missing.csv -o none.html 2>&1 || echo "status $?"
[ ! -e none.html ]
