#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `plan.recompute = every` costs and saves: planned bytes and measured time of a step that rebuilds k blocks together,
beside the theory. n blocks leave n / k checkpoints of one stream each and hold k blocks while they are rebuilt, least where
both grow equally (the square-root rule); the work is one more forward, where rebuilding every block by itself from its
checkpoint, holding nothing, would take about n^2 / 2c block forwards for c checkpoints. Writes a table and a plot."""
import argparse
import math
import statistics
from pathlib import Path

from run import ROOT, cpu_name, run_json, say, table, write_results

FORWARD = 1 / 3  # of a step's work; a backward is two forwards


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all k")
    parser.add_argument("--plot", type=Path, default=ROOT / "docs" / "parallelism" / "recompute.svg")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-recompute.md")
    return parser.parse_args()


def settings(layers, every):
    sets = [f"model.layers={layers}", "model.width=128", "model.heads=4", "model.vocabulary=512", "train.batch=4",
            "train.seq=128"]
    if every:
        sets += ["plan.recompute=every", f"plan.recompute_every={every}"]
    return ["--model", "gpt2-124m", *(part for entry in sets for part in ("--set", entry))]


def activation_bytes(arguments, every):
    return run_json([arguments.binary, "compile", *settings(arguments.layers, every), "--json"])["bytes"]["activations"]


def step_seconds(arguments, every):
    return run_json([arguments.binary, "bench", "scaling", *settings(arguments.layers, every), "--meshes", "dp=1",
                     "--threads", 1, "--rounds", 1, "--steps", 8, "--json"])["results"][0]["step_seconds"][0]


def panel(left, title, unit, ks, curves):
    """One plot: curves are (name, colour, dashed, values by k, None where there is none), from 0."""
    width, height, bottom = 360, 240, 300
    top = max(value for _, _, _, values in curves for value in values if value is not None) * 1.1

    def x(i):
        return left + 30 + (width - 60) * i / (len(ks) - 1)

    def y(value):
        return bottom - height * value / top

    parts = [f'<text x="{left + width / 2}" y="40" text-anchor="middle" font-weight="bold">{title}</text>',
             f'<path d="M{left},{bottom - height}V{bottom}H{left + width}" class="axis"/>']
    for i, k in enumerate(ks):
        parts.append(f'<text x="{x(i):.0f}" y="{bottom + 18}" text-anchor="middle">{k}</text>')
    for tick in range(5):
        value = top * tick / 4
        parts.append(f'<text x="{left - 6}" y="{y(value) + 4:.0f}" text-anchor="end">{value:.3g}</text>')
    parts.append(f'<text x="{left + width / 2}" y="{bottom + 38}" text-anchor="middle">k, blocks rebuilt together</text>')
    parts.append(f'<text x="{left - 6}" y="{bottom - height - 10}" text-anchor="end">{unit}</text>')
    for number, (name, colour, dashed, values) in enumerate(curves):
        points = [(x(i), y(value)) for i, value in enumerate(values) if value is not None]
        style = f'stroke="{colour}" fill="none" stroke-width="2"' + (' stroke-dasharray="5 4"' if dashed else "")
        parts.append(f'<polyline points="{" ".join(f"{px:.1f},{py:.1f}" for px, py in points)}" {style}/>')
        if not dashed:
            parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{colour}"/>' for px, py in points]
        row = bottom + 62 + 18 * number
        parts.append(f'<path d="M{left},{row - 4}h26" {style}/><text x="{left + 34}" y="{row}">{name}</text>')
    return parts


def plot(ks, panels):
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 430" font-family="sans-serif" font-size="12">',
             "<style>text{fill:#222}.axis{stroke:#555;fill:none}</style>",
             '<rect width="920" height="430" fill="#fff"/>']
    for number, (title, unit, curves) in enumerate(panels):
        parts += panel(70 + 460 * number, title, unit, ks, curves)
    return "\n".join([*parts, "</svg>", ""])


def main():
    arguments = parse_arguments()
    blocks = arguments.layers + 2  # embedding and head
    ks = [k for k in (1, 2, 3, 4, 6, 8, 12, 18, 24) if k <= blocks]
    say("planning")
    kept, planned = activation_bytes(arguments, 0), {k: activation_bytes(arguments, k) for k in ks}
    stream = 4 * 128 * 128 * 4  # bytes of a checkpoint
    block = (kept - stream) / arguments.layers  # what a block keeps, embedding and head being small
    theory = {k: min(k, arguments.layers) * block + math.ceil(blocks / k) * stream for k in ks}
    seconds = {k: [] for k in [0, *ks]}
    for number in range(arguments.rounds):
        say(f"round {number + 1} of {arguments.rounds}")
        for k in seconds:
            seconds[k].append(step_seconds(arguments, k))
    ratios = {k: statistics.median(with_k / without for with_k, without in zip(seconds[k], seconds[0])) for k in ks}
    alone = {k: 1 + FORWARD * (k + 1) / 2 for k in ks}  # n^2 / 2c block forwards, c = n / k
    lines = [["k", "checkpoints", "activations MB", "theory MB", "step / none", "one more forward", "n^2 / 2c forwards"],
             ["none", "-", f"{kept / 1e6:.1f}", "-", "1.00", "-", "-"]]
    for k in ks:
        lines.append([str(k), str(math.ceil(blocks / k)), f"{planned[k] / 1e6:.1f}", f"{theory[k] / 1e6:.1f}",
                      f"{ratios[k]:.2f}", f"{1 + FORWARD:.2f}", f"{alone[k]:.2f}"])
    best = math.sqrt(blocks * stream / block)
    text = "\n".join([
        f"GPT of {arguments.layers} layers, {blocks} blocks, width 128, 4 x 128 tokens, fp32, one thread; {cpu_name()}", "",
        table(lines), "",
        f"a block keeps {block / stream:.1f} streams, so that memory is least near k = sqrt(n x stream / block) = {best:.1f}; "
        f"where it kept one stream, near sqrt(n) = {math.sqrt(blocks):.1f}"])
    print(text)
    arguments.plot.write_text(plot(ks, [
        ("activations of a step", "MB", [
            ("planned", "#1f6fb2", False, [planned[k] / 1e6 for k in ks]),
            ("k blocks + n / k checkpoints", "#d9772b", True, [theory[k] / 1e6 for k in ks]),
            ("k + n / k, where a block keeps one stream (sqrt rule)", "#7a7a7a", True,
             [(k + blocks / k) * stream / 1e6 for k in ks])]),
        ("work of a step, over one that keeps all", "x", [
            ("measured", "#1f6fb2", False, [ratios[k] for k in ks]),
            ("one more forward", "#d9772b", True, [1 + FORWARD] * len(ks)),
            ("each block by itself: n\u00b2 / 2c forwards", "#7a7a7a", True,
             [alone[k] if alone[k] < 4 else None for k in ks])])]), encoding="utf-8")
    say(f"written to {arguments.plot}")
    if arguments.write:
        write_results("recompute", "Recomputation of every k blocks", text)


if __name__ == "__main__":
    main()
