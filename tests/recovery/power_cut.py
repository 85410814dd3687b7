#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Power cuts: a run saves on an ext4 of its own, whose image is copied at random instants and right after reports of a save,
between two of its calls to the system. What a copy holds after its journal is replayed is what a cut would have left: every checkpoint there is whole, and
the newest is no older than the newest that the run had reported. Needs root, for mounts; else it is skipped."""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import own_mounts
from small_run import state, wait_until

SETTINGS = ["model.layers=2", "model.width=32", "model.heads=2", "model.kv_heads=2", "model.mlp_size=32", "train.batch=4",
            "train.seq=16", "train.threads=1", "data.story_bytes=65536", "train.eval_every=0", "run.peak_gflops=100",
            "checkpoint.keep=3"]


def shell(*command, check=True):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=check)


def reported(out):
    """The newest step of which the run has said that it is saved."""
    newest = 0
    for line in (out / "events.jsonl").read_text().splitlines() if (out / "events.jsonl").exists() else []:
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if event["event"] == "saved":
            newest = max(newest, event["step"])
    return newest


def await_report(out, run):
    """Until the run says once more that it has saved; then nothing else has yet been made to last."""
    with (out / "events.jsonl").open(encoding="utf-8") as events:
        events.seek(0, os.SEEK_END)
        while run.poll() is None and '"saved"' not in events.readline():
            pass


def cut(run, out, image, copy):
    """Copies the image as it is at one moment: the run is stopped, and a copy that the kernel wrote into is made again.
    Returns the newest step that the run had reported by then."""
    run.send_signal(signal.SIGSTOP)
    wait_until(lambda: state(run.pid) in ("T", ""), 5)
    least = reported(out)
    while True:
        shell("cp", image, copy)
        if copy.read_bytes() == image.read_bytes():
            break
    run.send_signal(signal.SIGCONT)
    return least


def problem_of(binary, copy, mount, least):
    """What the copy of an image has lost; empty: nothing."""
    shell("mount", "-o", "loop", copy, mount)
    try:
        listed = shell(binary, "checkpoint", "verify", mount / "run", "--json", check=False)
        if not listed.stdout:
            return f"step {least} was reported, and verify says: {listed.stderr or listed.returncode}"
        results = json.loads(listed.stdout)["results"]
        broken = [result["problem"] for result in results if result["problem"]]
        newest = max([result["step"] for result in results if not result["problem"]], default=0)
        if broken:
            return f"broken: {broken}"
        return "" if newest >= least else f"step {least} was reported, the newest is {newest}"
    finally:
        shell("umount", mount)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    own_mounts.enter()
    random.seed(arguments.seed)
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        print("skipped: power cuts need root and mkfs.ext4")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        image, live, mount = folder / "image", folder / "live", folder / "mount"
        live.mkdir()
        mount.mkdir()
        shell("truncate", "-s", "48M", image)
        shell("mkfs.ext4", "-q", "-F", image)
        if shell("mount", "-o", "loop", image, live, check=False).returncode != 0:
            print("skipped: power cuts need a kernel with loop mounts")
            return
        out = live / "run"
        command = [arguments.binary, "train", "--mesh", "dp=2", "--steps", "1000000", "--save-every", "1", "--out", out,
                   "--json", *(word for setting in SETTINGS for word in ("--set", setting))]
        run = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        problems, steps = [], []
        try:
            while reported(out) < 2 and run.poll() is None:
                time.sleep(0.02)
            for number in range(arguments.cuts):
                time.sleep(random.uniform(0.01, 0.2))
                if number % 2 == 0:
                    await_report(out, run)
                steps.append(cut(run, out, image, folder / "copy"))
                problem = problem_of(arguments.binary, folder / "copy", mount, steps[-1])
                if problem:
                    problems.append(problem)
            if run.poll() is not None:
                problems.append(f"the run ended with {run.returncode}")
        finally:
            run.kill()
            run.wait()
            shell("umount", live)
    for problem in problems:
        print(problem)
    print(f"{arguments.cuts - len(problems)} of {arguments.cuts} cuts lost nothing, at steps {steps[0]} to {steps[-1]}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
