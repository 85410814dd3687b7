# SPDX-License-Identifier: Apache-2.0
"""Stored tensors as NumPy arrays: views of the mapped files where one file holds a tensor whole, else copies."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from tessera import _core
from tessera._settings import Path

Array = numpy.ndarray[Any, Any]

#: NumPy has no bf16. Arrays of this dtype keep its bits and refuse to be computed with; to_float32() gives numbers, and
#: `.view(ml_dtypes.bfloat16)` the dtype of that package.
bfloat16 = numpy.dtype([("bfloat16", "<u2")])


def to_float32(array: Array) -> Array:
    """The numbers of an array of any dtype as fp32, exactly so for bf16."""
    if array.dtype == bfloat16:
        return (array["bfloat16"].astype(numpy.uint32) << 16).view(numpy.float32)
    return array.astype(numpy.float32)


@dataclass(frozen=True)
class Shard:
    """What one file holds of a tensor: the elements `begin` to `end`, in row-major order, of the box that begins at
    `first` and is `count` long along each dim. A whole box has its shape, a part of one is flat."""
    first: tuple[int, ...]
    count: tuple[int, ...]
    begin: int
    end: int
    array: Array


class Checkpoint(Mapping[str, Array]):
    """Arrays by the names of states: `layer.0.wq`, `layer.0.wq.moment1`. An array is made when it is asked for, and keeps
    its file mapped."""

    def __init__(self, core: _core.Checkpoint) -> None:
        self._held = core
        self._names = core.names()
        facts = core.facts()
        self.path: str = facts["path"]
        self.step: int = facts["step"]
        self.tokens: int = facts["tokens"]
        self.seed: int = facts["seed"]
        self.mesh: str = facts["mesh"]
        self.config: str = facts["config"]

    def __getitem__(self, name: str) -> Array:
        return self._held.array(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def dtype(self, name: str) -> str:
        """As configs name it: fp32, bf16, fp64."""
        return self._held.dtype(name)

    def shape(self, name: str) -> tuple[int, ...]:
        """Of the whole tensor, without reading it."""
        return self._held.shape(name)

    def is_mapped(self, name: str) -> bool:
        """Whether the array is a view of its file, without a copy: one file holds the whole tensor."""
        return self._held.is_mapped(name)

    def shards(self, name: str) -> list[Shard]:
        """What each file holds of a tensor, always without a copy."""
        return [Shard(*each) for each in self._held.shards(name)]

    def __repr__(self) -> str:
        return f"<tessera.Checkpoint {self.path}: step {self.step}, {len(self)} tensors>"


def load_checkpoint(path: Path, *, verify: bool = True) -> Checkpoint:
    """A step's folder, one file, the folder of a run (its newest valid checkpoint) or a Hugging Face folder, whose tensors
    get Tessera's names. `verify` compares every byte with its digest first; without it nothing is read until it is asked
    for, but of a run's folder, whose newest valid checkpoint is looked for."""
    return Checkpoint(_core.Checkpoint(os.fspath(path), verify))


def load_safetensors(path: Path) -> dict[str, Array]:
    """Every tensor of one safetensors file, as views of it. bf16 as in checkpoints; F16 as float16."""
    return _core.load_safetensors(os.fspath(path))
