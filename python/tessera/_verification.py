# SPDX-License-Identifier: Apache-2.0
"""Plans checked against one rank."""
from __future__ import annotations

from typing import Unpack

from tessera import _core
from tessera._record import Record
from tessera._settings import Path, StepKeywords, file_of, settings_of


class VerifyKeywords(StepKeywords, total=False):
    """Those of a step, and where to run it."""
    device: str


class Verification(Record):
    """What `tessera verify --json` prints. It is true where the plan equals one rank."""
    equal: bool
    loss_error: float
    gradient_error: float
    parameter_error: float
    verdict: str  # "equal", "NOT equal", or why it is undecided

    def __bool__(self) -> bool:
        return self.equal


def verify(config: Path | None = None,
           *,
           steps: int = 2,
           shrink: bool = False,
           show_ranks: bool = False,
           routing: str = "chosen",
           **run: Unpack[VerifyKeywords]) -> Verification:
    """Runs a plan in fp64 (or the given precision) beside one rank, and compares loss, gradients and parameters.
    `shrink` takes a small model of the family, to which the plan applies in the same way; `routing`: who sends tokens to
    experts, chosen or forced."""
    if routing not in ("chosen", "forced"):
        raise ValueError(f"routing is {routing!r}, not 'chosen' or 'forced'")
    json, verdict = _core.verify(file_of(config), settings_of("verify", run, VerifyKeywords), steps, shrink, show_ranks,
                                 routing == "forced")
    verification: Verification = Verification.of_json(json)
    verification.verdict = verdict
    return verification
