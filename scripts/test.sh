#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs what is missing, builds corecast in every way that we support, and runs every test and check.
# The last line counts them: "N passed, N failed, N skipped". Exits 1 if any failed.
#
# Build folders and logs are kept in build-test/ (CORECAST_TEST_BUILD names another place), so that
# a second run only does what changed.
set -euo pipefail

source_root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
work=${CORECAST_TEST_BUILD:-$source_root/build-test}
fuzz_seconds=${CORECAST_FUZZ_SECONDS:-3}
jobs=$(nproc)
counts=$work/log/counts # lines of a result and how often, as checks run side by side
export LC_ALL=C.UTF-8
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 # undefined behaviour fails a test

# count passed|failed|skipped [NUMBER]
count() {
	echo "$1 ${2:-1}" >>"$counts"
}

# counted passed|failed|skipped: how many so far
counted() {
	awk -v result="$1" '$1 == result { sum += $2 } END { print sum + 0 }' "$counts"
}

skip() {
	count skipped
	printf 'skipped  %s: %s\n' "$1" "$2"
}

# check NAME COMMAND...: runs it with its output in a log; counts it, and shows the log's end if it failed.
# Exit status 77 is a skip, for the reason on the last line.
check() {
	local name=$1 log=$work/log/${1//[ \/]/-}.log start=$SECONDS status=0
	shift
	"$@" </dev/null >"$log" 2>&1 || status=$?
	case $status in
	0)
		count passed
		printf 'ok       %-44s %4ds\n' "$name" $((SECONDS - start))
		;;
	77)
		skip "$name" "$(tail -n 1 "$log")"
		;;
	*)
		count failed
		printf 'FAILED   %-44s %4ds\n' "$name" $((SECONDS - start))
		tail -n 60 "$log" | sed 's/^/    | /'
		return 1
		;;
	esac
}

# build NAME gcc|clang OPTIONS...: configures and compiles build-test/NAME, warnings being errors.
build() {
	local folder=$work/$1 compilers=(CC=gcc CXX=g++)
	if [ "$2" = clang ]; then
		compilers=(CC=clang CXX=clang++)
	fi
	shift 2
	if ! env "${compilers[@]}" meson setup --reconfigure "$folder" "$source_root" -Dwerror=true "$@"; then
		rm -rf "$folder"
		env "${compilers[@]}" meson setup "$folder" "$source_root" -Dwerror=true "$@" || return
	fi
	ninja -j "$jobs" -C "$folder"
}

# of_tests RESULT FILE...: names of the tests with this result (an expression of jq) in meson's logs.
of_tests() {
	jq -r "select(.result | $1) | .name" "${@:2}"
}

# run_tests NAME OPTIONS...: runs the meson tests of build-test/NAME and counts each of them. Recorders are tested on real
# threads, in company of other tests: one that fails runs again alone, and that it had to is printed. Many sleep: so twice
# as many as cores run at a time.
run_tests() {
	local folder=$work/$1 log=$work/log/tests-$1.log start=$SECONDS
	local written=$folder/meson-logs/testlog.json results=$work/log/tests-$1.json again=$work/log/again-$1.json
	local all ok skip_count names=()
	rm -f "$written"
	meson test -C "$folder" --no-rebuild --timeout-multiplier 4 --num-processes $((2 * jobs)) --print-errorlogs "${@:2}" </dev/null >"$log" 2>&1 || true
	if ! [ -s "$written" ]; then
		count failed
		printf 'FAILED   tests of %s did not run\n' "$1"
		tail -n 20 "$log" | sed 's/^/    | /'
		return
	fi
	cp "$written" "$results"
	all=$(wc -l <"$results")
	ok=$(of_tests '. == "OK"' "$results" | wc -l)
	skip_count=$(of_tests '. == "SKIP"' "$results" | wc -l)
	mapfile -t names < <(of_tests '. != "OK" and . != "SKIP"' "$results" | sed 's|.* / ||')
	if [ ${#names[@]} -gt 0 ] && [ ${#names[@]} -le 3 ]; then
		jq -c 'select(.result == "OK" or .result == "SKIP" | not)' "$results" | show_failures 'again   '
		meson test -C "$folder" --no-rebuild --timeout-multiplier 4 --num-processes 1 "${names[@]}" </dev/null >>"$log" 2>&1 || true
		cp "$written" "$again"
		# A unit test and a test of a command may share a name: both run again, the one that failed is counted.
		ok=$((ok + $(of_tests '. == "OK"' "$again" |
			grep -cxFf <(of_tests '. != "OK" and . != "SKIP"' "$results") || true)))
	else
		cp "$results" "$again"
	fi
	count passed "$ok"
	count skipped "$skip_count"
	count failed $((all - ok - skip_count))
	printf '%-8s %-44s %4ds  %d of %d passed\n' "$([ "$all" -eq $((ok + skip_count)) ] &&
		echo ok || echo FAILED)" "tests of $1" $((SECONDS - start)) "$ok" "$all"
	jq -r 'select(.result == "SKIP") | "skipped  \(.name): " + ((.stdout // "") + (.stderr // "")
		| rtrimstr("\n") | split("\n") | last // "no reason given")' "$results"
	jq -c 'select(.result == "OK" or .result == "SKIP" | not)' "$again" | show_failures 'FAILED  '
}

# show_failures WORD: reads failed tests of a meson log; prints each with the end of its output.
show_failures() {
	jq -r --arg word "$1" '"\($word) \(.name): \(.result)\n" + ((.stdout // "") + (.stderr // "")
		| split("\n") | .[-60:] | map("    | " + .) | join("\n"))'
}

