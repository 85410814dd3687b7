# SPDX-License-Identifier: Apache-2.0
"""The record of a run as columns."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from tessera import _core
from tessera._pictures import Picture
from tessera._record import Record
from tessera._settings import Path

Array = numpy.ndarray[Any, Any]


class Metrics(Mapping[str, Array]):
    """An array for each figure, with an entry for each step; NaN: not known of that step. `metrics["loss"]` and
    `metrics.loss` are the same. A notebook shows the losses."""

    def __init__(self, folder: str) -> None:
        self._columns, self.events, facts, self.config = _core.metrics(folder)
        told = json.loads(facts)
        self.facts: Record | None = Record(told) if told else None
        self.folder = folder

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __getattr__(self, name: str) -> Array:
        if not name.startswith("_") and name in self._columns:
            return self._columns[name]
        raise AttributeError(f"the metrics have no {name}; they have {', '.join(self.__dict__.get('_columns', {}))}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._columns})

    def structured(self) -> Array:
        """One structured array, a row for each step."""
        table = numpy.empty(len(self["step"]), dtype=[(name, column.dtype) for name, column in self.items()])
        for name, column in self.items():
            table[name] = column
        return table

    def picture(self, *names: str) -> Picture:
        """Figures over steps, at most five."""
        names = names or ("loss",)
        series = [(name, self[name].astype(float).tolist()) for name in names]
        return Picture(_core.draw_curve(", ".join(names), "", self["step"].astype(float).tolist(), series))

    def _repr_svg_(self) -> str:
        return self.picture("loss").svg

    def __repr__(self) -> str:
        return f"<tessera.Metrics of {self.folder}: {len(self['step'])} steps, {', '.join(self)}>"


def metrics(folder: Path) -> Metrics:
    """What the run or the simulation in a folder has recorded."""
    return Metrics(os.fspath(folder))
