#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of web/ that a machine can check: a head in each file, its length, no markup and no code from strings, no styles in
markup, nothing from other origins, and types, by tsc where it is installed. Prints `file:line: what` and exits 1 when one is broken."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent.parent / "web"
MAX_LINES = 420
FORBIDDEN = [
    (r"\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write\b|createContextualFragment|DOMParser", "markup from a string: use dom.js"),
    (r"\beval\(|new Function\(|setTimeout\(\s*[\"'`]", "code from a string"),
    (r"<[a-z][^>]*\s(style|on[a-z]+)=", "styles and handlers in markup, which the policy forbids"),
    (r"(?:src|href|import|fetch|url)\s*[=(]\s*[\"'`]?(?:https?:)?//", "something from another origin"),
    (r"\bdocument\.cookie\b", "cookies"),
]


def broken_rules():
    for file in sorted(WEB.iterdir()):
        if file.suffix not in (".js", ".css", ".html"):
            continue
        lines = file.read_text().split("\n")
        if not any("SPDX-License-Identifier" in line for line in lines[:3]):
            yield f"{file.name}:1: no SPDX line"
        if file.suffix == ".js" and len(lines) > MAX_LINES:
            yield f"{file.name}:{len(lines)}: more than {MAX_LINES} lines"
        for number, line in enumerate(lines, 1):
            for pattern, what in FORBIDDEN:
                if re.search(pattern, line):
                    yield f"{file.name}:{number}: {what}"


def main():
    problems = [f"web/{problem}" for problem in broken_rules()]
    if shutil.which("tsc"):
        told = subprocess.run(["tsc", "--project", str(WEB / "jsconfig.json")], capture_output=True, text=True, check=False)
        problems += told.stdout.splitlines() if told.returncode else []
    else:
        print("types of web/ are not checked: tsc is missing (tools/setup.sh browser)")
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
