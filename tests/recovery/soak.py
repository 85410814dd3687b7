#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills and stops random ranks of a supervised run for an hour, at random moments, then asks it to end. Prints the goodput: the
share of its time that went into steps that count. Then does as many steps again with nobody disturbing them, prints their time
over that of the disturbed ones, and checks that both runs have the same bits."""
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

from small_run import STOPPED, Run, environment, last_checkpoint, steps_done, wait_until, words

DEADLINE_SECONDS = 5  # after which a stopped rank is taken for hung
LEAST_GAP_SECONDS = 2 * DEADLINE_SECONDS
ENDLESS = 10**9  # steps: a signal ends the run


def command(binary, out, steps, every, more):
    """Of a run whose steps do not depend on how many there will be."""
    return words(binary, out, steps, every, ["--set", "train.schedule=constant", *more])


def seconds_per_step(binary, folder):
    """Of a run that nobody disturbs, and that saves as often."""
    out = folder / "probe"
    subprocess.run(command(binary, out, 2000, 200, ["--processes"]), env=environment(), check=True, capture_output=True)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return (lines[-1]["elapsed_seconds"] - lines[500]["elapsed_seconds"]) / (len(lines) - 501)


def seconds_in_steps(out):
    """From the end of each step to that of the next, over the steps that the run stands on at its end. What a start takes until its
    first step is left out; so are steps that a later start did again: they are no longer in the file."""
    seconds, before = 0, None
    for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        step = json.loads(line)
        goes_on = before is not None and step["elapsed_seconds"] > before["elapsed_seconds"]
        seconds += step["elapsed_seconds"] - before["elapsed_seconds"] if goes_on else step["step_seconds"]
        before = step
    return seconds


def disturb(run, mean_gap, until, chooser):
    """Returns how many ranks were killed and stopped."""
    kills = stops = 0
    while time.monotonic() < until and run.process.poll() is None:
        # Each one finds a run that has saved since the one before: three in a row without that are given up, as they should be.
        gap = LEAST_GAP_SECONDS + chooser.expovariate(1 / max(0.1, mean_gap - LEAST_GAP_SECONDS))
        time.sleep(min(gap, max(0.0, until - time.monotonic())))
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


def await_recovery(out):
    """Behind the last disturbance: until the run has saved once more."""
    checkpoints = out / "checkpoints"
    before = set(checkpoints.iterdir()) if checkpoints.exists() else set()
    time.sleep(LEAST_GAP_SECONDS)
    wait_until(lambda: any(folder not in before for folder in checkpoints.glob("step-????????")), 120, step=0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--mean-gap", type=float, default=60, help="seconds between two disturbances, on average")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-compare", action="store_true", help="leave the undisturbed run out, which takes as long again")
    arguments = parser.parse_args()
    chooser = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        step_seconds = seconds_per_step(arguments.binary, folder)
        every = max(1, int(2 / step_seconds))
        print(f"{1000 * step_seconds:.2f} ms a step undisturbed; a checkpoint every {every}", flush=True)
        out = folder / "soak"
        more = ["--supervise", "--restarts", "1000000", "--set", f"run.deadline_seconds={DEADLINE_SECONDS}"]
        begin = time.monotonic()
        run = Run(command(arguments.binary, out, ENDLESS, every, more), folder / "soak.log")
        try:
            kills, stops = disturb(run, arguments.mean_gap, begin + arguments.minutes * 60, chooser)
            await_recovery(out)
            run.process.send_signal(signal.SIGTERM)
            code = run.wait(600)
        finally:
            run.end()
        seconds = time.monotonic() - begin
        steps, restarts = steps_done(out), run.text().count("supervisor: restart ")
        print(f"{kills} kills, {stops} stops, {restarts} restarts, {seconds:.0f} s for {steps} steps, exit code {code}", flush=True)
        if code != STOPPED:
            sys.exit(run.text()[-4000:])
        in_steps = seconds_in_steps(out)
        print(f"goodput {100 * in_steps / seconds:.1f} %: {in_steps:.0f} s in steps that count", flush=True)
        if arguments.no_compare:
            return
        whole = folder / "whole"
        begin = time.monotonic()
        subprocess.run(command(arguments.binary, whole, steps, every, ["--processes"]), env=environment(), check=True,
                       capture_output=True)
        undisturbed = time.monotonic() - begin
        print(f"{undisturbed:.0f} s undisturbed: {100 * undisturbed / seconds:.1f} % of the disturbed run's")
        same = last_checkpoint(out, steps) == last_checkpoint(whole, steps) != {}
        print("the weights have the bits of an undisturbed run" if same else "the weights have OTHER bits")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
