#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulator beside published runs: every row of bench/published/runs.csv through `tessera simulate`, and per set how far
predictions are from what was published, beside the best single constant. No row has a figure of its own: what a set's
programs do that Tessera's do not is an option of the whole set (bench/published/sources.csv)."""
import argparse
import csv
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from published_page import write_page
from run import ROOT, say, table

FOLDER = ROOT / "bench" / "published"
APART = 0.02  # plans of one task whose published times differ by less are not ranked
GB = 1e9
COLUMNS = ["set", "runs", "mean %", "bias %", "largest %", "rank corr.", "plans ranked right", "one constant: mean %", "largest %"]


@dataclass
class Run:
    """A published run, and what the simulator says of it."""
    row: dict
    step: dict = field(default_factory=dict)  # of `tessera simulate --json`

    @property
    def seconds(self):
        return float(self.row["published_seconds"])

    @property
    def predicted(self):
        return self.step["step_seconds"]

    @property
    def error(self):
        return self.predicted / self.seconds - 1

    @property
    def memory_error(self):
        """None where no memory was published. Published figures are in GB, of the fullest rank."""
        published = self.row["published_memory_gb"]
        return self.step["peak_bytes"] / GB / float(published) - 1 if published else None

    @property
    def at_peak(self):
        """Seconds of all flops that run, recomputation among them, at the devices' peak."""
        return self.step["hfu"] * self.predicted

    @property
    def task(self):
        """What plans have in common that do the same work."""
        words = shlex.split(self.row["arguments"])
        value = {name: words[words.index(name) + 1] for name in ("--batch", "--seq")}
        return self.row["model"], self.row["gpus"], value["--batch"], value["--seq"]


