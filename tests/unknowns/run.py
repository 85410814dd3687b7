#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the simulator does not know is printed with its figures: each row of src/sim/unknowns.cpp by one command line here, and
not by another to which it does not apply; the text and --json say the same."""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "src" / "sim" / "unknowns.cpp"
H100 = "simulate --cluster dgx-h100 --model tiny --seq 16 "
OFFLOAD = "simulate --cluster h200 --model tiny --batch 4 --seq 16 --recompute cheap "
EXPERTS = "simulate --cluster dgx-h100 --model tiny-moe --batch 8 --seq 16 "
RUN = "plan --model tiny --ranks 2 --batch 4 --seq 16 --cluster laptop --trials 2 "
# By row: a command line that shows it, and one that does not.
CASES = {
    "cluster": (H100 + "--mesh dp=2 --batch 4", RUN + "--tokens 1M --step-seconds 1"),
    "step": (H100 + "--batch 1", RUN + "--tokens 1M --step-seconds 1"),
    "stragglers": (H100 + "--mesh dp=16 --batch 16", H100 + "--mesh dp=8 --batch 8"),
    "clocks": (H100 + "--batch 1", H100 + "--batch 1 --cool"),
    "several_devices": (H100 + "--mesh dp=2 --batch 4", H100 + "--mesh dp=2 --batch 4 --eager 5e-5"),
    "many_nodes": (H100 + "--mesh dp=512 --batch 512", H100 + "--mesh dp=256 --batch 256"),
    "sends": (H100 + "--mesh pp=2 --batch 4 --microbatches 2", H100 + "--mesh dp=2 --batch 4"),
    "rings": (H100 + "--mesh cp=2 --batch 4", H100 + "--mesh cp=2 --batch 4 --set plan.context=ulysses"),
    "context": (H100 + "--mesh cp=2 --batch 4", H100 + "--mesh tp=2 --batch 4"),
    "long": ("simulate --cluster h200 --model llama3-1b --batch 1 --seq 16384", "simulate --cluster h200 --model llama3-1b --batch 1 --seq 8192"),
    "fp8": (H100 + "--batch 1 --precision fp8", H100 + "--batch 1"),
    "precision": (H100 + "--batch 1 --precision fp32", H100 + "--batch 1"),
    "experts": (EXPERTS, H100 + "--batch 1"),
    "router": (EXPERTS + "--mesh ep=2", EXPERTS + "--mesh ep=2 --load lognormal:0.5"),
    "muon": (H100 + "--batch 1 --set train.optimizer=muon", H100 + "--batch 1"),
    "offload": (OFFLOAD + "--set plan.offload=moments", OFFLOAD),
    "memory": ("simulate --cluster dgx-h100 --model llama3-1b --batch 19 --seq 2048", "simulate --cluster dgx-h100 --model llama3-1b --batch 4 --seq 2048"),
    "fragmentation": (H100 + "--batch 1 --loss pytorch", H100 + "--batch 1"),
    "launches": (H100 + "--batch 1 --loss pytorch", H100 + "--batch 1 --loss pytorch --eager 5e-5"),
    "eager": (H100 + "--batch 1 --eager 5e-5", H100 + "--batch 1"),
    "islands": ("simulate --cluster three-sites --model tiny --mesh island=2,tp=2 --batch 4 --seq 16", H100 + "--mesh tp=2 --batch 4"),
    "whole_run": (RUN + "--tokens 1M --step-seconds 1", RUN),
}


def printed(binary, command):
    done = subprocess.run([binary, *command.split()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tessera {command}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def said(binary, command):
    """The rows of a command line, by name, with their texts."""
    found = json.loads(printed(binary, command + " --json"))
    rows = found.get("unknown", []) + found.get("whole_run", {}).get("unknown", [])
    return {row["name"]: row["text"] for row in rows}


def check(binary, name, shows, hides):
    wrong = []
    rows = said(binary, shows)
    if name not in rows:
        wrong.append(f"`tessera {shows}` does not say {name}")
    elif rows[name] not in printed(binary, shows):
        wrong.append(f"`tessera {shows}` says {name} in --json alone")
    if name in said(binary, hides):
        wrong.append(f"`tessera {hides}` says {name}, which does not apply")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    binary = parser.parse_args().binary
    table = re.findall(r'\.name = "(\w+)"', TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    wrong = [f"no case for {name}" for name in ["cluster", *table] if name not in CASES]
    wrong += [f"{name} is no row of the table" for name in CASES if name not in ["cluster", *table]]
    if said(binary, "simulate --unit-cost 1,1,1 --microbatches 4"):
        wrong.append("the cost of a schedule alone has nothing unknown")
    for name, commands in CASES.items():
        wrong += check(binary, name, *commands)
    print("\n".join(wrong) or f"{len(CASES)} rows are said where they apply, and not elsewhere")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
