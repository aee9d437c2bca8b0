"""Topic models and what one can do with them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _core
from ._frames import FrameOption
from ._frames import frame as _frame
from ._options import check_texts, random_seed, real_number, thread_count, whole_number
from ._progress import Event, ProgressOption, StepListener
from .corpus import Corpus, check_corpus, documents_for
from .errors import TinyldaWarning
from .report import Report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

__all__ = ["Model", "load_model"]

#: A path of a file.
Path = Union[str, "os.PathLike[str]"]


class Model:
    """A trained topic model. Create one with :func:`train` or :func:`load_model`.

    Examples
    --------
    >>> import tinylda
    >>> texts = ["the goal of the match", "the judge of the court"] * 10
    >>> corpus = tinylda.Corpus.from_texts(texts, language="en")
    >>> model = tinylda.train(corpus, k=2, seed=1, progress=False)
    >>> model
    <Model: 2 topics, 4 words>
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['court', 'judge'], ['goal', 'match']]
    """

    def __init__(self, core: _core.Model | None = None, *, path: Path | None = None, summary: dict[str, Any] | None = None) -> None:
        if not isinstance(core, _core.Model) and (core is not None or path is None):
            raise TypeError("create a model with tinylda.train or load_model")
        self._loaded = core
        # The model may be read later, when the current folder is another one.
        self._path = None if path is None else os.path.abspath(path)
        self._summary = summary or {}
        self._vocabulary: list[str] | None = None

    @property
    def _core(self) -> _core.Model:
        """The model of the extension module, read from its file at the first use."""
        if self._loaded is None:
            assert self._path is not None
            self._loaded = _core.Model.load(self._path)
        return self._loaded

    # ---------------------------------------------------------------- parameters

    @property
    def k(self) -> int:
        """Number of topics."""
        return self._core.topic_count

    @property
    def n_words(self) -> int:
        """Number of words."""
        return self._core.word_count

    @property
    def vocabulary(self) -> list[str] | None:
        """The words in the order of their numbers; ``None`` if they have no names."""
        if self._vocabulary is None:
            self._vocabulary = self._core.vocabulary()
        return self._vocabulary

    @property
    def alpha(self) -> NDArray[np.float32]:
        """Dirichlet prior of topics in documents, one value per topic."""
        return self._core.alpha

    @property
    def beta(self) -> float:
        """Dirichlet prior of words in topics, per word."""
        return self._core.beta

    @property
    def phi(self) -> NDArray[np.float32]:
        """Counts of words in topics, words by topics: a read-only view of the model's memory."""
        return self._core.phi()

    @property
    def components(self) -> NDArray[np.float64]:
        """Probabilities of words in topics, topics by words; every row adds up to 1."""
        return self._core.word_probabilities()

    @property
    def prevalence(self) -> NDArray[np.float64]:
        """Share of every topic of all tokens of the training."""
        return self._core.shares

    @property
    def topic_names(self) -> list[str]:
        """Names of the topics, as given with seed words; empty texts for other topics."""
        return self._core.topic_names()

    @property
    def training(self) -> dict[str, Any]:
        """How the model was trained: algorithm, settings, seed, passes, perplexity, corpus."""
        record: dict[str, Any] = json.loads(self._core.training_json())
        return record

    @property
    def history(self) -> list[tuple[int, float]]:
        """Training perplexity after each pass, as pairs (pass, perplexity)."""
        return [(int(number), float(value)) for number, value in self.training["history"]]

    @property
    def summary(self) -> dict[str, Any]:
        """Passes, perplexity, seconds and the reason for the end of the training.

        It is empty for a model that was read from a file.
        """
        return dict(self._summary)

    # ---------------------------------------------------------------- topics

    def topics(self, n: int = 10, *, by: str = "probability", weight: float | None = None, frame: FrameOption = "auto") -> Any:
        """Returns the best words of all topics as a table with one row per topic and word.

        ``by`` is ``"probability"``, ``"relevance"``, ``"lift"`` or ``"frex"``; ``weight`` is
        lambda of relevance (0.6) or the weight of exclusivity of FREX (0.5). ``frame`` is
        ``"pandas"``, ``"polars"`` or ``"dict"``; by default what is installed.
        """
        n = whole_number(n, "n")
        weight = _ranking_weight(by, weight)
        words, shares, names = self.vocabulary, self.prevalence, self.topic_names
        rows: list[tuple[Any, ...]] = [
            (k, names[k], float(shares[k]), rank, words[w] if words else str(w), p, lift, score)
            for k, topic in enumerate(self._core.ranked_words(by, weight, n))
            for rank, (w, p, lift, score) in enumerate(topic, 1)
        ]
        titles = ["topic", "name", "share", "rank", "word", "probability", "lift", "score"]
        if not any(names):
            rows, titles = [row[:1] + row[2:] for row in rows], titles[:1] + titles[2:]
        columns = {title: [row[i] for row in rows] for i, title in enumerate(titles)}
        return _frame(columns, frame)

    def top_words(self, n: int = 10, *, by: str = "probability", weight: float | None = None) -> list[list[str]]:
        """Returns the best words of every topic as lists."""
        words = self.vocabulary
        ranked = self._core.ranked_words(by, _ranking_weight(by, weight), whole_number(n, "n"))
        return [[words[w] if words else str(w) for w, *_ in topic] for topic in ranked]

    def print_topics(self, n: int = 10) -> None:
        """Prints the topics, the most prevalent first."""
        import numpy as np

        shares, names = self.prevalence, self.topic_names
        words = self.top_words(n)
        for k in np.argsort(-shares, kind="stable"):
            name = f" ({names[k]})" if names[k] else ""
            print(f"{k:4}{name} {100 * shares[k]:5.1f}%  {' '.join(words[k])}")

    # ---------------------------------------------------------------- new documents

    def update(
        self,
        corpus: Corpus,
        *,
        weight: float = 1.0,
        seed: int = 1,
        alpha: float | None = None,
        beta: float | None = None,
        optimize: bool = False,
        passes: int | None = None,
        tolerance: float | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        scratch: Path | None = None,
        checkpoint: Path | None = None,
        checkpoint_every: float | None = 600.0,
        resume: bool | Literal["restart"] = False,
        output: Path | None = None,
        callback: Callable[[Event], Any] | None = None,
        progress: ProgressOption = "auto",
    ) -> Model:
        """Continues the training with new documents and returns a new model; this one stays as it is.

        Topics keep their numbers and names, words of the model keep their numbers, and words that the
        model does not have are appended. ``training["update"]`` of the result has ``similarities``:
        the cosine between the word distributions of every topic before and after. Import texts with the
        options that were used for the model, so that the same words are spelled alike.

        Parameters
        ----------
        corpus : Corpus
            The new documents.
        weight : float
            Weight of the tokens of the model, relative to those of the new documents.
        alpha, beta : float, optional
            Dirichlet priors; by default those of the model.
        seed, optimize, passes, tolerance
            As in :func:`train`.
        memory, threads, scratch, checkpoint, checkpoint_every, resume, output, callback, progress
            As in :func:`train`.

        Examples
        --------
        >>> import tinylda
        >>> texts = ["the goal of the match", "the judge of the court"] * 10
        >>> old = tinylda.train(tinylda.Corpus.from_texts(texts, language="en"), k=2, progress=False)
        >>> news = tinylda.Corpus.from_texts(["the goal of the keeper"] * 5, language="en")
        >>> new = old.update(news, progress=False)
        >>> new.vocabulary[-1], new.training["update"]["new_words"]
        ('keeper', 1)
        """
        from .training import update

        settings = {
            "seed": seed,
            "alpha": alpha,
            "beta": beta,
            "optimize": optimize,
            "passes": passes,
            "tolerance": tolerance,
        }
        resources = (memory, threads, scratch, checkpoint, checkpoint_every, resume)
        return update(self, corpus, settings, weight, resources, output, callback, progress)

    # ---------------------------------------------------------------- documents

    def transform(
        self, documents: Any, *, threads: int | None = None, top: int | None = None, progress: ProgressOption = "auto"
    ) -> NDArray[np.float32] | csr_matrix:
        """Returns the topic proportions of documents: documents by topics, rows add up to 1.

        ``documents`` are texts (any iterable of str), a matrix of counts, a :class:`Corpus`, or a
        ``pathlib.Path`` of a file. Texts are processed as for the training. With ``top``, the result
        is a sparse matrix with the ``top`` largest proportions of every document.
        """
        count = thread_count(threads)
        top = None if top is None else whole_number(top, "top", least=1)
        corpus = documents_for(self, documents, count, progress)
        with StepListener(progress) as listener:
            theta, known, unknown = self._core.transform(corpus._core, count, listener)
        _warn_of_unknown_words(int(known.sum()), int(unknown.sum()))
        return theta if top is None else _largest(theta, top)

    def documents(
        self,
        corpus: Corpus,
        n: int = 5,
        *,
        topics: Iterable[int] | int | None = None,
        min_tokens: int = 10,
        threads: int | None = None,
        frame: FrameOption = "auto",
        progress: ProgressOption = "auto",
    ) -> Any:
        """Returns typical documents of topics as a table with one row per topic and document."""
        self._warn_if_other(corpus)
        chosen: list[int]
        if topics is None:
            chosen = []
        elif isinstance(topics, Iterable) and getattr(topics, "ndim", None) != 0:
            chosen = [whole_number(topic, "topics") for topic in topics]
        else:
            chosen = [whole_number(topics, "topics")]
        query = _document_query(n, min_tokens, threads)
        with StepListener(progress) as listener:
            found = self._core.typical_documents(corpus._core, chosen, query, listener)
        rows = [(k, *row) for k, documents in found for row in documents]
        return _document_table(corpus, rows, ["topic"], "proportion", frame)

    def similar(
        self,
        corpus: Corpus,
        document: int | str,
        n: int = 5,
        *,
        min_tokens: int = 10,
        threads: int | None = None,
        frame: FrameOption = "auto",
        progress: ProgressOption = "auto",
    ) -> Any:
        """Returns the documents whose topics are most similar to those of a document.

        ``document`` is a number (``int``, counted from 0) or a name (``str``). The distance is that
        of Hellinger, from 0 to 1.
        """
        check_corpus(corpus)
        key = document if isinstance(document, str) else whole_number(document, "document", most=2**63)
        query = _document_query(n, min_tokens, threads)
        with StepListener(progress) as listener:
            rows = self._core.similar_documents(corpus._core, key, query, listener)
        return _document_table(corpus, rows, [], "distance", frame)

    # ---------------------------------------------------------------- evaluation

    def perplexity(self, documents: Any, *, seed: int = 1, threads: int | None = None, progress: ProgressOption = "auto") -> float:
        """Returns the predictive perplexity of held-out documents; lower is better.

        A fifth of the tokens of every document is predicted from the others. This is a perplexity
        per token, comparable between all algorithms, and not a bound.
        """
        return float(self.evaluate(documents, seed=seed, threads=threads, progress=progress)["perplexity"])

    def evaluate(self, documents: Any, *, seed: int = 1, threads: int | None = None, progress: ProgressOption = "auto") -> dict[str, Any]:
        """Returns the predictive perplexity and the numbers of documents and tokens behind it."""
        count = thread_count(threads)
        corpus = documents_for(self, documents, count, progress)
        with StepListener(progress) as listener:
            return self._core.evaluate(corpus._core, random_seed(seed), count, listener)

    def coherence(
        self,
        documents: Any,
        measure: str = "c_npmi",
        *,
        n: int = 10,
        per_topic: bool = False,
        threads: int | None = None,
        progress: ProgressOption = "auto",
    ) -> Any:
        """Returns the coherence of the topics on documents; higher is better.

        ``measure`` is ``"c_npmi"``, ``"u_mass"``, ``"c_uci"`` or ``"c_v"``, defined as in gensim
        with whole documents as windows. ``n`` is the number of words per topic. With
        ``per_topic``, the result is an array, else the mean.
        """
        count = thread_count(threads)
        n = whole_number(n, "n", least=2)  # Coherence is about pairs of words.
        if not isinstance(measure, str):
            raise TypeError(f"measure must be a str, not {type(measure).__name__}")
        corpus = documents_for(self, documents, count, progress)
        with StepListener(progress) as listener:
            topics, mean = self._core.coherence(corpus._core, measure, n, count, listener)
        return topics if per_topic else mean

    # ---------------------------------------------------------------- report

    def report(
        self,
        corpus: Corpus | None = None,
        *,
        title: str | None = None,
        texts: bool | Path | Iterable[Path] = True,
        threads: int | None = None,
        progress: ProgressOption = "auto",
    ) -> Report:
        """Returns the interactive report, which a notebook shows inline.

        ``corpus`` adds documents and labels. ``texts`` says whether to show the beginnings of
        documents, or names the files that they may be read from.
        """
        if corpus is not None:
            self._warn_if_other(corpus)
        check_texts(title=title)
        if not isinstance(texts, (bool, str, os.PathLike, Iterable)):
            raise TypeError(f"texts must be a bool, a path or a list of paths, not {type(texts).__name__}")
        source = "" if corpus is None or corpus.path is None else corpus.path
        name = title or os.path.splitext(os.path.basename(source or os.fspath(self._path or "")))[0] or "topics"
        sources: list[Path] | None
        if isinstance(texts, bool):
            sources = [] if texts else None
        else:
            sources = [texts] if isinstance(texts, (str, os.PathLike)) else list(texts)
        options = {
            "title": name,
            "input": source,
            "command": _training_command(self.training),
            "texts": sources,
            "threads": thread_count(threads),
        }
        with StepListener(progress) as listener:
            page = self._core.report(None if corpus is None else corpus._core, options, listener)
        return Report(page)

    # ---------------------------------------------------------------- files

    def save(self, path: Path) -> None:
        """Writes the model to a file, which :func:`load_model` and the command line read."""
        self._core.save(path)

    def to_bytes(self) -> bytes:
        """Returns the bytes of a model file with this model."""
        return self._core.to_bytes()

    # ---------------------------------------------------------------- other packages

    def to_gensim(self) -> Any:
        """Returns a gensim ``LdaModel``, for gensim's ``CoherenceModel`` and pyLDAvis."""
        from ._compat import to_gensim

        return to_gensim(self)

    def to_pyldavis(self, corpus: Corpus, *, threads: int | None = None, **options: Any) -> Any:
        """Returns the prepared data of pyLDAvis; ``options`` go to ``pyLDAvis.prepare``."""
        from ._compat import to_pyldavis

        check_corpus(corpus)
        return to_pyldavis(self, corpus, threads, **options)

    def to_sklearn(self) -> Any:
        """Returns a fitted :class:`tinylda.sklearn.LDA` with this model."""
        from .sklearn import LDA

        return LDA._of_model(self)

    def to_octis(self, documents: Any = None) -> dict[str, Any]:
        """Returns the output of a model in OCTIS: topics and matrices."""
        from ._compat import to_octis

        return to_octis(self, documents)

    # ---------------------------------------------------------------- protocol

    def _warn_if_other(self, corpus: Corpus) -> None:
        check_corpus(corpus)
        if not self._core.describes(corpus._core):
            warnings.warn(
                "the model was trained on another corpus; results describe how it sees these documents",
                TinyldaWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        return f"<Model: {self.k} topics, {self.n_words:,} words>"

    def __eq__(self, other: object) -> bool:
        return self.to_bytes() == other.to_bytes() if isinstance(other, Model) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.k, self.n_words, self.training["train_perplexity"]))

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[Any, ...]]:
        return _model_from_bytes, (self.to_bytes(), self._summary)


