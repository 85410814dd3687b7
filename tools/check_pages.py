#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pages name exists: files and headings that links lead to, paths of the tree, and, with a binary, every subcommand,
flag and config key of the commands in them. Prints `page:line: what` and exits 1 when something does not."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TREE_PATH = re.compile(r"`((?:src|tests|tools|bench|docs|examples|fuzz|clusters)/[\w./*-]+)`")
COMMAND = re.compile(r"(?:^|[\s/`])tessera ([a-z][a-z-]*(?=[ `]|$)[^`|;&]*)")
MADE_UP = "tanh_gate"  # the op that CONTRIBUTING.md adds
KEY = re.compile(r"--set '?([a-z][\w.]*)=")


def pages():
    found = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in found.split() if not name.startswith("bench/results/")]


def anchors(text):
    """The names that a browser jumps to: headings in lower case, without marks, dashes for spaces."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", prose, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", title).lower()).replace(" ", "-") for title in titles}


def link_problem(page, target):
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return f"the link leads to {target}, which is not there"
    if anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
        return f"{path or page.name} has no heading #{anchor}"
    return None


def tree_problem(path):
    return None if MADE_UP in path or any(ROOT.glob(path.rstrip("/"))) else f"{path} is not in the tree"


def lines_of(text):
    """Numbered lines outside and inside of fences, with lines that end in a backslash joined to the first."""
    fenced, first, joined = False, 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
            continue
        first, joined = (first, joined + line) if joined else (number, line)
        if fenced and joined.endswith("\\"):
            joined = joined[:-1]
            continue
        yield first, fenced, joined
        joined = ""


class Binary:
    """What a binary says of itself: its subcommands' flags and the keys of a config."""

    def __init__(self, path):
        self.path, self.helps = path, {}
        self.keys = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)", self.ask("docs", "config")))

    def ask(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""

    def help(self, words):
        if words not in self.helps:
            self.helps[words] = self.ask(*words, "--help")
        return self.helps[words]

    def problems(self, command):
        command = re.sub(r"\"[^\"]*\"|'[^']*'", "quoted", command) if command.startswith("launch") else command
        own, _, handed_on = command.partition(" train")
        if own.startswith("launch") and handed_on:
            yield from self.problems(own)
            command = "train" + handed_on
        words = command.split()
        if not self.help((words[0],)):
            yield f"there is no subcommand {words[0]}"
            return
        nested = re.findall(r"^  ([a-z]+) ", self.help((words[0],)).partition("Subcommands:")[2], flags=re.M)
        names = tuple(words[:2] if words[1:2] and words[1] in nested else words[:1])
        known = set(re.findall(r"--[a-z][a-z-]*", self.help(names))) | {"--help"}
        for flag in re.findall(r"(?<=\s)--[a-z][a-z-]*", command):
            if flag not in known:
                yield f"tessera {' '.join(names)} has no {flag}"
        for key in KEY.findall(command):
            if key not in self.keys and not key.startswith(("mesh.", "plan.dims.", "data.mixture.")):
                yield f"there is no config key {key}"


def problems_of(page, text, binary=None):
    for number, fenced, line in lines_of(text):
        if not fenced:
            for target in LINK.findall(line):
                yield number, link_problem(page, target)
            for path in TREE_PATH.findall(line):
                yield number, tree_problem(path)
        for command in COMMAND.findall(re.sub(r"\s#.*", "", line)) if binary else []:
            if fenced or f"`tessera {command}`" in line:
                for what in binary.problems(command):
                    yield number, what


def main():
    binary = Binary(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else None
    broken = [f"{page.relative_to(ROOT)}:{number}: {what}" for page in pages()
              for number, what in problems_of(page, page.read_text(encoding="utf-8"), binary) if what]
    print("\n".join(broken), end="\n" if broken else "")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
