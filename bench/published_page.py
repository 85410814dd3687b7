# SPDX-License-Identifier: Apache-2.0
"""docs/accuracy.md and its pictures, and the error bars that `simulate` and `plan` print, from the runs of published.py."""
import math

from published_pictures import errors_picture, seconds_picture
from run import ROOT, table

PAGE = ROOT / "docs" / "accuracy.md"
PICTURES = ROOT / "docs" / "pictures" / "accuracy"
BARS = ROOT / "src" / "sim" / "error_bars.def"
WORST = 15
LIKELY = 0.8  # of the runs of a kind, how many an error bar holds

FABRICS = ["fabric", "ranks", "points", "latency us", "ceiling GB/s", "ramp MB", "mean %", "largest %"]

HEAD = """# Predictions beside published runs

*Written by `make validate ARGS=--write`; [bench/published](../bench/published/README.md) has the runs and their sources.*

The simulator beside {count} published training runs. Error is predicted over published seconds of a step, less 1: negative
is too fast. Every run of a set has the same options, which say what its program does and Tessera does not; no row has a figure of
its own. The last columns are the best that one number could do: model flops with recomputation over a constant share of the peak, the
share fitted on the very runs that it is scored on. "Plans ranked right": of pairs of plans for the same task whose published times
differ by more than 2 %.

![Predicted against published seconds](pictures/accuracy/runs.svg)

![Errors by set](pictures/accuracy/errors.svg)
"""


def causes(run, notes):
    """Why this one, as far as it is known."""
    text = f"{run.row['model']} {run.row['mesh']} {run.row['knobs']}"
    return next((note["cause"] for note in notes if note["set"] == run.row["set"] and note["in the row"] in text), "not known")


def device_of(run):
    return run.row["gpu"].split()[0].split("-")[0]


def parallelism_of(run):
    axes = [part.split("=")[0] for part in run.row["mesh"].split(",") if not part.endswith("=1")]
    return ", ".join(axes) or "one GPU"


def kind_of(run):
    """What an error bar is for: the device, how far the run reaches, and whether it has stages."""
    gpus = int(run.row["gpus"])
    reach = "one" if gpus == 1 else "node" if gpus <= 8 else "nodes"
    return device_of(run), reach, "pp=" in run.row["mesh"]


def special_kinds(run):
    """What else an error bar is for, whatever the device."""
    kinds = {"cp": "cp" in parallelism_of(run).split(", "), "fp8": "fp8" in run.row["arguments"]}
    return [kind for kind, is_so in kinds.items() if is_so]


def grouped(runs, key):
    groups = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def short(value):
    return f"{100 * value:.1f}"


def bar_of(runs):
    """What eight of ten errors stay within."""
    errors = sorted(abs(run.error) for run in runs)
    return errors[math.ceil(LIKELY * len(errors)) - 1]


def by_group(title, runs, key):
    lines = [[title, "runs", "mean %", "bias %", "8 of 10 within %", "largest %"]]
    for name, own in sorted(grouped(runs, key).items()):
        errors = [run.error for run in own]
        lines.append([name, str(len(own)), short(sum(map(abs, errors)) / len(own)), f"{100 * sum(errors) / len(own):+.1f}",
                      short(bar_of(own)), f"{100 * max(errors, key=abs):+.1f}"])
    return table(lines)


def as_table(rows, names):
    """CSV rows as Markdown, text in all columns."""
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join([*lines, *("| " + " | ".join(row[name] for name in names) + " |" for row in rows)])


def worst(runs, notes):
    lines = [{"error": f"{100 * run.error:+.1f} %", "set": run.row["set"], "run": f"{run.row['model']}, {run.row['mesh']}, "
              f"{run.row['knobs'].split(' (')[0]}", "why": causes(run, notes)}
             for run in sorted(runs, key=lambda run: -abs(run.error))[:WORST]]
    return as_table(lines, ["error", "set", "run", "why"])


def left_out(rows):
    lines = [{"source": row["source"], "runs": row["runs"], "mean %": short(float(row["shared"])),
              "left out %": short(float(row["left_out"])), "passes": row["passes"] or "-"} for row in rows]
    return as_table(lines, ["source", "runs", "mean %", "left out %", "passes"])