c_files() {
	find "$source_root"/{src,cmd,include,preload,plugin,tests,fuzz,bench,examples} -name '*.[ch]' | sort
}

check_format() {
	c_files | xargs -d '\n' clang-format --dry-run -Werror
}

# What the clang build compiles of ours, whose compile_commands.json clang understands. Not the tests: the
# analyser does not know that cmocka's assertions end a test. A file that goes into several programs once for each set of
# definitions (but how threads' own variables are found is the same text); the largest first, so that all cores are busy
# until the end. The analyser looks at a ninth of the states of a function that it would by default: it reaches the same
# blocks of code, but for 1 in 1000, in a fifth of the time (its debug.Stats counts them).
check_tidy() {
	local limit=(-Xclang -analyzer-config -Xclang max-nodes=25000)
	mkdir -p "$work/tidy"
	jq 'unique_by([.file, (.command | [scan("-D(?!TRACED_THREAD_MODEL)[^ ]*")])])' "$work/sanitized/compile_commands.json" \
		>"$work/tidy/compile_commands.json"
	jq -r '.[].file' "$work/tidy/compile_commands.json" | sort -u |
		sed -n "/^\.\.\/\.\.\/tests\//d; s|^\.\./\.\./|$source_root/|p" |
		xargs -d '\n' stat -c '%s %n' | sort -rn | cut -d' ' -f2- |
		xargs -d '\n' -P "$jobs" -n 4 clang-tidy --quiet -p "$work/tidy" "${limit[@]/#/--extra-arg=}"
}

check_shell() {
	# SC1083: {n} is what our users type. SC2154: tests use what their runner sets.
	find "$source_root" -path "$source_root/build*" -prune -o -name .git -prune -o \
		\( -name '*.sh' -o -name '*.bash' -o -path '*/.ci/run' \) -print |
		xargs -d '\n' shellcheck --shell=bash --severity=warning --exclude=SC1083,SC2154
}

# A few seconds of one fuzzer, starting from its corpus (fuzz/corpus/NAME).
run_fuzzer() {
	local fuzzer=$1 scratch
	scratch=$(mktemp -d "$work/fuzz-XXXXXX")
	mkdir "$scratch/new"
	local folders=("$scratch/new")
	if [ -d "$source_root/fuzz/corpus/$(basename "$fuzzer")" ]; then
		folders+=("$source_root/fuzz/corpus/$(basename "$fuzzer")")
	fi
	local status=0
	# Else it ends with 77 when it has found something.
	"$fuzzer" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=1024 -error_exitcode=1 \
		-artifact_prefix="$work/log/" "${folders[@]}" || status=$?
	rm -rf "$scratch"
	return "$status"
}

# Each on a core of its own.
run_fuzzers() {
	local fuzzer
	while read -r fuzzer; do
		[ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n || true
		check "fuzz $(basename "$fuzzer")" run_fuzzer "$fuzzer" &
	done < <(find "$work/sanitized/fuzz" -maxdepth 1 -type f -executable | sort)
	wait
}

finish() {
	local status=$?
	if [ "$status" -ne 0 ]; then
		count failed
		printf 'FAILED   stopped before the end, exit status %d\n' "$status"
	fi
	printf 'took %d min %d s; logs are in %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$work/log"
	printf '%d passed, %d failed, %d skipped\n' "$(counted passed)" "$(counted failed)" "$(counted skipped)"
	[ "$(counted failed)" -eq 0 ] || exit 1
}

mkdir -p "$work/log"
: >"$counts"
trap finish EXIT
check "packages" "$source_root/scripts/deps.sh" --test || exit 0 # finish() counts it

check "format" check_format || true
check "shell scripts" check_shell || true

# What users build, without assertions. gcc 12's analyser does not see scope cleanup, arrays that helpers fill, and
# conditions that imply another.
check "build gcc, -fanalyzer" build gcc gcc -Dbuildtype=release -Db_ndebug=true -Dc_args="-fanalyzer \
	-Wno-analyzer-malloc-leak -Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-null-argument" && run_tests gcc
# With assertions: what clang makes of them is tested with its sanitizers. The suite "source" looks at the sources alone,
# "examples" at the examples, once for each compiler.
check "build clang, sanitized" build sanitized clang -Db_sanitize=address,undefined -Db_lundef=false \
	-Dfuzzers=true && run_tests sanitized --no-suite source && run_fuzzers
# The suite "pure" has what is the same without optional parts.
check "build minimal" build minimal gcc -Dbuildtype=debug -Dbench=false \
	-Dpfm=disabled -Ddw=disabled -Ddemangle=disabled -Dhtml=disabled -Ddocs=disabled &&
	run_tests minimal --no-suite source --no-suite examples --no-suite pure

# Side by side: parts of each keep one core busy.
{
	check "races" env CORECAST_BUILD="$work/tsan" "$source_root/scripts/tsan.sh" || true
	check "quickstart" env CORECAST_BUILD="$work/gcc" "$source_root/scripts/quickstart.sh" || true
	check "debian package" "$source_root/tests/debian_package.sh" "$source_root" || true
} &
if [ -e "$work/sanitized/compile_commands.json" ]; then
	check "clang-tidy" check_tidy || true
else
	skip "clang-tidy" "the clang build failed"
fi
wait
