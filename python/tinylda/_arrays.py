"""Conversion of matrices and columns of other packages."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._options import check_text
from .errors import InputError, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Number types that the extension module reads without a copy.
_VALUE_TYPES = ("int64", "int32", "float64", "float32", "uint64", "uint32", "uint8")


def is_sparse(matrix: Any) -> bool:
    """Returns whether an object is a sparse matrix or array of SciPy, without importing it."""
    return hasattr(matrix, "tocsr") and hasattr(matrix, "shape")


def csr_parts(matrix: Any) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any], int]:
    """Returns indptr, indices, data and the number of columns of a matrix.

    Arrays of a CSR matrix are not copied if they have a common type and are contiguous.
    """
    import numpy as np

    if is_sparse(matrix):
        if len(matrix.shape) != 2:
            raise InputError(f"expected a matrix with two dimensions, found {len(matrix.shape)}")
        csr = matrix if getattr(matrix, "format", "") == "csr" else matrix.tocsr()
        indptr, indices, data = csr.indptr, csr.indices, csr.data
        _check_csr_arrays(indptr, indices, data, csr.shape[0])
    else:
        if np.ma.is_masked(matrix):
            raise InputError("expected a matrix without masked values; replace them with matrix.filled(0)")
        dense = np.asarray(matrix)
        if dense.ndim == 0:
            raise InputError(f"expected a matrix of SciPy or NumPy, or a data frame, found {type(matrix).__name__}")
        if dense.ndim != 2:
            raise InputError(f"expected a matrix with two dimensions, found {dense.ndim}")
        if dense.dtype == object:
            try:
                dense = dense.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"expected a matrix of numbers: {error}") from None
        # NaN counts as non-zero, so that it is found and reported.
        rows, columns = np.nonzero(dense)
        counts = np.bincount(rows, minlength=dense.shape[0])
        indptr = np.concatenate([[0], np.cumsum(counts)])
        indices, data = columns, dense[rows, columns]
        csr = dense
    if data.dtype.kind not in "iufb":
        raise InputError(f"expected a matrix of real numbers, found the type {data.dtype}")
    if data.dtype.name not in _VALUE_TYPES:
        smaller = {"b": np.uint8, "i": np.int32, "u": np.uint32, "f": np.float32}[data.dtype.kind]
        data = data.astype(np.float64 if data.dtype.itemsize > 8 else smaller)
    if indices.dtype.name not in ("int32", "int64"):
        indices = indices.astype(np.int64)
    native = data.dtype.newbyteorder("=")
    return (
        np.ascontiguousarray(indptr, dtype=np.int64),
        np.ascontiguousarray(indices, dtype=indices.dtype.newbyteorder("=")),
        np.ascontiguousarray(data, dtype=native),
        int(csr.shape[1]),
    )


def _check_csr_arrays(indptr: Any, indices: Any, data: Any, rows: int) -> None:
    """Refuses arrays of a CSR matrix that do not belong together; their values are checked later."""
    for name, array in (("indptr", indptr), ("indices", indices), ("data", data)):
        if getattr(array, "ndim", None) != 1:
            raise InputError(f"the matrix is damaged: its {name} is no array with one dimension; build the matrix again")
        if name != "data" and array.dtype.kind not in "iu":
            raise InputError(f"the matrix is damaged: its {name} has the type {array.dtype}, not integers; build the matrix again")
    if len(indptr) != rows + 1:
        raise InputError(
            f"the matrix is damaged: it has {rows} rows, and its indptr has a length of {len(indptr)}, not {rows + 1}; "
            "build the matrix again"
        )


def text_column(values: Any) -> Any:
    """Returns a column of texts as the extension module reads it.

    The texts of Arrow columns (polars, pyarrow, DuckDB, columns of pandas that are stored as Arrow
    data) are read without creating Python objects: the result is a capsule with an Arrow stream.
    """
    if isinstance(values, Mapping):
        raise TypeError("expected a list or another iterable of texts, not a mapping; use its values()")
    first = values[0] if isinstance(values, (list, tuple)) and values else ""
    if isinstance(first, (list, tuple)):
        raise TypeError("expected texts, found a list; create a corpus of lists of words with Corpus.from_tokens")
    if isinstance(first, bytes):
        raise TypeError('expected texts, found bytes; decode them, as in [text.decode("utf-8") for text in texts]')
    if hasattr(values, "columns") and hasattr(values, "iloc"):  # Iterating over it yields its column names.
        if len(values.columns) != 1:
            raise InputError(f"expected one column, found {len(values.columns)}; select the one with the texts")
        values = values.iloc[:, 0]
    if hasattr(values, "__arrow_c_stream__"):
        of_pandas = type(values).__module__.partition(".")[0] == "pandas"
        dtype = getattr(values, "dtype", None)
        if not of_pandas or getattr(dtype, "storage", "") == "pyarrow" or hasattr(dtype, "pyarrow_dtype"):
            return values.__arrow_c_stream__()
    return column(values, "texts")


def column(values: Any, name: str) -> Iterable[Any]:
    """Returns a column of pandas, polars, Arrow or DuckDB as an iterable of Python values.

    ``name`` is the parameter that the column was given as.
    """
    if hasattr(values, "to_pylist"):  # Arrow arrays and columns: their items are scalars.
        return _arrow_values(values)
    if hasattr(values, "fetchall") and hasattr(values, "columns"):  # A relation of DuckDB.
        if len(values.columns) != 1:
            raise InputError(f"expected one column, found {len(values.columns)}")
        return (row[0] for row in values.fetchall())
    if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "__iter__"):
        import pyarrow

        return _arrow_values(pyarrow.chunked_array(values))
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} must be a list or another iterable, not a single text")
    if not isinstance(values, Iterable) and not hasattr(values, "__getitem__") or getattr(values, "ndim", 1) == 0:
        raise TypeError(f"{name} must be a list or another iterable, not {type(values).__name__}")
    return values  # type: ignore[no-any-return]


def _arrow_values(array: Any) -> Iterator[Any]:
    """Yields the values of an Arrow array, a part at a time."""
    for chunk in getattr(array, "chunks", [array]):
        for start in range(0, len(chunk), 4096):
            yield from chunk[start : start + 4096].to_pylist()


def texts(values: Any, name: str) -> list[str] | None:
    """Returns names of documents or words as texts; numbers are written as texts."""
    if values is None:
        return None
    if isinstance(values, (set, frozenset)):
        raise TypeError(f"{name} must be a list in the order of the matrix, not a set")
    if isinstance(values, Mapping):
        values = _by_number(values, name)
    return [_text(value, name) for value in column(values, name)]


def _by_number(values: Mapping[Any, Any], name: str) -> list[Any]:
    """Returns the names in a mapping of names to numbers, as ``CountVectorizer.vocabulary_`` is one."""
    try:
        by_number = {operator.index(number): key for key, number in values.items()}
        if len(by_number) == len(values):
            return [by_number[number] for number in range(len(values))]
    except (TypeError, KeyError):
        pass
    raise ParameterError(
        f"{name} must be a list, or a mapping of names to the numbers from 0 to {max(len(values) - 1, 0)}", parameter=name
    )


def is_missing(value: Any) -> bool:
    """Returns whether a value is None, NaN, NaT or ``pandas.NA``."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)  # noqa: PLR0124 (NaN)
    except (TypeError, ValueError):
        return False


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return check_text(value, name)
    if isinstance(value, (bool, bytes, Mapping, list, tuple, set)) or is_missing(value):
        raise TypeError(f"{name} must be texts or numbers, not {value!r}; replace missing values")
    return check_text(str(value), name)


