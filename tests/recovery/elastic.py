#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random losses and returns of ranks: runs on up to eight ranks lose some, at once or in order, and get some back, at random moments. Each
continues on what is left, with a plan of the planner, and grows again. In fp64 every loss of every step must be that of a run that nobody
disturbed, to 1e-9; every save that was reported must be there; the goodput that the run prints must be within ten points of what the
planner's model predicts. The same seed gives the same choices."""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from small_run import STOPPED, Run, children, environment, steps_done, wait_until
from what_was_saved import events_of, problem_of_saves

HERE = pathlib.Path(__file__).resolve().parent
RANKS, LEAST = 8, 2
ENDLESS = 10**6  # steps: a signal ends the run
POINTS = 10  # by which the goodput may differ from the predicted one
FEW_EVENTS = 8  # with fewer chance decides, and the goodput is only printed
SETTINGS = ["model.layers=4", "model.width=32", "model.heads=4", "model.kv_heads=4", "model.mlp_size=64", "train.batch=8",
            "train.seq=16", "train.precision=fp64", "train.threads=1", "train.schedule=constant", "train.learning_rate=1e-3",
            "data.story_bytes=65536", "train.eval_every=0", "run.peak_gflops=100", "run.tensorboard=false", "run.deadline_seconds=20"]
EXPERTS = ["model.preset=tiny-moe", "model.layers=2", "model.experts=4", "model.expert_mlp_size=32",
           "model.top_k=2", "model.balance_loss=0", "model.balance_rate=0.001"]
# A mesh, microbatches and settings of each run.
RUNS = [("pp=2,dp=2,tp=2", 4, []), ("pp=2,dp=2,ep=2", 2, EXPERTS), ("dp=2,ep=2,tp=2", 2, EXPERTS), ("fsdp=2,pp=2,tp=2", 4, [])]


def settings(more):
    own = {setting.split("=")[0]: setting for setting in [*SETTINGS, *more]}
    return [word for setting in own.values() for word in ("--set", setting)]


def command(binary, out, mesh, microbatches, more, steps):
    return [str(binary), "train", "--mesh", mesh, "--microbatches", str(microbatches), "--steps", str(steps), "--out", str(out),
            *settings(more)]


def losses(out):
    lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return {step["step"]: step["loss"] for step in map(json.loads, lines)}


