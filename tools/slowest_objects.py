#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The objects of a build that took longest, from ninja's own log: tools/slowest_objects.py build/release [--count 20]"""
import argparse
from pathlib import Path


def seconds_by_object(log):
    """Of each object, its last build. Lines are: begin and end in ms, a time stamp, the output, a hash."""
    seconds = {}
    for line in log.splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[3].endswith((".o", ".gch")):
            seconds[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return seconds


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("build", type=Path)
    arguments.add_argument("--count", type=int, default=20)
    options = arguments.parse_args()
    seconds = seconds_by_object((options.build / ".ninja_log").read_text(encoding="utf-8"))
    print(f"{len(seconds)} objects, {sum(seconds.values()):.0f} s in all; those from the compiler cache count as they came")
    for name, each in sorted(seconds.items(), key=lambda item: -item[1])[: options.count]:
        print(f"{each:7.1f} s  {name}")


if __name__ == "__main__":
    main()
