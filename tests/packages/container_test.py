#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Container files are read as a builder reads them: known instructions, stages that exist, files that are there, scripts that the
shell accepts. With --run the steps of Containerfile.cpu are made in chroots of a clean Debian, and the result trains; no builder of
containers is needed. Containerfile.cuda is only read: its base images are not Debian's."""
import argparse
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from chroot import Chroot, why_not

ROOT = Path(__file__).resolve().parent.parent.parent
KNOWN = {"FROM", "RUN", "COPY", "ENV", "WORKDIR", "USER", "ENTRYPOINT"}
BROKEN = {  # a step that is wrong, and what is said of it
    "FROM debian:12\nRUM true": "unknown instruction",
    "RUN true": "before FROM",
    "FROM debian:12\nCOPY nowhere /there": "not in the tree",
    "FROM debian:12\nCOPY --from=build /a /b": "no stage",
    "FROM debian:12\nRUN if true; then echo": "not accepted by sh",
    "FROM debian:12\nRUN tools/not_there.sh": "not in the tree",
    "FROM debian:12\nENTRYPOINT tessera": "JSON",
}


def steps(text):
    """(instruction, rest) of each step, with lines that end in a backslash joined."""
    joined = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        joined += line[:-1] + " " if line.endswith("\\") else line
        if not line.endswith("\\"):
            word, _, rest = joined.strip().partition(" ")
            yield word, rest.strip()
            joined = ""


def copied(rest):
    words = rest.split()
    stage = words.pop(0).partition("=")[2] if words[0].startswith("--from=") else None
    return stage, words[:-1], words[-1]


def problems(text):
    stages, begun = set(), False
    for word, rest in steps(text):
        if word not in KNOWN:
            yield f"unknown instruction {word}"
        elif word == "FROM":
            begun = True
            named = re.search(r" AS (\w+)$", rest)
            stages |= {named.group(1)} if named else set()
        elif not begun:
            yield f"{word} before FROM"
        elif word == "COPY":
            stage, sources, _ = copied(rest)
            if stage and stage not in stages:
                yield f"COPY: no stage {stage}"
            for source in sources if not stage else []:
                if not (ROOT / source).exists():
                    yield f"COPY: {source} is not in the tree"
        elif word == "RUN":
            said = subprocess.run(["sh", "-n", "-c", rest], capture_output=True, text=True)
            if said.returncode != 0:
                yield f"RUN: not accepted by sh: {said.stderr.strip()}"
            for path in re.findall(r"(?<![\w/])tools/[\w.]+", rest):
                if not os.access(ROOT / path, os.X_OK):
                    yield f"RUN: {path} is not in the tree, or no program"
        elif word == "ENTRYPOINT":
            try:
                json.loads(rest)
            except ValueError:
                yield "ENTRYPOINT is no list in JSON"


def copy_tree(to):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in names.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


class Builder:
    """Stages as chroots. Objects come from this machine's compiler cache where it has them."""

    def __init__(self, cache):
        self.cache, self.stages, self.order = cache, {}, []

    def build(self, text):
        root, folder, environment, user = None, "/", [], "root"
        for word, rest in steps(text):
            print(f"{word} {rest[:100]}", flush=True)
            if word == "FROM":
                root, folder, environment, user = Chroot("bookworm", self.cache).__enter__(), "/", [], "root"
                self.order.append(root)
                if " AS " in rest:
                    self.stages[rest.split()[-1]] = root
            elif word == "COPY":
                self.copy(root, rest)
            elif word == "RUN":
                root.run("sh", "-c", f"cd {folder}; {rest}", environment=environment, binds=self.binds())
            elif word == "WORKDIR":
                folder = rest
                (root.root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif word == "ENV":
                environment += shlex.split(rest)
            elif word == "USER":
                user = rest
        return root, folder, user

    @staticmethod
    def binds():
        found = shutil.which("ccache") and subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True).stdout.strip()
        return [("/root/.cache/ccache", found)] if found and Path(found).is_dir() else []

    def copy(self, root, rest):
        stage, sources, to = copied(rest)
        there = root.root / to.lstrip("/")
        there.mkdir(parents=True, exist_ok=True)
        for source in sources:
            if stage:
                for path in glob.glob(str(self.stages[stage].root / source.lstrip("/"))):
                    shutil.copy2(path, there)
            else:
                copy_tree(there)

    def close(self):
        for root in self.order:
            root.__exit__()


def run_steps(file):
    builder = Builder(ROOT / "build/chroots")
    try:
        root, folder, user = builder.build(file.read_text(encoding="utf-8"))
        said = root.run("su", user, "-s", "/bin/sh", "-c", f"cd {folder} && tessera train --steps 20 --seq 64")
        print("the image trains" if "step" in said else f"FAILED: {said[-500:]}")
        return "step" in said
    finally:
        builder.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true", help="make the steps of Containerfile.cpu in chroots")
    given = parser.parse_args()
    failures = [f"{file.name}: {what}" for file in sorted((ROOT / "container").glob("Containerfile.*")) for what in problems(file.read_text())]
    for text, wanted in BROKEN.items():
        found = " ".join(problems(text))
        failures += [] if wanted in found else [f"not found: {wanted}; said: {found}"]
    print("\n".join(failures) or "container files are well formed")
    if given.run and not failures:
        reason = why_not()
        if reason:
            print(f"skipped: {reason}")
        elif not run_steps(ROOT / "container/Containerfile.cpu"):
            failures.append("the image does not train")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
