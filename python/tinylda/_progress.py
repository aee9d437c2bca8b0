"""Progress bars, log messages and callbacks of long operations."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union

from ._options import is_flag

logger = logging.getLogger("tinylda")

#: ``True`` or ``False``, or ``"auto"``: show progress in terminals and notebooks.
ProgressOption = Union[bool, Literal["auto"]]

#: Function that the extension module calls with the kind and the fields of an event.
Listener = Callable[[str, Mapping[str, Any]], Union[bool, None]]


class Event(dict[str, Any]):
    """An event of a training: a dictionary whose items are attributes, too.

    ``kind`` is ``"progress"``, ``"pass"``, ``"checkpoint"``, ``"checkpoint_failed"`` or
    ``"resumed"``. A ``"pass"`` has ``pass_``, ``passes``, ``perplexity``, ``active_topics`` and
    ``seconds``.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name.rstrip("_")]
        except KeyError:
            raise AttributeError(name) from None


def is_shown(progress: ProgressOption) -> bool:
    """Returns whether to show progress."""
    if sys.stderr is None or getattr(sys.stderr, "closed", False):
        return False
    if progress != "auto":
        return bool(progress)
    return "ipykernel" in sys.modules or (hasattr(sys.stderr, "isatty") and sys.stderr.isatty())


class Bar:
    """A progress bar: tqdm's if it is installed, else a line on standard error."""

    def __init__(self, description: str, total: float | None) -> None:
        self.total = total
        self.description = description
        self.done = 0.0
        self.bar: Any = None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self.bar = tqdm(total=total, desc=description, leave=False, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}")

    def update(self, done: float, text: str = "") -> None:
        """Moves the bar to ``done`` and shows a text beside it."""
        if self.bar is not None:
            if text:
                self.bar.set_postfix_str(text, refresh=False)
            self.bar.update(max(0.0, done - self.done))
        else:
            share = f" {100 * done / self.total:3.0f}%" if self.total else ""
            sys.stderr.write(f"\r{self.description}{share} {text}".ljust(79)[:79])
            sys.stderr.flush()
        self.done = done

    def close(self) -> None:
        """Removes the bar."""
        if self.bar is not None:
            self.bar.close()
        elif self.done:
            sys.stderr.write("\r" + " " * 79 + "\r")
            sys.stderr.flush()


class StepListener:
    """Shows the progress of an operation, one bar for each of its steps."""

    def __init__(self, progress: ProgressOption) -> None:
        self.shown = is_shown(progress)
        self.step = ""
        self.bar: Bar | None = None

    def __call__(self, kind: str, fields: Mapping[str, Any]) -> bool | None:
        if fields["step"] != self.step:
            self.close()
            self.step = fields["step"]
            self.bar = Bar(self.step, fields["total"])
        if self.bar is not None:
            self.bar.update(fields["done"])
        return None

    def close(self) -> None:
        """Removes the last bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def __enter__(self) -> Listener | None:
        return self if self.shown else None

    def __exit__(self, *_: object) -> None:
        self.close()


class SweepListener(StepListener):
    """Shows the progress of a sweep and logs its runs."""

    def __call__(self, kind: str, fields: Mapping[str, Any]) -> bool | None:
        if kind == "finished":
            logger.info("k=%d, seed %d: perplexity %s", fields["k"], fields["seed"], fields["perplexity"])
        elif kind == "note":
            logger.info("%s", fields["text"])
        elif kind == "progress" and self.shown:
            if self.bar is None:
                self.bar = Bar("sweep", 1.0)
            run = "best model" if fields["run"] is None else f"run {fields['run']} of {fields['runs']}"
            self.bar.update(fields["done"], f"{run}, k={fields['k']}")
        return None

    def __enter__(self) -> Listener | None:
        return self


class TrainingListener:
    """Shows the progress of a training, logs its passes, and calls the user's function."""

    def __init__(self, progress: ProgressOption, callback: Callable[[Event], Any] | None) -> None:
        self.callback = callback
        self.bar = Bar("training", 1.0) if is_shown(progress) else None
        self.stop = False

    def __call__(self, kind: str, fields: Mapping[str, Any]) -> bool | None:
        if kind == "pass":
            logger.info("pass %d: perplexity %.1f after %.1f s", fields["pass"], fields["perplexity"], fields["seconds"])
        elif kind == "checkpoint":
            logger.info("checkpoint written to %s", fields["path"])
        elif kind == "checkpoint_failed":
            logger.warning("checkpoint could not be written to %s: %s", fields["path"], fields["error"])
        elif kind == "resumed":
            logger.info("resumed after pass %d", fields["pass"])
        if self.bar is not None:
            if kind == "progress":
                self.bar.update(fields["done"], f"pass {fields['pass']}")
            elif kind == "pass":
                self.bar.update(self.bar.done, f"pass {fields['pass']}, perplexity {fields['perplexity']:.1f}")
        if self.callback is not None:
            answer = self.callback(Event(fields, kind=kind))
            self.stop = self.stop or (is_flag(answer) and not answer)
        # Only at the end of a pass are there topics to return.
        return False if self.stop and kind == "pass" else None

    def close(self) -> None:
        """Removes the bar."""
        if self.bar is not None:
            self.bar.close()
