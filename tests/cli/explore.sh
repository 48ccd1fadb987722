# SPDX-License-Identifier: GPL-3.0-or-later
# corecast explore: a space of designs around the paper's base, for a profile made by hand.
"$CORECAST_BUILD/tests/programs/profile_of" "$CORECAST_SOURCE/tests/man/profile.csv" app.ccp
cp "$CORECAST_SOURCE/tests/man/space.yaml" space.yaml

echo "--- all points, best first"
"$CORECAST" explore app.ccp --space space.yaml --within 5 --json >json
python3 - <<'END'
import json
d = json.load(open("json"))
points = d["points"]
print(d["version"], d["profile"], d["base"], d["count"], d["left_out"], d["failed"], len(points))
times = [p["predicted_s"] for p in points]
assert times == sorted(times)
assert d["within_bound"] == [i for i, t in enumerate(times) if t <= times[0] * 1.05]
for p in points:
    s = p["set"]
    assert s["frequency"] == 10e9 / s["dispatch_width"] and s["rob"] == 8 * s["dispatch_width"] ** 2 <= 250
    assert p["energy_j"] > 0
front = [points[i] for i in d["pareto"]]
assert front[0]["predicted_s"] == times[0]
assert all(a["energy_j"] > b["energy_j"] for a, b in zip(front, front[1:]))
assert not any(o["predicted_s"] < p["predicted_s"] and o["energy_j"] < p["energy_j"] for p in front for o in points)
# The same machine as its own file says takes the same time.
memory = {s["memory.latency"]: t for s, t in ((p["set"], p["predicted_s"]) for p in points) if s["dispatch_width"] == 4 and s["l3.size"] == 8 << 20}
assert memory[50] < memory[70] < memory[90]
END

echo "--- the same bytes by one process, and a point is what predict says"
"$CORECAST" explore app.ccp --space space.yaml --within 5 --json --jobs 1 | cmp - json
printf 'base: base\nvary: { cores: [1, 4] }\n' >cores.yaml
"$CORECAST" explore app.ccp --space cores.yaml --json >cores
for cores in 1 4; do
	"$CORECAST" predict app.ccp -m base --cores "$cores" --replications 1 --json >"predicted-$cores"
done
python3 - <<'END'
import json
explored = {p["set"]["cores"]: p["predicted_s"] for p in json.load(open("cores"))["points"]}
for cores in 1, 4:
    assert json.load(open(f"predicted-{cores}"))["machines"][0]["predicted_s"] == explored[cores]
END

echo "--- files and columns"
"$CORECAST" explore app.ccp --space space.yaml --csv out.csv --svg out.svg --html out.html >text
[ "$(wc -L <text)" -le 80 ]
head -n 1 out.csv
wc -l <out.csv
grep -q '<svg' out.svg
grep -q '</html>' out.html
grep -c 'is fastest' text

echo "--- what is refused"
refused() {
	local status=0
	"$CORECAST" explore "$@" >stdout 2>stderr || status=$?
	echo "status $status: $(head -n 1 stderr)"
	[ ! -s stdout ]
}
refused app.ccp
refused --space space.yaml
refused app.ccp --space none.yaml
refused app.ccp --space space.yaml --within -1
printf 'base: base\nvary: { rob: [many] }\n' >bad.yaml
refused app.ccp --space bad.yaml
printf 'base: base\nvary: { rob: [20, 30] }\nrequire: [{ value: rob, most: 10 }]\n' >empty.yaml
refused app.ccp --space empty.yaml
