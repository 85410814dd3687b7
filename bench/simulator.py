#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the simulator honest? In every round it calibrates this machine, predicts the step of many plans and measures them, and
prints every error beside the spread between rounds. Calibration knows none of the plans: its models have sizes of their own.
A shared machine is now fast, now slow: a probe, a step of yet another model, runs beside calibration and measurement, and
all times are brought to one pace of it. The errors without that are printed too."""
import argparse
import itertools
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from run import ROOT, cpu_name, run_json, say, table, write_results

MEDIAN_ERROR_AIM = 0.10
PAIRS_AIM = 0.90
APART = 0.10  # plans whose steps differ by less are not ranked


@dataclass
class Group:
    """Plans of one model: every mesh, and one rank with all threads and with one."""
    name: str
    shape: list
    meshes: list
    microbatches: int = 1
    steps: int = 8  # per turn
    axes: list = field(default_factory=list)  # settings that speak of axes: not for one rank


@dataclass
class Timed:
    """Seconds of a step, and what the probe took at that time under the same load."""
    seconds: float
    pace: float


@dataclass
class Plan:
    group: Group
    mesh: str
    threads: int  # of a rank
    ranks: int
    predicted: list = field(default_factory=list)  # Timed, by round, as `measured`
    measured: list = field(default_factory=list)

    @property
    def load(self):
        """Of the probe's three: how many ranks, and threads of each, are at work."""
        return ("one rank", self.threads) if self.ranks == 1 else ("two ranks", 1)

    @property
    def pace(self):
        return statistics.median(timed.pace for timed in [*self.predicted, *self.measured])

    def at_one_pace(self, times):
        return statistics.median(timed.seconds * self.pace / timed.pace for timed in times)

    @property
    def expected(self):
        return self.at_one_pace(self.predicted)

    @property
    def seconds(self):
        return self.at_one_pace(self.measured)

    @property
    def error(self):
        return self.expected / self.seconds - 1

    @property
    def error_as_timed(self):
        return (statistics.median(timed.seconds for timed in self.predicted) /
                statistics.median(timed.seconds for timed in self.measured) - 1)

    @property
    def spread(self):
        seconds = [timed.seconds for timed in self.measured]
        return (max(seconds) - min(seconds)) / statistics.median(seconds)


def settings(**values):
    return [part for key, value in values.items() for part in ("--set", f"{key.replace('__', '.')}={value}")]


def preset(name, batch, seq, **model):
    return ["--model", name, "--batch", batch, "--seq", seq,
            *settings(**{f"model__{key}": value for key, value in model.items()})]


SMALL_GPT = preset("gpt2-124m", 4, 256, layers=4, width=384, heads=6, vocabulary=8192)
SMALL_LLAMA = preset("tiny", 8, 128, layers=4, width=256, heads=4, kv_heads=2, mlp_size=704, vocabulary=1024)
PROBE = preset("tiny", 4, 144, layers=1, width=416, heads=8, kv_heads=8, mlp_size=1100, vocabulary=1900)
GROUPS = [
    Group("tiny 16 x 128", preset("tiny", 16, 128), ["dp=2", "tp=2", "cp=2", "dp=4", "dp=2,tp=2"]),
    Group("tiny 16 x 128, 4 microbatches", preset("tiny", 16, 128), ["dp=2", "tp=2"], microbatches=4),
    Group("gpt 4 x 384, 4 x 256", SMALL_GPT, ["dp=2", "tp=2", "cp=2", "dp=4"]),
    Group("gpt 4 x 384, zero 3", SMALL_GPT, ["fsdp=2", "fsdp=4"], axes=settings(plan__zero=3)),
    Group("gpt 4 x 384, 1f1b", SMALL_GPT, ["pp=2"], microbatches=4),
    Group("gpt 4 x 384, recompute block", [*SMALL_GPT, *settings(plan__recompute="block")], ["dp=2", "pp=2"],
          microbatches=2),
    Group("gpt 6 x 512, 8 x 64", preset("gpt2-124m", 8, 64, layers=6, width=512, heads=8, vocabulary=16384),
          ["dp=2", "tp=2"], microbatches=2, steps=5),
    Group("llama 4 x 256, 2 x 512", preset("tiny", 2, 512, layers=4, width=256, heads=4, kv_heads=4, mlp_size=704,
                                           vocabulary=1024, context=512), ["dp=2", "tp=2", "cp=2", "cp=4"]),
    Group("llama 4 x 256, gpipe", SMALL_LLAMA, ["pp=2", "pp=4"], microbatches=8, axes=settings(plan__schedule="gpipe")),
    Group("llama 4 x 256, zb_h1", SMALL_LLAMA, ["pp=2", "dp=2,pp=2"], microbatches=4,
          axes=settings(plan__schedule="zb_h1")),
    Group("llama 4 x 256, interleaved", SMALL_LLAMA, ["pp=2"], microbatches=8,
          axes=settings(plan__schedule="interleaved_1f1b", plan__chunks=2)),
    Group("llama 4 x 256, recompute attention", [*SMALL_LLAMA, *settings(plan__recompute="attention")], ["dp=2"]),
    Group("qwen 2 x 512, 2 x 256", preset("qwen3-0.6b", 2, 256, layers=2, width=512, heads=8, kv_heads=4, head_size=64,
                                          mlp_size=1536, vocabulary=12000), ["dp=2", "tp=2"], steps=5),
    Group("mlp 4 x 1024, 128 rows", preset("mlp", 128, 1), ["dp=2", "tp=2"], steps=40),
    Group("mlp 8 x 512, 64 rows", preset("mlp", 64, 1, layers=8, width=512), ["dp=2", "tp=2", "dp=4"], steps=80),
    Group("gpt2-124m 4 x 64", preset("gpt2-124m", 4, 64), ["dp=2"], steps=2),
]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--threads", type=int, default=2, help="cores that all ranks share")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all plans")
    parser.add_argument("--only", default="", help="groups whose name contains this")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-simulator.md")
    return parser.parse_args()


