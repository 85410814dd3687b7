#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures on one GPU, in one call of under ten minutes, what docs/offload.md and docs/optimizers.md say of it: the link to the
host and pinning, Llama 3 8B whose states rest on the host beside pure_bf16, 131,072 tokens whose activations go there beside
block recomputation, Muon beside AdamW, and two of the largest models that fit. A run begins where the time that is left may suffice
for it; one that fails or is stopped is said so, and the rest goes on. What a run gave is kept in the folder, so that a second call
measures only what is missing. One table comes last: measured beside the simulator, with what each ratio must be.
--small runs tiny models on CPU ranks, to try the script. No peer: PyTorch and DeepSpeed offload by engines of their own."""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = time.monotonic()
MARGIN = 8  # seconds in which a run that is stopped can end, and the table be printed
APART = 0.10  # how far a measured ratio may be from the simulator's


@dataclass
class Run:
    name: str
    arguments: list
    seconds: int = 0  # it is not begun with less left
    base: str = ""  # the run that its tokens/s are compared with
    must: float = 0  # be at least so many times those
    steps: int = 2
    small: list = field(default_factory=list)  # instead of the arguments, with --small


def keys(*settings):
    return [word for setting in settings for word in ("--set", setting)]


def offload(kind, update="device"):
    return keys(f"plan.offload={kind}", f"plan.offload_update={update}")


EIGHT = ["--model", "llama3-8b", "--batch", "32", "--microbatches", "16", "--seq", "4096", "--recompute", "cheap", "--precision"]
LONG = ["--model", "llama3-1b", "--batch", "1", "--seq", "131072", "--precision", "bf16", "--recompute"]
GPT2 = ["--model", "gpt2-124m", "--batch", "64", "--seq", "1024", "--precision", "bf16"]
ROW = ["--batch", "1", "--precision", "bf16", "--recompute", "cheap"]  # of the table that tools/largest_models.py makes
TINY = ["--model", "tiny", "--batch", "16", "--microbatches", "4", "--seq", "64"]

# In the order of what matters most: each with the runs that it is compared with.
RUNS = [
    Run("8B pure_bf16", [*EIGHT, "pure_bf16"], 60, small=TINY),
    Run("8B states", [*EIGHT, "bf16", *offload("states")], 90, "8B pure_bf16", 0.80, small=[*TINY, *offload("states")]),
    Run("8B moments", [*EIGHT, "bf16", *offload("moments")], 80, "8B pure_bf16", 0.85, small=[*TINY, *offload("moments")]),
    Run("1B 131k block", [*LONG, "block"], 55, steps=1, small=[*TINY, "--recompute", "block"]),
    Run("1B 131k activations", [*LONG, "cheap", *offload("activations")], 60, "1B 131k block", 1.10, steps=1,
        small=[*TINY, "--recompute", "cheap", *offload("activations")]),
    Run("124M AdamW", GPT2, 15, steps=20, small=TINY),
    Run("124M Muon", [*GPT2, *keys("train.optimizer=muon")], 15, "124M AdamW", 0.95, steps=20,
        small=[*TINY, *keys("train.optimizer=muon")]),
    Run("8B states, host update", [*EIGHT, "bf16", *offload("states", "host")], 90, "8B pure_bf16", steps=1,
        small=[*TINY, *offload("states", "host")]),
    Run("row: Qwen 3 8B moments", ["--model", "qwen3-8b", "--seq", "4096", *ROW, *offload("moments")], 55, steps=1,
        small=[*TINY, *offload("states,gradients")]),
    Run("row: GPT-2 1.5B all", ["--model", "gpt2-1.5b", "--seq", "1024", *ROW, *offload("parameters,gradients,activations")], 25, steps=1,
        small=[*TINY, *offload("parameters,gradients,activations")]),
    Run("1B 131k cheap", [*LONG, "cheap"], 55, "1B 131k block", steps=1, small=[*TINY, "--recompute", "cheap"]),
]
LINK = "link"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="runs, in this order:\n  link\n" + "\n".join(f"  {run.name:<24} {run.seconds:3} s or more" for run in RUNS) +
        "\n\nExample: python3 bench/offload.py --only '8B pure_bf16' '8B states'")
    parser.add_argument("--bin", "--binary", type=Path, default=ROOT / "build" / "cuda", help="folder of what make cuda builds")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ROOT / "out")) / "offload", help="folder for results")
    parser.add_argument("--cluster", default="h200", help="for the simulator: a name or a file")
    parser.add_argument("--only", nargs="+", choices=[LINK, *(run.name for run in RUNS)], help="these alone")
    parser.add_argument("--again", action="store_true", help="also what the folder holds already")
    parser.add_argument("--in-all", type=float, default=590, help="seconds after which nothing runs any more")
    parser.add_argument("--pin", type=int, default=96, help="gigabytes to pin for the link")
    parser.add_argument("--small", action="store_true", help="tiny models on CPU ranks, on the cluster laptop; no link")
    parser.add_argument("--json", type=Path, help="also write all figures here")
    given = parser.parse_args()
    if given.bin.is_file():
        given.bin = given.bin.parent
    if given.small:
        given.cluster = "laptop"
    return given


def say(text):
    print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", file=sys.stderr, flush=True)


def ask(command, seconds):
    """The JSON object that it prints, or why there is none. What it has started ends with it."""
    try:
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
    except OSError as error:
        return None, str(error)
    try:
        output, errors = process.communicate(timeout=max(seconds, 1))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, f"stopped after {seconds:.0f} s"
    if process.returncode != 0:
        lines = [line for line in errors.splitlines() if line.startswith("error")] or errors.splitlines()[-1:]
        return None, f"failed with {process.returncode}: {' '.join(lines)}"
    try:
        return json.loads(output), ""
    except json.JSONDecodeError:
        return None, "printed no JSON"


class Measured:
    """Results by run, kept in a folder."""

    def __init__(self, given):
        self.given, self.why = given, {}
        self.folder = given.out / ("small" if given.small else given.cluster.replace("/", "_"))
        self.folder.mkdir(parents=True, exist_ok=True)

    def file(self, name):
        return self.folder / (name.replace(" ", "_").replace(":", "").replace(",", "") + ".json")

    def find(self, name):
        try:
            return json.loads(self.file(name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def measure(self, name, command, least):
        if self.given.only and name not in self.given.only or self.find(name) and not self.given.again:
            return
        left = self.given.in_all - MARGIN - (time.monotonic() - BEGIN)
        if left < (0 if self.given.small else least):
            self.why[name] = f"left out: {left:.0f} s are too few"
        else:
            say(name)
            result, self.why[name] = ask(command, left)
            if result:
                self.file(name).write_text(json.dumps(result), encoding="utf-8")
        if self.why[name]:
            say(f"{name}: {self.why[name]}")


def predicted(given, arguments):
    result, why = ask([given.bin / "tessera", "simulate", "--cluster", given.cluster, "--json", *arguments], 60)
    return result or {"why": why}


def link_lines(measured):
    link = measured.find(LINK)
    if not link:
        return [f"link: {measured.why.get(LINK, 'not measured')}"]
    giga = {key: value / 1e9 for key, value in link.items()}
    return [f"link: {giga['to_device']:.1f} GB/s to the device, {giga['to_host']:.1f} to the host, {giga['both_ways']:.1f} both together; "
            f"{giga['pinned_bytes']:.0f} GB pinned in {link['pin_seconds']:.1f} s of {giga['available_bytes']:.0f} GB available"]


def table(measured, given):
    """Lines, and figures by run."""
    head = ["run", "tokens/s", "step s", "predicted s", "ratio", "must", "predicted", "apart", "device GB", "host GB", ""]
    rows, figures = [head], {}
    simulated = {}
    for run in RUNS:
        simulated[run.name] = sim = predicted(given, run.small if given.small else run.arguments)
        own, base = measured.find(run.name), measured.find(run.base) if run.base else None
        figure = {"predicted_step_seconds": sim.get("step_seconds"), "device_bytes": sim.get("peak_bytes"), "host_bytes": sim.get("host_bytes")}
        verdict = measured.why.get(run.name) or ("" if own else "not measured")
        if own:
            figure |= {"tokens_per_second": own["tokens_per_second"], "step_seconds": own["step_seconds"]}
        if run.base and simulated[run.base].get("tokens_per_second") and sim.get("tokens_per_second"):
            figure["predicted_ratio"] = sim["tokens_per_second"] / simulated[run.base]["tokens_per_second"]
        if own and base:
            figure["ratio"] = own["tokens_per_second"] / base["tokens_per_second"]
            if "predicted_ratio" in figure:
                figure["apart"] = figure["ratio"] / figure["predicted_ratio"] - 1
            if not given.small:
                verdict = "; ".join(text for text, holds in (
                    ("too slow", figure["ratio"] >= run.must), ("not as predicted", abs(figure.get("apart", 0)) <= APART)) if not holds) or "ok"
        figures[run.name] = figure
        cell = {key: (lambda value, form: format(value, form) if value is not None else "-")(figure.get(key), form) for key, form in (
            ("tokens_per_second", ".0f"), ("step_seconds", ".4g"), ("predicted_step_seconds", ".4g"), ("ratio", ".3f"),
            ("predicted_ratio", ".3f"), ("apart", "+.1%"))}
        giga = [f"{sim[key] / 1e9:.1f}" if key in sim else "-" for key in ("peak_bytes", "host_bytes")]
        rows.append([run.name, cell["tokens_per_second"], cell["step_seconds"], cell["predicted_step_seconds"], cell["ratio"],
                     f"{run.must:.2f}" if run.must else "-", cell["predicted_ratio"], cell["apart"], *giga, verdict])
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return ["  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:-1], widths[1:-1])), row[-1]]).rstrip()
            for row in rows], figures


def main():
    given = parse_arguments()
    measured = Measured(given)
    if not given.small:
        measured.measure(LINK, [given.bin / "tessera_host_link_bench", given.pin], 30)
    for run in RUNS:
        arguments = run.small if given.small else run.arguments
        measured.measure(run.name, [given.bin / "tessera", "bench", "step", "--device", "cpu" if given.small else "cuda", "--steps",
                                    1 if given.small else run.steps, "--json", *arguments], run.seconds)
    lines, figures = table(measured, given)
    if not given.small:
        lines = [*link_lines(measured), *lines]
        figures[LINK] = measured.find(LINK)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    missing = [run.name for run in RUNS if not measured.find(run.name)]
    print("\n".join(lines))
    if missing:
        print(f"run again for the rest: python3 bench/offload.py --only {' '.join(repr(name) for name in missing)}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
