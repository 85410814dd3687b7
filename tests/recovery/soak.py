#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills and stops random ranks of a supervised run for an hour, at random moments, then lets it end; does the same run again with
nobody disturbing it, checks that both have the same bits, and prints the goodput: its seconds over those of the disturbed one."""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from small_run import Run, environment, last_checkpoint, steps_done, words

DEADLINE_SECONDS = 5  # after which a stopped rank is taken for hung


def seconds_per_step(binary, folder):
    """Of a run that nobody disturbs, and that saves as often."""
    out = folder / "probe"
    subprocess.run(words(binary, out, 2000, 200, ["--processes"]), env=environment(), check=True, capture_output=True)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return (lines[-1]["elapsed_seconds"] - lines[500]["elapsed_seconds"]) / (len(lines) - 501)


def disturb(run, mean_gap, until, chooser):
    """Returns how many ranks were killed and stopped."""
    kills = stops = 0
    while time.monotonic() < until and run.process.poll() is None:
        time.sleep(min(chooser.expovariate(1 / mean_gap), max(0.0, until - time.monotonic())))
        ranks = run.ranks()
        if not ranks or run.process.poll() is not None:
            continue
        stop = chooser.random() < 0.25
        try:
            os.kill(chooser.choice(ranks), signal.SIGSTOP if stop else signal.SIGKILL)
        except ProcessLookupError:
            continue
        stops += 1 if stop else 0
        kills += 0 if stop else 1
    return kills, stops


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--mean-gap", type=float, default=60, help="seconds between two disturbances, on average")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chooser = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        step_seconds = seconds_per_step(arguments.binary, folder)
        steps = int(arguments.minutes * 60 / step_seconds)
        every = max(1, int(2 / step_seconds))
        print(f"{1000 * step_seconds:.2f} ms a step undisturbed; {steps} steps, a checkpoint every {every}", flush=True)
        out = folder / "soak"
        more = ["--supervise", "--restarts", "1000000", "--set", f"run.deadline_seconds={DEADLINE_SECONDS}"]
        begin = time.monotonic()
        run = Run(words(arguments.binary, out, steps, every, more), folder / "soak.log")
        try:
            kills, stops = disturb(run, arguments.mean_gap, begin + arguments.minutes * 60, chooser)
            code = run.wait(arguments.minutes * 60 + 600)
        finally:
            run.end()
        seconds = time.monotonic() - begin
        restarts = run.text().count("supervisor: restart ")
        print(f"{kills} kills, {stops} stops, {restarts} restarts, {seconds:.0f} s for {steps_done(out)} steps, exit code {code}")
        if code != 0 or steps_done(out) != steps:
            sys.exit(run.text()[-4000:])
        whole = folder / "whole"
        begin = time.monotonic()
        subprocess.run(words(arguments.binary, whole, steps, every, ["--processes"]), env=environment(), check=True,
                       capture_output=True)
        undisturbed = time.monotonic() - begin
        print(f"{undisturbed:.0f} s undisturbed: goodput {100 * undisturbed / seconds:.1f} %")
        same = last_checkpoint(out, steps) == last_checkpoint(whole, steps) != {}
        print("the weights have the bits of an undisturbed run" if same else "the weights have OTHER bits")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
