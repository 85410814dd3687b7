#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From nothing to a model that answers: text, tokenizer, pretraining, fine-tuning, evaluation, chat. Every step prints the
tessera commands that it runs, which may be typed by hand as well. Interrupted, it continues where it was: finished steps are
kept as long as their commands are the same, and a training continues from its newest checkpoint. Writes OUT/report.html."""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import answers
import cost
import recipe
import report

ROOT = Path(__file__).resolve().parents[2]
STOPPED = 7  # the exit code of a training that was asked to stop, and saved


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, help="default: build/release/tessera, with --device cuda build/cuda/tessera")
    parser.add_argument("--out", type=Path, help="folder of everything that is made; default: out/speedrun, with cuda out/speedrun-cuda")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="of the trainings; 0: all cores. They change no result")
    parser.add_argument("--quick", action="store_true", help="a smaller model for a minute, which checks that every step works")
    parser.add_argument("--again", action="store_true", help="remove the folder first")
    options = parser.parse_args()
    built = "build/cuda/tessera" if options.device == "cuda" else "build/release/tessera"
    options.out = as_root_sees(options.out or ROOT / recipe.default_folder(options.device))
    options.binary = as_root_sees(options.binary or ROOT / built)
    if options.quick and options.device == "cuda":
        parser.error("--quick is for the cores of a CPU")
    return options


def as_root_sees(path):
    """A path of the folder where this was called, for commands that run in ROOT."""
    path = Path(os.path.abspath(path))
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def write_whole(path, text):
    """The file appears with all of it, or is as before."""
    partial = path.with_name(path.name + ".tmp")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def identity(step):
    """What a step's result depends on beside the steps before it: its commands, and the config that one of them names."""
    configs = [Path(word).read_text(encoding="utf-8") for command in step.commands for word in command if word.endswith(".toml")]
    return [step.commands, configs]


def has_checkpoint(folder):
    return any(Path(folder).glob("checkpoints/step-*"))


def has_ended(folder):
    """Whether a run's last step is saved. One that is asked to stop saves where it is, and ends without an error."""
    steps = re.search(r"^steps = (\d+)$", (Path(folder) / "config.toml").read_text(encoding="utf-8"), flags=re.M)
    return (Path(folder) / "checkpoints" / f"step-{int(steps[1]):08}").exists()


class Speedrun:
    """`done`: by step its commands, whether it is finished, its cost, and what it printed."""

    def __init__(self, options):
        self.options = options
        self.record = options.out / "steps.json"
        self.done = json.loads(self.record.read_text(encoding="utf-8")) if self.record.exists() else {}
        self.kept = True  # until a step runs: what was made after it before is made again

    def save(self):
        write_whole(self.record, json.dumps(self.done, indent=1) + "\n")

    def run_all(self, steps):
        for number, step in enumerate(steps, 1):
            entry = self.done.get(step.name)
            same = self.kept and entry is not None and entry["identity"] == identity(step)
            if same and entry["finished"] and all(Path(path).exists() for path in step.makes):
                print(f"--- {number} of {len(steps)}: {step.title}: kept", flush=True)
                continue
            print(f"\n--- {number} of {len(steps)}: {step.title}", flush=True)
            self.run(step, entry if same and not entry["finished"] else None)
            self.kept = False

    def run(self, step, interrupted):
        if step.trains and not interrupted:
            shutil.rmtree(step.trains, ignore_errors=True)
        entry = {"commands": step.commands, "identity": identity(step), "finished": False, "cost": (interrupted or {}).get("cost"), "output": ""}
        self.done[step.name] = entry
        self.save()
        commands = [self.train_words(step)] if step.trains else step.commands
        meter = cost.Meter(self.options.device == "cuda")
        try:
            with meter:
                entry["output"] = "".join(self.call(command, step) for command in commands)
            if step.trains and not has_ended(step.trains):
                raise SystemExit("the training was stopped; run this again to continue it")
            entry["finished"] = True
        finally:
            entry["cost"] = cost.added(entry["cost"], meter.cost())
            self.save()

    def train_words(self, step):
        """A training, or the rest of it, from its newest checkpoint."""
        words = list(step.commands[0])
        if self.options.threads:
            words += ["--set", f"train.threads={self.options.threads}"]
        if not has_checkpoint(step.trains):
            return [*words, "--overwrite"]
        if "--init-from" in words:
            place = words.index("--init-from")
            words = words[:place] + words[place + 2:]
        return [*words, "--resume"]

    def call(self, command, step):
        words = command if command[0] == "python3" else [str(self.options.binary), *command]
        print(f"$ {shlex.join(words)}" + (f" < {step.input}" if step.input else ""), flush=True)
        if step.asks:
            answers.write_questions(answers.read_lines(step.asks), step.input)
        kept = subprocess.PIPE if step.keeps_output else None
        with open(step.input or os.devnull, "rb") as given, subprocess.Popen(words, stdin=given, stdout=kept, stderr=kept) as done:
            try:
                printed, mistakes = done.communicate()
            except KeyboardInterrupt:
                done.wait()  # a training saves where it is
                raise
        if done.returncode == STOPPED:
            raise SystemExit("the training was stopped; run this again to continue it")
        if done.returncode != 0:
            sys.stderr.write((mistakes or b"").decode(errors="replace"))
            raise SystemExit(f"error: the command above ended with exit code {done.returncode}\n"
                             " help: mend what it says, then run this again: finished steps are kept")
        output = printed.decode(errors="replace") if step.keeps_output else ""
        for line in report.told(step.name, output, self.options.out):
            print(line, flush=True)
        return output


def main():
    options = parse_arguments()
    os.chdir(ROOT)
    if not options.binary.exists():
        raise SystemExit(f"error: {options.binary} is not built\n help: run make{' cuda' if options.device == 'cuda' else ''}")
    if options.again:
        shutil.rmtree(options.out, ignore_errors=True)
    for folder in ("tokenizer", "chats"):
        (options.out / folder).mkdir(parents=True, exist_ok=True)
    write_whole(options.out / "shown.txt", "".join(line + "\n" for line in recipe.shown(options.device)))
    steps = recipe.steps_of(options)
    speedrun = Speedrun(options)
    try:
        speedrun.run_all(steps)
    except KeyboardInterrupt:
        raise SystemExit("\ninterrupted; run this again to continue") from None
    for line in report.write(options.out, steps, speedrun.done, options.binary):
        print(line)


if __name__ == "__main__":
    main()
