#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden errors: runs every *.case beside this file in an empty folder and compares exit code and standard error.

A case is `setup:` lines (shell, optional), one `run:` line (arguments of tessera), `exit: N`, then `stderr:` and the exact
text. `env:` sets a variable for the run (NAME=value). `keeps:` names a file that setup made and that must still hold the same bytes. --update rewrites exit and text.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def parse(path):
    case = {"comment": [], "setup": [], "env": [], "keeps": [], "run": None, "exit": 2, "stderr": ""}
    lines = path.read_text().splitlines(keepends=True)
    for i, line in enumerate(lines):
        key, _, value = line.partition(":")
        if line.startswith("#"):
            case["comment"].append(line)
        elif key in ("setup", "env", "keeps"):
            case[key].append(value.strip())
        elif key == "run":
            case["run"] = value.strip()
        elif key == "exit":
            case["exit"] = int(value)
        elif key == "stderr":
            case["stderr"] = "".join(lines[i + 1:])
            break
        elif line.strip():
            sys.exit(f"{path.name}: line {i + 1} is not understood: {line}")
    if case["run"] is None:
        sys.exit(f"{path.name}: no run: line")
    return case


def show(case):
    text = "".join(case["comment"])
    text += "".join(f"setup: {line}\n" for line in case["setup"])
    text += "".join(f"env: {line}\n" for line in case["env"])
    text += "".join(f"keeps: {line}\n" for line in case["keeps"])
    return text + f"run: {case['run']}\nexit: {case['exit']}\nstderr:\n{case['stderr']}"


def run(case, binary):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, PATH=f"{binary.parent}:{os.environ['PATH']}", TESSERA=str(binary), LC_ALL="C")
        for line in case["setup"]:
            subprocess.run(["bash", "-e", "-o", "pipefail", "-c", line], cwd=folder, env=environment, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        kept = {name: (pathlib.Path(folder) / name).read_bytes() for name in case["keeps"]}
        environment.update(line.split("=", 1) for line in case["env"])
        done = subprocess.run(["bash", "-c", f"\"$TESSERA\" {case['run']}"], cwd=folder, env=environment, capture_output=True,
                              text=True, timeout=120)
        files = {name: pathlib.Path(folder) / name for name in kept}
        lost = [name for name, old in kept.items() if not files[name].exists() or files[name].read_bytes() != old]
    return done.returncode, done.stderr, lost


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--binary", type=pathlib.Path, required=True)
    options.add_argument("--update", action="store_true")
    options.add_argument("cases", nargs="*", help="names of cases; all when none is given")
    given = options.parse_args()
    paths = sorted(HERE.glob("*.case"))
    if given.cases:
        paths = [path for path in paths if path.stem in given.cases]
    failed = 0
    for path in paths:
        case = parse(path)
        code, text, lost = run(case, given.binary.resolve())
        if given.update:
            case.update(exit=code, stderr=text)
            path.write_text(show(case))
        elif (code, text, lost) != (case["exit"], case["stderr"], []):
            failed += 1
            print(f"FAILED {path.stem}\n  expected exit {case['exit']}:\n{case['stderr']}\n  got exit {code}:\n{text}"
                  + (f"\n  lost: {lost}" if lost else ""))
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
