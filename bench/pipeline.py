#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a pipeline cost its bubble and no more? A step on two stages, one thread each, beside what the schedule's own bubble
makes of a step on one rank with one thread: half of it, times one and the bubble over the ideal. The table comes last."""
import argparse
import statistics
from pathlib import Path

from run import ROOT, cpu_name, run_json, say, table, write_results

AIM = 1.08
# Eleven layers, and a head that costs about as much as one: two stages can be equal.
MODEL = ["--model", "gpt2-124m", "--set", "model.layers=11", "--set", "model.width=384", "--set", "model.heads=6", "--set",
         "model.vocabulary=4608"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", default=["1f1b", "gpipe", "zb_h1"])
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both, one after the other")
    parser.add_argument("--steps", type=int, default=4, help="per round")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-pipeline.md")
    return parser.parse_args()


def bubble(arguments, kind):
    """Over the ideal, of equal stages whose forward and gradients cost the same."""
    return run_json([arguments.binary, "schedule", "--kind", kind, "--stages", arguments.stages, "--microbatches",
                     arguments.microbatches, "--costs", "1,1,1", "--json"])["bubble_of_ideal"]


def measure(arguments, kind):
    """By round: seconds of one rank with one thread, and of the pipeline."""
    rows = run_json([arguments.binary, "bench", "scaling", *MODEL, "--batch", arguments.batch, "--seq", arguments.seq,
                     "--microbatches", arguments.microbatches, "--threads", arguments.stages, "--set",
                     f"plan.schedule={kind}", "--meshes", f"pp={arguments.stages}", "--rounds", arguments.rounds,
                     "--steps", arguments.steps, "--json"])["results"]
    one = next(row for row in rows if row["ranks"] == 1 and row["threads_per_rank"] == 1)
    return list(zip(one["step_seconds"], rows[-1]["step_seconds"]))


def main():
    arguments = parse_arguments()
    lines = [["schedule", "one rank s", f"pp={arguments.stages} s", "bubble / ideal", "predicted s", "measured / predicted",
              "rounds"]]
    for kind in arguments.kinds:
        say(f"measuring {kind}")
        rounds, idle = measure(arguments, kind), bubble(arguments, kind)
        predicted = [one / arguments.stages * (1 + idle) for one, _ in rounds]
        ratios = [stages / wanted for (_, stages), wanted in zip(rounds, predicted)]
        lines.append([kind, f"{statistics.median(one for one, _ in rounds):.3f}",
                      f"{statistics.median(stages for _, stages in rounds):.3f}", f"{idle:.1%}",
                      f"{statistics.median(predicted):.3f}", f"{statistics.median(ratios):.3f}",
                      " ".join(f"{ratio:.2f}" for ratio in ratios)])
    text = "\n".join([
        f"GPT of 11 layers and width 384 at {arguments.batch} x {arguments.seq}, {arguments.microbatches} microbatches, "
        f"fp32, a thread per rank; {cpu_name()}; aim: at most {AIM}", "", table(lines)])
    print(text)
    if arguments.write:
        write_results("pipeline", "A pipeline beside its bubble", text)


if __name__ == "__main__":
    main()
