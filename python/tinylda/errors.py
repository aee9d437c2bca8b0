"""Exceptions and warnings of tinylda.

Every exception derives from :class:`TinyldaError` and from the built-in exception that fits, so
that ``except ValueError`` and ``except MemoryError`` work as usual. Errors of the operating system
are plain :class:`OSError` (such as :class:`FileNotFoundError`).
"""

from __future__ import annotations

import os

__all__ = [
    "CheckpointError",
    "FileFormatError",
    "InputError",
    "MemoryLimitError",
    "NoWordsError",
    "NumericError",
    "ParameterError",
    "StoppedError",
    "TinyldaError",
    "TinyldaWarning",
]


class TinyldaError(Exception):
    """Base class of all exceptions of tinylda.

    Attributes
    ----------
    parameter : str or None
        The keyword argument that is wrong.
    remedy : str or None
        What to change. The message contains it, too.
    path : str or None
        The file or folder.
    line, row, byte, column : int or None
        The position in the file (lines and rows of files are counted from 1) or in the matrix
        (rows and columns are counted from 0).
    """

    def __init__(
        self,
        message: str = "",
        *,
        parameter: str | None = None,
        remedy: str | None = None,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        row: int | None = None,
        byte: int | None = None,
        column: int | None = None,
        needed: int | None = None,
        available: int | None = None,
        passes: int | None = None,
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.remedy = remedy
        # Data in memory has no path.
        self.path = None if path is None or os.fspath(path) == "<memory>" else os.fspath(path)
        self.line = line
        self.row = row
        self.byte = byte
        self.column = column
        self.needed = needed
        self.available = available
        self.passes = passes


class ParameterError(TinyldaError, ValueError):
    """A keyword argument has an impossible value, alone or together with others."""


class InputError(TinyldaError, ValueError):
    """A file or a matrix contains something that cannot be used."""


class NoWordsError(InputError):
    """No document contains a word, or none of the words that are kept."""


class FileFormatError(TinyldaError, ValueError):
    """A corpus, model or checkpoint is damaged, of another kind, or of a later version."""


class MemoryLimitError(TinyldaError, MemoryError):
    """The operation needs more than ``memory``. ``needed`` and ``available`` are in bytes."""


class CheckpointError(TinyldaError, RuntimeError):
    """A checkpoint exists, is in use, or belongs to a training with other settings."""


class NumericError(TinyldaError, FloatingPointError):
    """A computation exceeded the range of its numbers."""


class StoppedError(TinyldaError, RuntimeError):
    """The operation was stopped. ``path`` is the folder of the checkpoint, if there is one."""


class TinyldaWarning(UserWarning):
    """Something was guessed, dropped or does not fit; the message names the remedy."""
