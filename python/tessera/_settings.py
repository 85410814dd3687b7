# SPDX-License-Identifier: Apache-2.0
"""Arguments of Python as settings of a run: a config file, `set={"train.batch": 8}`, and keywords for common keys, the
strongest. Every key of a config can be set; docs/config.md lists them."""
from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

from tessera._errors import TesseraWarning

Path = Union[str, "os.PathLike[str]"]
Value = Union[str, int, float, bool, "os.PathLike[str]", Mapping[str, Any], Sequence[Any]]
Setting = tuple[str, str, str]  # key, value, the keyword that gave it

KEYS = {
    "model": "model.preset",
    "mesh": "mesh",
    "batch": "train.batch",
    "seq": "train.seq",
    "microbatches": "train.microbatches",
    "precision": "train.precision",
    "zero": "plan.zero",
    "schedule": "plan.schedule",
    "recompute": "plan.recompute",
    "seed": "train.seed",
    "device": "run.device",
    "steps": "train.steps",
    "out": "run.out",
    "save_every": "checkpoint.every",
    "trace": "run.trace",
}


class StepKeywords(TypedDict, total=False):
    """What a step is, and how it is run: the keywords of simulate, plan, compile, verify and train."""
    model: str
    mesh: str | Mapping[str, int]
    batch: int
    seq: int
    microbatches: int
    precision: str
    zero: int | str
    schedule: str
    recompute: str
    seed: int
    set: Mapping[str, Value]


class RunKeywords(StepKeywords, total=False):
    """Those of train besides."""
    device: str
    steps: int
    out: Path
    save_every: int
    trace: Path


def text_of(value: Value) -> str:
    """A value as a config file or --set would spell it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ",".join(f"{key}={text_of(each)}" for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(each) for each in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return str(value)


def settings_of(call: str, given: Mapping[str, Any], allowed: type = StepKeywords) -> list[Setting]:
    """The settings of a call, weakest first. None counts as not given."""
    known = list(allowed.__annotations__)
    for name in given:
        if name not in known:
            raise TypeError(f"{call}() got an unexpected keyword argument '{name}'; besides its own it takes "
                            f"{', '.join(known)}")
    if not isinstance(given.get("set") or {}, Mapping):
        raise TypeError(f"{call}() got set={given['set']!r}; give keys with values: set={{'train.batch': 8}}")
    settings = [(key, text_of(value), "") for key, value in (given.get("set") or {}).items()]
    for name, value in given.items():
        if name != "set" and value is not None:
            settings.append((KEYS[name], text_of(value), name))
    return settings


def file_of(config: Path | None) -> str | None:
    """The path of a config file as text."""
    return None if config is None else os.fspath(config)


def warn(texts: Sequence[str]) -> None:
    """As the command line prints them on standard error, at the line of the caller's caller."""
    for text in texts:
        warnings.warn(text, TesseraWarning, stacklevel=3)