def _model_from_bytes(data: bytes, summary: dict[str, Any]) -> Model:
    """Restores a pickled model."""
    return Model(_core.Model.from_bytes(data), summary=summary)


def load_model(path: Path) -> Model:
    """Reads a model file, written by :meth:`Model.save` or by the command line."""
    return Model(_core.Model.load(path), path=path)


def _training_command(training: Mapping[str, Any]) -> str:
    """Returns the call that trained a model, with the settings that were given."""
    settings = {"topics": None, "seed": training["seed"], **training["settings"]}
    arguments = [f"{'k' if name == 'topics' else name}={value!r}" for name, value in settings.items()]
    if "seeds" in dict(training.get("checksums") or ()):
        arguments.append("seeds=...")
    return f"tinylda.train(corpus, {', '.join(arguments)})"


def _document_table(
    corpus: Corpus, rows: Iterable[tuple[Any, ...]], first: list[str], value: str, kind: FrameOption
) -> Any:
    """Returns rows of (..., number, name, labels, date, tokens, value) as a table."""
    columns: dict[str, list[Any]] = {name: [] for name in [*first, "document"]}
    if corpus._core.has_names:
        columns["name"] = []
    labels = corpus.label_columns
    columns.update({name: [] for name in labels})
    if corpus._core.has_dates:
        columns["date"] = []
    columns.update({"tokens": [], value: []})
    for row in rows:
        *head, number, name, values, date, tokens, score = row
        for title, item in zip(first, head):
            columns[title].append(item)
        columns["document"].append(number)
        if "name" in columns and corpus._core.has_names:
            columns["name"].append(name)
        for title, labels_of in zip(labels, values):
            columns[title].append("; ".join(labels_of))
        if corpus._core.has_dates:
            columns["date"].append(date)
        columns["tokens"].append(tokens)
        columns[value].append(score)
    return _frame(columns, kind)


