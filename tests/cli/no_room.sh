# SPDX-License-Identifier: GPL-3.0-or-later
# Where no byte can be written, each command says so, and leaves neither an empty file nor a temporary one.
printf 'threads,time\n1,10\n2,5.4\n4,3\n8,2\n' >runs.csv
"$CORECAST" record --via preload -o run.cct -- "$CORECAST_BUILD/tests/programs/progress" 100 >dots 2>stderr || cat stderr

without_room() {
	echo "== $*"
	local status=0
	(set +x; ulimit -f 0; exec "$CORECAST" "$@") 2>&1 | sed "s/tmp[^ ']*/FILE/" || status=${PIPESTATUS[0]}
	echo "exit $status"
}

ls >before
without_room forecast runs.csv --svg a.svg
without_room forecast runs.csv --html a.html
without_room forecast runs.csv --csv a.csv
without_room criticality run.cct --folded a.folded
without_room export run.cct --to csv -o a.csv
without_room export run.cct --to cct -o a.cct
without_room model run.cct --force -o a.yaml
without_room measure --stalls none -n 1 -r 1 -o a.csv -- true '{n}'
without_room record --via preload -o a.cct -- true
ls | diff before - && echo "nothing is left"
echo "== no room in memory, nor in the folder for what is temporary"
mkdir small
cat >small.sh <<'END'
mount -t tmpfs -o size=4k none /dev/shm && mount -t tmpfs -o size=4k none small || exit 77
boosts() { "$CORECAST" boost --via preload --dry-run -- "$CORECAST_BUILD/tests/programs/progress" 1; }
boosts >dots 2>stderr || exit 1
status=0
TMPDIR=$PWD/small boosts >dots 2>stderr || status=$?
[ "$status" -eq 1 ] && grep -q 'No space left' stderr && [ -z "$(ls small)" ]
END
status=0
unshare -rm bash small.sh 2>unshare.log || status=$?
[ "$status" -eq 0 ] || grep -q 'unshare\|mount' unshare.log # who may not have folders of his own

echo "== room for the file's beginning"
# shellcheck disable=SC2069 # what it says, not what it prints
(ulimit -f 16; exec "$CORECAST" record --via preload --samples 0 -o a.cct -- "$CORECAST_BUILD/tests/programs/progress" 100) 2>&1 >dots ||
	echo "exit $?"
[ ! -e a.cct ] || echo "an empty file is left"
