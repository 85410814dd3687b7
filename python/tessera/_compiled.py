# SPDX-License-Identifier: Apache-2.0
"""Steps compiled and not run: memory, collectives, IR, Program, placements."""
from __future__ import annotations

import os
from typing import Unpack

from tessera import _core
from tessera._record import Record
from tessera._settings import Path, StepKeywords, file_of, settings_of, warn


class Compiled(Record):
    """What `tessera compile --json` prints of a step, and its texts."""
    parameters: int
    peak_bytes: int
    host_bytes: int
    ranks: int
    bytes: Record
    passes: list[Record]
    collectives: list[Record]
    bytes_per_parameter: float
    _held: _core.Compiled

    @classmethod
    def of_core(cls, core: _core.Compiled) -> Compiled:
        """Of the library's object."""
        compiled: Compiled = cls.of_json(core.json())
        compiled._held = core
        return compiled

    def pass_names(self) -> list[str]:
        """In the order in which they run."""
        return self._held.passes()

    def ir(self, after: str = "") -> str:
        """The IR as text after a pass, or after the last one."""
        return self._held.ir(after)

    def programs(self) -> list[str]:
        """What ranks run, as text, by place along the pipeline."""
        return self._held.programs()

    def placements(self, tensor: str | None = None, cluster: Path = "") -> Record:
        """The tensors of the run; of one of them the boxes that ranks hold in use, and what each has at rest. The cluster
        says which of its levels an axis spans."""
        return Record.of_json(self._held.placements(tensor, os.fspath(cluster)))


def compile(config: Path | None = None, **run: Unpack[StepKeywords]) -> Compiled:  # pylint: disable=redefined-builtin
    """Compiles the training step of a run, without running it."""
    core = _core.compile(file_of(config), settings_of("compile", run))
    warn(core.warnings())
    return Compiled.of_core(core)