def page(runs, scored, memory, read_csv):
    sources = [{**row, "options": f"`{row['options']}`" if row["options"] else "none"} for row in read_csv("sources.csv")]
    return "\n".join([
        HEAD.format(count=len(runs)), scored, "",
        "Memory of the fullest rank, where it is published. Megatron's figures are a formula of its paper: 18 bytes for each parameter of "
        "the layers and what they keep for the backward (22B: 48.92 + 4.83 GB, published 53.78). It has no embedding, which is 1 to 4 GB of the first "
        "stage, no logits, and nothing that a block needs while it runs: *its layers alone* is what our programs have of the same, with masks of dropout, which only theirs have. "
        "torchtitan's is what PyTorch reserved:", "", memory,
        "", "## By device and by parallelism", "", by_group("device", runs, device_of), "",
        by_group("axes", runs, parallelism_of), "",
        "## What was fitted on what", "",
        as_table(read_csv("fits.csv"), ["figure", "where", "fitted on", "points", "not on"]), "",
        "Which effects to add was decided with the errors of these runs in sight; the value of one was fitted on steps. `python3 bench/published_fit.py` fits it again on all sources but one, and predicts that "
        "one: *left out*. What a host takes to launch a kernel is of a source without training steps, which says 45 to 52 microseconds: 50 was taken with vTrain's errors in sight, *left out* has the middle, 48.5. "
        "vTrain's runs on one node are nearly the only ones that would tell it: all of vTrain is 10.6 % off at 45, 7.6 % at 52, and 15.5 % at 70, where the other sources, which change by less than a percent, are best.", "", left_out(read_csv("left_out.csv")), "",
        "## Collectives", "", "`python3 bench/published_collectives.py` fits a curve for each fabric on published all_reduces: latency of the whole, "
        "ceiling of bus bandwidth, and the ramp. Cluster files take ceiling and ramp of a node from the rows of eight ranks, the ramp of a network "
        "from those of 32 and 64.", "", as_table(read_csv("fabrics.csv"), FABRICS), "",
        "## The worst rows, and why", "", worst(runs, read_csv("causes.csv")), "",
        "## What is not simulated", "",
        "- traffic of other jobs on the same network, stragglers, noise, failures;",
        "- clocks: a device has one speed, the one it was measured at; a lower power limit needs a cluster file of its own;",
        "- fragmentation of memory;",
        "- kernels' own differences between shapes of one size: a device has one curve for all products;",
        "- a recomputation per op as torchtitan has it: `cheap` and `--repeats 0.5` stand for it.", "",
        "## Programs and options", "", as_table(sources, ["set", "reference", "program", "options", "what_is_not_known"]), ""])


def error_bars(runs):
    """Rows of C++: device, reach, stages, runs, what eight of ten stay within in percent."""
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "// How far predictions of published runs were off, by kind of run: device, how far its ranks reach, whether it has",
             "// pipeline stages; runs, and the percent that eight of ten stay within. Then the same of special kinds, on all devices.",
             "// Written by `make validate ARGS=--write`."]
    for (device, reach, stages), own in sorted(grouped(runs, kind_of).items()):
        lines.append(f'ERROR_BAR("{device}", "{reach}", {str(stages).lower()}, {len(own)}, {100 * bar_of(own):.0f})')
    for kind in ("cp", "fp8"):
        own = [run for run in runs if kind in special_kinds(run)]
        lines.append(f'KIND_BAR("{kind}", {len(own)}, {100 * bar_of(own):.0f})')
    return "\n".join(lines) + "\n"


def write_page(runs, scored, memory, by_set, read_csv):
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / "runs.svg").write_text(seconds_picture(runs), encoding="utf-8")
    (PICTURES / "errors.svg").write_text(errors_picture(by_set), encoding="utf-8")
    PAGE.write_text(page(runs, scored, memory, read_csv), encoding="utf-8")
    BARS.write_text(error_bars(runs), encoding="utf-8")
