#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/pictures from what our own commands print. Usage: draw.py BINARY FOLDER [--train]
With --train the quick start is trained again for its losses (minutes); else the table of them in docs/pictures is drawn,
and its first steps must be those of this binary."""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import loss
import mesh
import parallelism
import speedrun_curves

TABLE = Path(__file__).resolve().parents[2] / "docs/pictures/quick_start.csv"
SPEEDRUN = TABLE.with_name("speedrun.csv")  # of a run of `make speedrun`
MESH = ["compile", "--model", "tiny", "--mesh", "dp=2,tp=2"]
QUICK_START = ["train", "--model", "tiny"]
CHECKED_STEPS = 10  # all within the warm-up, so that they do not depend on the number of steps
TOLERANCE = 1e-3    # another processor has other bits


def ask(binary, *arguments):
    return subprocess.run([binary, *arguments], check=True, capture_output=True, text=True).stdout


def trained(binary, folder, steps):
    """By run, its losses by step."""
    runs = {}
    for number, (name, flags) in enumerate(loss.RUNS.items()):
        out = folder / f"run{number}"
        ask(binary, *QUICK_START, *flags, "--steps", str(steps), "--set", "train.eval_every=0", "--out", str(out))
        runs[name] = loss.losses(out / "metrics.jsonl")
    return runs


def stale_losses(table, fresh):
    """The first loss that differs, in words, or None."""
    for name, losses in fresh.items():
        for step, value in losses.items():
            if abs(table[name][step] - value) > TOLERANCE * value:
                return f"the loss of {name} at step {step} is {value:.4f}, {TABLE.name} says {table[name][step]:.4f}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parallelism.draw(options.binary, "step", parallelism.TIMELINE, options.folder / "timeline.svg")
        parallelism.draw_all(options.binary, options.folder / "parallelism")
        ir = ask(options.binary, *MESH, "--dump-after", "localize")
        collectives = json.loads(ask(options.binary, *MESH, "--json"))["collectives"]
        (options.folder / "mesh.svg").write_text(mesh.draw(ir, collectives), encoding="utf-8")
        if options.train:
            loss.write_table(options.folder / TABLE.name, trained(options.binary, folder, loss.STEPS))
            table = loss.read_table(options.folder / TABLE.name)
        else:
            table = loss.read_table(TABLE)
            stale = stale_losses(table, trained(options.binary, folder, CHECKED_STEPS))
            if stale:
                sys.exit(f"error: {stale}\n help: run tools/pictures/draw.py BINARY docs/pictures --train and commit the result")
        speedrun = speedrun_curves.draw(speedrun_curves.read_table(SPEEDRUN))
        (options.folder / "speedrun.svg").write_text(speedrun, encoding="utf-8")
        (options.folder / "loss.svg").write_text(loss.draw(table), encoding="utf-8")


if __name__ == "__main__":
    main()
