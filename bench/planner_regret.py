#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does the planner's choice cost on this machine? In every round it calibrates the machine, asks `tessera plan` for the best
plan of up to two ranks with a thread each, and measures a step of every legal plan, the chosen one among them. Regret is how much
slower the chosen plan is than the fastest measured one; both are medians over rounds of one run."""
import argparse
import itertools
import statistics
import subprocess
import tempfile
from pathlib import Path

from run import ROOT, cpu_name, run_json, say, table, write_results

PRESETS = [
    ("llama 4 x 256", "tiny", 8, 128, dict(layers=4, width=256, heads=4, kv_heads=2, mlp_size=704, vocabulary=1024)),
    ("gpt 4 x 384", "gpt2-124m", 8, 128, dict(layers=4, width=384, heads=6, vocabulary=8192)),
    ("tiny", "tiny", 16, 64, {}),
]
PIPELINES = [("1f1b", 1), ("gpipe", 1), ("zb_h1", 1), ("interleaved_1f1b", 2), ("zb_v", 2)]


def every_plan():
    """Keys of a config by plan, of two ranks: all meshes, and what may be chosen for each."""
    splits = [("dp=2", {}), ("tp=2", {"plan.sequence_parallel": "true"}), *(("cp=2", {"plan.context": kind}) for kind in ("ring", "ulysses"))]
    splits += [("fsdp=2", {"plan.zero": zero}) for zero in (1, 2, 3)]
    splits += [("cp=2", {"plan.shard_axes": "cp", "plan.zero": zero}) for zero in (1, 3)]
    splits += [("pp=2", {"plan.schedule": kind, "plan.chunks": chunks}) for kind, chunks in PIPELINES]
    for (mesh, keys), parts, recompute in itertools.product(splits, (1, 2, 4, 8), ("none", "block")):
        yield mesh, {**keys, "train.microbatches": parts, "plan.recompute": recompute}


def flags(keys):
    return [word for key, value in sorted(keys.items()) for word in ("--set", f"{key}={value}")]


def shape_of(name, batch, seq, model):
    return ["--model", name, "--batch", batch, "--seq", seq, *flags({f"model.{key}": value for key, value in model.items()})]


def measured(arguments, shape, mesh, keys):
    """Seconds of a step; None where the plan is refused. One rank: the first row."""
    try:
        rows = run_json([arguments.binary, "bench", "scaling", *shape, *flags(keys), "--threads", 2, "--rounds", 1, "--steps", arguments.steps,
                         "--meshes", mesh, "--json"])["results"]
    except (subprocess.CalledProcessError, RuntimeError, SystemExit):
        return None
    return next(row for row in rows if row["ranks"] == 2)["step_seconds"][0]


def chosen(arguments, shape, cluster):
    """Mesh and keys of the planner's best plan of two ranks."""
    best = run_json([arguments.binary, "plan", *shape, "--ranks", 2, "--cluster", cluster, "--set", "train.threads=2", "--json"])["results"][0]
    keys = {"train.microbatches": best["microbatches"], "plan.recompute": best["recompute"], "plan.zero": best["zero"]}
    if "pp=" in best["mesh"]:
        keys |= {"plan.schedule": best["schedule"], "plan.chunks": best["chunks"]}
    if "cp=" in best["mesh"]:
        keys |= {"plan.context": best["context"], "plan.shard_axes": best["shard_axes"]}
    if "tp=" in best["mesh"]:
        keys["plan.sequence_parallel"] = "true"
    return best["mesh"], keys


def text_of(mesh, keys):
    return " ".join([mesh, *(f"{key.split('.')[1]}={value}" for key, value in sorted(keys.items()))])


def run_round(arguments, folder, preset, found, picks):
    title, name, batch, seq, model = preset
    shape = shape_of(name, batch, seq, model)
    cluster = arguments.cluster or Path(folder) / "this-machine.toml"
    if not arguments.cluster:
        run_json([arguments.binary, "bench", "calibrate", "--threads", 2, "--out", cluster, "--json"])
    mesh, keys = chosen(arguments, shape, cluster)
    picks.append(text_of(mesh, keys))
    plans = list(every_plan())[::arguments.every]
    for each_mesh, each_keys in [(mesh, keys), *plans]:
        if (seconds := measured(arguments, shape, each_mesh, each_keys)) is not None:
            found.setdefault(text_of(each_mesh, each_keys), []).append(seconds)
    say(f"{title}: {len(found)} plans measured, chosen {picks[-1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6, help="of each turn")
    parser.add_argument("--every", type=int, default=1, help="measure every so many plans alone, for a quick look")
    parser.add_argument("--cluster", default="", help="a cluster file, instead of calibrating in each round")
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-planner-regret.md")
    arguments = parser.parse_args()
    lines = [["model", "plans", "chosen", "ms", "fastest", "ms", "regret", "slowest / fastest"]]
    with tempfile.TemporaryDirectory() as folder:
        for preset in (each for each in PRESETS if arguments.only in each[0]):
            found, picks = {}, []
            for _ in range(arguments.rounds):
                run_round(arguments, folder, preset, found, picks)
            medians = {text: statistics.median(seconds) for text, seconds in found.items()}
            best, pick = min(medians, key=medians.get), statistics.mode(picks)
            lines.append([preset[0], str(len(medians)), pick, f"{medians[pick] * 1e3:.2f}", best, f"{medians[best] * 1e3:.2f}",
                          f"{medians[pick] / medians[best] - 1:.1%}", f"{max(medians.values()) / medians[best]:.2f}"])
    text = f"{cpu_name()}; {arguments.rounds} rounds; two ranks with a thread each\n\n{table(lines)}"
    print(text)
    if arguments.write:
        write_results("planner-regret", "The planner's choice beside all measured plans", text)


if __name__ == "__main__":
    main()
