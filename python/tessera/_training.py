# SPDX-License-Identifier: Apache-2.0
"""Runs: trained on a thread of their own, with a callback for each step."""
from __future__ import annotations

import atexit
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from tessera import _core
from tessera._metrics import Metrics, metrics
from tessera._pictures import Picture
from tessera._record import Record
from tessera._settings import Path, RunKeywords, file_of, settings_of
from tessera._stored import Checkpoint, load_checkpoint

if TYPE_CHECKING:
    import numpy


class TrainingSummary(Record):
    """What `tessera train --json` prints of a run that has ended."""
    first_step: int
    steps: int
    parameters: int
    first_loss: float
    loss: float
    seconds: float
    tokens_per_second: float
    mfu: float
    peak_bytes: int
    out: str


class Training:
    """A run that goes on, or has ended. A notebook shows its losses."""

    def __init__(self, core: _core.Training) -> None:
        self._held = core
        self._summary: TrainingSummary | None = None

    @property
    def step(self) -> int:
        """The last step that is done."""
        return self._held.step()

    @property
    def done(self) -> bool:
        """Whether it has ended, by itself, by stop() or by an error, which wait() raises."""
        return self._held.done()

    @property
    def callback_seconds(self) -> float:
        """That the run has spent in `on_step` so far, what it takes to get there included."""
        return self._held.callback_seconds()

    @property
    def out(self) -> str:
        """Its folder."""
        return self._held.out()

    def wait(self, timeout: float | None = None) -> bool:
        """Until the run has ended: True; False when `timeout` seconds are over before. Raises what ended it: an error of
        the run or of its callback. Ctrl-C stops the run after its step, as stop() does, and is raised then."""
        return self._held.wait(math.inf if timeout is None else timeout)

    def stop(self) -> None:
        """Asks it to end after the step that it is in. It saves a checkpoint first where `save_every` is given."""
        self._held.stop("stop()")

    @property
    def summary(self) -> TrainingSummary:
        """Of a run that has ended."""
        if self._summary is None:
            self._summary = TrainingSummary.of_json(self._held.summary())
        return self._summary

    @property
    def losses(self) -> numpy.ndarray[Any, Any]:
        """Of every step of a run that has ended, from its first on."""
        return self._held.losses()

    def metrics(self) -> Metrics:
        """Every figure of every step that is written so far."""
        return metrics(self.out)

    def checkpoint(self) -> Checkpoint:
        """The newest valid one."""
        return load_checkpoint(self.out)

    def picture(self) -> Picture:
        """The losses so far."""
        return self.metrics().picture("loss")

    def _repr_svg_(self) -> str | None:
        return self.picture().svg if self.step > 0 else None

    def __repr__(self) -> str:
        state = "ended" if self.done else "in training"
        return f"<tessera.Training in {self.out}: {state}, step {self.step}>"


_going: set[Training] = set()  # so that none ends because its object was dropped


def _wait_for_all() -> None:
    for training in list(_going):
        while not training.done:
            training._held.join(0.1)


def _end_all() -> None:
    for training in list(_going):
        training.stop()
    _wait_for_all()


def _forget_all() -> None:
    for training in _going:
        training._held.forget()
    _going.clear()


atexit.register(_end_all)  # a thread of the library must not ask for the GIL when the interpreter is gone
os.register_at_fork(after_in_child=_forget_all)


def train(config: Path | None = None,
          *,
          on_step: Callable[[_core.Step], Any] | None = None,
          wait: bool = True,
          resume: bool = False,
          overwrite: bool = False,
          init_from: Path = "",
          accept_changes: Sequence[str] = (),
          progress: bool = False,
          **run: Unpack[RunKeywords]) -> Training:
    """Trains a model; all ranks of the mesh are threads of this process.

    `on_step(step)` is called after every step, on the thread that trains; it may return False to stop the run, and what
    it raises stops the run and is raised here. `wait=False` returns at once, with the run going on. `resume` continues
    from the newest checkpoint in `out`, `overwrite` replaces a run there; `init_from` begins with the weights of a
    checkpoint, a run or a Hugging Face folder. `progress` prints the command line's lines on standard error."""
    if on_step is not None and not callable(on_step):
        raise TypeError(f"train() got on_step={on_step!r}, which cannot be called")
    core = _core.start_training(file_of(config), settings_of("train", run, RunKeywords), on_step, resume, overwrite,
                                not progress, list(accept_changes), os.fspath(init_from))
    training = Training(core)
    _going.add(training)  # before others are taken out: another thread may begin a run meanwhile
    _going.difference_update([each for each in list(_going) if each.done])
    if wait:
        training.wait()
    return training
