#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each file of examples/configs is what `tessera new` writes for the machine in its head: that loads, compiles and simulates it, and
refuses what does not fit. The cost in its head is what is predicted now, but for a few percent. Its plan is proved on a shrunk model.
It trains for two steps with a small model, from files of the kinds that it names. Configs for other machines, models and answers
do the same, and a terminal is asked. With --update it rewrites the heads."""
import argparse
import difflib
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
from typing import NamedTuple

CONFIGS = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "configs"
ALLOWED = 0.1  # of a predicted figure, since the head was written
BASE = "model.heads=8 model.kv_heads=8 model.vocabulary=512"  # key heads for eight ranks of Ulysses
SHORT = "train.seq=16 train.steps=2 train.eval_every=0 train.threads=2 run.device=cpu run.tensorboard=false run.peak_gflops=1"


class Sample(NamedTuple):
    name: str
    job: str
    settings: str = ""  # to train with here
    model: str = "tiny"  # the same; empty: its command does not train


# One row for each file.
SAMPLES = [
    Sample("laptop", "pretrain"),
    Sample("one_gpu", "pretrain", "train.batch=8"),
    Sample("eight_gpus", "pretrain", "train.batch=16"),
    Sample("slurm_64_gpus", "pretrain", "train.batch=256"),
    Sample("continued_training", "continue"),
    Sample("fine_tune_lora", "fine_tune"),
    Sample("long_context", "long_context"),
    Sample("experts", "experts", "train.batch=32", model="tiny-moe"),
    Sample("offload", "offload"),
    Sample("proofs_in_ci", "prove", model=""),
]

# Other answers: options, and what the file must have.
OTHERS = [
    ("--job fine_tune --model llama3-1b --ranks 16 --cluster llama3-h100 --init-from llama-1b --data chats/", ["llama-1b/tokenizer.json", "chats/", "--sbatch"]),
    ("--job pretrain --model gpt2-350m --ranks 8 --cluster dgx-h100", ["seq = 1024", "learning_rate = 6e-4", "Chosen by tessera plan for 8 ranks"]),
    ("--job pretrain --set train.steps=100", ["# A twentieth of the steps.\nwarmup_steps = 5\n", "100 steps of 2048 tokens are 205k tokens"]),
    ("--job pretrain --ranks 2 --cluster laptop", ['device = "cpu"', "tessera train new.toml"]),
    ("--job fine_tune --model tiny --ranks 1 --cluster laptop", ['device = "cpu"', 'precision = "fp32"', "without data.tokenizer"]),
    ("--job long_context --ranks 16 --set train.seq=65536", ["seq = 65536"]),
    ("--job continue --data mine.bin --results out/mine", ['path = "mine.bin"', 'out = "out/mine"', "without [data.mixture]"]),
    ("--job fine_tune --set data.source=chat --data chats.jsonl", ['source = "chat"\n', 'path = "chats.jsonl"\n']),
    ("--job prove --model llama3-8b --mesh pp=2,tp=4 --ranks 8", ["pp = 2\ntp = 4\n", "verify new.toml --shrink"]),
]


class Checks:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.failures = binary, folder, []

    def run(self, *words):
        done = subprocess.run([str(self.binary), *words], cwd=self.folder, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tessera {' '.join(words)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def make_files(self):
        """What the samples name: tokens, documents, a tokenizer, and weights to begin from."""
        text = "a bee sat on a leaf.\n" * 400
        (self.folder / "notes.jsonl").write_text("".join(json.dumps({"text": text[i:i + 90]}) + "\n" for i in range(0, 6000, 90)), encoding="utf-8")
        for place in ("tokens", "domain", "general"):
            (self.folder / place).mkdir()
            tokens = text.encode()
            header = struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253)
            (self.folder / place / "part.bin").write_bytes(header + b"".join(struct.pack("<H", each) for each in tokens))
        self.run("train", "--model", "tiny", *sets(BASE, SHORT), "--save-every", "2", "--out", "base", "--json")
        (self.folder / "text.txt").write_text(text, encoding="utf-8")
        self.run("tokenizer", "train", "text.txt", "--vocab", "270", "--out", "base/tokenizer.json")

    def written(self, sample, text):
        """What tessera new writes for the machine of the head."""
        model, ranks, cluster = re.search(r"^# For: +(\S+) on (\d+) ranks? of (\S+)$", text, re.M).groups()
        file = f"examples/configs/{sample.name}.toml"
        self.run("new", "--job", sample.job, "--model", model, "--ranks", ranks, "--cluster", cluster, "--out", file)
        return (self.folder / file).read_text(encoding="utf-8")

    def prove(self, file, text):
        if "\n[mesh]\n" in text:
            self.run("verify", file, "--shrink", "--device", "cpu", "--steps", "1")

    def train(self, sample):
        text = (CONFIGS / f"{sample.name}.toml").read_text(encoding="utf-8")
        begin = ["--init-from", "base"] if "--init-from base" in text else ["--model", sample.model, *sets(BASE)]
        told = json.loads(self.run("train", f"examples/configs/{sample.name}.toml", *begin, *sets(SHORT, sample.settings), "--json"))
        if told["steps"] != 2:
            raise RuntimeError(f"{sample.name}: {told['steps']} steps instead of 2")

    def sample(self, sample, update):
        file = CONFIGS / f"{sample.name}.toml"
        text = file.read_text(encoding="utf-8")
        now = self.written(sample, text)
        if update:
            return file.write_text(now, encoding="utf-8")
        if not same_but_for_predictions(text, now):
            self.failures.append("".join(difflib.unified_diff(text.splitlines(True), now.splitlines(True), str(file), "as written now (--update)")))
        self.prove(f"examples/configs/{file.name}", text)
        if sample.model:
            self.train(sample)
        return None

    def other(self, options, wanted):
        file = self.folder / "new.toml"
        file.unlink(missing_ok=True)
        self.run("new", *options.split(), "--out", "new.toml")
        text = file.read_text(encoding="utf-8")
        for each in wanted:
            absent = each.removeprefix("without ")
            found = re.search(rf"^{re.escape(absent.split('.')[-1])}", text, re.M) if absent != each else each in text
            if bool(found) == (absent != each):
                self.failures.append(f"new {options}: {each}\n{text}")
        self.run("compile", "new.toml")
        self.prove("new.toml", text)

    def terminal(self):
        """The questions, with a mistake that is asked again, and defaults."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([str(self.binary), "new", "--ranks", "1"], cwd=self.folder, stdin=theirs, stdout=subprocess.PIPE, text=True) as asked:
            os.write(ours, b"pretrane\npretrain\n\ntiny\nbooks\nout/asked\nlaptop.toml\n")
            told = asked.communicate(timeout=300)[0]
        os.close(ours)
        os.close(theirs)
        text = (self.folder / "laptop.toml").read_text(encoding="utf-8")
        for each in ("did you mean pretrain?", "cluster, by name", "data (text files", "wrote laptop.toml"):
            if each not in told:
                self.failures.append(f"a terminal is not told: {each}\n{told}")
        if 'path = "books"' not in text or 'out = "out/asked"' not in text:
            self.failures.append(f"answers are not in the file:\n{text}")


