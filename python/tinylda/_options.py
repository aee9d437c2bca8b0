"""Conversion of keyword arguments for the extension module."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _core
from .errors import ParameterError

#: A number of bytes, or a text such as ``"2GiB"``, ``"500 MB"`` or ``"50%"`` (of the machine's memory).
Memory = Union[int, str]

def memory_bytes(memory: Memory | None) -> int | None:
    """Returns a size in bytes. Texts have the form that the command line accepts.

    >>> memory_bytes("2GiB")
    2147483648
    >>> memory_bytes("500 MB")
    500000000
    """
    if memory is None:
        return None
    if isinstance(memory, str):
        try:
            return _core.parse_memory(memory)
        except ValueError as error:
            raise ParameterError(f"invalid value {memory!r} for memory: {error}", parameter="memory") from None
    size = operator.index(memory)
    if size < 0:
        raise ParameterError(f"memory must not be negative, not {size}", parameter="memory")
    return size


def thread_count(threads: int | None) -> int:
    """Returns the number of threads; by default one for every core that this process may use."""
    if threads is None:
        return _core.available_threads()
    count = operator.index(threads)
    if count < 1:
        raise ParameterError(f"threads must be at least 1, not {count}", parameter="threads")
    return count


def is_flag(value: Any) -> bool:
    """Returns whether a value is a ``bool``, of Python or of NumPy."""
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"


def document_limit(max_docs: float | int | None) -> tuple[float | None, bool]:
    """Returns the limit ``max_docs``, and whether it is a fraction of the documents."""
    if max_docs is None:
        return None, False
    try:
        count = operator.index(max_docs)  # type: ignore[arg-type]
    except TypeError:
        limit = float(max_docs)
        if 0 <= limit <= 1:
            return limit, True
        if limit > 1 and limit.is_integer():
            return limit, False
    else:
        if count >= 0:
            return float(count), False
    raise ParameterError(
        f"max_docs must be a number of documents or a fraction from 0.0 to 1.0, not {max_docs!r}", parameter="max_docs"
    )


def strings(value: str | Iterable[str] | None, name: str) -> list[str]:
    """Returns a list of strings from one string or several."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    result = list(value)
    for item in result:
        if not isinstance(item, str):
            raise TypeError(f"{name} must be a str or a list of str, not {type(item).__name__}")
    return result


def word_options(
    *,
    language: str | Iterable[str] | None = None,
    stop_words: str | Iterable[str] | None = "auto",
    token_pattern: str | None = None,
    lowercase: bool = True,
    strip_accents: bool = False,
    min_length: int | None = None,
    max_length: int | None = None,
    numbers: bool = False,
    noise: bool = False,
    segmentation: str = "auto",
    stem: str | None = None,
    min_docs: int | None = None,
    max_docs: float | int | None = None,
    max_words: int | None = None,
    phrases: float | bool | None = None,
    vocabulary: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Returns options for words as the extension module expects them."""
    if stop_words is None:
        lists: list[str] | None = []
    elif isinstance(stop_words, str):
        lists = {"auto": None, "none": []}.get(stop_words, stop_words.split(","))
    else:
        lists = strings(stop_words, "stop_words")
    if is_flag(phrases):
        phrases = 0.5 if phrases else None
    limit, is_fraction = document_limit(max_docs)
    return {
        "language": strings(language, "language") or None,
        "stop_words": lists,
        "token_pattern": token_pattern,
        "lowercase": bool(lowercase),
        "strip_accents": bool(strip_accents),
        "min_length": min_length,
        "max_length": max_length,
        "numbers": bool(numbers),
        "noise": bool(noise),
        "segmentation": segmentation,
        "stem": stem,
        "min_docs": min_docs,
        "max_docs": limit,
        "max_docs_is_fraction": is_fraction,
        "max_words": max_words,
        "phrases": phrases,
        "vocabulary": None if vocabulary is None else strings(vocabulary, "vocabulary"),
    }


def seed_lines(seeds: Mapping[str | int, Iterable[str]] | None) -> str | None:
    """Returns seed words as the lines of a seed file: ``space: orbit moon``."""
    if seeds is None:
        return None
    lines = []
    for topic, words in seeds.items():
        chosen = strings(words, "seeds")
        for word in chosen:
            if not word or any(c.isspace() for c in word):
                raise ParameterError(f"a seed word must not contain spaces or be empty: {word!r}", parameter="seeds")
        name = str(topic)
        if ":" in name or "\n" in name or not name.strip():
            raise ParameterError(f"the name of a topic must not be empty or contain a colon: {name!r}", parameter="seeds")
        lines.append(f"{name}: {' '.join(chosen)}\n")
    return "".join(lines)
