# SPDX-License-Identifier: Apache-2.0
"""The search for the fastest plan on a cluster."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Unpack

from tessera import _core
from tessera._pictures import Picture
from tessera._record import Record
from tessera._settings import Path, StepKeywords, file_of, settings_of, warn
from tessera._simulation import Simulation


class PlannedRun(Record):
    """One plan of those that a search ranks."""
    plan: str
    mesh: str
    zero: int
    microbatches: int
    recompute: str
    schedule: str
    step_seconds: float
    mfu: float
    tokens_per_second: float
    peak_bytes: int


class Plan(Record):
    """What `tessera plan --json` prints: `results` has the best plans, the fastest first. A notebook shows them."""
    model: str
    cluster: str
    ranks: int
    simulated: int
    complete: bool
    dropped: Record
    _held: _core.Plan

    @classmethod
    def of_core(cls, core: _core.Plan) -> Plan:
        """Of the library's object."""
        found: Plan = cls.of_json(core.json())
        found._held = core
        return found

    @property
    def results(self) -> list[PlannedRun]:
        """The fastest first, at most ten."""
        return [PlannedRun(each) for each in self["results"]]

    @property
    def best(self) -> PlannedRun:
        """The fastest."""
        return self.results[0]

    def config_text(self, place: int = 0) -> str:
        """A plan of the ranking as a config (TOML), which train, simulate and verify take as a file."""
        return self._held.toml(place)

    def save(self, path: Path, place: int = 0) -> None:
        """Writes the config."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.config_text(place))

    def simulate(self, place: int = 0) -> Simulation:
        """A plan of the ranking, simulated once more, for its pictures."""
        return Simulation.of_core(self._held.simulation(place))

    def why_not(self, knobs: str) -> Record:
        """Why a plan lost: `why_not("dp=8,tp=8 recompute=block").reason`."""
        return Record.of_json(self._held.why_not(knobs))

    def picture(self) -> Picture:
        """The best plans, and what their steps are made of."""
        return Picture(self._held.svg())

    def _repr_svg_(self) -> str:
        return self._held.svg()


def plan(config: Path | None = None,
         *,
         cluster: Path = "",
         ranks: int = 0,
         trials: int = 0,
         also: Sequence[str] = (),
         why_not: Sequence[str] = (),
         **run: Unpack[StepKeywords]) -> Plan:
    """The fastest plans for a model on a cluster. Keywords such as `zero` or `schedule` fix a knob; a search chooses the
    others. `ranks`: those of the mesh where it is left out. `also` tries more: fp8, offload, tp_overlap."""
    core = _core.plan(file_of(config), settings_of("plan", run), os.fspath(cluster), ranks, trials, list(also),
                      [why_not] if isinstance(why_not, str) else list(why_not))
    warn(core.warnings())
    return Plan.of_core(core)
