#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of mixtures of experts as ratios within one run: tiny-moe and a layer of OLMoE's shape beside PyTorch with a loop over
experts, in turns. The table comes last."""
import argparse
import os
import statistics
from pathlib import Path

from run import ROOT, cpu_name, peer_is_there, run_json, say, table, write_results

PEER = ROOT / "bench" / "peer_torch_mixture.py"
AIM = 1.7
# By name: our preset with what differs from it, and the same shape for the peer. OLMoE has 16 such layers and 50,304 words.
MODELS = {
    "tiny-moe, 16 x 256": (
        "tiny-moe", {"train.batch": 16, "train.seq": 256},
        {"layers": 4, "width": 128, "heads": 4, "kv-heads": 2, "vocabulary": 256, "experts": 8, "top-k": 2,
         "expert-mlp-size": 128, "normalised-gates": 1, "batch": 16, "seq": 256}),
    "OLMoE, 1 layer, 2 x 512": (
        "olmoe-1b-7b", {"model.layers": 1, "model.vocabulary": 4096, "train.batch": 2, "train.seq": 512},
        {"layers": 1, "width": 2048, "heads": 16, "kv-heads": 16, "vocabulary": 4096, "experts": 64, "top-k": 8,
         "expert-mlp-size": 1024, "normalised-gates": 0, "batch": 2, "seq": 512}),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of ours and the peer, one after the other")
    parser.add_argument("--steps", type=int, default=3, help="steps measured per round")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peer-python", default="/usr/bin/python3", help="a python3 that has torch")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-mixture.md")
    return parser.parse_args()


def measure(arguments, name, with_peer):
    preset, settings, shape = MODELS[name]
    ours, peer = [], []
    common = ["--threads", arguments.threads, "--steps", arguments.steps]
    for turn in range(arguments.rounds):
        say(f"{name}, round {turn + 1} of {arguments.rounds}")
        sets = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        ours.append(run_json([arguments.binary, "bench", "step", "--model", preset, *sets, *common, "--json"]))
        say(f"  ours {ours[-1]['step_seconds']:.3f} s")
        if with_peer:
            options = [part for key, value in shape.items() for part in (f"--{key}", value)]
            peer.append(run_json([arguments.peer_python, PEER, *options, *common]))
            say(f"  peer {peer[-1]['step_seconds']:.3f} s")
    row = [name, f"{statistics.median(run['step_seconds'] for run in ours):.3f}",
           f"{statistics.median(run['tokens_per_second'] for run in ours):.1f}"]
    if not peer:
        return [*row, "-", "-"]
    ratio = statistics.median(a["tokens_per_second"] / b["tokens_per_second"] for a, b in zip(ours, peer))
    return [*row, f"{statistics.median(run['tokens_per_second'] for run in peer):.1f}", f"{ratio:.2f}"]


def main():
    arguments = parse_arguments()
    with_peer = peer_is_there(arguments)
    if not with_peer and not arguments.no_peer:
        say(f"the peer is left out: {arguments.peer_python} has no torch (tools/setup.sh oracle)")
    rows = [measure(arguments, name, with_peer) for name in MODELS]
    text = "\n".join([
        f"fp32, AdamW, norm and clipping included; {arguments.threads} threads; {cpu_name()}; aim: {AIM} times the peer", "",
        table([["model", "step s", "tokens/s", "peer tokens/s", "ours / peer"], *rows])])
    print(text)
    if arguments.write:
        write_results("mixture", "Speed of mixtures on a CPU", text)


if __name__ == "__main__":
    main()
