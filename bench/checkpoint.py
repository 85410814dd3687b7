#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What checkpoints cost: how long a step stalls for one, beside a bare copy of the same bytes and beside torch.save;
and what one every 10 steps takes of the throughput, from runs with and without in turns. Prints a table."""
import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from run import ROOT, cpu_name, run_json, say, table, write_results


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--model", default="gpt2-124m")
    parser.add_argument("--steps", type=int, default=21)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with and without checkpoints")
    parser.add_argument("--folder", type=Path, help="on the disk to measure; a temporary one")
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has torch")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-checkpoint.md")
    return parser.parse_args()


def train(arguments, folder, every):
    """The summary of a run, and its seconds from the end of the first step to the end of the last."""
    out = folder / f"every{every}"
    summary = run_json([arguments.binary, "train", "--model", arguments.model, "--steps", arguments.steps, "--save-every",
                        every, "--set", "train.batch=4", "--set", "train.seq=256", "--set", "train.eval_every=0", "--set",
                        "run.peak_gflops=100", "--out", out, "--overwrite", "--json"])
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    stalls = [line.get("checkpoint_stall_seconds", 0) for line in lines]
    steps = [line["step_seconds"] for line in lines]
    # The last checkpoint is of the last step: nothing runs beside its writing.
    return summary, sum(steps[1:]) + sum(stalls[1:-1]), stalls


def torch_of(arguments, folder, count):
    command = [arguments.python, ROOT / "bench" / "peer_torch_save.py", "--bytes", count, "--file", folder / "torch.pt"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        say(f"torch is left out: {done.stderr.strip().splitlines()[-1]}")
        return None
    return json.loads(done.stdout)


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        folder = Path(temporary)
        plain, saving, stalls, written, summary = [], [], [], [], None
        for _ in range(arguments.rounds):
            plain.append(train(arguments, folder, 0)[1])
            summary, seconds, all_stalls = train(arguments, folder, arguments.every)
            saving.append(seconds)
            stalls.append(all_stalls[arguments.every - 1])
            written.append(summary["checkpoints"]["written_seconds"])
        count = summary["checkpoints"]["bytes"]
        peer = torch_of(arguments, folder, count)
    stall, cost = statistics.median(stalls), statistics.median(saving) / statistics.median(plain) - 1
    rows = [["bytes of a checkpoint", f"{count / 1e9:.3f} GB"], ["a step stalls", f"{stall:.3f} s"],
            ["written in the background in", f"{statistics.median(written):.2f} s"]]
    if peer:
        rows += [["bare copy of the same bytes", f"{peer['copy_seconds']:.3f} s"],
                 ["stall / bare copy", f"{stall / peer['copy_seconds']:.2f}"],
                 [f"torch.save {peer['torch']} with fsync", f"{peer['save_seconds']:.2f} s"],
                 ["torch.save / stall", f"{peer['save_seconds'] / stall:.1f}"]]
    rows.append([f"throughput lost with one every {arguments.every} steps", f"{100 * cost:.1f} %"])
    text = f"{arguments.model}, 4 x 256 tokens, {cpu_name()}, {arguments.rounds} rounds\n\n" + table([["what", "measured"], *rows])
    print(text)
    if arguments.write:
        write_results("checkpoint", "What checkpoints cost", text)


if __name__ == "__main__":
    main()
