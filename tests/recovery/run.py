#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills ranks of a supervised run with SIGKILL in every phase and checks that it ends by itself with the bits of a run that
nobody disturbed, and that nothing partial is left. --all: every rank in every phase, not one."""
import argparse
import pathlib
import sys
import tempfile

from small_run import RANKS, last_checkpoint, train

PHASES = ["load", "forward", "collective", "backward", "update", "snapshot", "write", "fsync", "rename", "manifest", "prune",
          "exit"]


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
    if f"rank {rank} was ended by signal 9" not in done.stderr or "supervisor: restart 1 of" not in done.stderr:
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
        train(arguments.binary, folder / "whole")  # ranks as threads
        undisturbed = last_checkpoint(folder / "whole")
        if len(undisturbed) != RANKS:
            sys.exit(f"the undisturbed run has {len(undisturbed)} shards")
        for number, phase in enumerate(PHASES):
            for rank in range(RANKS) if arguments.all else [number % RANKS]:
                problem = problem_of(arguments.binary, folder, phase, rank, undisturbed)
                total += 1
                failed += 1 if problem else 0
                if problem:
                    print(f"{phase} on rank {rank}: {problem}")
    print(f"{total - failed} of {total} kills recovered")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
