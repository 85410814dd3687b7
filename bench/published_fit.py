#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What published steps say about the parameter that was fitted on steps, and how well each source is predicted with the
value fitted on all the others, and with the middle of what a source without steps says of a host's rate (fits.csv). Writes
bench/published/left_out.csv, which docs/accuracy.md shows."""
import csv
import re
import shlex
from concurrent.futures import ThreadPoolExecutor

from published import FOLDER, mean, parse_arguments, read_csv, say, simulate, sets_of

# How often a program's kernels pass over a result where ours are fused. Every other figure is measured, published, or fitted on
# single layers and kernels.
GRID = {"--passes": ["0.5", "1", "1.5"]}
# Seconds of a host for a kernel: 45 to 52 microseconds. That 5e-5 is taken was decided with vTrain's errors in sight.
MIDDLE = {"--eager": "4.85e-5"}
COLUMNS = ["source", "runs", "shared", "left_out", "passes"]


def with_value(options, name, value):
    return re.sub(rf"{name} \S+", f"{name} {value}", options)


def source_of(name):
    """Sets of one source are left out together: "vTrain, one node" and "vTrain, several nodes"."""
    return name.split(",")[0]


def mean_errors(binary, rows, options):
    """By source, with these options by set."""
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda row: simulate(binary, row, shlex.split(options[row["set"]])), rows))
    by_source = {}
    for name, own in sets_of(runs).items():
        by_source.setdefault(source_of(name), []).extend(abs(run.error) for run in own)
    return {name: mean(errors) for name, errors in by_source.items()}


def best_value(errors, sources):
    """The value of the grid with the least mean over sources."""
    return min(errors, key=lambda value: mean([errors[value][name] for name in sources]))


def errors_of(grid, arguments, rows, options):
    """By parameter: errors by value and source, of the sets whose options name the parameter."""
    found = {}
    for name, values in grid.items():
        own = [row for row in rows if name in options[row["set"]]]
        found[name] = {}
        for value in values:
            say(f"{name} {value}, {len(own)} runs")
            changed = {key: with_value(text, name, value) for key, text in options.items()}
            found[name][value] = mean_errors(arguments.binary, own, changed)
    return found


def print_best(errors):
    for name, by_value in errors.items():
        everyone = next(iter(by_value.values()))
        print(f"{name}: all sources together {best_value(by_value, everyone)};",
              ", ".join(f"{source} alone {best_value(by_value, [source])}" for source in everyone))


def main():
    arguments = parse_arguments()
    options = {source["set"]: source["options"] for source in read_csv("sources.csv")}
    rows = read_csv("runs.csv")
    errors = errors_of(GRID, arguments, rows, options)
    print_best(errors)
    lines = []
    for source in dict.fromkeys(source_of(row["set"]) for row in rows if "--eager" in options[row["set"]]):
        own = [row for row in rows if source_of(row["set"]) == source and "--eager" in options[row["set"]]]
        best = MIDDLE | {name: best_value(by_value, [other for other in next(iter(by_value.values())) if other != source])
                for name, by_value in errors.items()}
        changed = dict(options)
        for name, value in best.items():
            changed = {key: with_value(text, name, value) for key, text in changed.items()}
        lines.append([source, len(own), f"{mean_errors(arguments.binary, own, options)[source]:.4f}",
                      f"{mean_errors(arguments.binary, own, changed)[source]:.4f}",
                      best["--passes"] if any("--passes" in options[row["set"]] for row in own) else ""])
        print(*lines[-1], sep=", ")
    with open(FOLDER / "left_out.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])


if __name__ == "__main__":
    main()
