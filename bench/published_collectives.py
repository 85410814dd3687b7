#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A curve for each fabric of bench/published/collectives.csv: latency, ceiling and ramp of an all_reduce, fitted on its points by
size, and what it leaves. Writes bench/published/fabrics.csv, which docs/accuracy.md shows and cluster files take figures from."""
import csv
import itertools
import math

from published import FOLDER, mean, read_csv
from run import table

LEAST_POINTS = 5
LATENCIES = [10e-6 * 1.15 ** i for i in range(32)]  # of the whole collective
SHARES = [0.9, 0.95, 1, 1.05, 1.1, 1.15]            # of the highest measured bandwidth: the ceiling
RAMPS = [0, *(0.25e6 * 1.25 ** i for i in range(30))]
COLUMNS = ["fabric", "ranks", "points", "latency us", "ceiling GB/s", "ramp MB", "mean %", "largest %"]


def points_by_fabric():
    """(bytes, seconds) of each all_reduce whose size is known, by hardware, fabric and ranks; and how many have no size."""
    groups, without = {}, 0
    for row in read_csv("collectives.csv"):
        if row["collective"] != "all_reduce" or not row["msg_bytes"].isdigit():
            without += 1
            continue
        ranks, size = int(row["n_ranks"]), int(row["msg_bytes"])
        seconds = float(row["time_us"]) * 1e-6 if row["time_us"] else wire(size, ranks) / (float(row["busbw_gb_s"]) * 1e9)
        name = row["hardware"].split(", hardware")[0].split(" (same")[0], row["fabric"].split(" NVSwitch")[0], ranks
        groups.setdefault(name, []).append((size, seconds))
    return groups, without


def wire(size, ranks):
    """Bytes that leave each rank."""
    return 2 * (ranks - 1) / ranks * size


def seconds_of(size, ranks, curve):
    """The formula of src/sim/collective_cost.cpp: a collective of `ramp` bytes takes twice as long as at the ceiling."""
    latency, ceiling, ramp = curve
    return latency + wire(size, ranks) / ceiling * (1 + math.sqrt(ramp / size))


def errors_of(points, ranks, curve):
    return [abs(seconds_of(size, ranks, curve) / seconds - 1) for size, seconds in points]


def fitted(points, ranks):
    """The curve of the grid with the least mean error."""
    highest = max(wire(size, ranks) / seconds for size, seconds in points)
    curves = itertools.product(LATENCIES, [share * highest for share in SHARES], RAMPS)
    return min(curves, key=lambda curve: mean(errors_of(points, ranks, curve)))


def main():
    groups, without = points_by_fabric()
    lines, few = [], 0
    for (hardware, fabric, ranks), points in groups.items():
        if len(points) < LEAST_POINTS:
            few += len(points)
            continue
        curve = fitted(points, ranks)
        errors = errors_of(points, ranks, curve)
        lines.append([f"{hardware}, {fabric}", str(ranks), str(len(points)), f"{curve[0] * 1e6:.0f}", f"{curve[1] / 1e9:.0f}",
                      f"{curve[2] / 1e6:.1f}", f"{100 * mean(errors):.1f}", f"{100 * max(errors):.0f}"])
    print(table([COLUMNS, *lines]))
    print(f"{few} points are of fabrics with fewer than {LEAST_POINTS} sizes; {without} have no size, or are no all_reduce")
    with open(FOLDER / "fabrics.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])


if __name__ == "__main__":
    main()
