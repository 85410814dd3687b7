#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains GPT-2 124M, or another model, on the built-in text on a GPU, in one call of under ten minutes: bf16 beside PyTorch
from the same first weights, samples and learning rates, and fp8 beside bf16, for each of three seeds of the first weights.
fp8-e4m3 has gradients in e4m3, fp8-block scales for blocks of 128, fp8-block-e4m3 both. PyTorch runs in bf16 and, as the
yardstick of bf16's own noise, in tf32. Llama 1B, two seeds of bf16 and one of each fp8, about a minute a run:

  tools/gpu_run.py --model llama3-1b --batch 2 --seq 2048 --steps 1000 --seeds 1 2 --fp8-seeds 1 --out out/gpu_run_1b \
    --only bf16 fp8 fp8-e4m3 fp8-block fp8-block-e4m3

Writes every step's losses (curves.csv, curves.svg) into the folder; prints one table last, with verdicts. A run that the folder
holds already is kept, so that calls can share the work."""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from loss_curves import write_csv, write_svg

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from gpu import say  # noqa: E402
PEERS = {"PyTorch": "bf16", "PyTorch tf32": "tf32"}
LAST = 50  # steps that a final training loss is the mean of
FP8 = {"fp8": [], "fp8-e4m3": ["train.fp8_gradients=e4m3"], "fp8-block": ["train.fp8_scaling=block"],
       "fp8-block-e4m3": ["train.fp8_scaling=block", "train.fp8_gradients=e4m3"]}
COLUMNS = ["run", "loss, first", f"mean of last {LAST}", "held out", "tokens/s", "seconds"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "cuda", help="folder of tessera, tessera_samples")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "gpu_run")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default="gpt2-124m", help="a preset; PyTorch's is GPT-2 124M")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--fp8-seeds", type=int, nargs="+", help="seeds of the runs in fp8; those of bf16 unless given")
    parser.add_argument("--only", nargs="+", choices=("bf16", "peer", *FP8), default=["bf16", "peer", "fp8"],
                        help="runs to make, in this order; peer needs those of bf16")
    parser.add_argument("--set", nargs="*", default=[], help="more config keys of all runs")
    parser.add_argument("--peer-python", default="python3")
    parser.add_argument("--peer-options", nargs="*", default=[], help="of bench/peer_torch_train.py, without --")
    parser.add_argument("--seconds", type=int, default=150, help="most that one run may take")
    arguments = parser.parse_args()
    arguments.fp8_seeds = arguments.fp8_seeds or arguments.seeds
    return arguments


def call(command, seconds, log):
    """Whether it ended well; its output goes to the log, the end of a failed one to standard error."""
    begin = time.monotonic()
    with open(log, "w", encoding="utf-8") as file:
        try:
            code = subprocess.run([str(part) for part in command], stdout=file, stderr=subprocess.STDOUT, check=False,
                                  timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            code = f"more than {seconds} s"
    say(f"{log.stem}: {time.monotonic() - begin:.1f} s")
    if code != 0:
        say(f"  failed ({code}): {log.read_text(encoding='utf-8')[-1500:]}")
    return code == 0


class Runs:
    def __init__(self, arguments):
        self.arguments, self.out = arguments, arguments.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.keys = [f"model.preset={arguments.model}", f"train.batch={arguments.batch}", f"train.seq={arguments.seq}",
                     f"train.steps={arguments.steps}", "data.seed=1", *arguments.set]

    def metrics(self, name):
        file = self.out / name / "metrics.jsonl"
        rows = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [json.loads(row) for row in rows] if len(rows) == self.arguments.steps else None

    def train(self, name, seed, precision, more=()):
        keys = [*self.keys, f"train.seed={seed}", f"train.precision={precision}", *more]
        return call([self.arguments.bin / "tessera", "train", "--device", self.arguments.device, "--overwrite", "--out",
                     self.out / name, *(part for key in keys for part in ("--set", key))], self.arguments.seconds,
                    self.out / f"{name}.log")

    def ours(self, kind):
        for seed in self.arguments.fp8_seeds if kind in FP8 else self.arguments.seeds:
            name = f"{kind}-{seed}"
            if not self.metrics(name):
                self.train(name, seed, "fp8" if kind in FP8 else kind,
                           [f"train.eval_every={self.arguments.steps}", "train.eval_batches=16", *FP8.get(kind, [])])

    def first_weights(self, file):
        """A step at a learning rate of zero changes nothing; its checkpoint holds the first weights."""
        folder = self.out / "first"
        done = self.train("first", self.arguments.seeds[0], "bf16",
                          ["train.steps=1", "train.learning_rate=0", "train.eval_every=0", "checkpoint.every=1"])
        done = done and call([self.arguments.bin / "tessera", "checkpoint", "convert", folder, file, "--weights", "fp32"],
                             self.arguments.seconds, self.out / "convert.log")
        shutil.rmtree(folder, ignore_errors=True)
        return done

    def peers(self):
        rates = self.out / f"bf16-{self.arguments.seeds[0]}" / "metrics.jsonl"
        wanted = [name for name in PEERS if not self.metrics(name)]
        if not wanted or not self.metrics(rates.parent.name):
            return
        weights, samples = self.out / "first.safetensors", self.out / "samples.bin"
        if not self.first_weights(weights) or not call(
                [self.arguments.bin / "tessera_samples", samples, *self.keys], self.arguments.seconds,
                self.out / "samples.log"):
            return
        options = [f"--{option}" for option in self.arguments.peer_options]
        for name in wanted:
            call([self.arguments.peer_python, ROOT / "bench" / "peer_torch_train.py", "--weights", weights, "--samples",
                  samples, "--rates", rates, "--batch", self.arguments.batch, "--seq", self.arguments.seq, "--out",
                  self.out / name, "--device", self.arguments.device, "--precision", PEERS[name], *options],
                 self.arguments.seconds, self.out / f"{name}.log")
        weights.unlink()
        samples.unlink()


def final(rows):
    return statistics.mean(row["loss"] for row in rows[-LAST:])


def table(runs, arguments):
    lines = [COLUMNS]
    for name, rows in runs.items():
        seconds = [row["step_seconds"] for row in rows]
        held_out = rows[-1].get("held_out_loss")
        lines.append([name, f"{rows[0]['loss']:.4f}", f"{final(rows):.4f}", f"{held_out:.4f}" if held_out else "-",
                      f"{arguments.batch * arguments.seq / statistics.median(seconds):.0f}", f"{sum(seconds):.1f}"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]


def apart(a, b):
    """The mean distance of two runs' losses over all steps."""
    return statistics.mean(abs(x["loss"] - y["loss"]) for x, y in zip(a, b))


