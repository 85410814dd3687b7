# SPDX-License-Identifier: Apache-2.0
"""Steps simulated on a cluster."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Unpack

from tessera import _core
from tessera._pictures import Picture
from tessera._record import Record
from tessera._settings import Path, StepKeywords, file_of, settings_of, warn


class Simulation(Record):
    """What `tessera simulate --json` prints, and pictures of it. A notebook shows the step's timeline."""
    model: str
    cluster: str
    mesh: str
    ranks: int
    step_seconds: float
    tokens_per_second: float
    mfu: float
    hfu: float
    exposed_communication_seconds: float
    bubble_seconds: float
    peak_bytes: int
    host_bytes: int
    fits: bool
    results: list[Record]
    _held: _core.Simulation

    @classmethod
    def of_core(cls, core: _core.Simulation) -> Simulation:
        """Of the library's object."""
        simulation: Simulation = cls.of_json(core.json())
        simulation._held = core
        return simulation

    @property
    def title(self) -> str:
        """What was simulated, in a line."""
        return self._held.title()

    @property
    def warnings(self) -> list[str]:
        """What is allowed on this cluster, but most likely a mistake."""
        return self._held.warnings()

    def picture(self, name: str = "step") -> Picture:
        """`step`, `block` (kernel by kernel), `memory` over time, `mesh` (ranks in their nodes) or `bytes`."""
        return Picture(self._held.picture(name))

    def save_trace(self, path: Path) -> None:
        """The step as a trace, for ui.perfetto.dev."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._held.trace())

    def _repr_svg_(self) -> str:
        return self._held.picture("step")


def simulate(config: Path | None = None,
             *,
             cluster: Path = "",
             load: str = "uniform",
             row_copies: str = "expert",
             cool: bool = False,
             unit_cost: Sequence[float] | None = None,
             islands_every: Sequence[int] = (),
             **run: Unpack[StepKeywords]) -> Simulation:
    """How long a training step takes on a cluster: the programs that `train` would run, with a cost model.

    `cluster` is a name that clusters() lists, or a file; without one it is this laptop. Without a config file the
    precision is bf16 on clusters of GPUs. `load` is how unevenly tokens choose experts: uniform, worst or lognormal:S;
    `row_copies`: expert or node. `unit_cost`: seconds of a microbatch's forward, input gradient and
    weight gradient, everything else free. `islands_every`: steps between exchanges of islands to compare."""
    if row_copies not in ("expert", "node"):
        raise ValueError(f"row_copies is {row_copies!r}, not 'expert' or 'node'")
    costs: Any = None if unit_cost is None else [float(each) for each in unit_cost]
    core = _core.simulate(file_of(config), settings_of("simulate", run), os.fspath(cluster), load, row_copies == "node",
                          cool, costs, list(islands_every))
    warn(core.warnings())
    return Simulation.of_core(core)
