# SPDX-License-Identifier: Apache-2.0
"""Pictures that a notebook shows by itself: SVG, legible on light and dark pages."""
from __future__ import annotations

import os
from collections.abc import Sequence

from tessera import _core
from tessera._settings import Path


class Picture:
    """An SVG. A notebook draws it where it is the last value of a cell."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: Path) -> None:
        """Writes the file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<tessera.Picture of {len(self.svg)} bytes of SVG>"


def schedule_picture(kinds: str | Sequence[str] = "1f1b",
                     *,
                     stages: int = 4,
                     microbatches: int = 8,
                     chunks: int | None = None,
                     costs: Sequence[float] = (1, 1, 1)) -> Picture:
    """Pipeline schedules, one below the other on one scale of time. `costs`: forward, input gradient, weight gradient."""
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    return Picture(_core.draw_schedules(names, stages, microbatches, chunks, list(costs)))


def trace_picture(path: Path, picture: str = "step") -> Picture:
    """The last step of a measured trace, as train(trace=...) writes it: the whole `step` or one `block` of it."""
    return Picture(_core.draw_trace(os.fspath(path), picture))


def cluster_picture(name: str) -> Picture:
    """The levels of a cluster, and how they are wired. A name that clusters() lists, or a file."""
    return Picture(_core.draw_cluster(name))
