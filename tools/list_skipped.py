#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads CTest's JUnit file; prints one line of totals and, for every skipped test, the reason it gave."""
import re
import sys
import xml.etree.ElementTree as ElementTree


def reason(case):
    """What GTEST_SKIP() << "..." printed, else the last line of the output."""
    output = case.findtext("system-out") or ""
    match = re.search(r": Skipped\n(.*?)\n(?:\n|\[)", output, re.DOTALL)
    if match and match.group(1).strip():
        return " ".join(match.group(1).split())
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if lines and not lines[-1].startswith("["):
        return lines[-1]
    return "no reason given"


def main():
    cases = ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    skipped = [case for case in cases if case.find("skipped") is not None]
    failed = [case for case in cases if case.find("failure") is not None]
    passed = len(cases) - len(skipped) - len(failed)
    print(f"\n{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    for case in skipped:
        print(f"  skipped {case.get('name')}: {reason(case)}")


main()
