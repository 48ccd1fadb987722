# SPDX-License-Identifier: GPL-3.0-or-later
# corecast predict: a profile made by hand, whose stretches all execute the same, on several processors.
make=$CORECAST_BUILD/tests/programs/profile_of
cp "$CORECAST_SOURCE/tests/man/profile.csv" timeline.csv
"$make" timeline.csv app.ccp

# Main's 10 M instructions, worker-2's 50 M, main's last 1 M: the longest chain, all at the same CPI; base has 2.5 GHz.
"$CORECAST" predict app.ccp -m base -m smallest --json >json
python3 - <<'END'
import json
d = json.load(open("json"))
assert d["version"] == 1 and d["profile"] == "app.ccp" and d["notes"] == []
for machine, ghz in zip(d["machines"], (2.5, 5)):
    active = sum(v for k, v in machine["cpi"].items() if k != "sync")
    chain = 61e6 * active / (ghz * 1e9)
    assert abs(machine["predicted_s"] / chain - 1) < 0.1, (machine["name"], machine["predicted_s"], chain)
    assert machine["low_s"] <= machine["predicted_s"] <= machine["high_s"]
    threads = {t["name"].split()[0]: t for t in machine["threads"]}
    assert {n: t["instructions"] for n, t in threads.items()} == {"main": 11000000, "worker-1": 30000000, "worker-2": 50000000}
    assert abs(sum(t["criticality_s"] for t in machine["threads"]) / machine["predicted_s"] - 1) < 1e-3
    assert max(threads, key=lambda n: threads[n]["share"]) == "worker-2"
    alone = {n: t["instructions"] * (sum(t["cpi"].values()) - t["cpi"]["sync"]) / (ghz * 1e9) for n, t in threads.items()}
    assert abs(machine["main_s"] / alone["main"] - 1) < 1e-3
    assert abs(machine["crit_s"] / alone["worker-2"] - 1) < 1e-3
    # Main waits for the workers, worker-1 for worker-2.
    assert threads["main"]["cpi"]["sync"] > threads["worker-1"]["cpi"]["sync"] > threads["worker-2"]["cpi"]["sync"] - 0.01
    assert set(machine["cpi"]) == {"base", "branch", "icache", "l2", "llc", "memory", "coherence", "tlb",
        "system", "sibling", "sync"}
    assert machine["alone_s"] == machine["predicted_s"] and machine["cpi"]["sibling"] == 0
print([m["name"] for m in d["machines"]], [m["cores"] for m in d["machines"]])
END

# The predicted run as a timeline, of which others say the same.
"$CORECAST" predict app.ccp -m smallest -m base --json -o run.cct >saved
"$CORECAST" criticality run.cct --json >criticality 2>stderr
jq -n -e --slurpfile a saved --slurpfile b criticality '($a[0].machines[1].predicted_s - $b[0].elapsed_s | fabs) < 1e-6
	and ([$a[0].machines[1].threads[].name] | length) == ([$b[0].threads[].name] | length)' >/dev/null
"$CORECAST" predict app.ccp -m base -o run.csv >/dev/null
[ "$(grep -c ',exit,' run.csv)" -eq 3 ]
status=0
"$CORECAST" predict app.ccp -m base -o no/such.cct >/dev/null 2>stderr || status=$?
[ "$status" -eq 1 ] && grep -q 'no/such.cct' stderr

echo "--- one core takes the sum"
"$CORECAST" predict app.ccp -m base --cores 1 --json --replications 1 >one
python3 - <<'END'
import json
one = json.load(open("one"))["machines"][0]
active = sum(v for k, v in one["cpi"].items() if k != "sync")
assert abs(one["predicted_s"] / (91e6 * active / 2.5e9) - 1) < 0.1, one["predicted_s"]
assert any(t["ready_s"] > 0 for t in one["threads"])
END
echo "--- the same again, to the byte"
"$CORECAST" predict app.ccp -m base -m smallest --json | cmp - json

echo "--- files and columns"
"$CORECAST" predict app.ccp -m base -m zen4 -m icelake-sp --svg out.svg --html out.html >text
[ "$(wc -L <text)" -le 80 ]
LC_ALL=C "$CORECAST" predict app.ccp -m base >single
[ "$(wc -L <single)" -le 80 ]
grep -c -E '^(base|zen4|icelake-sp) ' text
grep -q 'worker-2' single
grep -q '<svg' out.svg
grep -q '</html>' out.html

echo "--- a machine of one's own"
sed 's/^cores: .*/cores: 3/; s/^name: .*/name: mine/' "$CORECAST_SOURCE/machines/base.yaml" >mine.yaml
"$CORECAST" predict app.ccp -m mine.yaml | grep -o "on mine, 3 cores"

echo "--- neighbours on its hardware threads"
sed 's/^threads:/&\n  sibling_busy: 50%/' mine.yaml >beside.yaml
"$CORECAST" predict app.ccp -m mine.yaml -m beside.yaml --json >json
python3 - <<'END'
import json
alone, beside = json.load(open("json"))["machines"]
assert beside["alone_s"] == alone["predicted_s"] < beside["predicted_s"] <= 1.4 * alone["predicted_s"]
assert 0 < beside["cpi"]["sibling"] < beside["cpi"]["base"]
END
"$CORECAST" predict app.ccp -m beside.yaml | grep -o "others used 50% of what they can"
sed 's/^  sibling_busy: .*/&\n  sibling_spell: 10000 ms/' beside.yaml >coming.yaml
"$CORECAST" predict app.ccp -m beside.yaml -m coming.yaml --json >json
python3 - <<'END'
import json
beside, coming = json.load(open("json"))["machines"]
assert coming["low_s"] < 0.9 * beside["low_s"] and coming["high_s"] > 1.1 * beside["high_s"]
assert coming["low_s"] < coming["alone_s"] * 1.05 and coming["alone_s"] < coming["predicted_s"]
END
"$CORECAST" predict app.ccp -m coming.yaml | tr '\n' ' ' | grep -o "leaves open, and when neighbours have"

echo "--- what is refused"
refused() {
	local status=0
	"$CORECAST" "$@" >stdout 2>stderr || status=$?
	echo "status $status: $(sed "s|'[^']*/machines'|MACHINES|" stderr | head -n 1)"
	[ ! -s stdout ]
}
refused predict app.ccp
refused predict app.ccp -m base -- true
refused predict -m base
refused predict app.ccp -m base --cores 5000
refused predict app.ccp -m no-such-machine
refused predict none.ccp -m base
refused predict timeline.csv -m base
sed 's/^rob: .*/rob: 0/' mine.yaml >bad.yaml
refused predict app.ccp -m base -m ./bad.yaml --svg never.svg
[ ! -e never.svg ]

echo "--- a page with other files"
refused report app.ccp -o never.html
[ ! -e never.html ]
"$CORECAST" report timeline.csv app.ccp -m base -m smallest -o page.html
grep -o 'app.ccp takes [^:]*: the fastest of 2' page.html | sed 's/[0-9.]* ms/.../g' | head -n 1
grep -o '<h2 class="file">[^<]*' page.html
