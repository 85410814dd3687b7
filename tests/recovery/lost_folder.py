#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a supervised run does when its folder cannot be listed, vanishes or loses its checkpoints: it waits or ends, it deletes
nothing, and it never takes what it cannot see for not there."""
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import errno_faults
from small_run import LONG, Run, environment, saved_steps, steps_done, train, wait_until, words

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402

LOST = 6  # the exit code of a supervisor whose run's folder is lost
KEPT = ["--set", "checkpoint.keep=1000"]


class Supervised(Run):
    """Ready once it has saved; with faults that can be switched on."""

    def __init__(self, binary, out, every=2, more=()):
        self.faults = errno_faults.ErrnoFaults(out.parent)
        self.faults.clear()
        command = words(binary, out, LONG, every, ["--supervise", *KEPT, *more])
        super().__init__(command, out.with_suffix(".log"), env=self.faults.environment(environment()))
        saved = lambda: saved_steps(out) if every < LONG else steps_done(out) >= 2
        assert wait_until(lambda: saved() and self.ranks(), 120) is not None, self.text()

    def kill_a_rank(self):
        os.kill(self.ranks()[1], signal.SIGKILL)

    def says(self, text, seconds=60):
        assert wait_until(lambda: text in self.text(), seconds) is not None, f"{text!r} is not in: {self.text()}"


def goes_on(run, out):
    now = steps_done(out)
    assert wait_until(lambda: steps_done(out) > now + 2, 120) is not None, run.text()


def events(out, kind):
    lines = (out / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def recovers(binary, out, fault, told, restart):
    """A call fails when a rank is killed; what is told of it; the restart that goes on once the call works again."""
    run = Supervised(binary, out)
    try:
        before = saved_steps(out)
        call, word, error, who = fault
        run.faults.set(call, word, error, who=who)
        run.kill_a_rank()
        run.says(told)
        run.faults.clear()
        run.says(f"restart {restart} of")
        goes_on(run, out)
        assert saved_steps(out)[:len(before)] == before, f"{before} became {saved_steps(out)}"
        assert events(out, "start")[-1]["step"] >= before[-1], run.text()
    finally:
        run.end()


def a_listing_that_fails_in_the_supervisor_is_waited_for(binary, folder):
    recovers(binary, folder / "hiccup", ("opendir", "checkpoints", errno.EIO, "supervisor"), "cannot list", 1)


def a_listing_that_fails_for_long_ends_the_run_and_deletes_nothing(binary, folder):
    out = folder / "outage"
    run = Supervised(binary, out, more=["--patience", "2"])
    try:
        run.faults.set("opendir", "checkpoints", errno.ESTALE, who="supervisor")
        run.kill_a_rank()
        assert run.wait(120) == LOST, run.text()
        assert "error: cannot list" in run.text() and "restart 1" not in run.text(), run.text()
        assert saved_steps(out)[0] == 2, saved_steps(out)
    finally:
        run.end()


def a_listing_that_fails_in_a_rank_is_tried_again(binary, folder):
    recovers(binary, folder / "rank", ("opendir", "checkpoints", errno.EIO, "children"), "rank 0: cannot list", 2)


def checkpoints_that_cannot_be_opened_are_tried_again(binary, folder):
    recovers(binary, folder / "opened", ("open", "manifest.json", errno.ESTALE, "children"), ": cannot read ", 2)


def a_folder_that_vanishes_is_waited_for_and_nothing_is_written_in_its_place(binary, folder):
    out, away = folder / "mount", folder / "unmounted"
    run = Supervised(binary, out)
    try:
        out.rename(away)
        out.mkdir()  # the bare mount point
        run.says("is no longer the folder that this run began in")
        assert "a newer start" not in run.text(), run.text()
        run.kill_a_rank()
        run.says("is not the folder that this run began in: it has no run.json")
        left = sorted(entry.name for entry in out.iterdir())
        assert not {"checkpoints", "metrics.jsonl", "run.json"} & set(left), left
        shutil.rmtree(out)
        away.rename(out)
        before = saved_steps(out)
        run.says("restart 1 of")
        goes_on(run, out)
        assert saved_steps(out)[:len(before)] == before, f"{before} became {saved_steps(out)}"
    finally:
        run.end()


def a_run_whose_checkpoints_are_gone_is_not_begun_anew(binary, folder):
    out = folder / "gone"
    run = Supervised(binary, out, more=["--patience", "2"])
    try:
        assert wait_until(lambda: events(out, "saved"), 120) is not None, run.text()
        os.kill(run.ranks()[0], signal.SIGSTOP)  # it may not save once more
        for step in saved_steps(out):
            shutil.rmtree(out / "checkpoints" / f"step-{step:08}")
        run.kill_a_rank()
        assert run.wait(120) == LOST, run.text()
        assert "no checkpoint of this run can be found in" in run.text() and "was saved there" in run.text(), run.text()
        assert "restart 1" not in run.text(), run.text()
    finally:
        run.end()


def a_restart_before_the_first_save_begins_again_without_replacing_anything(binary, folder):
    out = folder / "early"
    run = Supervised(binary, out, every=LONG)
    try:
        identity = (out / "run.json").read_text(encoding="utf-8")
        run.kill_a_rank()
        run.says("restart 1 of")
        assert wait_until(lambda: len(events(out, "start")) == 2, 120) is not None, run.text()
        goes_on(run, out)
        assert (out / "run.json").read_text(encoding="utf-8") == identity
        assert "--overwrite" not in run.text()
    finally:
        run.end()


def a_restart_is_not_asked_to_replace_what_the_first_start_was(binary, folder):
    def given(run):
        return pathlib.Path(f"/proc/{run.ranks()[0]}/cmdline").read_text(encoding="utf-8").split("\0")

    out = folder / "replaced"
    run = Supervised(binary, out, more=["--overwrite"])
    try:
        assert "--overwrite" in given(run) and "--resume" not in given(run), given(run)
        run.kill_a_rank()
        assert wait_until(lambda: len(events(out, "start")) == 2 and run.ranks(), 120) is not None, run.text()
        assert "--overwrite" not in given(run) and "--resume" in given(run), given(run)
    finally:
        run.end()


def a_folder_that_was_adopted_is_gone_on_from_again(binary, folder):
    out, first = folder / "adopted", folder / "first"
    train(binary, first)  # to step 8
    for command in (["convert", str(first), str(folder / "all.safetensors")], ["convert", str(folder / "all.safetensors"), str(out)]):
        subprocess.run([str(binary), "checkpoint", *command], check=True, stdout=subprocess.DEVNULL)
    run = Supervised(binary, out, every=LONG, more=["--resume"])
    try:
        run.kill_a_rank()
        run.says("restart 1 of")
        assert wait_until(lambda: len(events(out, "start")) == 2, 120) is not None, run.text()
        assert [start["step"] for start in events(out, "start")] == [8, 8], events(out, "start")
        goes_on(run, out)
        assert saved_steps(out) == [8], saved_steps(out)
    finally:
        run.end()



CHECKS = [a_listing_that_fails_in_the_supervisor_is_waited_for, a_listing_that_fails_for_long_ends_the_run_and_deletes_nothing,
          a_listing_that_fails_in_a_rank_is_tried_again,
          checkpoints_that_cannot_be_opened_are_tried_again,
          a_folder_that_vanishes_is_waited_for_and_nothing_is_written_in_its_place,
          a_run_whose_checkpoints_are_gone_is_not_begun_anew,
          a_restart_before_the_first_save_begins_again_without_replacing_anything,
          a_restart_is_not_asked_to_replace_what_the_first_start_was,
          a_folder_that_was_adopted_is_gone_on_from_again]


if __name__ == "__main__":
    run_checks(__doc__, CHECKS, errno_faults.missing())
