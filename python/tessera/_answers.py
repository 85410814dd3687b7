# SPDX-License-Identifier: Apache-2.0
"""The questions of Studio (docs/studio-questions.md), which Python may ask as well."""
from __future__ import annotations

import json
from typing import Any

import numpy

from tessera import _core
from tessera._record import Record

_DTYPES = {"f32": "<f4", "u16": "<u2", "u32": "<u4"}


class Answer(Record):
    """What the answer's JSON says; numbers that come as columns are in `arrays`, by name."""
    arrays: dict[str, numpy.ndarray[Any, Any]]


def ask(kind: str, /, **fields: Any) -> Answer:
    """`ask("try", run={"model": "llama3-8b", "cluster": "dgx-h100", "set": {"mesh": "fsdp=8"}})`."""
    text, columns = _core.ask(kind, json.dumps(fields))
    answer: Answer = Answer.of_json(text)
    answer.arrays = {
        each["name"]: numpy.frombuffer(columns, _DTYPES[each["type"]], each["count"], each["offset"])
        for each in answer.get("columns", [])
    }
    return answer


def questions() -> dict[str, str]:
    """Every kind of question, and what it answers."""
    return dict(_core.questions())


def presets() -> list[Record]:
    """Models by name, with their sizes and training defaults."""
    return list(ask("presets")["presets"])


def clusters() -> list[Record]:
    """Clusters by name, each figure with its source."""
    return list(ask("clusters")["clusters"])
