#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How near generation comes to the memory's rate: every token reads all weights once, so a core can be no faster than it reads them.
Measures both in turns, in one run; ratios count, not tokens per second. The table comes last."""
import argparse
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path

import numpy

from run import ROOT, cpu_name, run_json, say, table

MODELS = {"gpt2-124m": ("fp32", 4), "gpt2-124m, bf16": ("bf16", 2)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def bytes_per_second(threads, megabytes=512, passes=4):
    """Of sums over memory that no cache holds, by all threads at once: numpy lets go of its lock while it sums."""
    parts = [numpy.ones(megabytes * 250_000, dtype=numpy.float32) for _ in range(threads)]

    def read(part):
        for _ in range(passes):
            part.sum()

    workers = [threading.Thread(target=read, args=(part,)) for part in parts]
    begin = time.monotonic()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * passes * megabytes * 1e6 / (time.monotonic() - begin)


def measure(arguments, name, folder):
    precision, element = MODELS[name]
    model = name.split(",", maxsplit=1)[0]
    run = folder / precision
    trained = run_json([arguments.binary, "train", "--model", model, "--steps", 1, "--batch", 1, "--seq", 1024, "--precision", precision,
                        "--save-every", 1, "--out", run, "--set", "train.eval_every=0", "--json"])
    weights = element * trained["parameters"]
    ratios, speeds = [], []
    for turn in range(arguments.rounds):
        rate = bytes_per_second(arguments.threads)
        wrote = run_json([arguments.binary, "generate", run, "--tokens", arguments.tokens, "--temperature", 0, "--threads",
                          arguments.threads, "--json"])
        speeds.append(wrote["tokens_per_second"])
        ratios.append(speeds[-1] * weights / rate)
        say(f"{name}, round {turn + 1}: {speeds[-1]:.1f} tokens/s, memory {rate / 1e9:.1f} GB/s, {ratios[-1]:.2f} of it")
    return [name, f"{weights / 1e6:.0f} MB", f"{statistics.median(speeds):.1f}", f"{statistics.median(ratios):.2f}"]


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(arguments, name, Path(folder)) for name in MODELS]
    print(f"{cpu_name()}, {arguments.threads} threads, one text of {arguments.tokens} tokens\n")
    print(table([["model", "weights", "tokens/s", "of the memory's rate"], *rows]))


if __name__ == "__main__":
    main()
