#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over every source of the release build. Most of the time goes into headers that all files read, so files of a folder
are read together, as they are compiled (cmake/together.cmake); a forgotten include, which that could hide, is found by
tools/check_includes.py. What was clean is read again only after a change of it, of a header, of .clang-tidy or of the tools; --all reads
everything. Tests are left to the compiler's warnings, and so is what only the CUDA build compiles."""
import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_includes import Sources

ROOT = Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build" / "tidy"
CLEAN = DATABASE / "clean.txt"
SETTINGS = ["-DTESSERA_PRECOMPILE=OFF", "-DTESSERA_UNITY=ON", "-DTESSERA_PYTHON=ON", "--log-level=WARNING"]
LEFT_OUT = re.compile(r"(_test|_samples)\.cpp$|^src/(exec/cuda|comm/nccl)/|/toml_library\.cpp$")
READ = re.compile(r"^(src|examples|python)/")
# clang lacks GCC's shuffle; what is read here is not run, so any value of its type will do. Compiler warnings are GCC's
# task: clang's own are shown and not fatal.
GCC_ONLY = ["--extra-arg=-D__builtin_shuffle(first,...)=(first)", "--extra-arg=-Wno-unknown-pragmas", "--extra-arg=-Wno-unused-variable",
            "--extra-arg=-Wno-error"]


def sources_of(file):
    """Of a file that cmake has made to compile several together, those; else the file. Relative to the root."""
    names = re.findall(r'^#include "(.*)"$', file.read_text(encoding="utf-8"), re.MULTILINE) if "/Unity/" in str(file) else [str(file)]
    return [Path(name).resolve().relative_to(ROOT).as_posix() for name in names if Path(name).resolve().is_relative_to(ROOT)]


class Unit:
    """What one call of clang-tidy reads."""

    def __init__(self, entry, sources):
        self.file, self.command = Path(entry["file"]), entry["command"]
        self.sources = sources

    def digest(self, sources, tools):
        """Of all that the findings depend on."""
        files = sorted(set().union(*(sources.reached(name)[0] for name in self.sources)))
        parts = [tools, " ".join(shlex.split(self.command)), *files, *(sources.texts[name] for name in files)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def read(self):
        """Whether it is clean; prints what is not."""
        done = subprocess.run(["clang-tidy", "-p", str(DATABASE), "--quiet", *GCC_ONLY, str(self.file)], cwd=ROOT, capture_output=True,
                              text=True, check=False)
        said = "\n".join(line for line in (done.stdout + done.stderr).splitlines() if not re.match(r"\d+ warnings? (generated|treated)", line))
        if said.strip():
            print(said, flush=True)
        return done.returncode == 0


def units():
    """Each source once, the large ones first."""
    seen, found = set(), []
    for entry in json.loads((DATABASE / "compile_commands.json").read_text(encoding="utf-8")):
        names = [name for name in sources_of(Path(entry["file"])) if READ.match(name) and not LEFT_OUT.search(name) and name not in seen]
        if names:
            seen.update(names)
            found.append(Unit(entry, names))
    # Of what this build leaves out, such as no_mpi.cpp, clang-tidy takes the flags of a file nearby.
    for path in sorted(path for folder in ("src", "examples", "python") for path in (ROOT / folder).rglob("*.cpp")):
        name = path.relative_to(ROOT).as_posix()
        if name not in seen and not LEFT_OUT.search(name):
            found.append(Unit({"file": str(path), "command": ""}, [name]))
    return sorted(found, key=lambda unit: -len(unit.sources))


def digest_of_tools():
    said = [subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout for tool in ("clang-tidy", "g++")]
    made = sorted(path for path in DATABASE.rglob("*.h") if path.is_file())  # headers that the build writes
    return "\0".join([*said, (ROOT / ".clang-tidy").read_text(encoding="utf-8"), *GCC_ONLY, *(path.read_text(encoding="utf-8") for path in made)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="read everything, also what was clean")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    subprocess.run(["cmake", "--preset", "release", "-B", str(DATABASE), *SETTINGS], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    sources, tools = Sources(), digest_of_tools()
    all_units = units()
    digests = {id(unit): unit.digest(sources, tools) for unit in all_units}
    clean = set(CLEAN.read_text(encoding="utf-8").split()) if CLEAN.exists() and not arguments.all else set()
    left = [unit for unit in all_units if digests[id(unit)] not in clean]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        good = list(pool.map(Unit.read, left))
    clean &= set(digests.values())
    clean |= {digests[id(unit)] for unit, is_clean in zip(left, good) if is_clean}
    CLEAN.write_text("\n".join(sorted(clean)) + "\n", encoding="utf-8")
    number = sum(len(unit.sources) for unit in all_units)
    print(f"clang-tidy: {number} sources in {len(all_units)} units; {len(all_units) - len(left)} units had not changed since they were clean")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
