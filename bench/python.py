#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a callback after every step costs, as a share of the steps of one run: the time that the training thread spends for
it, the wait for Python's lock included, while the main thread waits or is busy. Then runs with and without one, in turns."""
import argparse
import statistics
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The tiny model with its training defaults, and a step as short as anybody's.
SHAPES = {"tiny, 16 x 128": {"batch": 16, "seq": 128}, "tiny, 1 x 32": {"batch": 1, "seq": 32}}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, default=ROOT / "build/release/python", help="the folder with the package")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


class Kept:
    """A callback as users write it: it reads figures and keeps them."""

    def __init__(self):
        self.rows = []

    def __call__(self, step):
        self.rows.append((step.step, step.loss, step.grad_norm, step["tokens_per_second"]))


def busy_until(done):
    """Keeps Python's lock busy, as a notebook that draws does."""
    while not done.is_set():
        sum(range(1000))


def train(tessera, shape, steps, out, on_step):
    return tessera.train(model="tiny", steps=steps, out=out, on_step=on_step, **shape,
                         set={"train.eval_every": 0, "run.tensorboard": False, "run.peak_gflops": 100})


def share_of(run):
    return run.callback_seconds / run.metrics().elapsed_seconds[-1]


def seconds_of_step(run):
    elapsed = run.metrics().elapsed_seconds
    return statistics.median((elapsed[1:] - elapsed[:-1]).tolist())


def measure(tessera, shape, arguments, folder):
    """Medians over rounds: share of the callback, the same beside a busy main thread, step with / without, step in ms."""
    rows = []
    for turn in range(arguments.rounds):
        without = train(tessera, shape, arguments.steps, f"{folder}/{turn}-without", None)
        with_one = train(tessera, shape, arguments.steps, f"{folder}/{turn}-with", Kept())
        done = threading.Event()
        busy = threading.Thread(target=busy_until, args=(done,))
        busy.start()
        beside = train(tessera, shape, arguments.steps, f"{folder}/{turn}-busy", Kept())
        done.set()
        busy.join()
        rows.append((share_of(with_one), share_of(beside), seconds_of_step(with_one) / seconds_of_step(without),
                     1e3 * seconds_of_step(with_one)))
    return [statistics.median(column) for column in zip(*rows)]


def main():
    arguments = parse_arguments()
    sys.path.insert(0, str(arguments.package))
    import tessera  # pylint: disable=import-outside-toplevel
    print("| model, batch x seq | step ms | callback / run | beside a busy thread of Python | step with / without |")
    print("|---|---:|---:|---:|---:|")
    for name, shape in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            share, beside, ratio, step = measure(tessera, shape, arguments, folder)
        print(f"| {name} | {step:.2f} | {100 * share:.3f} % | {100 * beside:.2f} % | {ratio:.4f} |", flush=True)


if __name__ == "__main__":
    main()
