#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The record of a run (metrics.jsonl, events.jsonl, TensorBoard): what a full disk costs, and who may write to it. Each as a
check of its own."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

from small_run import LONG, STOPPED, Run, environment, saved_steps, state, steps_done, wait_until, words

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import LeftOut, run_checks  # noqa: E402


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 3 MB, while it lasts."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(folder)], capture_output=True, check=False)
    if mounted.returncode != 0:
        raise LeftOut("a disk that is full needs root, for a mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def fill(file):
    """Takes what is left; again after a failed checkpoint gave some of it back."""
    with file.open("ab", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(4096))


def steps_in(out):
    """Every line must be whole."""
    lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line)
    return [json.loads(line)["step"] for line in lines]


def a_full_disk_costs_records_and_no_steps(binary, folder):
    with small_disk(folder / "small") as disk:
        out = disk / "run"
        more = ["--set", "run.tensorboard=true", "--supervise"]
        run = Run(words(binary, out, LONG, 20, more), folder / "full.log")
        try:
            assert wait_until(lambda: saved_steps(out), 120) is not None, run.text()
            fill(disk / "filler")

            def failed():
                fill(disk / "filler")
                return run.text().count("FAILED, the run continues without it") >= 2 and "metrics.jsonl: no space left" in run.text()

            assert wait_until(failed, 120) is not None, run.text()
            (disk / "filler").unlink()
            at = steps_done(out)
            assert wait_until(lambda: steps_done(out) > at + 30, 120) is not None, run.text()
            run.process.send_signal(signal.SIGTERM)
            assert run.wait() == STOPPED, run.text()
            text = run.text()
            # Once, and again only after a failed checkpoint gave some back.
            warned, failed_saves = (text.count(words) for words in ("metrics.jsonl: no space left on device; the run continues", "FAILED, the run continues"))
            assert 1 <= warned <= failed_saves, text
            assert "restart" not in text, text
            lost = int(re.search(r"(\d+) records? of \S*metrics.jsonl could not be written", text).group(1))
            steps = steps_in(out)
            assert steps == sorted(set(steps)) and len(steps) + lost == steps[-1], f"{len(steps)} + {lost}, {steps[-1]}: {text}"
            assert saved_steps(out)[-1] == steps[-1], f"saved {saved_steps(out)} at step {steps[-1]}"
        finally:
            run.end()


def a_restart_on_a_full_disk_goes_on(binary, folder):
    with small_disk(folder / "restart") as disk:
        out = disk / "run"
        run = Run(words(binary, out, LONG, 20, ["--supervise"]), folder / "restart.log")
        try:
            assert wait_until(lambda: saved_steps(out) and run.ranks(), 120) is not None, run.text()
            fill(disk / "filler")
            os.kill(run.ranks()[1], signal.SIGKILL)
            again = lambda: run.text().count("FAILED, the run continues without it") >= 2 and "restart 1" in run.text()
            assert wait_until(again, 120) is not None, run.text()
            (disk / "filler").unlink()
            at = steps_done(out)
            assert wait_until(lambda: steps_done(out) > at + 30, 120) is not None, run.text()
            run.process.send_signal(signal.SIGTERM)
            assert run.wait() == STOPPED, run.text()
            assert "restart 2" not in run.text(), run.text()
            assert steps_in(out)[-1] == saved_steps(out)[-1], run.text()
        finally:
            run.end()


def a_woken_run_leaves_the_record_of_a_newer_one_alone(binary, folder):
    """Also where nothing is saved, and the newer one has started from scratch."""
    for name, every, again in (("resumed", 2, "--resume"), ("overwritten", 0, "--overwrite")):
        out = folder / name
        record = lambda: {file.name: file.read_bytes() for file in out.glob("*.jsonl")}
        stale = Run(words(binary, out, LONG, every), folder / f"{name}.log")
        try:
            ready = lambda: steps_done(out) > 5 and (every == 0 or saved_steps(out))
            assert wait_until(ready, 120) is not None, stale.text()
            stale.process.send_signal(signal.SIGSTOP)
            assert wait_until(lambda: state(stale.process.pid) == "T", 120) is not None
            end = steps_done(out) + 20
            newer = subprocess.run(words(binary, out, end, every, [again]), env=environment(), capture_output=True, text=True,
                                   timeout=240, check=False)
            assert newer.returncode == 0, newer.stderr
            written = record()
            stale.process.send_signal(signal.SIGCONT)
            assert stale.wait(120) == 2, stale.text()
            assert "a newer start of this run has taken over" in stale.text(), stale.text()
            assert record() == written, "the older run has written to the record of the newer one"
            assert steps_in(out) == list(range(1, end + 1)), steps_in(out)
        finally:
            stale.end()


def two_starts_at_once_do_not_mix_their_lines(binary, folder):
    for number in range(3):
        out = folder / f"both{number}"
        both = [Run(words(binary, out, 40, 10), folder / f"both{number}_{i}.log") for i in range(2)]
        try:
            ended = sorted(run.wait() for run in both)
            told = [run.text() for run in both]
            assert ended == [0, 2], f"{ended}: {told}"
            assert steps_in(out) == list(range(1, 41)), steps_in(out)
            kinds = re.findall(r'"event":"(start|end)"', (out / "events.jsonl").read_text(encoding="utf-8"))
            assert kinds == ["start", "end"], kinds
        finally:
            for run in both:
                run.end()


CHECKS = [a_full_disk_costs_records_and_no_steps, a_restart_on_a_full_disk_goes_on,
          a_woken_run_leaves_the_record_of_a_newer_one_alone, two_starts_at_once_do_not_mix_their_lines]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS)
