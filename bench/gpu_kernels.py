#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where a step's time goes on a GPU: each kernel on its own (`tessera bench kernels`), added up by kind, beside the lower
bound and the whole step of the same minute, with its joules. --warm 0 measures cool kernels, which are faster than the same
kernels in a step. One table, in milliseconds per step, comes last."""
import argparse
import sys
from pathlib import Path

from gpu import ROOT, Measurement, elapsed, say, step_command
from gpu_rows import RUNS, print_table

# The first that begins an op's name has it.
KINDS = {
    "attention, backward": ("attention_grad",),
    "attention, forward": ("attention", "merge_attention"),
    "output head: matmuls and loss": ("output_loss", "output_stats", "sharded_loss", "shared_stats"),
    "matmuls of the layers": ("matmul", "expert_matmul"),
    "fp8: largest entries, quantising": ("largest_entry", "quantize"),
    "optimizer, norm of gradients": ("adamw", "sgd", "lion", "sum_of_squares"),
    "SwiGLU and its gradient": ("swiglu", "expert_swiglu"),
    "norms and their gradients": ("layer_norm", "rms_norm"),
    "all others": ("",),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "cuda" / "tessera")
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=["124m", "1b", "8b", "8b-fp8"])
    parser.add_argument("--warm", type=float, default=0.3, help="seconds for which a kernel heats the GPU before it is measured")
    parser.add_argument("--steps", type=int, default=4, help="steps measured beside the kernels; 0: none")
    parser.add_argument("--peak", type=float, default=989.4, help="TFLOP/s that MFU is taken of")
    parser.add_argument("--set", nargs="*", default=[], help="config keys, as in tessera bench kernels --set")
    parser.add_argument("--seconds", type=int, default=120, help="most that one measurement may take")
    parser.add_argument("--in-all", type=int, default=590, help="seconds after which nothing is measured any more")
    return parser.parse_args()


def kind_of(op):
    return next(kind for kind, beginnings in KINDS.items() if op.startswith(beginnings))


def totals(kernels):
    """Milliseconds per step and their lower bound, by kind; a kernel that did not fit into memory has no time."""
    found = {kind: [0.0, 0.0] for kind in KINDS}
    for kernel in kernels:
        if kernel["seconds"] > 0:
            for i, key in enumerate(("seconds", "floor_seconds")):
                found[kind_of(kernel["op"])][i] += kernel["calls"] * kernel[key] * 1e3
    return found


def kernels_command(arguments, run):
    model, batch, seq, precision, rebuilt = RUNS[run]
    sets = [f"plan.recompute={rebuilt}", *arguments.set]
    return [arguments.binary, "bench", "kernels", "--device", "cuda", "--model", model, "--batch", batch, "--seq", seq,
            "--precision", precision, *(part for key in sets for part in ("--set", key)), "--warm", arguments.warm, "--json"]


def columns_of(run, kernels, step):
    """Of one run: three columns, a cell for each kind, for all and for the step."""
    by_kind = totals(kernels)
    pairs = [*by_kind.values(), [sum(pair[i] for pair in by_kind.values()) for i in (0, 1)]]
    cells = [[f"{spent:.1f}", f"{floor:.1f}", f"{floor / spent:.2f}"] if spent else ["-"] * 3 for spent, floor in pairs]
    for key, by in (("step_seconds", 1e3), ("joules_per_step", 1)):
        cells.append([f"{step[key] * by:.1f}" if step and step.get(key) else "-", "", ""])
    missing = sum(kernel["seconds"] == 0 for kernel in kernels)
    return [[f"{run}: ms", "floor", "share"], *cells, [str(missing), "", ""]]


def table(columns):
    rows = ["kernels", *KINDS, "all", "the step", "its joules", "kernels that did not fit"]
    return [[name, *(cell for of_run in columns for cell in of_run[i])] for i, name in enumerate(rows)]


def measured(command, arguments):
    return Measurement(command).run(min(arguments.seconds, arguments.in_all - elapsed()))


def main():
    arguments = parse_arguments()
    if not arguments.binary.exists():
        sys.exit(f"error: there is no {arguments.binary}: run make cuda")
    columns = []
    for run in arguments.runs:
        say(f"{run} ({' '.join(str(part) for part in RUNS[run])})")
        found = measured(kernels_command(arguments, run), arguments)
        if found:
            step = measured(step_command(arguments, run, arguments.steps, repeatable=True), arguments) if arguments.steps else None
            columns.append(columns_of(run, found["kernels"], step))
    if not columns:
        sys.exit("error: nothing could be measured")
    print_table(table(columns))


if __name__ == "__main__":
    main()
