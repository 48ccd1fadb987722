# SPDX-License-Identifier: GPL-3.0-or-later
# Samples and requests to disks in a timeline that a person wrote: they go through every form, and what the
# samples weigh is what their threads accrued.
cat >hand.csv <<'CSV'
# end_ns: 1000
time_ns,pid,tid,event,what,object,site,value,flags,text
0,9,9,start,,,,,,
0,9,10,start,,,,,,
0,9,9,name,stack,1,,,,"1010 1020"
0,9,9,name,module,0x1000,,0x2000,,"/none/app"
100,9,9,sample,,1,0x1100,,,
100,9,10,sample,,,0x1200,,,
200,9,10,wait,io,3,,,,
210,9,10,disk_queue,disk,1,,4096,write|metadata,
220,9,10,disk_start,disk,1,,4096,write|metadata,
500,9,9,sample,,1,0x1104,,,
600,9,10,disk_end,disk,1,,4096,write|metadata,
650,9,10,pass,io,3,,,waited,
650,9,10,exit,,,,,,
900,9,11,sample,,,0x1300,,,
1000,9,9,exit,,,,,,
CSV
"$CORECAST" export hand.csv --to cct -o run.cct
"$CORECAST" export run.cct --to csv -o run.csv
cat run.csv
"$CORECAST" export run.csv --to csv | cmp run.csv -
"$CORECAST" export run.cct --to folded
"$CORECAST" criticality run.cct --json | jq -c '.total_s, ([.sites[].blame_s] | add), .samples, .sites_from, .sites'
"$CORECAST" criticality run.cct | sed -n '/^Code/,/^$/p'
"$CORECAST" export run.cct --to perfetto | jq -c '.traceEvents[] | select(.cat == "disk") | [.ph, .name, .id, .ts, .args.bytes]'
# Nor do they make a thread active.
"$CORECAST" export run.cct --to perfetto | jq -c '[.traceEvents[] | select(.ph == "C") | .args.count] | max'
