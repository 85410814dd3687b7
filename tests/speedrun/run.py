#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make speedrun ARGS=--quick`, from end to end: every file that it promises is there, the model that it made is right about
held-out questions far more often than chance, and the last line's command talks to it."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "speedrun" / "run.py"
FILES = ["text.jsonl", "chats.jsonl", "choices.jsonl", "asked.jsonl", "tokenizer/tokenizer.json", "tokens/complete.json",
         "base/metrics.jsonl", "lessons/metrics.jsonl", "chat/metrics.jsonl", "steps.json", "report.json", "report.html", "curves.svg"]


def check(binary, out):
    done = subprocess.run([sys.executable, SCRIPT, "--quick", "--out", out, "--binary", binary], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        return [f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"]
    wrong = [f"there is no {file}" for file in FILES if not (out / file).exists()]
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    choices = report["choices"]
    # Four deviations of what chance gives: far below what was seen, and chance is there once in 30,000 times.
    share = choices["chance"] / choices["questions"]
    least = choices["chance"] + 4 * math.sqrt(choices["questions"] * share * (1 - share))
    if choices["right"] < least:
        wrong.append(f"{choices['right']} of {choices['questions']} choices are right, want {least:.0f} or more")
    if report["asked"]["all"]["right"] < 1:
        wrong.append("none of the questions was answered right")
    talk = done.stdout.splitlines()[-1].split()
    # Its commands are of the project's folder, whatever folder it was called in.
    answer = subprocess.run([*talk, "--temperature", "0"], input="Hello!\n", capture_output=True, text=True, check=False, cwd=ROOT)
    if answer.returncode != 0 or not answer.stdout.strip():
        wrong.append(f"{' '.join(talk)}: exit code {answer.returncode}, answer: {answer.stdout}{answer.stderr}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, type=lambda path: pathlib.Path(path).resolve())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        wrong = check(options.binary, pathlib.Path(name) / "speedrun")
    print("\n".join(wrong) if wrong else "a model was made, and answers")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
