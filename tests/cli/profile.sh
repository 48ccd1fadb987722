# SPDX-License-Identifier: GPL-3.0-or-later
# What corecast profile makes of programs, and what it says when it cannot.
profile() {
	local status=0
	"$CORECAST" profile "$@" 2>stderr || status=$?
	echo "status $status"
}

echo "-- usage"
for arguments in "" "operand" "--size-limit 0 -- true"; do
	# shellcheck disable=SC2086 # several words
	"$CORECAST" profile $arguments >stdout 2>stderr || echo "status $?: $(head -n 1 stderr)"
done

echo "-- what cannot be profiled"
printf '#!/bin/sh\nexec true\n' >script
chmod +x script
profile -o none.ccp -- ./script
cat stderr
profile -o none.ccp -- ./no-such-program
cat stderr
strip -o stripped "$CORECAST_BUILD/tests/programs/static"
profile -o none.ccp -- ./stripped
grep -q 'statically linked and stripped' stderr
touch there.ccp
profile -o there.ccp -- true
cat stderr
[ ! -e none.ccp ]
status=0
PATH=/nowhere "$CORECAST" profile --backend qemu -o none.ccp -- /bin/true 2>stderr || status=$?
echo "status $status: $(grep -o 'sudo apt-get install [a-z-]*' stderr)"
