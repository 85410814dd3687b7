#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The planner's best plans beside those of five large runs that were published.

For each row of bench/published/plans.csv: `tessera plan` with its arguments and --why-not for the published plan. Every
difference above 1.15 times needs a reason in the column `why`, or the command fails. docs/published_plans.md is written
from it (--write). --only NAME takes one row; with --check the page must have what it finds.

Usage: python3 bench/published_plans.py [--binary build/release/tessera] [--only "8B on 8 H100"] [--check | --write]
"""

import argparse
import csv
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "published_plans.md"
EXPLAINED_ABOVE = 1.15

HEAD = """# Published plans

*Written by `python3 bench/published_plans.py --write`; [its rows](../bench/published/plans.csv) have the sources.*

The planner's best plan beside the one with which a large run was published, both predicted as this program would run them on the same cluster:
published programs do otherwise what [the options of their rows](accuracy.md#programs-and-options) say, and their seconds are not
comparable without. Where the two plans differ by more than 1.15 times, either a cited source shows that the difference is real, or a limit of the
model is named.

| run | published plan | published s | predicted s | the planner's best | predicted s | ratio |
|---|---|---|---|---|---|---|
"""


def plan_of(binary, row):
    command = [binary, "plan", *shlex.split(row["arguments"]), "--why-not", row["published"], "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise RuntimeError(f"{row['run']}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def compared(binary, row):
    """The row's line of the table and its paragraph; an error if a difference is not explained."""
    found = plan_of(binary, row)
    best, why = found["results"][0], found["why_not"][0]
    slower = re.search(r"slower \(([\d.]+) x\)", why["reason"])
    if not slower and "as good" not in why["reason"] and "the one chosen" not in why["reason"]:
        raise RuntimeError(f"{row['run']}: the published plan is refused: {why['reason']}")
    ratio = float(slower.group(1)) if slower else 1.0
    if ratio > EXPLAINED_ABOVE and not row["why"]:
        raise RuntimeError(f"{row['run']}: the published plan is {ratio:.2f} x slower, and no reason is given")
    seconds = best["step_seconds"]
    line = (f"| {row['run']} | `{row['published']}` | {float(row['published_seconds']):.4g} | {ratio * seconds:.3g} | `{best['plan']}` | "
            f"{seconds:.3g} | {ratio:.2f} |")
    told = row["why"] if ratio > EXPLAINED_ABOVE else "The difference is within what the model may be off."
    text = (f"**{row['run']}.** Published: {row['source']}. The published plan beside the best, by `--why-not`: {why['reason']}. {told}\n")
    return line, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/tessera")
    parser.add_argument("--only")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with open(ROOT / "bench" / "published" / "plans.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if options.only in (None, row["run"])]
    if not rows:
        print(f"error: no row is called {options.only}", file=sys.stderr)
        return 2
    binary = str(Path(options.binary).resolve())
    try:
        lines, texts = zip(*(compared(binary, row) for row in rows))
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    page = HEAD + "\n".join(lines) + "\n\n" + "\n".join(texts)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
    if options.check:
        written = PAGE.read_text(encoding="utf-8")
        stale = [text for text in (*lines, *texts) if text.strip() not in written]
        for text in stale:
            print(f"docs/published_plans.md lacks:\n{text}")
        print(f"{len(rows)} of {len(rows)} published plans are on the page" if not stale else "run bench/published_plans.py --write")
        return len(stale) > 0
    if not options.write:
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