def _ranking_weight(by: str, weight: float | None) -> float | None:
    """Checks the options of a ranking of words and returns its weight."""
    if not isinstance(by, str):
        raise TypeError(f"by must be a str, not {type(by).__name__}")
    return None if weight is None else real_number(weight, "weight")


def _document_query(n: int, min_tokens: int, threads: int | None) -> dict[str, int]:
    """Returns the options of a search for documents."""
    return {
        "n": whole_number(n, "n"),
        "min_tokens": whole_number(min_tokens, "min_tokens", most=2**63),
        "threads": thread_count(threads),
    }


def _largest(theta: NDArray[np.float32], top: int) -> csr_matrix:
    """Returns the largest values of every row as a sparse matrix."""
    import numpy as np
    from scipy.sparse import csr_matrix

    rows, topics = theta.shape
    count = min(top, topics)
    if rows == 0:
        return csr_matrix(theta.shape, dtype=theta.dtype)
    chosen = np.sort(np.argpartition(-theta, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(theta, chosen, axis=1)
    starts = np.arange(0, rows * count + 1, count)
    return csr_matrix((values.ravel(), chosen.ravel(), starts), shape=theta.shape)


def _warn_of_unknown_words(known: int, unknown: int) -> None:
    if unknown > known:
        share = 100 * unknown / (known + unknown)
        warnings.warn(
            f"the model does not know {share:.0f}% of the tokens; was it trained on other documents?",
            TinyldaWarning,
            stacklevel=3,
        )
