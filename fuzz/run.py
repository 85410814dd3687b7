#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every fuzz target for a while from its seeds in fuzz/corpus, as many at once as there are cores, within bounds of
memory and time per input. What it learns lies in the build folder and is used again. Exits 1 where one finds something."""
import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
# No parser may ask for a block of more than 64 MB, or hold more than 768 MB in all (most of it the sanitizer's own).
LIMITS = ["-malloc_limit_mb=64", "-rss_limit_mb=768", "-timeout=10", "-max_len=8192", "-print_final_stats=1"]
# A zstd frame may ask for its window, of up to 128 MB.
MORE = {"text": ["-malloc_limit_mb=160", "-rss_limit_mb=1024"]}
# Of --runs: an input is a file that is written, and read and unpacked four times.
SHARE = {"text": 0.1}


def fuzz(target, given):
    name = target.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory() as fresh:
        learnt = Path(fresh) if given.runs else given.build / "corpus" / name
        learnt.mkdir(parents=True, exist_ok=True)
        length = f"-runs={int(given.runs * SHARE.get(name, 1))}" if given.runs else f"-max_total_time={given.seconds}"
        command = [target, *LIMITS, *MORE.get(name, []), length, f"-seed={given.seed}", f"-artifact_prefix={given.build}/{name}-", learnt,
                   HERE / "corpus" / name]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return name, done.returncode, done.stdout.decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="folder with the binaries")
    parser.add_argument("--seconds", type=int, default=30, help="for each target")
    parser.add_argument("--runs", type=int, default=0,
                        help="inputs for each target instead of seconds, from the seeds alone: with --seed the same on every machine")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations; 0: another one each time")
    parser.add_argument("targets", nargs="*", help="such as config; all when none is given")
    given = parser.parse_args()
    targets = [path for path in sorted(given.build.glob("fuzz_*")) if os.access(path, os.X_OK) and path.is_file()]
    if given.targets:
        targets = [path for path in targets if path.name.removeprefix("fuzz_") in given.targets]
    if not targets:
        sys.exit(f"no fuzz target in {given.build}: make fuzz builds them")
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, text in pool.map(lambda target: fuzz(target, given), targets):
            stats = dict(line.removeprefix("stat::").split(":", 1) for line in text.splitlines() if line.startswith("stat::"))
            runs = int(stats.get("number_of_executed_units", 0))
            if code != 0 or runs == 0:
                failed += 1
                print(text[-6000:])
            print(f"{name}: {'FOUND SOMETHING' if code else 'clean'}, {runs} inputs, peak {stats.get('peak_rss_mb', '?').strip()} MB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
