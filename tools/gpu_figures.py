#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures on one GPU, in one call of under ten minutes, what docs say of it beside the table of bench/gpu.py. A part begins
where the time that is left may suffice for it, and its output is kept in a file, so that a second call with --only measures the
rest. All outputs are printed last. Needs what make cuda builds, and a python3 whose torch sees the GPU."""
import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = time.monotonic()
MARGIN = 10  # seconds in which a part that is stopped can end, and the outputs be printed


@dataclass
class Part:
    what: str
    seconds: int  # it is not begun with less; more is given where it is there
    command: list  # {bin}: the folder of the build, {out}: that of the outputs, {left}: seconds


def steps(name, runs, kinds, *more):
    return ["python3", "bench/gpu.py", "--binary", "{bin}/tessera", "--in-all", "{left}", "--json", "{out}/" + name + ".json",
            "--runs", *runs, "--only", *kinds, *more]


BOTH_WAYS = ("ours", "free")
SMALL = [word for key, size in {"layers": 1, "width": 256, "heads": 4, "kv_heads": 2, "head_size": 64, "mlp_size": 512,
                                "vocabulary": 1024}.items() for word in ("--set", f"model.{key}={size}")]
PARTS = {
    "fp8": Part("fp8 over own bf16, in turns", 60, steps("fp8", ("8b", "8b-fp8"), BOTH_WAYS, "--rounds", "2")),
    "deterministic": Part("32,768 tokens beside PyTorch's deterministic flash attention", 90,
                          steps("deterministic", ("1b-32k",), (*BOTH_WAYS, "peer_repeats"))),
    "curves": Part("1,000 steps of Llama 1B in fp8 beside two seeds of bf16", 200,
                   ["python3", "tools/gpu_run.py", "--bin", "{bin}", "--out", "{out}/curves", "--model", "llama3-1b", "--batch",
                    "2", "--seq", "2048", "--steps", "1000", "--seeds", "1", "2", "--fp8-seeds", "1", "--only", "bf16", "fp8"]),
    "free": Part("train.repeatable = false beside the rest of the table", 60,
                 steps("free", ("1b", "1b-8k", "qwen3-8b", "8b-1k-fp8", "124m"), BOTH_WAYS)),
    "kernels": Part("where the time goes: kernels on a hot GPU, and joules", 50,
                    ["python3", "bench/gpu_kernels.py", "--binary", "{bin}/tessera", "--in-all", "{left}", "--runs", "1b", "8b", "--warm", "0.2"]),
    "sanitizer": Part("compute-sanitizer over attention", 50,
                      ["bash", "tools/gpu_check.sh", "{bin}", "{out}/sanitizer", "sanitizer_.*_attention", "{left}"]),
    # From here on: what a second call has time for.
    "free_long": Part("the same of steps that take seconds", 110, steps("free_long", ("1b-131k", "8b-32k"), BOTH_WAYS)),
    "attention": Part("attention by length, head size and mask beside PyTorch's", 120,
                      ["python3", "bench/peer_torch_attention.py", "16384"]),
    "ring": Part("32,768 tokens over four ranks that share the GPU, beside one rank on the CPU", 30,
                 ["{bin}/tessera", "verify", "--device", "cuda", "--model", "llama3-1b", *SMALL, "--mesh", "cp=4", "--batch", "1",
                  "--seq", "32768", "--precision", "bf16", "--recompute", "block_keep_attention", "--steps", "1"]),
    "calibrate": Part("the cluster file of this GPU", 200,
                      ["{bin}/tessera", "bench", "calibrate", "--device", "cuda", "--out", "{out}/gpu.toml"]),
    # A third call.
    "generate": Part("generation of Llama 8B beside its lower bounds and transformers with a static cache", 100,
                     ["python3", "bench/gpu_generate.py", "--bin", "{bin}", "--in-all", "{left}", "--json", "{out}/generate.json"]),
    "offload": Part("states and activations on the host, beside the simulator", 400,
                    ["python3", "bench/offload.py", "--bin", "{bin}", "--out", "{out}", "--in-all", "{left}", "--json", "{out}/offload.json"]),
    # A fourth call.
    "muon": Part("steps of Muon to AdamW's held-out loss, GPT-2 124M, three seeds", 300,
                 ["python3", "tools/muon_steps.py", "--bin", "{bin}", "--out", "{out}/muon_steps", "--device", "cuda", "--model",
                  "gpt2-124m", "--batch", "64", "--seq", "1024", "--steps", "400", "--every", "20", "--in-all", "{left}"]),
}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="parts, in this order:\n" + "\n".join(f"  {name:<14} {part.seconds:4} s or more: {part.what}" for name, part in PARTS.items()))
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "cuda", help="folder of what make cuda builds")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ROOT / "out")) / "gpu_figures")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--in-all", type=int, default=590, help="seconds after which nothing runs any more")
    return parser.parse_args()


def say(text):
    print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", file=sys.stderr, flush=True)


def ended_as(command, file, seconds):
    """Why the command did not end well, or nothing. What it has started ends with it."""
    with open(file, "w", encoding="utf-8") as output:
        try:
            process = subprocess.Popen(command, cwd=ROOT, stdout=output, start_new_session=True)
        except FileNotFoundError as error:
            return str(error)
        try:
            code = process.wait(seconds)
            return f"failed with {code}" if code else ""
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"was stopped after {seconds:.0f} s"


def run(name, part, arguments, left):
    """What it printed, with how it ended where that was not well, and whether it was; None where there was no time for it."""
    if left < part.seconds:
        say(f"{name}: left out, {left:.0f} s are too few")
        return None
    say(f"{name}: {part.what}")
    file = arguments.out / f"{name}.txt"
    command = [word.format(bin=arguments.bin, out=arguments.out, left=int(left) - MARGIN) for word in part.command]
    ended = ended_as(command, file, left)
    if ended:
        say(f"{name} {ended}")
        with open(file, "a", encoding="utf-8") as output:
            output.write(f"{name} {ended}\n")
    return file.read_text(encoding="utf-8"), not ended


def main():
    arguments = parse_arguments()
    arguments.bin, arguments.out = arguments.bin.resolve(), arguments.out.resolve()
    if not (arguments.bin / "tessera").exists():
        sys.exit(f"error: there is no {arguments.bin / 'tessera'}: run make cuda, or give its folder with --bin")
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = {name: run(name, PARTS[name], arguments, arguments.in_all - MARGIN - (time.monotonic() - BEGIN))
               for name in arguments.only}
    for name, result in results.items():
        print(f"== {name}: {PARTS[name].what}\n\n{result[0] if result else 'left out: no time was left'}")
    missing = [name for name, result in results.items() if not result]
    if missing:
        print(f"run again for the rest: tools/gpu_figures.py --only {' '.join(missing)}")
    sys.exit(0 if all(result and result[1] for result in results.values()) else 1)


if __name__ == "__main__":
    main()
