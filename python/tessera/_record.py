# SPDX-License-Identifier: Apache-2.0
"""Answers in JSON as objects: every member is an item and an attribute."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Self


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(each) for each in value]
    return value


class Record(Mapping[str, Any]):
    """A JSON object: `record["step_seconds"]` and `record.step_seconds` are the same."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = {name: _wrapped(value) for name, value in members.items()}
        self._json: str | None = None

    @classmethod
    def of_json(cls, text: str) -> Self:
        """The record of a JSON object, which keeps the text."""
        record = cls(json.loads(text))
        record._json = text
        return record

    def json(self) -> str:
        """One line of JSON; of an answer the line that the command line prints with --json."""
        return self._json if self._json is not None else json.dumps(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists."""

        def plain(value: Any) -> Any:
            if isinstance(value, Record):
                return value.to_dict()
            return [plain(each) for each in value] if isinstance(value, list) else value

        return {name: plain(value) for name, value in self._members.items()}

    def __getitem__(self, name: str) -> Any:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._members:
            return self._members[name]
        raise AttributeError(f"{type(self).__name__} has no {name}; it has {', '.join(self.__dict__.get('_members', {}))}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._members})

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={value!r}" for name, value in self._members.items())
        return f"{type(self).__name__}({members})"
