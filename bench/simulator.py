#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the simulator honest? In every round it calibrates this machine, predicts the step of many plans and measures them, and
prints every error beside the spread between rounds. Calibration knows none of the plans: its models have sizes of their own."""
import argparse
import itertools
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from run import ROOT, cpu_name, run_json, say, write_results

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
class Plan:
    group: Group
    mesh: str
    threads: int  # of a rank
    ranks: int
    predicted: list = field(default_factory=list)  # by round, as `measured`
    measured: list = field(default_factory=list)

    @property
    def expected(self):
        return statistics.median(self.predicted)

    @property
    def seconds(self):
        return statistics.median(self.measured)

    @property
    def error(self):
        return self.expected / self.seconds - 1

    @property
    def spread(self):
        return (max(self.measured) - min(self.measured)) / self.seconds


def settings(**values):
    return [part for key, value in values.items() for part in ("--set", f"{key.replace('__', '.')}={value}")]


def preset(name, batch, seq, **model):
    return ["--model", name, "--batch", batch, "--seq", seq,
            *settings(**{f"model__{key}": value for key, value in model.items()})]


SMALL_GPT = preset("gpt2-124m", 4, 256, layers=4, width=384, heads=6, vocabulary=8192)
SMALL_LLAMA = preset("tiny", 8, 128, layers=4, width=256, heads=4, kv_heads=2, mlp_size=704, vocabulary=1024)
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
    parser.add_argument("--cluster", help="a file of this machine; default: calibrate in every round")
    parser.add_argument("--threads", type=int, default=2, help="cores that all ranks share")
    parser.add_argument("--rounds", type=int, default=3, help="all plans, so many times")
    parser.add_argument("--only", default="", help="groups whose name contains this")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-simulator.md")
    return parser.parse_args()


def measure(arguments, group):
    """One round of a group's plans in turns; one rank is among them."""
    result = run_json([arguments.binary, "bench", "scaling", *group.shape, *group.axes, "--microbatches",
                       group.microbatches, "--threads", arguments.threads, "--rounds", 1, "--steps", group.steps,
                       "--meshes", ";".join(group.meshes), "--json"])
    return [Plan(group, row["mesh"], row["threads_per_rank"], row["ranks"], measured=row["step_seconds"])
            for row in result["results"]]


def predict(arguments, cluster, plan):
    mesh = ["--mesh", plan.mesh, *plan.group.axes] if plan.ranks > 1 else []
    return run_json([arguments.binary, "simulate", "--cluster", cluster, *plan.group.shape, *mesh, "--microbatches",
                     plan.group.microbatches, "--set", f"train.threads={plan.threads * plan.ranks}",
                     "--json"])["step_seconds"]


def run_round(arguments, cluster, plans):
    """Adds a prediction and a measurement to every plan of `plans`, which is made in the first round."""
    for group in (group for group in GROUPS if arguments.only in group.name):
        say(f"measuring {group.name}")
        for plan in measure(arguments, group):
            known = plans.setdefault((group.name, plan.mesh, plan.threads), plan)
            if known is not plan:
                known.measured += plan.measured
            known.predicted.append(predict(arguments, cluster, plan))
            say(f"  mesh {plan.mesh}, {plan.threads} threads: {known.measured[-1] * 1e3:.2f} ms, predicted "
                f"{known.predicted[-1] * 1e3:.2f}")


def table(lines):
    lines = [lines[0], ["---"] + ["---:"] * (len(lines[0]) - 1), *lines[1:]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("| " + " | ".join(text.ljust(width) if i == 0 else text.rjust(width)
                                       for i, (text, width) in enumerate(zip(line, widths))) + " |" for line in lines)


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
    return (f"{title}: {len(plans)} plans, median error {statistics.median(errors):.1%} (aim {MEDIAN_ERROR_AIM:.0%}), "
            f"largest {errors[-1]:.1%}, median spread {statistics.median(plan.spread for plan in plans):.1%}; pairs that "
            f"differ by more than {APART:.0%} ranked right: {share(*pairs_right(plans, False))} (aim {PAIRS_AIM:.0%}), "
            f"of one model alone {share(*pairs_right(plans, True))}")


def main():
    arguments = parse_arguments()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            cluster = arguments.cluster
            if cluster is None:
                cluster = Path(folder) / "this-machine.toml"
                say(f"round {number + 1} of {arguments.rounds}: calibrating")
                run_json([arguments.binary, "bench", "calibrate", "--threads", arguments.threads, "--out", cluster,
                          "--json"])
            run_round(arguments, cluster, found)
    plans = list(found.values())
    fitting = [plan for plan in plans if plan.ranks * plan.threads <= arguments.threads]
    crowded = [plan for plan in plans if plan.ranks * plan.threads > arguments.threads]
    text = "\n\n".join([
        f"{cpu_name()}, {arguments.threads} threads; {arguments.rounds} rounds; error = predicted / measured - 1",
        plan_table(fitting), summary("ranks that have a core each", fitting),
        plan_table(crowded), summary("more ranks than cores", crowded), summary("all", plans)])
    print(text)
    if arguments.write:
        write_results("simulator", "Predicted against measured steps", text)


if __name__ == "__main__":
    main()
