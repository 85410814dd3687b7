# SPDX-License-Identifier: Apache-2.0
"""What the library raises. The C++ side looks these classes up by name."""


class UserError(Exception):
    """Something impossible was asked for: what, where, and what to do instead."""

    def __init__(self, message: str, where: str = "", help: str = "") -> None:  # pylint: disable=redefined-builtin
        super().__init__(message, where, help)
        self.message = message
        self.where = where
        self.help = help

    def __str__(self) -> str:
        lines = [self.message]
        if self.where:
            lines.append(f"   at: {self.where}")
        if self.help:
            lines.append(f" help: {self.help}")
        return "\n".join(lines)


class StorageError(UserError, OSError):
    """A disk or a network folder failed, perhaps only for a moment."""


class PeerError(RuntimeError):
    """A rank failed, or did not answer in time."""


class InternalError(RuntimeError):
    """A bug of tessera, which no input should reach."""


class TesseraWarning(UserWarning):
    """What is allowed and most likely a mistake."""
