"""Training of models."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Union

from . import _core
from ._options import (
    Memory,
    check_paths,
    is_flag,
    memory_bytes,
    random_seed,
    real_number,
    seed_lines,
    thread_count,
    whole_number,
)
from ._frames import FrameOption, frame
from ._progress import Event, ProgressOption, SweepListener, TrainingListener, logger
from .corpus import Corpus
from .corpus import check_corpus as _check_corpus
from .errors import InputError, ParameterError, TinyldaWarning
from .model import Model, load_model

__all__ = ["Plan", "Sweep", "plan", "sweep", "train"]

#: A path of a file or folder.
Path = Union[str, "os.PathLike[str]"]


class Plan(dict[str, Any]):
    """Memory and disk space of a training in bytes, a dictionary with a readable form.

    ``total`` is the planned memory, ``limit`` the budget, ``disk`` the disk space.
    """

    def __str__(self) -> str:
        return "\n".join(f"{name.replace('_', ' '):20} {_bytes(value):>12}" for name, value in self.items())

    def __repr__(self) -> str:
        return f"<Plan: {_bytes(self['total'])} of memory, {_bytes(self['disk'])} of disk space>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align: left'>{name.replace('_', ' ')}</th><td>{_bytes(value)}</td></tr>"
            for name, value in self.items()
        )
        return f"<table>{rows}</table>"


def _bytes(value: int | None) -> str:
    if value is None:
        return "none"
    size = float(value)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _options(
    settings: Mapping[str, Any],
    seeds: Mapping[str | int, Iterable[str]] | None,
    threads: int | None,
    memory: Memory | None,
    scratch: Path | None,
) -> dict[str, Any]:
    """Returns options of a training as the extension module expects them."""
    given = []
    for name, value in settings.items():
        if is_flag(value):
            if value:
                given.append((name, "true"))
        elif value is not None:
            given.append((name, str(value)))
    budget = memory_bytes(memory)
    return {
        "settings": given,
        "seeds": seed_lines(seeds),
        "update": None,
        "threads": thread_count(threads),
        "memory": _core.default_memory() if budget is None else budget,
        "scratch": scratch,
        "checkpoint": None,
        "checkpoint_every": None,
        "resume": "no",
    }


def train(
    corpus: Corpus,
    k: int,
    *,
    seed: int = 1,
    algorithm: str = "tbp",
    alpha: float | None = None,
    beta: float | None = None,
    optimize: bool = False,
    passes: int | None = None,
    tolerance: float | None = None,
    seeds: Mapping[str | int, Iterable[str]] | None = None,
    seed_weight: float | None = None,
    memory: Memory | None = None,
    threads: int | None = None,
    scratch: Path | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: float | None = 600.0,
    resume: bool | Literal["restart"] = False,
    output: Path | None = None,
    callback: Callable[[Event], Any] | None = None,
    progress: ProgressOption = "auto",
    exclude: str | None = None,
    active: str | int | None = None,
    document_state: str | None = None,
    step: int | None = None,
    inner: int | None = None,
    digamma: str | None = None,
    batch: int | None = None,
    tau0: float | None = None,
    kappa: float | None = None,
    burn_in: int | None = None,
    samples: int | None = None,
) -> Model:
    """Trains a topic model with ``k`` topics.

    The same corpus, settings and seed give the same model, byte for byte: on any number of threads,
    with any memory, interrupted and resumed or not, and with the command line.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    k : int
        Number of topics.
    seed : int
        Random seed.
    algorithm : str
        ``"tbp"`` (default), ``"stbp"``, ``"atbp"``, ``"bp"``, ``"abp"``, ``"gibbs"``, ``"vb"``,
        ``"ovb"`` or ``"nmf"``.
    alpha, beta : float, optional
        Dirichlet priors of topics in documents (2/k by default) and of words in topics (0.01).
    optimize : bool
        Learn alpha, one value per topic, and beta.
    passes : int, optional
        Maximum number of passes over the corpus (500).
    tolerance : float, optional
        Stop when the training perplexity changes by less than this per pass; 0 disables.
    seeds : mapping, optional
        Words that belong to topics: ``{"space": ["orbit", "moon"]}``.
    seed_weight : float, optional
        Weight of seed words.
    memory : int or str, optional
        Memory that the training may use, such as ``"2GiB"``, beside what the process holds already.
        Data that does not fit is kept in files. By default nine tenths of the free memory.
    threads : int, optional
        Number of threads; by default all cores, and one for less than 200,000 tokens. The result
        does not depend on it.
    scratch : path, optional
        Folder for data that does not fit in memory; by default the checkpoint folder, or a
        temporary one.
    checkpoint : path, optional
        Folder for checkpoints. One is written every ``checkpoint_every`` seconds and at Ctrl-C.
    resume : bool or "restart"
        Resume from the checkpoint if there is one, or discard it.
    output : path, optional
        Write the model to this file without holding it in memory; it is read at its first use.
    callback : callable, optional
        Called with an :class:`Event` for progress and after every pass. If it returns ``False``,
        training ends after the current pass and returns the topics found so far (with ``output``,
        they are written to the file). An exception ends the training and is raised. ``tbp`` knows
        the perplexity of a pass during the next one.
    progress : bool or "auto"
        Whether to show a progress bar.
    exclude, active, document_state, step, inner, digamma, batch, tau0, kappa, burn_in, samples
        Options of single algorithms, as in ``tinylda train --help``.

    Returns
    -------
    Model

    Raises
    ------
    MemoryLimitError
        The training does not fit in ``memory``; raised before any work.
    KeyboardInterrupt
        Ctrl-C was pressed. With ``checkpoint``, the training can be resumed. If the training has
        ended already, the model is returned instead.
    """
    run = _Run(corpus, memory, threads, scratch, checkpoint, checkpoint_every, resume, output, callback, progress)
    settings = {
        "topics": k,
        "algorithm": algorithm,
        "seed": seed,
        "alpha": alpha,
        "beta": beta,
        "optimize": optimize,
        "passes": passes,
        "tolerance": tolerance,
        "seed_weight": seed_weight,
        "exclude": exclude,
        "active": active,
        "document_state": document_state,
        "step": step,
        "inner": inner,
        "digamma": digamma,
        "batch": batch,
        "tau0": tau0,
        "kappa": kappa,
        "burn_in": burn_in,
        "samples": samples,
    }
    # What is not given is not recorded in the model, as with the command line.
    if algorithm == "tbp":
        del settings["algorithm"]
    options = run.options(settings, seeds)
    if hasattr(k, "__index__") and getattr(k, "ndim", 0) == 0 and corpus.n_documents < 10 * k:
        _warn_of_few_documents(corpus.n_documents, k)
    return run.train(options)


def update(
    model: Model,
    corpus: Corpus,
    settings: dict[str, Any],
    weight: float,
    resources: tuple[Memory | None, int | None, Path | None, Path | None, float | None, bool | Literal["restart"]],
    output: Path | None,
    callback: Callable[[Event], Any] | None,
    progress: ProgressOption,
) -> Model:
    """Updates a model; :meth:`Model.update` describes the arguments."""
    run = _Run(corpus, *resources, output, callback, progress)
    options = run.options(settings, None)
    options["update"] = (model._core, real_number(weight, "weight"))
    return run.train(options)


class _Run:
    """A training with checked arguments."""

    def __init__(
        self,
        corpus: Corpus,
        memory: Memory | None,
        threads: int | None,
        scratch: Path | None,
        checkpoint: Path | None,
        checkpoint_every: float | None,
        resume: bool | Literal["restart"],
        output: Path | None,
        callback: Callable[[Event], Any] | None,
        progress: ProgressOption,
    ) -> None:
        _check_corpus(corpus)
        if not is_flag(resume) and resume != "restart":
            raise ParameterError(f'resume must be True, False or "restart", not {resume!r}', parameter="resume")
        if resume and checkpoint is None:
            raise ParameterError("resume requires checkpoint", parameter="resume")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function, not {type(callback).__name__}")
        check_paths(scratch=scratch, checkpoint=checkpoint, output=output)
        _check_output(output)
        if checkpoint_every is not None:
            checkpoint_every = real_number(checkpoint_every, "checkpoint_every")
        self.corpus, self.memory, self.threads, self.scratch = corpus, memory, threads, scratch
        self.checkpoint, self.output, self.callback, self.progress = checkpoint, output, callback, progress
        self.checkpoint_every = None if checkpoint is None else checkpoint_every
        self.resume = "restart" if resume == "restart" else "yes" if resume else "no"

    def options(self, settings: Mapping[str, Any], seeds: Mapping[str | int, Iterable[str]] | None) -> dict[str, Any]:
        """Returns the options for the extension module."""
        threads = _training_threads(self.threads, self.corpus)
        options = _options(settings, seeds, threads, self.memory, self.scratch)
        options["checkpoint"] = self.checkpoint
        options["checkpoint_every"] = self.checkpoint_every
        options["resume"] = self.resume
        _check_tokens(self.corpus)
        return options

    def train(self, options: dict[str, Any]) -> Model:
        """Trains a model."""
        listener = TrainingListener(self.progress, self.callback)
        try:
            if self.scratch is None and self.checkpoint is None:
                import tempfile

                with tempfile.TemporaryDirectory(prefix="tinylda-") as folder:
                    options["scratch"] = folder
                    core, summary, late = _core.train(self.corpus._core, options, self.output, listener)
            else:
                core, summary, late = _core.train(self.corpus._core, options, self.output, listener)
        finally:
            listener.close()
        _raise_unless_lost(late, lost=self.output is None)
        return Model(core, path=self.output, summary=summary)


#: Number of tokens below which one thread is enough.
_FEW_TOKENS = 200_000


def _training_threads(threads: int | None, corpus: Corpus) -> int | None:
    """Returns the number of threads of a training; by default one for a small corpus.

    Threads wait for each other many times per pass. Where passes take milliseconds, that saves
    little on an idle machine, and makes a training several times slower on a busy one.
    """
    return 1 if threads is None and corpus.n_tokens < _FEW_TOKENS else threads


def _check_tokens(corpus: Corpus) -> None:
    """Refuses a corpus without tokens, for which no number of topics is possible."""
    if not corpus.n_tokens:
        raise InputError(f"there is nothing to train on: the {corpus.n_documents} documents have no tokens; check the input")


def _check_output(output: Path | None) -> None:
    """Refuses a file that cannot be written, before the training instead of at its end."""
    if output is None:
        return
    folder = os.path.dirname(os.path.abspath(output))
    if os.path.isdir(output):
        raise IsADirectoryError(errno.EISDIR, "output is a folder; name a file in it", os.fspath(output))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "the folder of output does not exist; create it first", folder)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "output cannot be written to this folder; choose another one", folder)


def _raise_unless_lost(late: BaseException | None, *, lost: bool) -> None:
    """Raises an exception that came when an operation had ended.

    Ctrl-C is not worth the result of a long training: if that would be ``lost``, it is only logged.
    """
    if late is None:
        return
    if not lost or not isinstance(late, KeyboardInterrupt):
        raise late
    logger.warning("Ctrl-C was pressed when the training had ended; its result is returned")


def plan(
    corpus: Corpus,
    k: int,
    *,
    memory: Memory | None = None,
    threads: int | None = None,
    algorithm: str = "tbp",
    seeds: Mapping[str | int, Iterable[str]] | None = None,
    output: Path | None = None,
    **settings: Any,
) -> Plan:
    """Returns the memory and disk space that a training would take, without training.

    The arguments are those of :func:`train`; those that do not matter for the plan, such as
    ``checkpoint`` and ``callback``, are ignored. With ``output``, the model is not held in memory.

    >>> import tinylda
    >>> corpus = tinylda.Corpus.from_tokens([["a", "b"], ["b", "c"]])
    >>> tinylda.plan(corpus, k=2, memory="1GiB")["limit"] >= 2**30
    True
    """
    import tempfile

    _check_corpus(corpus)
    _check_tokens(corpus)
    settings = {name: value for name, value in settings.items() if name not in _NOT_PLANNED}
    _check_keywords("plan", settings)
    options = _options({"topics": k, "algorithm": algorithm, **settings}, seeds, _training_threads(threads, corpus), memory, tempfile.gettempdir())
    return Plan(_core.plan(corpus._core, options, output is not None))


#: Keywords of :func:`train` on which the plan does not depend.
_NOT_PLANNED = ("scratch", "checkpoint", "checkpoint_every", "resume", "callback", "progress")


def _check_keywords(function: str, settings: Mapping[str, Any]) -> None:
    """Refuses keywords that are no settings of a training, as Python does."""
    known = {row["name"] for row in _core.settings()} - {"topics"}
    for name in settings:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


class Sweep:
    """Results of :func:`sweep`: a row for every number of topics, and the best model."""

    def __init__(self, rows: list[dict[str, Any]], best_k: int, best: Model) -> None:
        #: Measurements of every number of topics, as dictionaries.
        self.rows = rows
        #: The best number of topics.
        self.best_k = best_k
        #: The best model.
        self.best = best

    def table(self, frame: FrameOption = "auto") -> Any:
        """Returns the measurements as a data frame."""
        return _sweep_frame(self.rows, frame)

    def __repr__(self) -> str:
        return f"<Sweep: k = {', '.join(str(row['k']) for row in self.rows)}; best: {self.best_k}>"


def _sweep_frame(rows: list[dict[str, Any]], kind: FrameOption) -> Any:
    return frame({name: [row[name] for row in rows] for name in rows[0]} if rows else {}, kind)


def sweep(
    corpus: Corpus,
    k: Iterable[int],
    *,
    repeats: int = 3,
    seed: int = 1,
    test: float = 0.2,
    n: int = 10,
    coherence: str = "c_npmi",
    folder: Path | None = None,
    memory: Memory | None = None,
    threads: int | None = None,
    progress: ProgressOption = "auto",
    **settings: Any,
) -> Sweep:
    """Compares numbers of topics and returns the best model.

    Every number is trained ``repeats`` times with different seeds, and scored by the predictive
    perplexity of held-out documents, coherence and stability. Numbers that leave fewer than ten
    documents per topic have no score and are not chosen.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    k : iterable of int
        Numbers of topics to compare.
    repeats : int
        Number of trainings for each.
    seed : int
        Seed of the held-out documents and of the first training.
    test : float
        Share of the documents that is held out.
    n : int
        Number of words per topic for coherence and stability.
    coherence : str
        Measure of coherence, as in :meth:`Model.coherence`.
    folder : path, optional
        Folder for the results of all runs and a report. A sweep that was interrupted goes on from
        there. Without it, a temporary folder is used.
    memory, threads, progress
        As in :func:`train`.
    **settings
        Other options of :func:`train`, such as ``optimize=True``. Seed words are not supported.
    """
    import tempfile

    _check_corpus(corpus)
    if "seeds" in settings:
        raise ParameterError("seeds is not supported by sweep; use train for each number of topics", parameter="seeds")
    _check_keywords("sweep", settings)
    if not isinstance(k, Iterable):
        raise TypeError(f"k must be several numbers of topics, such as [20, 50, 100], not {k!r}")
    numbers = sorted({whole_number(number, "k") for number in k})
    if not numbers:
        raise ParameterError("k must contain at least one number of topics", parameter="k")
    if not isinstance(coherence, str):
        raise TypeError(f"coherence must be a str, not {type(coherence).__name__}")
    check_paths(folder=folder)
    if folder is not None and os.path.exists(folder) and not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, "folder is a file; name a folder", os.fspath(folder))
    options = _options(settings, None, _training_threads(threads, corpus), memory, None)
    request = {
        "k": numbers,
        "repeats": whole_number(repeats, "repeats", least=1),
        "seed": random_seed(seed),
        "test": real_number(test, "test"),
        "top": whole_number(n, "n", least=2),
        "coherence": coherence,
        "settings": options["settings"],
        "threads": options["threads"],
        "memory": options["memory"],
    }
    with SweepListener(progress) as listener, tempfile.TemporaryDirectory(prefix="tinylda-sweep-") as temporary:
        rows, best, path, late = _core.sweep(corpus._core, {**request, "folder": folder or temporary}, listener)
        assert best is not None and path is not None
        model = Model(load_model(path)._core)
    _raise_unless_lost(late, lost=folder is None)
    return Sweep(rows, best, model)


def _warn_of_few_documents(documents: int, k: int) -> None:
    warnings.warn(
        f"{k} topics for {documents} documents: topics need at least ten documents each; use a smaller k",
        TinyldaWarning,
        stacklevel=3,
    )
