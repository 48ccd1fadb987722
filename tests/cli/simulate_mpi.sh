# SPDX-License-Identifier: GPL-3.0-or-later
# Several ranks of mpirun print, once, the same bytes as one process.
if ! command -v mpirun >/dev/null; then
	echo "no mpirun: install openmpi-bin"
	exit 77
fi
if ! [ -e "$CORECAST_BUILD/cmd/libcorecast-mpi.so" ]; then
	echo "built without Open MPI"
	exit 77
fi
# Ranks of a test: more than there are cores, also as root, without what Open MPI keeps until the end.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0

run() {
	"$@" "$CORECAST" simulate "$CORECAST_SOURCE/examples/models/webserver.yaml" --set workers=1,2 --set rate=50,100 \
		--requests 1000 --goal 'min response' --fragments --json
}

run env >one.json
for ranks in 2 3 5; do
	# mpirun itself can lose a rank that it starts ("PID 0 ... exiting improperly") on a loaded machine.
	for attempt in 1 2 3; do
		run timeout 60 mpirun --oversubscribe --bind-to none -np "$ranks" >ranks.json 2>stderr && break
		echo "attempt $attempt: $(cat stderr)" >&2
	done
	cmp one.json ranks.json
done