class Elastic:
    """One run, and how many ranks there are for it."""

    def __init__(self, binary, folder, number, draw):
        self.binary, self.draw, (self.mesh, self.microbatches, self.more) = binary, draw, RUNS[number % len(RUNS)]
        self.out, self.file, self.done = folder / f"run{number}", folder / f"ranks{number}", []
        self.there = RANKS + draw.choice([0, 1])  # one may be a spare
        self.write()
        policy = {"ranks_from": self.file, "least_ranks": LEAST, "shrink_after_seconds": 0.1, "grow_after_seconds": 0.5,
                  "cluster": HERE / "elastic_cluster.toml"}
        self.run = Run([*command(binary, self.out, self.mesh, self.microbatches, self.more, ENDLESS), "--save-every", "15",
                        "--supervise", "--restarts", "1000", "--json",
                        *(word for key, value in policy.items() for word in ("--set", f"elastic.{key}={value}"))],
                       folder / f"run{number}.log")

    def write(self):
        """At once: nobody reads half of it."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{self.there}\n", encoding="utf-8")
        new.replace(self.file)

    def ranks(self):
        return [rank for leader in children(self.run.process.pid) for rank in children(leader)]

    def lose(self):
        lost = min(self.draw.choice([1, 1, 2, 3]), self.there - LEAST)
        self.there -= lost
        self.write()
        victims = self.ranks()
        # Most die; some are taken away in order, and the run saves first.
        if victims and self.draw.random() < 0.8:
            for rank in self.draw.sample(victims, min(lost, len(victims))):
                try:
                    os.kill(rank, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.done.append(f"-{lost}")
        else:
            self.done.append(f"({lost} leave)")

    def give_back(self):
        back = min(self.draw.choice([1, 2, 4]), RANKS + 1 - self.there)
        self.there += back
        self.write()
        self.done.append(f"+{back}")

    def disturb(self):
        can_lose, can_return = self.there > LEAST, self.there < RANKS
        self.lose() if can_lose and (not can_return or self.draw.random() < 0.5) else self.give_back()

    def meshes(self):
        return [event["mesh"] for event in events_of(self.out) if event["event"] == "start_ended"]

    def play(self, events, gap):
        assert wait_until(lambda: steps_done(self.out) >= 5, 120, 0.02) is not None, self.run.text()
        for _ in range(events):
            time.sleep(0.5 + self.draw.expovariate(1 / max(0.1, gap - 0.5)))
            if self.run.process.poll() is not None:
                return
            self.disturb()
        at = steps_done(self.out)
        wait_until(lambda: steps_done(self.out) > at + 15, 120, 0.05)
        # Into a restart a signal comes too early to save: the run has saved before.
        self.run.process.send_signal(signal.SIGTERM)
        self.run.wait(120)

    def goodput(self):
        """Measured and predicted, in percent."""
        found = re.search(r"^goodput ([\d.]+) % of [\d.]+ s, predicted ([\d.]+ %|unknown)", self.run.text(), re.MULTILINE)
        number = lambda text: float(text.rstrip(" %")) if text != "unknown" else float("nan")
        return (number(found.group(1)), number(found.group(2))) if found else (float("nan"), float("nan"))


def problems_of(elastic, folder, events):
    code, text = elastic.run.process.poll(), elastic.run.text()
    if code not in (0, STOPPED):
        return [f"exit code {code}"]
    steps, whole = steps_done(elastic.out), folder / f"{elastic.out.name}_whole"
    subprocess.run(command(elastic.binary, whole, "dp=1", elastic.microbatches, elastic.more, steps), env=environment(), check=True,
                   capture_output=True, timeout=600)
    problems, measured, expected = [], losses(elastic.out), losses(whole)
    if measured.keys() != expected.keys() or len(expected) < 10:
        problems.append(f"{len(measured)} steps, not {len(expected)}")
    worst = max((abs(measured[step] - expected[step]) / abs(expected[step]) for step in expected if step in measured), default=1)
    print(f"  {steps} steps, largest difference of a loss {worst:.1e}", flush=True)
    if worst > 1e-9:
        problems.append(f"a loss differs by {worst}")
    if saved := problem_of_saves(elastic.binary, elastic.out):
        problems.append(saved)
    if elastic.ranks():
        problems.append("ranks are left")
    if "instead of" not in text:
        problems.append("it never continued on other ranks")
    goodput, predicted = elastic.goodput()
    print(f"  goodput {goodput:.1f} %, predicted {predicted:.1f} %")
    if not abs(goodput - predicted) <= POINTS and events >= FEW_EVENTS:
        problems.append(f"the goodput is {goodput} %, and {predicted} % was predicted")
    return problems


def one_run(arguments, folder, number, events):
    draw = random.Random(f"elastic {arguments.seed} {number}")
    elastic, begin = Elastic(arguments.binary.resolve(), folder, number, draw), time.monotonic()
    try:
        elastic.play(events, arguments.gap)
    finally:
        elastic.run.end()
    problems = problems_of(elastic, folder, events)
    print(f"{number} {elastic.mesh}: {'; '.join(problems) or 'as it should'} ({time.monotonic() - begin:.1f} s): {' '.join(elastic.done)}")
    print(f"  on {' '.join(elastic.meshes())}", flush=True)
    if problems or arguments.verbose:
        print(elastic.run.text()[-6000:])
    return not problems, elastic.meshes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--events", type=int, default=52, help="losses and returns, in all runs together")
    parser.add_argument("--runs", type=int, default=len(RUNS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gap", type=float, default=3, help="seconds between two events, on average")
    parser.add_argument("--verbose", action="store_true", help="print what each run says")
    arguments = parser.parse_args()
    held, axes = 0, set()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        for number in range(arguments.runs):
            good, meshes = one_run(arguments, pathlib.Path(temporary), number, arguments.events // arguments.runs)
            held += good
            axes |= {axis.split("=")[0] for mesh in meshes for axis in mesh.split(",")}
    print(f"{held} of {arguments.runs} runs ended as they should; axes: {', '.join(sorted(axes))}")
    sys.exit(0 if held == arguments.runs else 1)


if __name__ == "__main__":
    main()
