# SPDX-License-Identifier: GPL-3.0-or-later
# A bad file is refused: exit status 1, one line on stderr that names the place, nothing on stdout,
# and an output file that was there stays as it was. Standard output lists the refusals.

# What the last command must have done: refused, and left things as they were.
expect_refusal() {
	local name=$1 status=$2
	if [ "$status" -ne 1 ] || [ -s stdout ] || [ "$(wc -l <stderr)" -ne 1 ]; then
		echo "$name: exit $status, stdout $(wc -c <stdout) bytes, stderr:"
		cat stderr
		exit 1
	fi
	if [ "$(ls | wc -l)" -ne 4 ] || [ "$(cat out.csv)" != old ]; then
		echo "$name: files were left or changed:"
		ls
		exit 1
	fi
}

# Forecasts from standard input under the name of the case, with options; prints the refusal.
refused() {
	local name=$1 status=0
	shift
	cat >"$name"
	echo old >out.csv
	"$CORECAST" forecast "$name" --csv out.csv "$@" >stdout 2>stderr || status=$?
	expect_refusal "$name" "$status"
	cat stderr
	status=0
	"$CORECAST" forecast "$name" --json "$@" >stdout 2>stderr || status=$?
	expect_refusal "$name" "$status"
	rm "$name" out.csv
}

four='threads,time\n1,10\n2,6\n3,5\n'

printf '' | refused empty
printf 'threads,time\n' | refused header_only
printf '# note\n' | refused comments_only
printf 'threads,time\n4,2.5\n' | refused one_row
printf "${four}4,0\n" | refused zero
printf "${four}4,-2\n" | refused negative
printf "${four}4,nan\n" | refused nan
printf "${four}4,inf\n" | refused infinite
printf "${four}4,1e-300\n" | refused no_time_at_all
printf '{"results": [{"command": "a", "times": [1e300], "parameters": {"threads": "1"}}]}' | refused endless_json
printf "${four}4,fast\n" | refused text
printf "${four}four,3\n" | refused count_in_words
printf "${four}0,3\n" | refused no_threads
printf "${four}4\n" | refused too_few_fields
printf "${four}4,3,5\n" | refused decimal_comma
printf "${four}4,\"3\n" | refused open_quote
printf 'n,time\n1,10\n' | refused no_threads_column
printf 'threads,user\n1,10\n' | refused no_time_column
printf '1,10\n2,6\n' | refused no_header
printf 'threads;time\n1;10\n' | refused semicolons
printf 'threads,value\n1,1\n2,2\n3,3\n4,4\n' | refused unknown_metric
printf "$four" | refused other_metric --metric throughput
printf '\xff\xfet\0h\0' | refused utf16
printf "${four}4,\0003\n" | refused zero_byte
printf "${four}4,\r3\n" | refused carriage_return
printf 'th\x9b2J\xffreads,time\n1,2\n' | refused stray_bytes
printf '{"results": [\n' | refused cut_json
printf '{"a": 1}' | refused other_json
printf 'PARAMETER p q\n' | refused two_parameters
printf '0.8,msec,task-clock,798976,100.00,,\n' | refused perf_without_threads
printf '# threads=1\n7,,resource_stalls.rob\n' | refused perf_without_time
head -c 3000000 /dev/zero | tr '\0' 7 | refused endless_line

# What cannot be opened or written.
for wrong in missing . ; do
	status=0
	"$CORECAST" forecast "$wrong" >stdout 2>stderr || status=$?
	if [ "$status" -ne 1 ] || [ -s stdout ]; then
		echo "$wrong: exit $status"
		exit 1
	fi
	cat stderr
done
