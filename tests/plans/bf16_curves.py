#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In bf16, the loss curves of eight plans lie within the spread of three seeds on one rank: in every tenth of the run
the mean loss of each plan lies between the lowest and the highest of the seeds', give or take a tenth of what lies
between them."""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PLANS = ["dp=2", "dp=2 plan.zero=1", "fsdp=2 plan.zero=2", "fsdp=2 plan.zero=3", "tp=2",
         "tp=2 plan.sequence_parallel=true", "cp=2", "dp=2,tp=2 plan.reduce_dtype=bf16"]
MODEL = ["model.layers=2", "model.width=64", "model.heads=4", "model.kv_heads=2", "model.head_size=16", "model.mlp_size=128",
         "train.batch=8", "train.seq=64", "train.precision=bf16", "train.eval_every=0", "data.story_bytes=2000000",
         "run.peak_gflops=100"]


def losses(binary, steps, seed, plan, folder):
    mesh, *settings = plan.split() if plan else [""]
    command = [binary, "train", "--json", "--steps", str(steps), "--seed", str(seed), "--out", folder, "--overwrite"]
    if mesh:
        command += ["--mesh", mesh]
    for setting in MODEL + settings:
        command += ["--set", setting]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return [json.loads(line)["loss"] for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]


def tenths(curve):
    size = len(curve) // 10
    return [sum(curve[i * size:(i + 1) * size]) / size for i in range(10)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = lambda seed, plan: tenths(losses(arguments.binary, arguments.steps, seed, plan, folder))
        seeds = [run(seed, "") for seed in (1, 2, 3)]
        low = [min(values) for values in zip(*seeds)]
        high = [max(values) for values in zip(*seeds)]
        wrong = 0
        for plan in PLANS:
            curve = run(1, plan)
            off = [max(l - c, c - h, 0) / max(h - l, 1e-3) for c, l, h in zip(curve, low, high)]
            print(f"{plan:40} last tenth {curve[-1]:.4f}  outside the seeds by {max(off):.2f} of their spread at most")
            wrong += max(off) > 0.1
        print(f"seeds, last tenth: {low[-1]:.4f} to {high[-1]:.4f}")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
