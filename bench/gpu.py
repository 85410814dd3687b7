#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps on one GPU beside PyTorch's, model by model, one after the other in one run: with repeatable bits, with
train.repeatable = false, the peer, and what `tessera simulate` predicts. Needs a build with CUDA and a python3 whose torch
sees the GPU. Progress goes to standard error, the tables come last; MFU is of the causal count of flops and --peak. What
CUDA and its libraries keep of the GPU for themselves is measured by a step of a tiny model; "over plan" is what a step
takes beyond that and its plan. Nothing is begun after --in-all seconds, and what was left out is said: so one call takes
less than ten minutes. --part 1/2 --json FILE and --part 2/2 measure half of the table each, and --merge FILE FILE prints
both. With several rounds the runs take turns, for ratios of runs that are within a percent of each other:
  bench/gpu.py --runs 8b 8b-fp8 --only ours free --rounds 3"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from gpu_rows import BF16_ALONE, DETERMINISTIC_PEER, LAYERS, MOST_STEPS, PARTS, PEER_PRECISIONS, RUNS, TABLE, print_tables

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / "bench" / "peer_torch_gpu.py"
BEGIN = time.monotonic()
# What is measured of a run, in this order: its prediction; with repeatable bits; the peer; with train.repeatable = false;
# the peer with repeatable bits.
KINDS = ("simulated", "ours", "peer", "free", "peer_repeats")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "cuda" / "tessera")
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(TABLE))
    parser.add_argument("--part", choices=("1/2", "2/2"), help="half of the runs of the table")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS,
                        help="what to measure; free: train.repeatable = false, peer_repeats: PyTorch's deterministic mode")
    parser.add_argument("--rounds", type=int, default=1, help="rounds over all runs, each of ours and the peer in turn")
    parser.add_argument("--steps", type=int, default=4, help="steps measured per round, fewer where they are long")
    parser.add_argument("--warmup", type=int, default=3, help="steps of the peer before those")
    parser.add_argument("--peak", type=float, default=989.4, help="TFLOP/s that MFU is taken of")
    parser.add_argument("--cluster", default="h200", help="what the prediction is for; empty: none")
    parser.add_argument("--peer-python", default="python3")
    parser.add_argument("--set", nargs="*", default=[], help="config keys of ours, as in tessera bench step --set")
    parser.add_argument("--seconds", type=int, default=120, help="most that one measurement may take")
    parser.add_argument("--in-all", type=int, default=590, help="seconds after which nothing more is begun")
    parser.add_argument("--json", type=Path, help="file for all results, written after each measurement")
    parser.add_argument("--merge", nargs="+", type=Path, help="measure nothing; print the tables of these files")
    return parser.parse_args()


def elapsed():
    return time.monotonic() - BEGIN


def say(text):
    print(f"{elapsed():6.1f} s  {text}", file=sys.stderr, flush=True)


class Measurement:
    """A command that prints JSON last. `waiting`: it is started early, and begins when it is told to."""

    def __init__(self, command, waiting=False):
        self.command = [str(part) for part in command]
        self.process = None
        if waiting:
            self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def run(self, seconds):
        """The JSON, or None, with the reason on standard error."""
        if self.process is None:
            self.start()
        begin = time.monotonic()
        try:
            out, errors = self.process.communicate("go\n", timeout=max(1, seconds))
        except subprocess.TimeoutExpired:
            self.stop()
            say(f"  took more than {seconds:.0f} s: {' '.join(self.command)}")
            return None
        if self.process.returncode != 0:
            say(f"  failed with {self.process.returncode} after {time.monotonic() - begin:.0f} s: {errors[-1500:]}")
            return None
        return json.loads(out.strip().splitlines()[-1])

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def step_command(arguments, run, steps, *, repeatable):
    model, batch, seq, precision, rebuilt = RUNS[run]
    sets = [f"run.peak_gflops={arguments.peak * 1000}", f"plan.recompute={rebuilt}",
            f"train.repeatable={str(repeatable).lower()}", *arguments.set]
    if run in LAYERS:
        sets.append(f"model.layers={LAYERS[run]}")
    return [arguments.binary, "bench", "step", "--device", "cuda", "--model", model, "--batch", batch, "--seq", seq,
            "--precision", precision, "--steps", steps, *(part for key in sets for part in ("--set", key)), "--json"]


