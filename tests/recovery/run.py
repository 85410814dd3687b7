#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a supervised run with SIGKILL in every phase and checks that it ends by itself with the bits of a run that nobody
disturbed, and that nothing partial is left. --all: every rank in every phase, not one."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

PHASES = ["load", "forward", "collective", "backward", "update", "snapshot", "write", "fsync", "rename", "manifest", "prune",
          "exit"]
FIRST_PROCESS = {"manifest", "prune"}  # only rank 0 comes by
STEPS, EVERY, RANKS = 8, 2, 4
SETTINGS = ["model.layers=2", "model.width=32", "model.heads=2", "model.kv_heads=2", "model.mlp_size=32", "train.batch=4",
            "train.microbatches=2", "train.seq=16", "train.ema_decay=0.9", "train.threads=1", "data.story_bytes=65536",
            "train.eval_every=0", "run.peak_gflops=100"]


def train(binary, out, fault="", more=()):
    command = [str(binary), "train", "--mesh", "dp=2,pp=2", "--steps", str(STEPS), "--save-every", str(EVERY), "--out", str(out),
               *(word for setting in SETTINGS for word in ("--set", setting)), "--json", *more]
    environment = {key: value for key, value in os.environ.items() if key != "TESSERA_FAULT"}
    if fault:
        environment["TESSERA_FAULT"] = fault
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def last_checkpoint(out):
    folder = out / "checkpoints" / f"step-{STEPS:08}"
    return {file.name: file.read_bytes() for file in sorted(folder.glob("rank-*.safetensors"))}


def problem_of(binary, folder, phase, rank, undisturbed):
    """What went wrong with one kill; empty: nothing."""
    out = folder / f"{phase}{rank}"
    more = ["--supervise"]
    if phase == "load":
        begun = train(binary, out, fault="phase=snapshot,step=6,action=kill")  # to go on with
        if begun.returncode != -9:
            return f"the run to go on with ended with {begun.returncode}: {begun.stderr}"
        more.append("--resume")
    step = "" if phase in ("load", "exit") else ",step=6"
    done = train(binary, out, fault=f"rank={rank},phase={phase}{step},action=kill", more=more)
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr}"
    if "supervisor: restart 1 of" not in done.stderr:
        return f"nothing was killed: {done.stderr}"
    if last_checkpoint(out) != undisturbed:
        return "other bits than those of the undisturbed run"
    left = [path.name for path in out.rglob("*.tmp")]
    return f"left {left}" if left else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    failed = total = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        train(arguments.binary, folder / "whole")
        undisturbed = last_checkpoint(folder / "whole")
        if len(undisturbed) != RANKS:
            sys.exit(f"the undisturbed run has {len(undisturbed)} shards")
        for number, phase in enumerate(PHASES):
            ranks = [0] if phase in FIRST_PROCESS else range(RANKS) if arguments.all else [number % RANKS]
            for rank in ranks:
                problem = problem_of(arguments.binary, folder, phase, rank, undisturbed)
                total += 1
                failed += 1 if problem else 0
                if problem:
                    print(f"{phase} on rank {rank}: {problem}")
    print(f"{total - failed} of {total} kills recovered")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
