# SPDX-License-Identifier: GPL-3.0-or-later
# Models are played: the same bytes on any machine and with any number of processes; what is wrong is said.
models=$CORECAST_SOURCE/examples/models

"$CORECAST" simulate "$models/webserver.yaml" --requests 2000
"$CORECAST" simulate "$models/webserver.yaml" --set workers=1,4 --set rate=50-450:200 --set descriptors=64 \
	--requests 2000 --replications 3 --goal 'max throughput, p99 < 200 ms'
"$CORECAST" simulate "$models/galaxy.yaml" --set force_threads=1,2,4 --set collision_threads=1,4 --set iterations=5 \
	--goal 'min iteration'

# Shared out differently, and written in other forms.
for jobs in 1 3; do
	"$CORECAST" simulate "$models/webserver.yaml" --set workers=1,2 --set rate=50,100 --requests 1000 --seed 7 \
		--jobs $jobs --fragments --json --csv $jobs.csv --svg $jobs.svg --html $jobs.html >$jobs.json
done
for form in json csv svg html; do
	cmp 1.$form 3.$form
done
jq -e '.settings | length == 4' 1.json
jq -e '[.settings[] | .response_s | .low <= .mean and .mean <= .high and .p50 <= .p99] | all' 1.json
jq -e '[.settings[] | .utilisation | .cores.mean < .disk.mean] | all' 1.json
jq -e '.settings[3] | .set == {"workers": 2, "rate": 100} and .parts.read.mean > 0 and
	.fragments.worker.fetch.per_s > 99' 1.json
test "$(wc -l <1.csv)" -eq 5
grep -c 'Heat map' 1.html
"$CORECAST" simulate "$models/webserver.yaml" --set rate=50 --requests 1000 --seed 8 --json >8.json
jq -e --slurpfile other 1.json '.settings[0].response_s != $other[0].settings[2].response_s' 8.json

# A setting that cannot be played does not hide the others.
cat >meet.yaml <<'END'
corecast_model: 1
parameters: { n: 2 }
barriers: { meet: { threads: 2 } }
threads: { w: { count: n, fragments: { a: { cpu: 1 ms, arrive: meet } } } }
END
"$CORECAST" simulate meet.yaml --set n=2,3
if "$CORECAST" simulate meet.yaml --set n=3 2>&1; then
	exit 1
fi

# Interrupted, what is done is printed, and nothing else is said to be.
cat >long.yaml <<'END'
corecast_model: 1
parameters: { n: 1 }
threads: { w: { count: 1, fragments: { a: { loop: b, times: n, next: exit }, b: { cpu: 1 us, next: a } } } }
END
timeout --preserve-status -s INT 2 "$CORECAST" simulate long.yaml --set n=1,1e9 --replications 1 \
	>interrupted 2>stderr && exit 1
grep -E '^corecast: interrupted(: 1 of 2 settings were simulated| before any setting was simulated)$' stderr >/dev/null

# Wrong use, and wrong models.
fails() {
	local expected=$1 status=0
	shift
	"$CORECAST" simulate "$@" >out 2>err || status=$?
	test "$status" -eq "$expected"
	test ! -s out
	head -n 1 err
}
printf 'corecast_model: 1\nthreads:\n  w: { count: 1, fragments: { a: { cpu: 3 } } }\n' >bad.yaml
printf 'corecast_model: 1\nparameters: { n: 2 }\nthreads:\n  m: { count: 1, fragments: { a: { spawn: w, times: n } } }\n%s\n' \
	'  w: { fragments: { a: { cpu: 1 ms } } }' >spawn.yaml
fails 2 spawn.yaml --set n=1.5
fails 1 bad.yaml
fails 1 none.yaml
fails 2
fails 2 meet.yaml --replications 0
fails 2 meet.yaml --fragments
fails 2 meet.yaml --set m=3
fails 2 meet.yaml --set n=1-3:0
fails 2 meet.yaml --set n=1.5,2.5
fails 2 meet.yaml --set n=1000000000
fails 2 meet.yaml --goal 'min lunch'
fails 2 meet.yaml --svg x.svg
printf 'corecast_model: 1\nqueues: { q: {} }\nsources: { s: { poisson: 70 /s, queue: q } }\nthreads: %s\n' \
	'{ w: { count: 1, fragments: { a: { get: q, next: b }, b: { cpu: 1 ms, next: a } } } }' >endless.yaml
fails 1 endless.yaml
"$CORECAST" simulate endless.yaml --duration 1 >out
fails 1 meet.yaml --json --html none/x.html
test ! -e x.svg
# What nobody uses after the warm-up has a length of nothing, not of rounding.
cat >once.yaml <<'END'
corecast_model: 1
mutexes: { once: {} }
queues: { q: {} }
sources: { web: { poisson: 50 /s, queue: q } }
threads:
  worker:
    count: 1
    fragments:
      prepare: { lock: once, next: begin }
      begin: { cpu: 1333 ms, unlock: once, next: fetch }
      fetch: { get: q, next: work }
      work: { cpu: exponential 3 ms, do: end_request, next: fetch }
END
"$CORECAST" simulate once.yaml --json 2>/dev/null | tr -d ' \n' | grep -c '"kind":"mutex","length":{"mean":0.0,'

# Killed: what works for it is ended, too.
"$CORECAST" simulate "$CORECAST_SOURCE/examples/models/webserver.yaml" --set workers=1-64 -n 1000000000 --jobs 2 >out 2>stderr &
killed=$!
until workers=$(cat "/proc/$killed/task/$killed/children") && [ "$(wc -w <<<"$workers")" -eq 2 ]; do sleep 0.01; done
kill -KILL "$killed"
wait "$killed" 2>stderr || true
for worker in $workers; do
	while [ -e "/proc/$worker/exe" ]; do sleep 0.01; done # one that nobody has waited for has none
done
