"""Conversion of keyword arguments for the extension module."""

from __future__ import annotations

import contextlib
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Union

from . import _core
from .errors import ParameterError

#: A number of bytes, or a text such as ``"2GiB"``, ``"500 MB"`` or ``"50%"`` (of the machine's memory).
Memory = Union[int, float, str]


def whole_number(value: Any, name: str, *, least: int = 0, most: int = 2**32 - 1) -> int:
    """Returns a parameter as an ``int``, and refuses what is no whole number or out of range.

    >>> whole_number(20.0, "n")
    20
    """
    try:
        number = operator.index(value)
    except TypeError:
        if not (isinstance(value, float) and value.is_integer()):
            raise ParameterError(f"{name} must be a whole number, not {value!r}", parameter=name) from None
        number = int(value)
    if not least <= number <= most:
        problem = f"at least {least}" if number < least else f"at most {most}"
        raise ParameterError(f"{name} must be {problem}, not {number}", parameter=name)
    return number


def optional_number(value: Any, name: str) -> int | None:
    """Returns a parameter as an ``int``, or ``None`` if it is not given."""
    return None if value is None else whole_number(value, name)


def random_seed(seed: Any) -> int:
    """Returns a random seed as an ``int``."""
    return whole_number(seed, "seed", most=2**64 - 1)


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
    return whole_number(memory, "memory", most=2**63)


def thread_count(threads: int | None) -> int:
    """Returns the number of threads; by default one for every core that this process may use."""
    if threads is None:
        return _core.available_threads()
    return whole_number(threads, "threads", least=1)


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
        return [check_text(value, name)]
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a str or a list of str, not {type(value).__name__}")
    result = list(value)
    for item in result:
        if not isinstance(item, str):
            raise TypeError(f"{name} must be a str or a list of str, not {type(item).__name__}")
        check_text(item, name)
    return result


def check_text(text: str, name: str) -> str:
    """Returns a text, and refuses one with a lone surrogate, which no file can contain."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ParameterError(
                f"{name} contains a lone surrogate, which is not text: {text!r}; "
                'use text.encode("utf-8", "replace").decode()',
                parameter=name,
            ) from None
    return text


def check_texts(**options: Any) -> None:
    """Refuses options that are given and are no ``str``."""
    for name, value in options.items():
        if value is None:
            continue
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a str, not {type(value).__name__}")
        check_text(value, name)


def check_paths(**options: Any) -> None:
    """Refuses options that are given and are no path."""
    for name, value in options.items():
        if value is not None and not isinstance(value, (str, os.PathLike)):
            raise TypeError(f"{name} must be a path, not {type(value).__name__}")


def real_number(value: Any, name: str) -> float:
    """Returns a parameter as a ``float``, and refuses what is no number, and NaN."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if number != number or isinstance(value, str):  # noqa: PLR0124 (NaN)
        raise ParameterError(f"{name} must be a number, not {value!r}", parameter=name)
    return number


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
    elif phrases is not None:
        phrases = real_number(phrases, "phrases")
    check_texts(token_pattern=token_pattern, segmentation=segmentation, stem=stem)
    limit, is_fraction = document_limit(max_docs)
    given = None if vocabulary is None else strings(vocabulary, "vocabulary")
    if given is not None and len(set(given)) < len(given):
        raise ParameterError("vocabulary must not contain a word more than once", parameter="vocabulary")
    return {
        "language": strings(language, "language") or None,
        "stop_words": lists,
        "token_pattern": token_pattern,
        "lowercase": bool(lowercase),
        "strip_accents": bool(strip_accents),
        "min_length": optional_number(min_length, "min_length"),
        "max_length": optional_number(max_length, "max_length"),
        "numbers": bool(numbers),
        "noise": bool(noise),
        "segmentation": segmentation,
        "stem": stem,
        "min_docs": optional_number(min_docs, "min_docs"),
        "max_docs": limit,
        "max_docs_is_fraction": is_fraction,
        "max_words": optional_number(max_words, "max_words"),
        "phrases": phrases,
        "vocabulary": given,
    }


def seed_lines(seeds: Mapping[str | int, Iterable[str]] | None) -> str | None:
    """Returns seed words as the lines of a seed file: ``space: orbit moon``."""
    if not seeds:
        return None
    if not isinstance(seeds, Mapping):
        raise TypeError(f'seeds must be a mapping such as {{"space": ["orbit", "moon"]}}, not {type(seeds).__name__}')
    lines = []
    for topic, words in seeds.items():
        chosen = strings(words, "seeds")
        for word in chosen:
            if not word or any(c.isspace() or c == "," for c in word):
                raise ParameterError(f"a seed word must not contain spaces or commas, or be empty: {word!r}", parameter="seeds")
        name = str(topic)
        if ":" in name or "\n" in name or not name.strip() or name.strip().startswith("#"):
            raise ParameterError(f"the name of a topic must not be empty, contain a colon or begin with #: {name!r}", parameter="seeds")
        if not chosen:
            raise ParameterError(f"the topic {name!r} has no seed words", parameter="seeds")
        lines.append(f"{name}: {' '.join(chosen)}\n")
    return "".join(lines)


@contextlib.contextmanager
def own_parameters(names: Mapping[str, str]) -> Iterator[None]:
    """Spells parameters in errors by other names: those of a function that calls ``train``."""
    try:
        yield
    except ParameterError as error:
        name = error.parameter or ""
        # A parameter in a message is at its begin, before a value, or after one of some words.
        known = "|".join(names)
        pattern = rf"(?:^|(?<=for )|(?<=crease ))({known})\b|\b({known})(?==)"

        def spell(text: str) -> str:
            return re.sub(pattern, lambda match: names[match[1] or match[2]], text)

        remedy = None if error.remedy is None else spell(error.remedy)
        raise ParameterError(spell(str(error)), parameter=names.get(name, name), remedy=remedy) from None
