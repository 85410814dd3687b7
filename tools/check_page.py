#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of web/ that a machine can check: a head in each file, its length and that of functions, no markup and no code from strings, no styles in
markup, nothing from other origins, and types, by tsc where it is installed. Prints `file:line: what` and exits 1 when one is broken."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent.parent / "web"
MAX_LINES, MAX_FUNCTION_LINES = 420, 60
FUNCTION = re.compile(r"(\s*)(?:export )?(?:(?:async )?function\*? \w+|const \w+ = (?:async )?\([^)]*\) => \{$|(?!if\b|for\b|while\b|switch\b|catch\b)(?:async |static |get |set )*\w+\([^)]*\) \{$)")
FORBIDDEN = [
    (r"\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write\b|createContextualFragment|DOMParser", "markup from a string: use dom.js"),
    (r"\beval\(|new Function\(|setTimeout\(\s*[\"'`]", "code from a string"),
    (r"<[a-z][^>]*\s(style|on[a-z]+)=", "styles and handlers in markup, which the policy forbids"),
    (r"(?:src|href|import|fetch|url)\s*[=(]\s*[\"'`]?(?:https?:)?//", "something from another origin"),
    (r"\bdocument\.cookie\b", "cookies"),
]


def long_functions(lines):
    """(line, length) of functions that are too long, from their first line to the brace at its indentation."""
    for first, line in enumerate(lines):
        found = FUNCTION.match(line)
        last = found and next((at for at in range(first + 1, len(lines)) if lines[at].startswith(found.group(1) + "}")), first)
        if found and last - first + 1 > MAX_FUNCTION_LINES:
            yield first + 1, last - first + 1


def broken_rules():
    for file in sorted(WEB.iterdir()):
        if file.suffix not in (".js", ".css", ".html"):
            continue
        lines = file.read_text().split("\n")
        if not any("SPDX-License-Identifier" in line for line in lines[:3]):
            yield f"{file.name}:1: no SPDX line"
        if len(lines) > MAX_LINES:
            yield f"{file.name}:{len(lines)}: more than {MAX_LINES} lines"
        for number, length in long_functions(lines) if file.suffix == ".js" else []:
            yield f"{file.name}:{number}: a function of {length} lines, at most {MAX_FUNCTION_LINES}"
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
