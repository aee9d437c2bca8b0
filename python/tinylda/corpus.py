"""Corpora: documents as counts of words, in memory or in a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _arrays, _core
from ._options import (
    Memory,
    check_paths,
    check_texts,
    memory_bytes,
    optional_number,
    random_seed,
    real_number,
    strings,
    thread_count,
    word_options,
)
from ._progress import ProgressOption, StepListener, logger
from .errors import InputError, NoWordsError, ParameterError, TinyldaWarning

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from .model import Model

__all__ = ["Corpus", "import_corpus", "read_corpus"]

#: A path of a file or folder.
Path = Union[str, "os.PathLike[str]"]

#: Limit of word ids of gensim: a corpus takes memory for every number up to the largest one.
_MAX_GENSIM_WORDS = 2**27

_FORBIDDEN_LABELS = ("__text__", "__id__", "__date__")


class Corpus:
    """A collection of documents as counts of words.

    Create one with :meth:`from_texts`, :meth:`from_csr`, :meth:`from_tokens`,
    :meth:`from_gensim`, :meth:`from_anndata`, :func:`import_corpus` or :func:`read_corpus`.

    A corpus never changes. One in memory takes 2 to 3 bytes per non-zero; one in a file takes
    almost no memory, whatever its size.

    Examples
    --------
    >>> import tinylda
    >>> corpus = tinylda.Corpus.from_texts(["cats chase mice", "dogs chase cats"])
    >>> corpus
    <Corpus: 2 documents, 4 words, 6 tokens, in memory>
    >>> corpus.vocabulary
    ['cats', 'chase', 'dogs', 'mice']
    """

    def __init__(self, core: _core.Corpus, summary: Mapping[str, Any] | None = None) -> None:
        if not isinstance(core, _core.Corpus):
            raise TypeError("create a corpus with Corpus.from_texts, Corpus.from_csr, import_corpus or read_corpus")
        self._core = core
        self._summary = dict(summary or {})
        self._vocabulary: list[str] | None = None

    # ---------------------------------------------------------------- creation

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        names: Any = None,
        labels: Any = None,
        dates: Any = None,
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
        to: Path | None = None,
        memory: Memory | None = None,
        threads: int | None = None,
        progress: ProgressOption = "auto",
    ) -> Corpus:
        """Creates a corpus from texts.

        Parameters
        ----------
        texts : iterable of str
            The documents: a list, a generator, or a column of pandas, polars, Arrow or DuckDB. They
            are written to a temporary file while they are read, so that they need not fit in
            memory.
        names, labels, dates : iterable, optional
            Name, labels and date of every document. A document may have several labels (a list).
            Several label columns are given as a dictionary or a data frame. Dates are dates,
            ISO texts, years or Unix times.
        language : str or list of str, optional
            Language of the texts, such as ``"en"``; detected by default.
        stop_words : str, list of str or None
            ``"auto"`` removes those of the detected language, ``None`` removes none. Lists such as
            ``"en"`` or ``"en-long"``, or files with one word per line.
        token_pattern : str, optional
            Regular expression whose matches are the words.
        lowercase, strip_accents, numbers, noise : bool
            Whether to lower the case, to remove accents, and to keep numbers and tokens that are no
            words (addresses, identifiers).
        min_length, max_length : int, optional
            Shortest and longest word, in characters.
        segmentation : {"auto", "dictionary", "spaces", "none"}
            How Chinese, Japanese, Thai, Lao, Burmese and Khmer are split into words.
        stem : str, optional
            Language in which words are reduced to their stems.
        min_docs, max_docs : int or float, optional
            Drop words in fewer or more documents; ``max_docs=0.5`` is a fraction of them.
        max_words : int, optional
            Keep the words that occur in the most documents.
        phrases : bool or float, optional
            Join words that often follow each other, such as ``new_york``.
        vocabulary : iterable of str, optional
            Use these words and no others.
        to : path, optional
            Write the corpus to this file instead of keeping it in memory.
        memory : int or str, optional
            Memory of the import, such as ``"1GiB"``.
        threads : int, optional
            Number of threads; all cores by default. The result does not depend on it.
        progress : bool or "auto"
            Whether to show a progress bar.
        """
        words = word_options(
            language=language,
            stop_words=stop_words,
            token_pattern=token_pattern,
            lowercase=lowercase,
            strip_accents=strip_accents,
            min_length=min_length,
            max_length=max_length,
            numbers=numbers,
            noise=noise,
            segmentation=segmentation,
            stem=stem,
            min_docs=min_docs,
            max_docs=max_docs,
            max_words=max_words,
            phrases=phrases,
            vocabulary=vocabulary,
        )
        check_paths(to=to)
        resources = {"threads": thread_count(threads), "memory": memory_bytes(memory), "output": to}
        file = _write_texts(texts, names, labels, dates)
        if not file.documents:
            raise InputError("there are no texts")
        with StepListener(progress) as listener:
            core, summary = file.import_(words, None, resources, listener)
        return cls._imported(core, summary)

    @classmethod
    def from_csr(
        cls,
        matrix: Any,
        *,
        vocabulary: Any = None,
        names: Any = None,
        labels: Any = None,
        dates: Any = None,
    ) -> Corpus:
        """Creates a corpus from a matrix of counts, documents by words.

        ``matrix`` is a sparse matrix or array of SciPy, a NumPy array, or a data frame. A CSR
        matrix is read in place and not kept; other threads must not change it meanwhile. Counts are
        whole numbers of any type; duplicates are added up. ``vocabulary`` names the words: a list,
        or the ``vocabulary_`` of a ``CountVectorizer`` (the columns of a data frame do so
        themselves).

        >>> import numpy as np, tinylda
        >>> tinylda.Corpus.from_csr(np.array([[2, 0, 1], [0, 1, 0]]), vocabulary=["a", "b", "c"])
        <Corpus: 2 documents, 3 words, 4 tokens, in memory>
        """
        if hasattr(matrix, "columns") and hasattr(matrix, "to_numpy"):
            vocabulary = list(matrix.columns) if vocabulary is None else vocabulary
            if names is None and hasattr(matrix, "index"):
                names = list(matrix.index)
            matrix = matrix.to_numpy()
        indptr, indices, data, columns = _arrays.csr_parts(matrix)
        words = _arrays.texts(vocabulary, "vocabulary")
        if words is not None and len(words) != columns:
            raise ParameterError(
                f"vocabulary must have {columns} words, one for each column, not {len(words)}",
                parameter="vocabulary",
            )
        details = _details(words, names, labels, dates)
        return cls(_packed(indptr, indices, data, columns, details))

    @classmethod
    def from_tokens(
        cls,
        documents: Iterable[Iterable[str]],
        *,
        names: Any = None,
        labels: Any = None,
        dates: Any = None,
    ) -> Corpus:
        """Creates a corpus from documents that are lists of words, for example of spaCy.

        >>> import tinylda
        >>> tinylda.Corpus.from_tokens([["cat", "mouse", "cat"], ["dog"]]).vocabulary
        ['cat', 'dog', 'mouse']
        """
        from array import array

        import numpy as np

        ids: dict[str, int] = {}
        indptr, indices = array("q", [0]), array("i")
        for number, document in enumerate(_arrays.column(documents, "documents")):
            if isinstance(document, str):
                raise TypeError(
                    f"document {number} is a text, expected a list of words; use Corpus.from_texts for texts"
                )
            if not isinstance(document, Iterable):
                raise TypeError(f"document {number}: expected a list of words, found {type(document).__name__}")
            for word in document:
                if not isinstance(word, str):
                    raise TypeError(f"document {number}: expected words as str, found {type(word).__name__}")
                indices.append(ids.setdefault(word, len(ids)))
            indptr.append(len(indices))
        if "" in ids:
            raise InputError("a word is an empty text; remove empty words, as in [word for word in words if word]")
        order = _arrays.texts(sorted(ids), "documents") or []
        rank = np.empty(len(ids), dtype=np.int32)
        for new, word in enumerate(order):
            rank[ids[word]] = new
        columns = rank[np.frombuffer(indices, dtype=np.int32)] if len(indices) else np.empty(0, np.int32)
        core = _core.Corpus.from_csr(
            np.frombuffer(indptr, dtype=np.int64),
            columns,
            np.ones(len(columns), dtype=np.uint8),
            len(order),
            _details(order, names, labels, dates),
        )
        return cls(core)

    @classmethod
    def from_gensim(
        cls,
        documents: Iterable[Iterable[tuple[int, float]]],
        id2word: Any = None,
        *,
        names: Any = None,
        labels: Any = None,
        dates: Any = None,
    ) -> Corpus:
        """Creates a corpus from documents in gensim's form: lists of (word id, count).

        ``id2word`` is a gensim ``Dictionary`` or a mapping of ids to words. ``names``, ``labels``
        and ``dates`` are as in :meth:`from_csr`.
        """
        from array import array

        import numpy as np

        indptr, indices, data = array("q", [0]), array("q"), array("d")
        for number, document in enumerate(_arrays.column(documents, "documents")):
            if not isinstance(document, Iterable):
                raise TypeError(f"document {number}: expected a list of (word id, count), found {type(document).__name__}")
            for entry in document:
                try:
                    word, count = entry
                    indices.append(word)
                    data.append(count)
                except (TypeError, ValueError, OverflowError):
                    raise InputError(
                        f"document {number}: expected pairs of a whole word id and a count, found {entry!r}", row=number
                    ) from None
                if word < 0:
                    raise InputError(f"document {number}: a word id must not be negative, found {word}", row=number)
            indptr.append(len(indices))
        ids = np.frombuffer(indices, dtype=np.int64) if len(indices) else np.empty(0, np.int64)
        words = int(ids.max(initial=-1)) + 1
        if words > _MAX_GENSIM_WORDS:
            raise InputError(f"the largest word id is {words - 1}; number the words from 0 without such gaps")
        vocabulary = None
        if id2word is not None:
            vocabulary = _names_of_ids(id2word, words)
            words = len(vocabulary)
        core = _packed(
            np.frombuffer(indptr, dtype=np.int64),
            ids,
            np.frombuffer(data, dtype=np.float64) if len(data) else np.empty(0, np.float64),
            words,
            _details(vocabulary, names, labels, dates),
        )
        return cls(core)

    @classmethod
    def from_anndata(cls, adata: Any, *, layer: str | None = None, labels: str | Iterable[str] | None = None) -> Corpus:
        """Creates a corpus from an AnnData object: cells are documents, genes or peaks are words.

        ``layer`` is the layer with raw counts, ``None`` for ``X``; ``labels`` are columns of
        ``obs``. An object that is backed by a file is read from the file, not into memory, unless
        it is a view of another one or ``labels`` are given.
        """
        cls._check_cells(adata)
        for name in strings(labels, "labels"):
            if name not in adata.obs:
                raise ParameterError(f"labels must be columns of adata.obs, not {name!r}", parameter="labels")
        if layer is not None and layer not in adata.layers:
            known = ", ".join(map(repr, adata.layers)) or "the object has none"
            raise ParameterError(f"layer must be one of adata.layers ({known}), not {layer!r}", parameter="layer")
        columns = {
            name: [None if _arrays.is_missing(value) else str(value) for value in adata.obs[name]]
            for name in strings(labels, "labels")
        }
        backed = getattr(adata, "isbacked", False) and adata.filename is not None
        if backed and not columns and not getattr(adata, "is_view", False):
            corpus = import_corpus(adata.filename, format="h5ad", layer=layer, progress=False)
            # The object may have been renamed since the file was opened.
            if corpus.names == list(adata.obs_names) and corpus.vocabulary == list(adata.var_names):
                return corpus
        matrix = adata.X if layer is None else adata.layers[layer]
        if getattr(adata, "isbacked", False) and hasattr(matrix, "to_memory"):
            matrix = matrix.to_memory()
        if matrix is None:
            raise InputError("the object has no matrix X; name the layer with the counts, as in layer=\"counts\"")
        try:
            return cls.from_csr(
                matrix,
                vocabulary=list(adata.var_names),
                names=list(adata.obs_names),
                labels=columns or None,
            )
        except InputError as error:
            remedy = "topic models need raw counts: name their layer, as in layer=\"counts\""
            message = f"{str(error).removesuffix(f'; {error.remedy}')}; {remedy}"
            raise InputError(message, row=error.row, column=error.column, remedy=remedy) from None

    @staticmethod
    def _check_cells(adata: Any) -> None:
        """Refuses what is no AnnData object, and features with equal names."""
        if not hasattr(adata, "var_names") or not hasattr(adata, "layers"):
            raise TypeError(f"expected an AnnData object, not {type(adata).__name__}")
        if not adata.var_names.is_unique:
            raise InputError("several features have the same name; call adata.var_names_make_unique() first")

    @classmethod
    def _imported(cls, core: _core.Corpus, summary: Mapping[str, Any]) -> Corpus:
        """Wraps an imported corpus, and logs and warns of what was guessed and dropped."""
        _report_import(core, summary)
        return cls(core, summary)

    # ---------------------------------------------------------------- content

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return self._core.shape[0]

    @property
    def n_words(self) -> int:
        """Number of words of the vocabulary."""
        return self._core.shape[1]

    @property
    def n_nonzeros(self) -> int:
        """Number of different (document, word) pairs."""
        return self._core.shape[2]

    @property
    def n_tokens(self) -> int:
        """Number of tokens: the sum of all counts."""
        return self._core.shape[3]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of documents and words, as of a matrix."""
        return self._core.shape[:2]

    def __len__(self) -> int:
        return self.n_documents

    @property
    def vocabulary(self) -> list[str] | None:
        """The words in the order of their numbers; ``None`` if they have no names."""
        if self._vocabulary is None:
            self._vocabulary = self._core.vocabulary()
        return self._vocabulary

    @property
    def names(self) -> list[str] | None:
        """Names of the documents."""
        return self._core.names() if self._core.has_names else None

    @property
    def dates(self) -> list[str] | None:
        """Dates of the documents; empty texts for documents without one."""
        return self._core.dates() if self._core.has_dates else None

    @property
    def label_columns(self) -> list[str]:
        """Names of the label columns."""
        return self._core.label_columns

    def labels(self, column: str | None = None) -> list[list[str]]:
        """Returns the labels of every document in a label column; by default the first one."""
        columns = self.label_columns
        if not columns:
            raise ParameterError("the corpus has no labels", parameter="column")
        name = columns[0] if column is None else column
        if name not in columns:
            raise ParameterError(f"column must be one of {', '.join(columns)}, not {name!r}", parameter="column")
        return self._core.labels(columns.index(name))

    @property
    def path(self) -> str | None:
        """Path of the corpus file; ``None`` for a corpus in memory."""
        path = self._core.path
        return None if path is None else os.fspath(path)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the corpus file, with names and labels."""
        return self._core.fingerprint

    @property
    def content_id(self) -> str:
        """Identifier of what a training depends on: documents and words, not file names."""
        return self._core.content_id

    @property
    def summary(self) -> dict[str, Any]:
        """What the import detected and dropped; empty for a corpus from counts or a corpus file."""
        return dict(self._summary)

    def to_csr(self) -> csr_matrix:
        """Returns the counts as a sparse matrix of SciPy, documents by words."""
        from scipy.sparse import csr_matrix

        indptr, indices, data = self._core.to_csr()
        return csr_matrix((data, indices, indptr), shape=self.shape)

    def split(
        self, test: float = 0.2, *, seed: int = 1, train_to: Path | None = None, test_to: Path | None = None
    ) -> tuple[Corpus, Corpus]:
        """Divides the documents at random into a training and a test part.

        Both parts are in memory, unless ``train_to`` and ``test_to`` name files.
        """
        check_paths(train_to=train_to, test_to=test_to)
        paths = [os.path.realpath(path) for path in (train_to, test_to, self.path) if path is not None]
        if len(set(paths)) < len(paths):
            raise ParameterError("train_to and test_to must be two files, and not that of the corpus", parameter="train_to")
        train, held_out = self._core.split(real_number(test, "test"), random_seed(seed), train_to, test_to)
        return Corpus(train), Corpus(held_out)

    def save(self, path: Path) -> None:
        """Writes the corpus to a file, which :func:`read_corpus` and the command line read."""
        self._core.save(path)

    # ---------------------------------------------------------------- protocol

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else self.path
        return (
            f"<Corpus: {self.n_documents:,} documents, {self.n_words:,} words, "
            f"{self.n_tokens:,} tokens, {place}>"
        )

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Corpus) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Callable[..., Corpus], tuple[Any, ...]]:
        if self.path is None:
            return _corpus_from_bytes, (self._core.to_bytes(), self._summary)
        return _corpus_from_file, (os.path.abspath(self.path), self.fingerprint, self._summary)


def _corpus_from_bytes(data: bytes, summary: Mapping[str, Any]) -> Corpus:
    """Restores a pickled corpus that was in memory."""
    return Corpus(_core.Corpus.from_bytes(data), summary)


def _corpus_from_file(path: str, fingerprint: str, summary: Mapping[str, Any]) -> Corpus:
    """Restores a pickled corpus that is in a file."""
    corpus = Corpus(_core.Corpus.open(path), summary)
    if corpus.fingerprint != fingerprint:
        raise InputError(f"{path} has changed since the corpus was pickled; open it with read_corpus", path=path)
    return corpus


def _details(vocabulary: list[str] | None, names: Any, labels: Any, dates: Any) -> dict[str, Any]:
    """Returns details of documents as the extension module expects them."""
    columns = _arrays.label_columns(labels)
    return {
        "vocabulary": vocabulary,
        "names": _arrays.texts(names, "names"),
        "label_columns": list(columns),
        "labels": [list(_arrays.label_values(values)) for values in columns.values()],
        "dates": None if dates is None else list(_arrays.date_values(dates)),
    }


def _packed(indptr: Any, indices: Any, data: Any, columns: int, details: Mapping[str, Any]) -> _core.Corpus:
    """Builds a corpus from the arrays of a CSR matrix, and adds the remedy to an error about a count."""
    try:
        return _core.Corpus.from_csr(indptr, indices, data, columns, dict(details))
    except InputError as error:
        if "expected a whole number" not in str(error):
            raise
        remedy = (
            "replace missing values by 0, and normalized values (TF-IDF, proportions, logarithms) by the counts "
            "that they come from; tinylda.sklearn.LDA accepts fractional counts"
        )
        raise InputError(f"{error}; {remedy}", row=error.row, column=error.column, remedy=remedy) from None


def _names_of_ids(id2word: Any, words: int) -> list[str]:
    """Returns the names of at least the first ``words`` words, from a mapping of ids or a list."""
    if not hasattr(id2word, "keys"):
        names = _arrays.texts(id2word, "id2word") or []
        if len(names) < words:
            raise ParameterError(f"id2word must have the names of all {words} words, not of {len(names)}", parameter="id2word")
        return names
    # For gensim's Dictionary, every call of keys() makes a list of all words.
    known = set(id2word.keys())
    wrong = next((i for i in known if not hasattr(i, "__index__") or i < 0), None)
    if wrong is not None:
        raise ParameterError(f"id2word must map ids to words; {wrong!r} is no id", parameter="id2word")
    least = max(words, max(known, default=-1) + 1)
    if least > 2 * (words + len(known)) + 1000:
        raise ParameterError(f"id2word has an id of {least - 1} for {len(known)} words; number the words from 0", parameter="id2word")
    return [str(id2word[i]) if i in known else f"word {i}" for i in range(least)]


def _write_texts(texts: Any, names: Any, labels: Any, dates: Any) -> _core.TextFile:
    """Writes texts and their details to a temporary file."""
    columns = _arrays.label_columns(labels)
    for name in columns:
        if "." in name or name in _FORBIDDEN_LABELS:
            reason = "names must not contain dots" if "." in name else "tinylda uses this name itself"
            raise ParameterError(f"a label column must not be called {name!r}: {reason}; rename it", parameter="labels")
    return _core.write_texts(
        _arrays.text_column(texts),
        None if names is None else iter(_arrays.texts(names, "names") or []),
        [(name, _arrays.label_values(values)) for name, values in columns.items()],
        None if dates is None else _arrays.date_values(dates),
    )


def _report_import(core: _core.Corpus, summary: Mapping[str, Any]) -> None:
    """Logs what an import detected, and warns of what may be wrong."""
    documents = core.shape[0]
    languages = ", ".join(summary.get("languages", ()))
    logger.info("read %d documents as %s%s", documents, summary.get("format"), f", language {languages}" if languages else "")
    for name, count in summary.get("dropped", {}).items():
        if count:
            logger.info("dropped %d tokens: %s", count, name.replace("_", " "))

    def warn(message: str) -> None:
        warnings.warn(message, TinyldaWarning, stacklevel=4)

    if summary.get("cut_into_characters"):
        warn("the text has no spaces between words: every character is a word")
    if summary.get("documents_with_replaced_bytes"):
        warn(f"{summary['documents_with_replaced_bytes']} documents contain bytes that are not UTF-8 and were replaced; set encoding=")
    if summary.get("dates_unreadable"):
        warn(f"{summary['dates_unreadable']} dates cannot be read; write dates as YYYY-MM-DD")
    for notes in summary.get("inputs", ()):
        if notes["skipped_files"]:
            name, found = notes["skipped_examples"][0]
            warn(f"{notes['skipped_files']} files of {notes['path']} were skipped, first {name}: {found}")
        if notes["skipped_rows"]:
            warn(f"{notes['skipped_rows']} rows of {notes['path']} were skipped: they have another number of columns")
        if notes["records_without_text"]:
            warn(f"{notes['records_without_text']} records of {notes['path']} have no text and were skipped")
    if documents == 1:
        warn("the corpus is a single document, and topics need many; give one text per document")


def read_corpus(path: Path) -> Corpus:
    """Opens a corpus file (``.tlc``). It takes almost no memory, whatever its size."""
    return Corpus(_core.Corpus.open(path))


def import_corpus(
    inputs: Path | Iterable[Path],
    *,
    to: Path | None = None,
    text: str | Iterable[str] | None = None,
    id: str | None = None,  # noqa: A002 (the name that users expect)
    label: str | Iterable[str] | None = None,
    date: str | None = None,
    tokens: str | None = None,
    doc_column: str | None = None,
    word_column: str | None = None,
    count_column: str | None = None,
    format: str | None = None,  # noqa: A002
    label_separator: str | None = None,
    label_from_folder: bool = False,
    glob: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    quotes: bool = True,
    strict: bool = False,
    vocabulary_file: Path | None = None,
    names_file: Path | None = None,
    first_id: int | None = None,
    skip_zeros: bool = False,
    transpose: bool = False,
    layer: str | None = None,
    memory: Memory | None = None,
    threads: int | None = None,
    progress: ProgressOption = "auto",
    **words: Any,
) -> Corpus:
    """Imports files into a corpus: text, CSV, JSON, Parquet, folders, zip, h5ad, npz, UCI and others.

    Parameters
    ----------
    inputs : path or list of paths
        Files or folders. Format, compression and encoding are detected.
    to : path, optional
        Corpus file to write. Without it the corpus is in memory.
    text, id, label, date : str or list of str, optional
        Columns or fields with the text, the name, the labels and the date of a document.
    tokens : str, optional
        Parquet: column with lists of words.
    doc_column, word_column, count_column : str, optional
        Parquet: columns of a table with one row per document and word.
    format : str, optional
        Format of the input, such as ``"csv"``, instead of the detected one.
    label_separator : str, optional
        Text between several labels in one column.
    label_from_folder : bool
        Folders: the subfolder of a file is its label.
    glob : str, optional
        Folders and zip archives: pattern of the files to read, such as ``"*.txt"``.
    encoding, delimiter, header : optional
        Encoding of text; delimiter of a table, and whether it has a header. Detected by default.
    quotes : bool
        Tables: whether quotes enclose values; otherwise they are ordinary characters.
    strict : bool
        Raise an error for everything that would be guessed, replaced or skipped.
    vocabulary_file, names_file : path, optional
        Bags of words: files with the words and the names of the documents, one per line.
    first_id : int, optional
        SVMlight and LDA-C: number of the first word; by default 1 and 0.
    skip_zeros : bool
        Bags of words: skip counts of zero instead of refusing them.
    transpose : bool
        Matrices: documents are the columns.
    layer : str, optional
        h5ad: layer with the counts.
    memory : int or str, optional
        Memory of the import, such as ``"1GiB"``.
    threads : int, optional
        Number of threads; all cores by default.
    progress : bool or "auto"
        Whether to show a progress bar.
    **words
        Options for words, as in :meth:`Corpus.from_texts`.
    """
    if hasattr(inputs, "columns"):
        raise TypeError("inputs must be paths of files, not a data frame; use Corpus.from_texts(frame[\"text\"])")
    if not isinstance(inputs, (str, os.PathLike, Iterable)):
        raise TypeError(f"inputs must be a path or a list of paths, not {type(inputs).__name__}")
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if not paths:
        raise ParameterError("inputs must name at least one file or folder", parameter="inputs")
    for path in paths:
        check_paths(inputs=path)
    check_paths(to=to, vocabulary_file=vocabulary_file, names_file=names_file)
    check_texts(
        id=id, date=date, tokens=tokens, doc_column=doc_column, word_column=word_column, count_column=count_column,
        format=format, label_separator=label_separator, glob=glob, encoding=encoding, delimiter=delimiter, layer=layer,
    )
    options = _file_options(
        format=format,
        text=strings(text, "text"),
        id=id,
        label=strings(label, "label"),
        date=date,
        tokens=tokens,
        doc_column=doc_column,
        word_column=word_column,
        count_column=count_column,
        label_separator=label_separator,
        label_from_folder=bool(label_from_folder),
        glob=glob,
        encoding=encoding,
        delimiter=delimiter,
        header=None if header is None else bool(header),
        quotes=bool(quotes),
        strict=bool(strict),
        vocabulary_file=vocabulary_file,
        names_file=names_file,
        first_id=optional_number(first_id, "first_id"),
        skip_zeros=bool(skip_zeros),
        transpose=bool(transpose),
        layer=layer,
        words_if_text=not words,
        threads=thread_count(threads),
        memory=memory_bytes(memory),
    )
    with StepListener(progress) as listener:
        core, summary = _core.import_(paths, to, options, word_options(**words), listener)
    return Corpus._imported(core, summary)


def _file_options(**given: Any) -> dict[str, Any]:
    """Returns options for files as the extension module expects them."""
    options: dict[str, Any] = dict.fromkeys(
        ("format", "id", "date", "tokens", "doc_column", "word_column", "count_column", "label_separator", "glob",
         "encoding", "delimiter", "header", "vocabulary_file", "names_file", "first_id", "layer", "memory")
    )
    options.update(text=[], label=[], label_from_folder=False, quotes=True, strict=False, skip_zeros=False)
    options.update(transpose=False, words_if_text=True, threads=1)
    options.update(given)
    return options


def check_corpus(corpus: Any) -> None:
    """Refuses what is no corpus."""
    if not isinstance(corpus, Corpus):
        raise TypeError(
            f"expected a tinylda.Corpus, not {type(corpus).__name__}; create one with Corpus.from_texts, "
            "Corpus.from_csr or read_corpus"
        )


def documents_for(model: Model, documents: Any, threads: int, progress: ProgressOption = False) -> Corpus:
    """Returns any form of documents as a corpus for a model.

    A corpus is used as it is. A matrix must have the model's words as columns. A path is imported,
    and an iterable of texts is tokenized, as for the model's training.
    """
    if isinstance(documents, Corpus):
        return documents
    if isinstance(documents, os.PathLike):
        path = os.fspath(documents)
        if path.endswith(".tlc"):
            return read_corpus(path)
        with StepListener(progress) as listener:
            core, summary = _core.import_for_model([path], _file_options(threads=threads), model._core, listener)
        return Corpus(core, summary)
    if isinstance(documents, str):
        raise TypeError("expected a list of texts, a matrix, a corpus or a pathlib.Path, not a single text; use [text]")
    if _is_matrix(documents):
        if hasattr(documents, "iloc") and not all(isinstance(name, str) for name in documents.columns):
            documents = documents.to_numpy()  # Its columns have numbers instead of names.
        corpus = Corpus.from_csr(documents)
        by_name = corpus.vocabulary is not None and model.vocabulary is not None
        if corpus.n_words != model.n_words and not by_name:
            raise InputError(
                f"the matrix has {corpus.n_words} columns, the model has {model.n_words} words; "
                "use the columns that the model was trained with"
            )
        return corpus
    file = _write_texts(documents, None, None, None)
    if file.documents:
        resources = {"threads": threads, "memory": None, "output": None}
        try:
            with StepListener(progress) as listener:
                core, summary = file.import_(None, model._core, resources, listener)
            return Corpus(core, summary)
        except NoWordsError:
            warnings.warn("the model knows no word of these texts", TinyldaWarning, stacklevel=3)
    import numpy as np

    return Corpus.from_csr(np.zeros((file.documents, model.n_words), dtype=np.int32))


def _is_matrix(documents: Any) -> bool:
    """Returns whether an object is a matrix of counts."""
    if _arrays.is_sparse(documents):
        return True
    if hasattr(documents, "columns") and hasattr(documents, "to_numpy"):
        return True
    import numpy as np

    return isinstance(documents, np.ndarray) and (documents.ndim != 1 or documents.dtype.kind not in "OUST")
