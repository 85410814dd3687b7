# SPDX-License-Identifier: Apache-2.0
"""Runs checks, functions of a binary and a folder that they share, one after the other, and says which hold."""
import argparse
import pathlib
import sys
import tempfile
import time
import traceback


class LeftOut(Exception):
    """Raised by a check where what it needs is not there: the others still count."""


def run_checks(description, checks, missing=""):
    """`missing` is what the checks need and is not there; then they are skipped."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="words of the names of those to run, with commas between them")
    arguments = parser.parse_args()
    if missing:
        print(f"skipped: {missing}")
        return
    binary = arguments.binary.absolute()  # a check may run it in another folder
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for check in checks:
            if not any(word in check.__name__ for word in arguments.only.split(",")):
                continue
            begin = time.monotonic()
            try:
                check(binary, pathlib.Path(folder))
                print(f"{check.__name__}: holds ({time.monotonic() - begin:.1f} s)", flush=True)
            except LeftOut as reason:
                print(f"{check.__name__}: left out: {reason}", flush=True)
            except Exception:  # whatever it is, the other checks are of interest too
                failed += 1
                print(f"{check.__name__}: {traceback.format_exc()}", flush=True)
    sys.exit(1 if failed else 0)