def read_csv(name):
    with open(FOLDER / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def sampled(rows, count):
    """Evenly over the sets, at least one of each."""
    chosen = []
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]
        take = max(1, round(count * len(own) / len(rows)))
        chosen += [own[i * len(own) // take] for i in range(take)]
    return chosen


def simulate(binary, row, options):
    command = [binary, "simulate", *shlex.split(row["arguments"]), *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=FOLDER)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(str(word) for word in command)}\n{done.stderr}{row['set']} {row['id']}: no prediction")
    return Run(row, json.loads(done.stdout))


def simulate_all(arguments):
    options = {source["set"]: shlex.split(source["options"]) for source in read_csv("sources.csv")}
    rows = [row for row in read_csv("runs.csv") if arguments.only in row["set"]]
    if arguments.sample:
        rows = sampled(rows, arguments.sample)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        extra = shlex.split(arguments.options)
        return list(pool.map(lambda row: simulate(arguments.binary, row, [*options[row["set"]], *extra]), rows))


def mean(values):
    return statistics.fmean(values) if values else 0.0


def ranks(values):
    """Places of values in order; equal ones share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def correlation(a, b):
    """Spearman's, or None where it says nothing."""
    if len(a) < 3 or len(set(a)) == 1 or len(set(b)) == 1:
        return None
    return statistics.correlation(ranks(a), ranks(b))


def one_constant(runs):
    """The share of the peak that would predict these very runs best, and the errors that it leaves."""
    at_peak = sorted((run.at_peak / run.seconds for run in runs), reverse=True)
    total, above = sum(at_peak), 0.0
    for share in at_peak:  # the weighted median of the inverse
        above += share
        if above >= total / 2:
            break
    return share, [each / share - 1 for each in at_peak]


def ranked_pairs(runs):
    """Pairs of plans of one task that differ, and how many of them are in the published order."""
    pairs = [(a, b) for a, b in combinations(runs, 2)
             if a.task == b.task and abs(a.seconds / b.seconds - 1) > APART and a.row["arguments"] != b.row["arguments"]]
    return sum((a.seconds < b.seconds) == (a.predicted < b.predicted) for a, b in pairs), len(pairs)


def percent(value, signed=False):
    return f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"


def score(name, runs):
    """A line of the table."""
    errors = [run.error for run in runs]
    best, left = one_constant(runs)
    rank = correlation([1 / (run.predicted / run.at_peak) for run in runs], [1 / (run.seconds / run.at_peak) for run in runs])
    right, pairs = ranked_pairs(runs)
    return [name, str(len(runs)), percent(mean([abs(e) for e in errors])), percent(mean(errors), True),
            percent(max(errors, key=abs), True), "-" if rank is None else f"{rank:.2f}",
            f"{right} of {pairs}" if pairs else "-",
            f"{percent(mean([abs(e) for e in left]))} ({best:.2f})", percent(max(left, key=abs), True)]


def sets_of(runs):
    return {name: [run for run in runs if run.row["set"] == name] for name in dict.fromkeys(run.row["set"] for run in runs)}


def scores(runs):
    return table([COLUMNS, *[score(name, own) for name, own in sets_of(runs).items()], score("all", runs)])


def rebuilt_bytes(words, width, tp):
    """What one block has while it is recomputed: two norms' results and the sum between them, and what is in shards over tp."""
    if "plan.recompute=block" not in words:
        return 0
    value = {name: int(words[words.index(name) + 1]) for name in ("--batch", "--seq", "--microbatches")}
    return value["--batch"] // value["--microbatches"] * value["--seq"] * width * (6 + 24 / tp)


def layers_gb(binary, row):
    """GB of the fullest rank's states and kept activations, of its layers alone: what Korthikanti's formula counts. Left out are
    the first stage's embedding, with 18 bytes for each parameter, and what a block needs while it runs. Masks of dropout, which our
    programs do not have, are counted by the simulator."""
    words = shlex.split(row["arguments"])
    place = words.index("--cluster")
    done = subprocess.run([binary, "compile", *words[:place], *words[place + 2:], "--json"], capture_output=True, text=True, check=True, cwd=FOLDER)
    held = json.loads(done.stdout)["bytes"]
    size = {name: int(value) for name, value in re.findall(r"model[.](\w+)=(\d+)", row["arguments"])}
    tp = int(next(iter(re.findall(r"\btp=(\d+)", row["mesh"])), 1))
    embedding = 18 * size["width"] * (size["vocabulary"] / tp + size["context"])
    with_masks, without = (simulate(binary, row, options).step["peak_bytes"] for options in (["--dropout"], []))
    kept = sum(held[name] for name in ("parameters", "gradients", "optimizer", "activations"))
    return (kept + with_masks - without - embedding - rebuilt_bytes(words, size["width"], tp)) / GB


def memory_line(name, errors):
    return [name, str(len(errors)), percent(mean([abs(e) for e in errors])), percent(mean(errors), True), percent(max(errors, key=abs), True)]


def memory_scores(binary, runs):
    """By set; a source that counts layers alone has a second line, in which the prediction counts as much."""
    counts = {source["set"]: source["memory_counts"] for source in read_csv("sources.csv")}
    lines = [["memory of the fullest rank", "runs", "mean %", "bias %", "largest %"]]
    for name, own in sets_of(runs).items():
        published = [run for run in own if run.memory_error is not None]
        if not published:
            continue
        lines.append(memory_line(name, [run.memory_error for run in published]))
        if counts[name] == "layers":
            lines.append(memory_line(f"{name}, its layers alone", [layers_gb(binary, run.row) / float(run.row["published_memory_gb"]) - 1
                                                                   for run in published]))
    return table(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--sample", type=int, metavar="N", help="about N rows, spread over the sets, instead of all")
    parser.add_argument("--only", default="", metavar="TEXT", help="only sets with this text in their name")
    parser.add_argument("--options", default="", help="further options of `tessera simulate` for all rows")
    parser.add_argument("--write", action="store_true", help="write docs/accuracy.md, its pictures and the error bars")
    parser.add_argument("--limit", type=float, metavar="PERCENT", help="fail where the mean error of all runs is larger")
    parser.add_argument("--rows", action="store_true", help="also print every row, the worst first")
    arguments = parser.parse_args()
    if arguments.write and (arguments.sample or arguments.only or arguments.options):
        parser.error("--write is for all runs with their own options")
    return arguments


def main():
    arguments = parse_arguments()
    runs = simulate_all(arguments)
    if arguments.rows:
        for run in sorted(runs, key=lambda run: -abs(run.error)):
            print(f"{percent(run.error, True):>7} %  {run.seconds:9.4g} s published  {run.predicted:9.4g} s predicted  "
                  f"{run.row['set']}: {run.row['model']}, {run.row['mesh']}, {run.row['knobs']}")
    scored, memory = scores(runs), memory_scores(arguments.binary, runs)
    print(scored, "", memory, sep="\n")
    if arguments.write:
        write_page(runs, scored, memory, sets_of(runs), read_csv)
    say(f"{len(runs)} runs")
    error = 100 * mean([abs(run.error) for run in runs])
    if arguments.limit and error > arguments.limit:
        sys.exit(f"the mean error is {error:.1f} %, above {arguments.limit:g} %")


if __name__ == "__main__":
    main()
