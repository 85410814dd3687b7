#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The config that `tessera plan --out` writes: `simulate` gives the step, the MFU and the bytes that plan printed, `train`
runs it and `verify` proves it. On clusters of threads with enough memory, and with so little that a plan must
recompute, shard or pipeline. For GPUs the config says so, and plan prints how to start it."""
import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CLUSTER = """
name = "test-machine"
calibrated = false
[rules]
algorithm = "fastest"
moves_in_wait = true
[device]
name = "CPU with two cores"
cores = 2
memory_bytes = {{ value = {memory}, source = "assumed" }}
memory_bandwidth = {{ value = 10e9, source = "assumed" }}
launch_seconds = {{ value = 1e-6, source = "assumed" }}
[device.peak_flops]
fp32 = {{ value = 80e9, source = "assumed" }}
[[level]]
name = "memory"
ranks = 1024
bandwidth = {{ value = {bandwidth}, source = "assumed" }}
latency_seconds = {{ value = 2e-6, source = "assumed" }}
[[efficiency]]
op = "other"
source = "assumed"
points = [[1, 1, 0, 0.7]]
"""
# Bytes of the machine, bytes per second between ranks, ranks, and a word that the chosen plan must show: so that each
# case keeps its point.
CASES = [(8e9, 5e9, 2, "recompute=none"), (3.2e7, 5e9, 4, "recompute=fit"), (6e7, 2e7, 2, "pp=2")]
MODEL = "--model tiny --batch 8 --seq 64 --set train.steps=2".split()


def run(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(binary, folder, memory, bandwidth, ranks, word):
    cluster, config = folder / "cluster.toml", folder / "plan.toml"
    cluster.write_text(CLUSTER.format(memory=memory, bandwidth=bandwidth), encoding="utf-8")
    planned = json.loads(run(binary, "plan", *MODEL, "--ranks", ranks, "--cluster", cluster, "--out", config, "--json"))
    best = planned["results"][0]
    wrong = [] if word in best["plan"] else [f"the plan is {best['plan']}, without {word}"]
    simulated = json.loads(run(binary, "simulate", config, "--cluster", cluster, "--json"))
    for key in ("step_seconds", "mfu", "peak_bytes", "exposed_communication_seconds", "bubble_seconds"):
        if simulated[key] != best[key]:
            wrong.append(f"{best['plan']}: plan gives {key} {best[key]}, simulate {simulated[key]}")
    run(binary, "train", config, "--out", folder / "out")
    run(binary, "verify", config)
    return wrong


# What a plan for two nodes of GPUs prints and writes: the launch lines, the pace, the changed model; device, precision and saves.
PRINTED = ["mpirun -np 16 --map-by ppr:8:node tessera train", "srun --kill-on-bad-exit=1 --nodes=2 --ntasks=16",
           " per device: 1T tokens take ", "llama3-1b with layers=4 (0.", "set data.path in it"]
WRITTEN = ['device = "cuda"', 'precision = "bf16"', 'source = "auto"']


def check_gpus(binary, folder):
    config = folder / "plan.toml"
    task = "plan --model llama3-1b --set model.layers=4 --ranks 16 --batch 32 --seq 1024 --cluster dgx-h100 --trials 4".split()
    printed = run(binary, *task, "--out", config)
    written = config.read_text(encoding="utf-8")
    wrong = [f"plan for GPUs does not print {text}" for text in PRINTED if text not in printed]
    wrong += [f"the config for GPUs lacks {text}" for text in WRITTEN if text not in written]
    if "every = 0\n" in written.split("[checkpoint]")[1].split("[")[0].replace("keep_every = 0\n", ""):
        wrong.append("the config for GPUs saves nothing")
    lasting = json.loads(run(binary, *task, "--tokens", "1T", "--out", config, "--json"))["whole_run"]
    if f"\nevery = {lasting['save_every']}\n" not in config.read_text(encoding="utf-8"):
        wrong.append(f"the config of a whole run does not save every {lasting['save_every']} steps, as its plan says")
    best = json.loads(run(binary, *task, "--json"))["results"][0]
    simulated = json.loads(run(binary, "simulate", config, "--cluster", "dgx-h100", "--json"))
    if simulated["mfu"] != best["mfu"]:
        wrong.append(f"plan gives MFU {best['mfu']}, simulate {simulated['mfu']}")
    if ", bf16, mesh 1" not in run(binary, "simulate", "--cluster", "dgx-h100", "--batch", 2, "--seq", 16):
        wrong.append("simulate on GPUs is not in bf16")
    return wrong


# Nodes of eight under one switch each, as many as the planner takes at all.
MANY = """
name = "many"
based_on = "llama3-h100"
[[level]]
name = "node"
ranks = 8
bandwidth = { value = 360e9, source = "assumed" }
latency_seconds = { value = 3e-6, source = "assumed" }
[[level]]
name = "cluster"
ranks = 102400
bandwidth = { value = 48e9, source = "assumed" }
latency_seconds = { value = 16e-6, source = "assumed" }
"""


def check_many(binary, folder):
    """100,000 ranks: an answer at all."""
    cluster, config = folder / "many.toml", folder / "plan.toml"
    cluster.write_text(MANY, encoding="utf-8")
    task = "plan --model llama3-405b --ranks 100000 --batch 10000 --seq 8192 --trials 2".split()
    best = json.loads(run(binary, *task, "--cluster", cluster, "--out", config, "--json"))["results"][0]
    wrong = [] if math.prod(int(size) for size in re.findall(r"=(\d+)", best["mesh"])) == 100000 else [f"the plan of 100,000 ranks is {best['plan']}"]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    binary = parser.parse_args().binary
    failed = 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong = check(binary, Path(folder), *case)
            except RuntimeError as error:
                wrong = [str(error)]
        for line in wrong:
            print(f"{case}: {line}")
        failed += len(wrong) > 0
    with tempfile.TemporaryDirectory() as folder:
        for_gpus = check_gpus(binary, Path(folder)) + check_many(binary, Path(folder))
    for line in for_gpus:
        print(line)
    print(f"{len(CASES) - failed} of {len(CASES)} plans are what simulate, train and verify take")
    return failed > 0 or len(for_gpus) > 0


if __name__ == "__main__":
    sys.exit(main())