def peer_verdict(runs, arguments):
    """Steps of ours and the peer's see the same samples, so that their losses differ by arithmetic alone; other first weights
    are the yardstick."""
    own, other, exact = (runs.get(name) for name in (f"bf16-{arguments.seeds[0]}", *PEERS))
    if not own or not other:
        return "beside PyTorch: not run"
    seeds = [final(rows) for name, rows in runs.items() if name.startswith("bf16-")]
    ended = final(own) - final(other)
    inside = abs(ended) <= max(seeds) - min(seeds)
    text = (f"beside PyTorch: ours - PyTorch {own[0]['loss'] - other[0]['loss']:+.5f} in the first step, {ended:+.4f} in the "
            f"mean of the last {LAST}, {apart(own, other):.4f} apart in the mean of all; {len(seeds)} seeds spread over "
            f"{max(seeds) - min(seeds):.4f}: {'within' if inside else 'NOT within'} the spread")
    if exact:
        text += (f"\nnoise of bf16: from PyTorch in tf32, PyTorch in bf16 is {apart(other, exact):.4f} apart in the mean of all "
                 f"steps, ours {apart(own, exact):.4f}")
    return text


def held_out(runs, kind, seeds):
    return [runs[name][-1]["held_out_loss"] for seed in seeds
            if (name := f"{kind}-{seed}") in runs and "held_out_loss" in runs[name][-1]]


def fp8_verdict(runs, kind, arguments):
    """By held-out losses. Another seed of bf16 would itself lie outside the range of a few: so the mean in fp8 may be above
    that of the same seeds in bf16 by no more than the range."""
    bf16, fp8 = held_out(runs, "bf16", arguments.seeds), held_out(runs, kind, arguments.fp8_seeds)
    same = held_out(runs, "bf16", arguments.fp8_seeds)
    if len(bf16) < len(arguments.seeds) or len(fp8) < len(arguments.fp8_seeds) or len(same) < len(fp8):
        return f"{kind}: not run"
    low, high = min(bf16), max(bf16)
    above = statistics.mean(fp8) - statistics.mean(same)
    single = sum(loss <= high for loss in fp8)
    return (f"{kind}: held-out loss {statistics.mean(fp8):.4f} against {statistics.mean(same):.4f} in bf16, "
            f"{above:+.4f}; {len(bf16)} seeds of bf16 spread over {high - low:.4f} ({low:.4f} to {high:.4f}): "
            f"{'within' if above <= high - low else 'NOT within'} the spread; {single} of {len(fp8)} runs end "
            "no higher than the highest of bf16")


def main():
    arguments = parse_arguments()
    runs = Runs(arguments)
    for part in arguments.only:
        if part == "peer":
            runs.peers()
        else:
            runs.ours(part)
    names = [f"bf16-{seed}" for seed in arguments.seeds] + [*PEERS]
    names += [f"{kind}-{seed}" for kind in FP8 for seed in arguments.fp8_seeds]
    done = {name: rows for name in names if (rows := runs.metrics(name))}
    if len(done) > 1:
        curves = {name: [row["loss"] for row in rows] for name, rows in done.items()}
        write_csv(arguments.out / "curves.csv", curves)
        write_svg(arguments.out / "curves.svg", curves)
    print(f"{arguments.model}, {arguments.batch} x {arguments.seq}, {arguments.steps} steps on the built-in text")
    kinds = [kind for kind in FP8 if kind in arguments.only]
    print("\n".join([*table(done, arguments), peer_verdict(done, arguments),
                     *(fp8_verdict(done, kind, arguments) for kind in kinds)]))
    sys.exit(0 if done else 1)


if __name__ == "__main__":
    main()
