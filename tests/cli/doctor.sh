# SPDX-License-Identifier: GPL-3.0-or-later
# doctor exits 0 whatever is missing, fits one screen, and says the same as JSON.
"$CORECAST" doctor >text 2>stderr
"$CORECAST" doctor -v >verbose 2>>stderr
"$CORECAST" doctor --json >json 2>>stderr
if [ -s stderr ]; then
	cat stderr
	exit 1
fi

awk 'length($0) > 80 { print "wide: " $0; bad = 1 } END { exit bad }' text verbose
[ "$(wc -l <text)" -le 52 ]
if grep -q "$(printf '\033')" text; then
	echo "colour in a file"
	exit 1
fi

fields() {
	grep -o "\"$1\": *\"[^\"]*\"" json | sed 's/.*: *"//; s/"$//'
}
# The list of the checks is part of the contract of docs/formats/doctor.md.
sed -n '/"checks"/,$p' json | grep -o '"name": *"[^"]*"' | sed 's/.*: *"//; s/"$//'
fields status | sort -u | { ! grep -vx -e ok -e limited -e missing; }
# Both say the same, but of what others do on the cores, which may change in between.
sed -n 's/^\(ok\|limited\|missing\) .*/\1/p' <(grep -v '^[a-z]* *sharing ' text) >told
paste -d' ' <(sed -n '/"checks"/,$p' json | grep -o '"name": *"[^"]*"') <(fields status) | grep -v '"sharing"' | sed 's/.* //' | diff told -
grep -q '"version": *1' json
for key in processor usable_cores sockets cores hardware_threads affinity cpuset quota; do
	grep -q "\"$key\": " json
done

# Parts of the environment that may be missing: data files, a home, descriptors.
CORECAST_DATADIR=/nonexistent "$CORECAST" doctor >/dev/null
env -i "$CORECAST" doctor >/dev/null
(ulimit -n 4 && "$CORECAST" doctor >/dev/null)
if "$CORECAST" doctor extra 2>stderr; then
	echo "an operand was accepted"
	exit 1
fi
grep -q 'takes no program' stderr
if "$CORECAST" doctor -o this.yaml 2>stderr; then
	echo "an output without a measurement was accepted"
	exit 1
fi