def simulate_command(arguments, run):
    model, batch, seq, precision, rebuilt = RUNS[run]
    layers = ["--set", f"model.layers={LAYERS[run]}"] if run in LAYERS else []
    return [arguments.binary, "simulate", "--cluster", arguments.cluster, "--model", model, "--batch", batch, "--seq", seq,
            "--precision", precision, "--set", f"plan.recompute={rebuilt}", *layers, "--json"]


def peer_command(arguments, run, steps, *, deterministic):
    model, batch, seq, precision, rebuilt = RUNS[run]
    layers = ["--layers", LAYERS[run]] if run in LAYERS else []
    return [arguments.peer_python, PEER, "--model", model, "--batch", batch, "--seq", seq, "--precision", precision,
            "--recompute", rebuilt if rebuilt.startswith("block") else "none", "--steps", steps,
            "--warmup", min(arguments.warmup, MOST_STEPS.get(run, arguments.warmup)), "--wait", *layers,
            *(["--deterministic"] if deterministic else [])]


def kinds_of(arguments, run):
    """What is measured of a run; fp8 has no peer, and of what fp8 alone is compared with the other figures are not asked."""
    found = ["simulated"] if arguments.cluster else []
    found.append("ours")
    if run not in BF16_ALONE:
        has_peer = RUNS[run][3] in PEER_PRECISIONS
        found += ["peer", "free"] if has_peer else ["free"]
        found += ["peer_repeats"] if has_peer and run in DETERMINISTIC_PEER else []
    return [kind for kind in found if kind in arguments.only]


def measurement_of(arguments, run, kind):
    """PyTorch is imported while ours is measured."""
    steps = min(arguments.steps, MOST_STEPS.get(run, arguments.steps))
    if kind == "simulated":
        return Measurement(simulate_command(arguments, run))
    if kind in ("ours", "free"):
        repeatable = kind == "ours"
        return Measurement(step_command(arguments, run, steps if repeatable else min(steps, 2), repeatable=repeatable))
    deterministic = kind == "peer_repeats"
    return Measurement(peer_command(arguments, run, min(steps, 2) if deterministic else steps, deterministic=deterministic),
                       waiting=True)


def measure(arguments, run, result):
    kinds = [kind for kind in kinds_of(arguments, run) if kind != "simulated" or not result[kind]]
    for kind, measurement in [(kind, measurement_of(arguments, run, kind)) for kind in kinds]:
        left = arguments.in_all - elapsed()
        if left < 5:
            say(f"  {kind} is left out: {arguments.in_all} s are over")
            measurement.stop()
            continue
        measured = measurement.run(min(arguments.seconds, left))
        if measured:
            result[kind].append(measured)
            say(f"  {kind}: {measured['tokens_per_second']:.0f} tokens/s")


def library_bytes(arguments):
    """In use beyond the plan by a step whose own buffers are next to nothing, with every library at work."""
    tiny = Measurement([arguments.binary, "bench", "step", "--device", "cuda", "--model", "tiny", "--batch", 1, "--seq", 128,
                        "--set", "model.head_size=64", "--precision", "bf16", "--steps", 3, "--json"]).run(arguments.seconds)
    return tiny["device_bytes"] - tiny["peak_bytes"] if tiny else 0


def merged(files):
    """Each run is one file's: the last that has it."""
    results, libraries = {}, 0
    for file in files:
        found = json.loads(file.read_text(encoding="utf-8"))
        results |= found["runs"]
        libraries = found["library_bytes"] or libraries
    return results, libraries


def main():
    arguments = parse_arguments()
    if arguments.merge:
        print_tables(*merged(arguments.merge))
        return
    if not arguments.binary.exists():
        sys.exit(f"error: there is no {arguments.binary}: run make cuda")
    libraries = library_bytes(arguments)
    say(f"CUDA and its libraries keep {libraries / 1e9:.3f} GB of the GPU")
    runs = PARTS[int(arguments.part[0]) - 1] if arguments.part else arguments.runs
    results = {run: {kind: [] for kind in KINDS} for run in runs}
    for turn in range(arguments.rounds):
        for run in runs:
            say(f"{run} ({' '.join(str(part) for part in RUNS[run])}), round {turn + 1} of {arguments.rounds}")
            measure(arguments, run, results[run])
            if arguments.json:
                arguments.json.write_text(json.dumps({"library_bytes": libraries, "runs": results}), encoding="utf-8")
    say(f"all of it took {elapsed():.0f} s")
    print_tables(results, libraries)


if __name__ == "__main__":
    main()