def label_columns(labels: Any) -> dict[str, Any]:
    """Returns label columns by name, from a mapping, a data frame, or one column."""
    if labels is None:
        return {}
    if isinstance(labels, Mapping):
        return {_label_column(name): values for name, values in labels.items()}
    if hasattr(labels, "column_names"):  # A table of Arrow.
        return {_label_column(name): labels[name] for name in labels.column_names}
    if hasattr(labels, "columns") and hasattr(labels, "__getitem__"):
        return {_label_column(name): labels[name] for name in labels.columns}
    name = getattr(labels, "name", None)
    return {name if isinstance(name, str) and name else "label": labels}


def _label_column(name: Any) -> str:
    """Returns the name of a label column."""
    if name == "":
        raise ParameterError("a label column must have a name, which is not empty", parameter="labels")
    return check_text(str(name), "labels")


def label_values(values: Any) -> Iterator[list[str]]:
    """Yields the labels of every document: none, one or several."""
    return _label_values(column(values, "labels"))


def _label_values(values: Iterable[Any]) -> Iterator[list[str]]:
    for value in values:
        # Lists in columns of polars are columns of polars.
        is_list = isinstance(value, (list, tuple, set, frozenset)) or hasattr(value, "__arrow_c_stream__")
        if is_list or getattr(value, "ndim", 0) == 1:
            chosen = sorted(value) if isinstance(value, (set, frozenset)) else value
            yield [_text(item, "labels") for item in chosen]
        elif is_missing(value):
            yield []
        else:
            yield [_text(value, "labels")]


def date_values(values: Any) -> Iterator[str]:
    """Yields the dates of documents as texts: ISO dates, years, or empty."""
    return _date_values(column(values, "dates"))


def _date_values(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if is_missing(value):
            yield ""
        elif hasattr(value, "isoformat"):
            yield str(value.isoformat())
        elif isinstance(value, float) and value.is_integer():
            yield str(int(value))
        else:
            yield check_text(str(value), "dates")