def sets(*settings):
    return [word for setting in " ".join(settings).split() for word in ("--set", setting)]


def cost(text):
    """Seconds of a step and bytes; the rest follows from these and from the config."""
    found = re.search(r"^# Cost: +([\d.e-]+) s a step of \d+ tokens .*; ([\d.]+) ([GM])B of", text, re.M)
    return (float(found[1]), float(found[2]) * {"G": 1e9, "M": 1e6}[found[3]]) if found else None


def same_but_for_predictions(one, other):
    plain = [re.sub(r"^# Cost:.*", "", text, flags=re.M) for text in (one, other)]
    costs = cost(one), cost(other)
    return plain[0] == plain[1] and all(costs) and all(abs(a - b) <= ALLOWED * max(a, b) for a, b in zip(*costs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    assert sorted(each.name for each in SAMPLES) == sorted(file.stem for file in CONFIGS.glob("*.toml")), "SAMPLES has not a row for each file"
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(given.binary.resolve(), pathlib.Path(folder))
        (checks.folder / "examples/configs").mkdir(parents=True)
        checks.make_files()
        works = [(each.name, lambda each=each: checks.sample(each, given.update)) for each in SAMPLES]
        if not given.update:
            works += [(options, lambda options=options, wanted=wanted: checks.other(options, wanted)) for options, wanted in OTHERS]
            works.append(("a terminal", checks.terminal))
        for name, work in works:
            try:
                work()
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                checks.failures.append(f"{name}: {error}")
    print("\n".join(checks.failures))
    print(f"{len(works)} checks, {len(checks.failures)} failures")
    sys.exit(1 if checks.failures else 0)


if __name__ == "__main__":
    main()
