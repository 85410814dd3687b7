#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains tiny-moe on the built-in text with loss-free balancing and with the balance loss, and without either: losses, and how
unevenly experts are loaded at the end. Without --all a few steps, in which loads must get more even; `make test-all` runs 500,
on one rank and on eight. One pair of runs is up to 2 % apart by its seed alone: with --seeds the figure is a mean over many pairs,
with its standard error."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

KINDS = {
    "balance loss": ["model.balance_loss=0.01"],
    "loss-free": ["model.balance_loss=0", "model.balance_rate=0.001"],
    "neither": ["model.balance_loss=0"],
}
LAST = 50  # steps over which the figures at the end are means
LOSS_APART = 0.02  # held out; runs that differ in their seed or their rounding alone are up to this far apart
MOST_VIOLATION = 0.2


def train(binary, folder, name, settings, steps, mesh=""):
    out = pathlib.Path(folder) / name.replace(" ", "_")
    command = [binary, "train", "--model", "tiny-moe", "--steps", str(steps), "--out", str(out), "--json"]
    if mesh:
        command += ["--mesh", mesh]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def mean(records, key, last=LAST):
    return sum(record[key] for record in records[-last:]) / len(records[-last:])


def even_load(records, last=LAST):
    """The largest violation of the loads of the last steps added up: those of one step alone are noisy."""
    totals = {}
    for record in records[-last:]:
        for layer, counts in record.get("expert_loads", {}).items():
            totals[layer] = [a + b for a, b in zip(totals.get(layer, [0] * len(counts)), counts)]
    return max(max(counts) * len(counts) / sum(counts) - 1 for counts in totals.values())


def held_out(records):
    return [record["held_out_loss"] for record in records if "held_out_loss" in record][-1]


def show(name, records):
    print(f"{name:28} loss {mean(records, 'loss'):.4f}  held out {held_out(records):.4f}  "
          f"largest violation {mean(records, 'load_violation'):.3f} of a step, {even_load(records):.3f} of {LAST} steps  "
          f"starving {mean(records, 'starving_experts'):.2f}", flush=True)


def require(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def sample(binary, folder):
    """Loads that begin uneven become more even than without balancing."""
    steps, last = 60, 10
    small = KINDS["neither"] + ["model.layers=2", "model.width=64", "train.batch=8", "train.seq=64", "train.log_every=1"]
    balanced = small + ["model.balance_rate=0.01"]
    neither, free = train(binary, folder, "neither", small, steps), train(binary, folder, "loss-free", balanced, steps)
    uneven, even = even_load(neither, last), even_load(free, last)
    print(f"largest violation of the last {last} of {steps} steps: {even:.3f}, without balancing {uneven:.3f}")
    require(even < 0.5 * uneven, "loss-free balancing does not even out loads")
    exact = balanced + ["train.precision=fp64"]
    one, ranks = train(binary, folder, "one", exact, 3), train(binary, folder, "ranks", exact, 3, "dp=2,ep=2")
    require([r["expert_loads"] for r in ranks] == [r["expert_loads"] for r in one], "loads differ on a mesh")


def everything(binary, folder, steps):
    settings = ["train.log_every=1", "train.eval_every=100"]
    runs = {kind: train(binary, folder, kind, own + settings, steps) for kind, own in KINDS.items()}
    runs["loss-free, dp=2,ep=4"] = train(binary, folder, "ranks", KINDS["loss-free"] + settings, steps, "dp=2,ep=4")
    for name, records in runs.items():
        show(name, records)
    loss, free, ranks = (runs[name] for name in ("balance loss", "loss-free", "loss-free, dp=2,ep=4"))
    apart = held_out(free) / held_out(loss) - 1
    print(f"loss-free beside the balance loss: {100 * apart:+.2f} % of the held-out loss")
    require(apart < LOSS_APART, "loss-free balancing costs too much of the loss")
    require(mean(free, "load_violation") < MOST_VIOLATION, "loads are uneven")
    require(abs(held_out(ranks) / held_out(free) - 1) < LOSS_APART, "eight ranks learn something else")
    require(mean(ranks, "load_violation") < MOST_VIOLATION, "loads on eight ranks are uneven")


def many_seeds(binary, folder, steps, seeds, device):
    """Each pair has the same first weights and the same data."""
    apart, violations = [], []
    for seed in range(1, seeds + 1):
        settings = ["train.log_every=1", f"train.eval_every={steps}", f"train.seed={seed}", f"run.device={device}"]
        loss, free = (train(binary, folder, f"{kind} {seed}", KINDS[kind] + settings, steps) for kind in ("balance loss", "loss-free"))
        apart.append(100 * (held_out(free) / held_out(loss) - 1))
        violations.append(mean(free, "load_violation"))
        print(f"seed {seed}: held-out loss {held_out(loss):.4f} with the balance loss, {held_out(free):.4f} loss-free "
              f"({apart[-1]:+.2f} %), largest violation {violations[-1]:.3f}", flush=True)
    error = statistics.stdev(apart) / len(apart) ** 0.5
    print(f"loss-free beside the balance loss after {steps} steps, {seeds} seeds: {statistics.mean(apart):+.2f} % +- {error:.2f} of the "
          f"held-out loss, largest violation {statistics.mean(violations):.3f} (at most {max(violations):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--all", action="store_true", help="500 steps of each kind, and on eight ranks")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=0, help="pairs of runs over which to average")
    parser.add_argument("--device", default="cpu", help="of the runs of --seeds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.seeds:
            many_seeds(options.binary, folder, options.steps, options.seeds, options.device)
        elif options.all:
            everything(options.binary, folder, options.steps)
        else:
            sample(options.binary, folder)


if __name__ == "__main__":
    main()
