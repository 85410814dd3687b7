#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of every browser_*.py of this folder in one Chromium. A module lists them as CHECKS, functions of a binary and
a folder, and a few that stand for the others as SAMPLE."""
import argparse
import importlib
import pathlib
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from cdp import find_chromium  # noqa: E402
from checks import LeftOut  # noqa: E402
from studio_server import why_not  # noqa: E402


def chosen(sample, only):
    for file in sorted(HERE.glob("browser_*.py")):
        module = importlib.import_module(file.stem)
        for check in getattr(module, "SAMPLE", []) if sample else module.CHECKS:
            name = f"{file.stem.removeprefix('browser_')}: {check.__name__}"
            if any(word in name for word in only.split(",")):
                yield name, check


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--sample", action="store_true", help="a few of each file")
    parser.add_argument("--only", default="", help="words of the names of those to run, with commas between them")
    arguments = parser.parse_args()
    missing = why_not(sys.argv) or ("" if find_chromium() else "Chromium is not installed (tools/setup.sh browser)")
    if missing:
        print(f"skipped: {missing}")
        return
    passed = failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as top:
        for name, check in chosen(arguments.sample, arguments.only):
            folder = pathlib.Path(top) / f"{passed + failed}"
            folder.mkdir()
            begin = time.monotonic()
            try:
                check(arguments.binary.resolve(), folder)
                passed += 1
                print(f"{name}: holds ({time.monotonic() - begin:.1f} s)", flush=True)
            except LeftOut as reason:
                print(f"{name}: left out: {reason}", flush=True)
            except Exception:  # whatever it is, the other checks are of interest too
                failed += 1
                print(f"{name}: {traceback.format_exc()}", flush=True)
    print(f"Studio in Chromium: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
