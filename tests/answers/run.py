#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The answers that a page gets are what the command line prints, digit by digit: random plans are asked as `try`, and the
command that the answer names is run; the other questions are compared with their commands on a few runs."""
import argparse
import json
import pathlib
import random
import shlex
import struct
import subprocess
import sys

MODELS = ["tiny", "tiny-moe", "gpt2-124m", "llama3-1b", "llama3-8b", "qwen3-0.6b", "qwen3-30b-a3b", "llama3-70b"]
CLUSTERS = ["dgx-a100", "dgx-h100", "llama3-h100"]


def digits(text):
    """Numbers stay text, so that the last digit counts."""
    return json.loads(text, parse_float=str, parse_int=str)


class Answers:
    def __init__(self, binary, seed):
        self.binary, self.random, self.failures, self.compared = binary, random.Random(seed), [], 0

    def ask(self, kind, question):
        done = subprocess.run([self.binary, "studio", "--ask", kind], input=json.dumps(question).encode(), capture_output=True,
                              timeout=300)
        if done.returncode not in (0, 2):
            sys.exit(f"{kind} of {question}: exit {done.returncode}\n{done.stderr.decode()}")
        return done.stdout

    def command(self, line):
        words = shlex.split(line) if isinstance(line, str) else line
        done = subprocess.run([self.binary, *words[1:], "--json"], capture_output=True, timeout=300)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def same(self, what, found, expected):
        self.compared += 1
        if found != expected:
            self.failures.append(f"{what}: {found!r}, but the command prints {expected!r}")

    def random_run(self):
        pick = self.random.choice
        axes = {axis: pick([1, 1, 1, 2, 2, 4, 8]) for axis in ("pp", "dp", "fsdp", "cp", "tp")}
        mesh = ",".join(f"{axis}={size}" for axis, size in axes.items() if size > 1) or "dp=1"
        microbatches = pick([1, 2, 4, 8])
        settings = {"mesh": mesh, "train.microbatches": str(microbatches),
                    "train.batch": str(microbatches * axes["dp"] * axes["fsdp"] * pick([1, 2]))}
        for key, values in {"plan.zero": ["auto", "1", "3"], "plan.recompute": ["none", "block", "attention", "fit"],
                            "plan.schedule": ["1f1b", "gpipe", "zb_h1"], "train.precision": ["bf16", "fp8", "fp32"],
                            "plan.sequence_parallel": ["true"], "train.seq": ["128", "2048"]}.items():
            if self.random.random() < 0.4:
                settings[key] = pick(values)
        return {"model": pick(MODELS), "cluster": pick(CLUSTERS), "set": settings}

    def compare_try(self, run):
        answer = digits(self.ask("try", {"run": run}))
        if "error" in answer:
            words = ["tessera", "simulate", "--cluster", run["cluster"], "--model", run["model"]]
            for key, value in run["set"].items():
                words += ["--set", f"{key}={value}"]
            code, _, text = self.command(words)
            self.same(f"exit for {run}", 2, code)
            self.same(f"error for {run}", answer["error"]["what"], text.split("error: ", 1)[-1].split("\n", 1)[0])
            return 0
        code, text, errors = self.command(answer["command"])
        if code != 0:
            self.failures.append(f"{answer['command']}: exit {code}\n{errors}")
            return 0
        for key, expected in digits(text).items():
            self.same(f"{key} of {answer['command']}", answer.get(key), expected)
        return 1

    def compare_tries(self, count):
        answered = 0
        for _ in range(10 * count):
            answered += self.compare_try(self.random_run())
            if answered == count:
                return
        self.failures.append(f"only {answered} of {10 * count} random plans were answered")

    def compare_search(self):
        question = {"run": {"model": "tiny", "cluster": "laptop", "set": {"train.batch": "16"}}, "ranks": 2, "why_not": ["tp=2"]}
        answer = digits(self.ask("search", question).splitlines()[-1])
        _, text, _ = self.command(answer["command"] + " --why-not tp=2")
        for row in [answer["recipe"], *answer["results"]]:
            row.pop("set")
        for key, expected in digits(text).items():
            self.same(f"{key} of {answer['command']}", answer[key], expected)

    def compare_schedule(self):
        answer = digits(self.ask("schedule", {"stages": 4, "microbatches": 8}))["schedules"]
        _, text, _ = self.command("tessera schedule --kind all --stages 4 --microbatches 8")
        for found, expected in zip(answer, digits(text)["schedules"]):
            for key, value in expected.items():
                self.same(f"{key} of schedule {expected['kind']}", found[key], value)

    def compare_others(self):
        run = {"model": "llama3-8b", "set": {"mesh": "dp=2,tp=2"}}
        answer = digits(self.ask("verify", {"run": run}).splitlines()[-1])
        _, text, _ = self.command(answer["command"])
        for key, expected in digits(text).items():
            self.same(f"{key} of {answer['command']}", answer[key], expected)
        self.same("collectives", digits(self.ask("collectives", {"ranks": 3})),
                  digits(self.command("tessera collectives --ranks 3")[1]))
        packed = self.ask("slices", {"run": {"set": {"mesh": "dp=2"}}})
        length = struct.unpack("<I", packed[:4])[0]
        head = json.loads(packed[4:4 + length])
        sizes = {"f32": 4, "u16": 2, "u32": 4}
        self.same("bytes of slices", len(packed), 4 + length + sum(c["count"] * sizes[c["type"]] for c in head["columns"]))

    def compare_memory(self):
        for _ in range(5):
            run = self.random_run()
            tried = digits(self.ask("try", {"run": run}))
            if "error" in tried:
                continue
            at_peak = digits(self.ask("memory_at", {"run": run}))
            self.same(f"peak of {run}", at_peak["peak_bytes"], tried["peak_bytes"])


    def check_page(self):
        """Every kind has a row in the page about questions."""
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/studio-questions.md").read_text()
        rows = [row.split("|")[1] for row in page.splitlines() if row.startswith("| `")]
        known = json.loads(self.ask("no_such_kind", {}))["error"]["help"].removeprefix("ask one of ")
        kinds = {kind.strip() for part in known.split(",") for kind in part.split(" or ")}
        self.same("kinds in docs/studio-questions.md", {kind.strip("` ") for row in rows for kind in row.split(",")}, kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--plans", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    answers = Answers(given.binary.resolve(), given.seed)
    answers.compare_tries(given.plans)
    answers.compare_search()
    answers.compare_schedule()
    answers.compare_others()
    answers.compare_memory()
    answers.check_page()
    for failure in answers.failures[:20]:
        print(failure)
    print(f"{answers.compared} figures compared, {len(answers.failures)} differ")
    return 1 if answers.failures else 0


if __name__ == "__main__":
    sys.exit(main())
