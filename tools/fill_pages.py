#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages whose tables a command prints: in each page of DOCS, the block after a line `<!-- output of: ARGUMENTS -->` becomes the
command and what it prints. `<!-- output of: ARGUMENTS; from: TEXT; lines: N -->` keeps N lines from the first one that begins
with TEXT. Writes the pages that have such lines below FOLDER; files that a command draws are named relative to it.
Usage: fill_pages.py BINARY DOCS FOLDER"""
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

WIDTH = 120  # of a command in a block
BLOCK = re.compile(r"<!-- output of: (?P<arguments>[^;]*?)(?:; from: (?P<first>[^;]*?))?(?:; lines: (?P<lines>\d+))? -->\n```\n(?P<old>.*?)```\n",
                   re.DOTALL)


def output(binary, folder, match):
    done = subprocess.run([str(binary), *shlex.split(match["arguments"])], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tessera {match['arguments']}: exit code {done.returncode}\n{done.stderr}")
    lines = done.stdout.splitlines()
    if match["first"]:
        begin = next((i for i, line in enumerate(lines) if line.startswith(match["first"])), None)
        if begin is None:
            sys.exit(f"tessera {match['arguments']} prints no line that begins with {match['first']}")
        lines = lines[begin:]
    if match["lines"]:
        lines = lines[:int(match["lines"])]
    flags = re.sub(r"(--\S+) (?!--)", "\\1\\0", f"tessera {match['arguments']}")  # a flag and its value stay on one line
    command = textwrap.wrap(flags, WIDTH, break_long_words=False, break_on_hyphens=False)
    return " \\\n    ".join(command).replace("\0", " ") + "\n\n" + "".join(line.rstrip() + "\n" for line in lines)


def filled(binary, folder, text):
    def fill(match):
        return match.group(0).replace("```\n" + match["old"] + "```\n", "```\n" + output(binary, folder, match) + "```\n")
    return BLOCK.sub(fill, text)


def main():
    binary, docs, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "<!-- output of: " not in text:
            continue
        place = folder / page.relative_to(docs)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(filled(binary, place.parent, text), encoding="utf-8")


if __name__ == "__main__":
    main()
