#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random faults, one or two a run: a rank killed, stopped, hung or aborted in any phase of a step, under `train --supervise`
or `launch` around mpirun, in turn. Each run must end by itself with the bits of one that nobody disturbed, leave a story of
what failed, no partial file and no process. The same seed gives the same faults; --load keeps all cores and the disk busy."""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from launched import launch
from run import PHASES
from small_run import RANKS, Run, last_checkpoint, train, words

LIMIT = 60  # seconds; the deadline is 1
MORE = ["--set", "run.deadline_seconds=1"]
BUSY = "while True: pass"
FLUSHING = """import os, sys
while True:
    with open(sys.argv[1], "wb") as file:
        file.write(bytes(32 << 20))
        file.flush()
        os.fsync(file.fileno())
"""


def draw_faults(draw):
    return ";".join(f"rank={draw.randrange(RANKS)},phase={draw.choice([*PHASES, 'step'])},step={draw.choice([2, 4, 6, 8])},"
                    f"action={draw.choice(['kill', 'stop', 'hang', 'abort'])}" for _ in range(draw.choice([1, 1, 2])))


def problems_of(command, out, faults, undisturbed):
    run = Run(command, out.with_suffix(".log"), faults)
    try:
        code = run.wait(LIMIT)
    except subprocess.TimeoutExpired:
        return [f"not ended after {LIMIT} s"], run.text()
    finally:
        run.end()
    text = run.text()
    left = [str(path.relative_to(out)) for path in out.rglob("*") if path.suffix == ".tmp" or path.name.startswith("story")]
    alive = subprocess.run(["pgrep", "-f", str(out)], capture_output=True, text=True, check=False).stdout.split()
    found = [(code != 0, f"exit code {code}"), (last_checkpoint(out) != undisturbed, "other bits"),
             ("restart 1 of" in text and not (out / "failure.txt").exists(), "no failure.txt"), (left, f"files are left: {left}"),
             (alive, f"processes are left: {alive}")]
    return [problem for wrong, problem in found if wrong], text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--load", action="store_true")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    kinds = ["supervise", "launch"] if shutil.which("mpirun") else ["supervise"]
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        train(arguments.binary, folder / "undisturbed")
        undisturbed = last_checkpoint(folder / "undisturbed")
        others = [[BUSY]] * os.cpu_count() + [[FLUSHING, str(folder / "flushed")]] if arguments.load else []
        load = [subprocess.Popen([sys.executable, "-c", *code]) for code in others]
        try:
            for number in range(arguments.count):
                kind, faults, out = kinds[number % len(kinds)], draw_faults(draw), folder / str(number)
                command = launch(arguments.binary, out, more=MORE) if kind == "launch" else words(
                    arguments.binary, out, more=["--supervise", *MORE])
                begin = time.monotonic()
                problems, text = problems_of(command, out, faults, undisturbed)
                failed += bool(problems)
                verdict = "; ".join(problems) or ("recovered" if "restart 1 of" in text else "struck nothing")
                print(f"{kind} {faults}: {verdict} ({time.monotonic() - begin:.1f} s)", flush=True)
                if problems:
                    print(text, flush=True)
        finally:
            for process in load:
                process.kill()
    print(f"{arguments.count - failed} of {arguments.count} runs ended as they should (seed {arguments.seed})")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
