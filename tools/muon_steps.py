#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many steps Muon needs to AdamW's held-out loss, for several seeds of the first weights: both train on the same samples of
the text of a Debian package, with the same schedule of learning rates. AdamW's loss is that after its last step; the losses
between two evaluations are taken to lie on a line. By default a small model on this machine's cores in a few minutes; on a GPU
(in ten minutes, or in two calls):

  tools/muon_steps.py --device cuda --model gpt2-124m --batch 64 --seq 1024 --steps 400 --every 20 --in-all 590

The package is downloaded (apt-get download) and unpacked into the folder, not installed. A run that the folder holds already is
kept, so that calls can share the work. Prints one table last, and writes held_out.csv."""
import argparse
import csv
import gzip
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = time.monotonic()
OPTIMIZERS = ("adamw", "muon")
TEXTS = (".pod", ".txt", ".rst", ".md", ".html", ".tex")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "release", help="folder of tessera")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "muon_steps")
    parser.add_argument("--package", default="perl-doc", help="of Debian, whose text is learnt")
    parser.add_argument("--text", type=Path, help="a text file instead")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", default="tiny", help="a preset")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--every", type=int, default=20, help="steps from one evaluation to the next")
    parser.add_argument("--eval-batches", type=int, default=8)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="of both: matched_rms makes their updates as large")
    parser.add_argument("--precision", help="bf16 on a GPU, else fp32")
    parser.add_argument("--set", nargs="*", default=[], help="more config keys of all runs")
    parser.add_argument("--in-all", type=float, default=3600, help="seconds after which nothing runs any more")
    given = parser.parse_args()
    given.precision = given.precision or ("bf16" if given.device == "cuda" else "fp32")
    return given


def say(text):
    print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", file=sys.stderr, flush=True)


def read_text(file):
    if file.suffix == ".gz":
        with gzip.open(file) as packed:
            return packed.read()
    return file.read_bytes()


def text_of_package(given):
    """One file of all its documents, in the order of their names."""
    text = given.out / f"{given.package}.txt"
    if text.exists():
        return text
    folder = given.out / "package"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", given.package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    package = next(folder.glob(f"{given.package}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", package.name, "files"], cwd=folder, check=True)
    files = sorted(file for file in (folder / "files").rglob("*")
                   if file.is_file() and not file.is_symlink() and Path(file.name.removesuffix(".gz")).suffix in TEXTS)
    if not files:
        sys.exit(f"error: package {given.package} has no files that end with one of {', '.join(TEXTS)}")
    text.write_bytes(b"\n".join(read_text(file) for file in files))
    say(f"{len(files)} documents of {package.name}, {text.stat().st_size / 1e6:.1f} MB")
    return text


class Runs:
    def __init__(self, given, text):
        self.given = given
        self.keys = [f"model.preset={given.model}", f"train.batch={given.batch}", f"train.seq={given.seq}",
                     f"train.steps={given.steps}", f"train.precision={given.precision}", f"train.learning_rate={given.learning_rate}",
                     f"train.eval_every={given.every}", f"train.eval_batches={given.eval_batches}", "data.source=text",
                     f"data.path={text}", "data.held_out=0.05", "data.seed=1", *given.set]

    def rows(self, name):
        file = self.given.out / name / "metrics.jsonl"
        rows = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [json.loads(row) for row in rows] if len(rows) == self.given.steps else None

    def train(self, optimizer, seed):
        name = f"{optimizer}-{seed}"
        left = self.given.in_all - (time.monotonic() - BEGIN) - 3
        if self.rows(name) or left <= 0:
            return
        command = [self.given.bin / "tessera", "train", "--device", self.given.device, "--overwrite", "--out", self.given.out / name]
        settings = [*self.keys, f"train.optimizer={optimizer}", f"train.seed={seed}"]
        command += [word for setting in settings for word in ("--set", setting)]
        with open(self.given.out / f"{name}.log", "w", encoding="utf-8") as log:
            try:
                code = subprocess.run([str(word) for word in command], stdout=log, stderr=subprocess.STDOUT, check=False, timeout=left).returncode
            except subprocess.TimeoutExpired:
                code = f"more than {left:.0f} s"
        say(name if code == 0 else f"{name} failed ({code}): see {log.name}")


def held_out(rows):
    return [(row["step"], row["held_out_loss"]) for row in rows if row.get("held_out_loss") is not None]


def steps_to(curve, loss):
    """The first step, or part of one, at which a curve is that low; None where it never is."""
    before = None
    for step, value in curve:
        if value <= loss:
            if before is None or before[1] <= value:
                return float(step)
            return before[0] + (step - before[0]) * (before[1] - loss) / (before[1] - value)
        before = (step, value)
    return None


def write_csv(path, curves):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["step", *curves])
        for i, (step, _) in enumerate(next(iter(curves.values()))):
            writer.writerow([step, *(f"{curve[i][1]:.5f}" for curve in curves.values())])


def table(runs, given):
    lines = [["seed", "AdamW's held-out loss", "Muon's", "Muon's steps to AdamW's", "of its steps", "s/step over AdamW's"]]
    shares = []
    for seed in given.seeds:
        adamw, muon = (runs.get(f"{optimizer}-{seed}") for optimizer in OPTIMIZERS)
        if not adamw or not muon:
            lines.append([str(seed), "not run", "", "", "", ""])
            continue
        last, own = held_out(adamw)[-1][1], held_out(muon)
        reached = steps_to(own, last)
        seconds = [statistics.median(row["step_seconds"] for row in rows) for rows in (muon, adamw)]
        shares += [reached / given.steps] if reached else []
        lines.append([str(seed), f"{last:.4f}", f"{own[-1][1]:.4f}", f"{reached:.0f}" if reached else "not reached",
                      f"{reached / given.steps:.2f}" if reached else "-", f"{seconds[0] / seconds[1]:.3f}"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
    if shares:
        text.append(f"{len(shares)} of {len(given.seeds)} seeds: Muon needs {min(shares):.2f} to {max(shares):.2f} of AdamW's steps, "
                    f"{statistics.mean(shares):.2f} in the mean")
    return text, len(shares) == len(given.seeds)


def main():
    given = parse_arguments()
    given.out, given.bin = given.out.resolve(), given.bin.resolve()
    given.out.mkdir(parents=True, exist_ok=True)
    runs = Runs(given, given.text.resolve() if given.text else text_of_package(given))
    for seed in given.seeds:
        for optimizer in OPTIMIZERS:
            runs.train(optimizer, seed)
    done = {name: rows for seed in given.seeds for optimizer in OPTIMIZERS if (rows := runs.rows(name := f"{optimizer}-{seed}"))}
    if done:
        write_csv(given.out / "held_out.csv", {name: held_out(rows) for name, rows in done.items()})
    lines, whole = table(done, given)
    print(f"{given.model}, {given.batch} x {given.seq}, {given.steps} steps in {given.precision} on the text of "
          f"{given.text or given.package}, learning rate {given.learning_rate:g}")
    print("\n".join(lines))
    sys.exit(0 if whole else 1)


if __name__ == "__main__":
    main()
