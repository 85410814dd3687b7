#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps on one GPU beside PyTorch's, model by model, one after the other in one run. Needs a build with CUDA and
a python3 whose torch sees the GPU. Progress goes to standard error, the table comes last; MFU is of the causal count of
flops and --peak. What CUDA and its libraries keep of the GPU for themselves is measured by a step of a tiny model; "over
plan" is what a step takes beyond that and its plan."""
import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / "bench" / "peer_torch_gpu.py"
# model, batch, tokens, precision, what is rebuilt: the peer's torch.compile rebuilds what is cheap, too
RUNS = {
    "124m": ("gpt2-124m", 64, 1024, "bf16", "none"),
    "1b": ("llama3-1b", 8, 4096, "bf16", "none"),
    "1b-8k": ("llama3-1b", 4, 8192, "bf16", "none"),
    "1b-32k": ("llama3-1b", 1, 32768, "bf16", "none"),
    "8b": ("llama3-8b", 2, 4096, "pure_bf16", "cheap"),
    "8b-fp8": ("llama3-8b", 2, 4096, "pure_fp8", "cheap"),
    "1b-fp8": ("llama3-1b", 8, 4096, "fp8", "none"),
    "1.5b": ("gpt2-1.5b", 16, 1024, "bf16", "none"),
    "olmoe": ("olmoe-1b-7b", 8, 4096, "pure_bf16", "none"),
    "qwen3-moe": ("qwen3-30b-a3b", 4, 4096, "pure_bf16", "none"),
}
LAYERS = {"qwen3-moe": 8}  # instead of the preset's
PEER_PRECISIONS = ("bf16", "pure_bf16")
COLUMNS = ["run", "tokens/s", "MFU %", "step s", "first step s", "planned GB", "on GPU GB", "over plan %",
           "peer tokens/s", "peer GB", "peer on GPU GB", "peer start s", "ours / peer"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "cuda" / "tessera")
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=["124m", "1b", "8b", "8b-fp8"])
    parser.add_argument("--rounds", type=int, default=1, help="rounds of ours and the peer, one after the other")
    parser.add_argument("--steps", type=int, default=10, help="steps measured per round")
    parser.add_argument("--peak", type=float, default=989.4, help="TFLOP/s that MFU is taken of")
    parser.add_argument("--peer-python", default="python3")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--set", nargs="*", default=[], help="config keys of ours, as in tessera bench step --set")
    parser.add_argument("--seconds", type=int, default=200, help="most that one measurement may take")
    return parser.parse_args()


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_json(command, seconds):
    """The JSON that it prints, or None, with the reason on standard error."""
    begin = time.monotonic()
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                              timeout=seconds)
    except subprocess.TimeoutExpired:
        say(f"  took more than {seconds} s: {' '.join(str(part) for part in command)}")
        return None
    if done.returncode != 0:
        say(f"  failed with {done.returncode} after {time.monotonic() - begin:.0f} s: {done.stderr[-1500:]}")
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def library_bytes(arguments):
    """In use beyond the plan by a step whose own buffers are next to nothing, with every library at work."""
    tiny = run_json([arguments.binary, "bench", "step", "--device", "cuda", "--model", "tiny", "--batch", 1, "--seq", 128,
                     "--set", "model.head_size=64", "--precision", "bf16", "--steps", 3, "--json"], arguments.seconds)
    return tiny["device_bytes"] - tiny["peak_bytes"] if tiny else 0


def ours(arguments, run):
    model, batch, seq, precision, rebuilt = RUNS[run]
    sets = [f"run.peak_gflops={arguments.peak * 1000}", f"plan.recompute={rebuilt}", *arguments.set]
    if run in LAYERS:
        sets.append(f"model.layers={LAYERS[run]}")
    options = [part for key in sets for part in ("--set", key)]
    return run_json([arguments.binary, "bench", "step", "--device", "cuda", "--model", model, "--batch", batch, "--seq",
                     seq, "--precision", precision, "--steps", arguments.steps, *options, "--json"], arguments.seconds)


def peer(arguments, run):
    model, batch, seq, precision, _ = RUNS[run]
    if arguments.no_peer or precision not in PEER_PRECISIONS:
        return None
    layers = ["--layers", LAYERS[run]] if run in LAYERS else []
    return run_json([arguments.peer_python, PEER, "--model", model, "--batch", batch, "--seq", seq, "--precision",
                     precision, "--steps", arguments.steps, *layers], arguments.seconds)


def median_of(results, key):
    return statistics.median(result[key] for result in results) if results else None


def measure(arguments, run):
    own, other = [], []
    for turn in range(arguments.rounds):
        say(f"{run} ({' '.join(str(part) for part in RUNS[run])}), round {turn + 1} of {arguments.rounds}")
        for measured, results in ((ours(arguments, run), own), (peer(arguments, run), other)):
            if measured:
                results.append(measured)
                say(f"  {measured.get('peer', 'ours')}: {measured['tokens_per_second']:.0f} tokens/s")
    return {"run": run, "ours": own, "peer": other}


def over_plan(own, libraries):
    if not own:
        return "-"
    planned = median_of(own, "peak_bytes")
    return f"{(median_of(own, 'device_bytes') - libraries - planned) / planned * 100:.2f}"


def row_of(result, libraries):
    def figure(results, key, form, by=1.0):
        value = median_of(results, key)
        return "-" if value is None else form.format(value / by)
    own, other = result["ours"], result["peer"]
    ratio = "-"
    if own and other:
        ratio = f"{median_of(own, 'tokens_per_second') / median_of(other, 'tokens_per_second'):.2f}"
    return [result["run"], figure(own, "tokens_per_second", "{:.0f}"), figure(own, "mfu", "{:.1f}", 0.01),
            figure(own, "step_seconds", "{:.4f}"), figure(own, "first_step_seconds", "{:.1f}"),
            figure(own, "peak_bytes", "{:.2f}", 1e9), figure(own, "device_bytes", "{:.2f}", 1e9),
            over_plan(own, libraries), figure(other, "tokens_per_second", "{:.0f}"),
            figure(other, "peak_bytes", "{:.2f}", 1e9), figure(other, "device_bytes", "{:.2f}", 1e9),
            figure(other, "seconds_before_steady", "{:.1f}"), ratio]


def main():
    arguments = parse_arguments()
    if not arguments.binary.exists():
        sys.exit(f"error: there is no {arguments.binary}: run make cuda")
    libraries = library_bytes(arguments)
    say(f"CUDA and its libraries keep {libraries / 1e9:.3f} GB of the GPU")
    rows = [row_of(measure(arguments, run), libraries) for run in arguments.runs]
    widths = [max(len(row[i]) for row in [COLUMNS, *rows]) for i in range(len(COLUMNS))]
    for row in [COLUMNS, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


if __name__ == "__main__":
    main()