def scaling(arguments, shape, meshes, microbatches, steps):
    """Rows of one round of these meshes in turns; one rank is among them."""
    return run_json([arguments.binary, "bench", "scaling", *shape, "--microbatches", microbatches, "--threads",
                     arguments.threads, "--rounds", 1, "--steps", steps, "--meshes", ";".join(meshes),
                     "--json"])["results"]


def pace(arguments):
    """What the probe takes now, by load."""
    return {("one rank" if row["ranks"] == 1 else "two ranks", row["threads_per_rank"]): row["step_seconds"][0]
            for row in scaling(arguments, PROBE, ["dp=2"], 1, 7)}


def mean_pace(*paces):
    return {load: statistics.mean(one[load] for one in paces) for load in paces[0]}


def predict(arguments, cluster, plan):
    mesh = ["--mesh", plan.mesh, *plan.group.axes] if plan.ranks > 1 else []
    return run_json([arguments.binary, "simulate", "--cluster", cluster, *plan.group.shape, *mesh, "--microbatches",
                     plan.group.microbatches, "--set", f"train.threads={plan.threads * plan.ranks}",
                     "--json"])["step_seconds"]


def calibrate(arguments, folder, number):
    """The file, and the pace meanwhile."""
    say(f"round {number + 1} of {arguments.rounds}: calibrating")
    cluster = Path(folder) / "this-machine.toml"
    before = pace(arguments)
    run_json([arguments.binary, "bench", "calibrate", "--threads", arguments.threads, "--out", cluster, "--json"])
    return cluster, mean_pace(before, pace(arguments))


def run_round(arguments, folder, number, plans):
    """Adds a prediction and a measurement to every plan of `plans`, which is made in the first round."""
    cluster, pace_then = calibrate(arguments, folder, number)
    before = pace(arguments)
    for group in (group for group in GROUPS if arguments.only in group.name):
        say(f"measuring {group.name}")
        rows = scaling(arguments, [*group.shape, *group.axes], group.meshes, group.microbatches, group.steps)
        after = pace(arguments)
        now, before = mean_pace(before, after), after
        for row in rows:
            key = (group.name, row["mesh"], row["threads_per_rank"])
            plan = plans.setdefault(key, Plan(group, row["mesh"], row["threads_per_rank"], row["ranks"]))
            plan.measured.append(Timed(row["step_seconds"][0], now[plan.load]))
            plan.predicted.append(Timed(predict(arguments, cluster, plan), pace_then[plan.load]))
            say(f"  mesh {plan.mesh}, {plan.threads} threads: {plan.measured[-1].seconds * 1e3:.2f} ms, predicted "
                f"{plan.predicted[-1].seconds * 1e3:.2f}, pace {now[plan.load] / pace_then[plan.load]:.2f}")


def plan_table(plans):
    lines = [["plan", "mesh", "threads", "predicted ms", "measured ms", "error", "spread"]]
    for plan in plans:
        lines.append([plan.group.name, plan.mesh, str(plan.threads), f"{plan.expected * 1e3:.2f}",
                      f"{plan.seconds * 1e3:.2f}", f"{plan.error:+.1%}", f"{plan.spread:.1%}"])
    return table(lines)


def pairs_right(plans, same_group):
    pairs = [(a, b) for a, b in itertools.combinations(plans, 2)
             if abs(a.seconds - b.seconds) > APART * min(a.seconds, b.seconds)
             and (not same_group or a.group.shape == b.group.shape)]
    right = sum((a.seconds < b.seconds) == (a.expected < b.expected) for a, b in pairs)
    return right, len(pairs)


def share(right, count):
    return f"{right} of {count}" + (f" ({right / count:.1%})" if count else "")


def summary(title, plans):
    if not plans:
        return f"{title}: none"
    errors = sorted(abs(plan.error) for plan in plans)
    as_timed = statistics.median(abs(plan.error_as_timed) for plan in plans)
    return (f"{title}: {len(plans)} plans, median error {statistics.median(errors):.1%} (aim {MEDIAN_ERROR_AIM:.0%}), "
            f"largest {errors[-1]:.1%}; {as_timed:.1%} with the pace left in; median spread {statistics.median(plan.spread for plan in plans):.1%}; pairs that "
            f"differ by more than {APART:.0%} ranked right: {share(*pairs_right(plans, False))} (aim {PAIRS_AIM:.0%}), "
            f"of one model alone {share(*pairs_right(plans, True))}")


def main():
    arguments = parse_arguments()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            run_round(arguments, folder, number, found)
    plans = list(found.values())
    fitting = [plan for plan in plans if plan.ranks * plan.threads <= arguments.threads]
    crowded = [plan for plan in plans if plan.ranks * plan.threads > arguments.threads]
    text = "\n\n".join([
        f"{cpu_name()}, {arguments.threads} threads; {arguments.rounds} rounds; error = predicted / measured - 1, both at "
        "the median pace of the probe",
        plan_table(fitting), summary("ranks that have a core each", fitting),
        plan_table(crowded), summary("more ranks than cores", crowded), summary("all", plans)])
    print(text)
    if arguments.write:
        write_results("simulator", "Predicted against measured steps", text)


if __name__ == "__main__":
    main()
