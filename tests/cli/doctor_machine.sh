# SPDX-License-Identifier: GPL-3.0-or-later
# A machine file of this machine: whatever it is, it can be read and predicted for, and says what was measured.
"$CORECAST" doctor --measure-machine -o ./this.yaml 2>stderr
grep -q '^Measured: ' stderr
grep -q '^As in ' stderr
"$CORECAST_BUILD/tests/programs/profile_of" "$CORECAST_SOURCE/tests/man/profile.csv" app.ccp
"$CORECAST" predict app.ccp -m ./this.yaml --replications 1 --json >predicted
grep -q "\"this\"" predicted
# Told before it measures.
if "$CORECAST" doctor --measure-machine -o ./none/this.yaml 2>stderr; then
	echo "an output that cannot be written was accepted"
	exit 1
fi
grep -q "cannot write './none/this.yaml'" stderr
if grep -q '^Measuring' stderr; then
	echo "it measured for an output that cannot be written"
	exit 1
fi
