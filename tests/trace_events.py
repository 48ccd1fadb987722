#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks files against the Trace Event Format, as its viewers read it: trace_events.py FILE...

What they refuse or draw wrongly: an event without what its phase needs, slices of a thread that
overlap without one lying in the other, ends without begins, counters below zero.
"""
import json
import sys
from decimal import Decimal

NEEDED = {
    "X": {"ts", "dur", "name"}, "B": {"ts", "name"}, "E": {"ts"}, "i": {"ts", "name", "s"},
    "C": {"ts", "name", "args"}, "M": {"name", "args"}, "b": {"ts", "name", "id", "cat"},
    "e": {"ts", "name", "id", "cat"},
}


def check_fields(event):
    missing = ({"ph", "pid", "tid"} | NEEDED[event["ph"]]) - event.keys()
    assert not missing, f"{event}: without {missing}"
    if event["ph"] == "M":
        assert event["name"] in ("thread_name", "process_name") and event["args"]["name"], event
    else:
        assert event["ts"] >= 0, event
    if event["ph"] == "C":
        assert event["args"] and all(value >= 0 for value in event["args"].values()), event


def check_nesting(events):
    """Slices of one thread, in order of begin, longest first, as the viewers sort them."""
    slices, begun = [], []
    for event in events:
        if event["ph"] == "X":
            assert event["dur"] >= 0, event
            slices.append((event["ts"], -event["dur"], event["name"]))
        elif event["ph"] == "B":
            begun.append(event)
        elif event["ph"] == "E":
            assert begun, f"{event}: nothing was begun"
            begin = begun.pop()
            assert event.get("name", begin["name"]) == begin["name"], (begin, event)
            slices.append((begin["ts"], begin["ts"] - event["ts"], begin["name"]))
    slices.sort(key=lambda item: item[:2])
    open_ends = []
    for begin, minus_length, name in slices:
        end = begin - minus_length
        while open_ends and open_ends[-1][0] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1][0], f"{name} at {begin} overlaps {open_ends[-1]}"
        open_ends.append((end, name))
    return len(slices)


def check(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file, parse_float=Decimal)
    threads, requests = {}, {}
    for event in document["traceEvents"]:
        check_fields(event)
        threads.setdefault((event["pid"], event["tid"]), []).append(event)
        if event["ph"] in "be":
            key = (event["pid"], event["cat"], event["id"], event["name"])
            requests[key] = requests.get(key, 0) + (1 if event["ph"] == "b" else -1)
            assert requests[key] >= 0, f"{event}: ended before it was begun"
    return sum(check_nesting(events) for events in threads.values())


for name in sys.argv[1:]:
    assert check(name) > 0, f"{name}: no slices"
