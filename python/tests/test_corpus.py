"""Corpora from everything that Python users have."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import tinylda
from tinylda import Corpus, TinyldaWarning
from tinylda.errors import InputError, ParameterError


def test_texts_from_any_iterable(texts, corpus):
    import pandas
    import polars
    import pyarrow

    options = {"language": "en", "progress": False}
    forms = [
        tuple(texts),
        (text for text in texts),
        pandas.Series(texts),
        polars.Series(texts),
        pyarrow.array(texts),
        pyarrow.chunked_array([texts[:50], texts[50:]]),
        np.array(texts),
        np.array(texts, dtype=object),
        polars.DataFrame({"text": texts}),
        polars.Series(texts, dtype=polars.Categorical),
        pandas.Series(texts, dtype="string[pyarrow]"),
        pandas.Series(texts, dtype=pandas.ArrowDtype(pyarrow.string())),
        pandas.Series(texts, dtype=object),
        pyarrow.array(texts, pyarrow.large_string()),
        pyarrow.array(texts, pyarrow.string_view()),
        pyarrow.array(texts).dictionary_encode(),
        pyarrow.table({"text": texts}),
    ]
    for form in forms:
        assert Corpus.from_texts(form, **options).content_id == corpus.content_id


def test_a_single_text_is_refused():
    with pytest.raises(TypeError, match="not a single text"):
        Corpus.from_texts("one text", progress=False)


def test_missing_and_broken_texts_are_named():
    with pytest.raises(TypeError, match="document 1 .*expected a str, found NoneType"):
        Corpus.from_texts(["a word", None], progress=False)
    with pytest.raises(TypeError, match="document 2 .*found float"):
        Corpus.from_texts(["a word", "b", float("nan")], progress=False)
    with pytest.raises(ValueError, match="document 0 .*lone surrogate"):
        Corpus.from_texts(["\ud800 word"], progress=False)


def test_arrow_columns_that_are_no_texts():
    import polars

    with pytest.raises(TypeError, match="document 1 .*found a missing value"):
        Corpus.from_texts(polars.Series(["a word", None]), progress=False)
    with pytest.raises(TypeError, match="expected a column of texts, found the type Int64"):
        Corpus.from_texts(polars.Series([1, 2]), progress=False)
    with pytest.raises(ValueError, match="expected one column, found 2"):
        Corpus.from_texts(polars.DataFrame({"a": ["x"], "b": ["y"]}), progress=False)


def test_arrow_texts_need_no_other_package(texts, corpus):
    """Any object with the method of Arrow's interface is read, without pyarrow."""
    import polars

    class Column:
        def __arrow_c_stream__(self, requested_schema=None):
            return polars.Series(texts).__arrow_c_stream__()

    assert Corpus.from_texts(Column(), language="en", progress=False).content_id == corpus.content_id


def test_strange_characters_are_read():
    texts = ["cat\0dog mouse", 'quote " back\\slash\nline\ttab', "naïve café \U0001f600"]
    corpus = Corpus.from_texts(texts * 2, stop_words=None, progress=False)
    assert corpus.n_documents == 6
    assert {"mouse", "quote", "slash", "line", "café"} <= set(corpus.vocabulary)


def test_a_generator_that_raises():
    def texts():
        yield "a text"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        Corpus.from_texts(texts(), progress=False)


def test_names_labels_and_dates(texts):
    import pandas

    documents = len(texts)
    corpus = Corpus.from_texts(
        texts,
        names=range(documents),
        labels={"theme": ["a"] * documents, "tags": [["x", "y"] if d % 2 else [] for d in range(documents)]},
        dates=[datetime.date(2020, 1, 1 + d % 28) for d in range(documents)],
        progress=False,
    )
    assert corpus.names[:2] == ["0", "1"]
    assert corpus.label_columns == ["theme", "tags"]
    assert corpus.labels("theme")[0] == ["a"]
    assert corpus.labels("tags")[:2] == [[], ["x", "y"]]
    assert corpus.dates[0] == "2020-01-01"
    frame = pandas.DataFrame({"theme": ["a"] * documents, "year": [2001.0] * documents})
    corpus = Corpus.from_texts(texts, labels=frame["theme"], dates=frame["year"], progress=False)
    assert corpus.label_columns == ["theme"] and corpus.dates[0] == "2001"
    with pytest.raises(ParameterError, match="column must be one of theme"):
        corpus.labels("other")
    with pytest.raises(ValueError, match="is missing: there are more texts"):
        Corpus.from_texts(texts, names=["one"], progress=False)


def test_options_for_words():
    texts = ["The running dogs ran in 2020", "A dog runs"] * 3
    corpus = Corpus.from_texts(texts, language="en", stem="en", numbers=True, progress=False)
    assert "run" in corpus.vocabulary and "2020" in corpus.vocabulary and "the" not in corpus.vocabulary
    corpus = Corpus.from_texts(texts, stop_words=None, lowercase=False, progress=False)
    assert "The" in corpus.vocabulary
    corpus = Corpus.from_texts(texts, vocabulary=["dog", "dogs"], progress=False)
    assert corpus.vocabulary == ["dog", "dogs"]
    assert corpus.summary["dropped"]["not_in_vocabulary"] > 0
    with pytest.raises(ParameterError) as error:
        Corpus.from_texts(texts, segmentation="what", progress=False)
    assert error.value.parameter == "segmentation"


def test_csr_of_any_type(counts):
    expected = Corpus.from_csr(counts).content_id
    dense = counts.toarray()
    for dtype in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split():
        assert Corpus.from_csr(counts.astype(dtype) if dtype != "float16" else dense.astype(dtype)).content_id == expected
    for form in ("csc", "coo", "lil", "dok", "bsr"):
        assert Corpus.from_csr(counts.asformat(form)).content_id == expected
    assert Corpus.from_csr(sparse.csr_array(counts)).content_id == expected
    assert Corpus.from_csr(np.asfortranarray(dense)).content_id == expected
    assert Corpus.from_csr(dense[:, ::-1][:, ::-1]).content_id == expected
    assert Corpus.from_csr(dense.astype(">i4")).content_id == expected
    read_only = dense.copy()
    read_only.flags.writeable = False
    assert Corpus.from_csr(read_only).content_id == expected
    wide = counts.copy()
    wide.indices = wide.indices.astype(np.int64)
    wide.indptr = wide.indptr.astype(np.int64)
    assert Corpus.from_csr(wide).content_id == expected
    assert Corpus.from_csr(dense > 1).n_tokens == int((dense > 1).sum())


def test_unsorted_rows_duplicates_and_zeros():
    matrix = sparse.csr_matrix(([1, 2, 3, 0], [2, 0, 2, 1], [0, 4]), shape=(1, 3))
    result = Corpus.from_csr(matrix).to_csr().toarray()
    assert result.tolist() == [[2, 0, 4]]


@pytest.mark.parametrize(
    ("value", "found"), [(-1.0, "-1.0"), (0.5, "0.5"), (float("nan"), "NaN"), (float("inf"), "inf"), (2.0**40, "10995")]
)
def test_invalid_counts_are_named(value, found):
    dense = np.ones((3, 4))
    dense[1, 2] = value
    with pytest.raises(InputError, match="row 1, column 2") as error:
        Corpus.from_csr(dense)
    assert found in str(error.value) and error.value.row == 1 and error.value.column == 2


@pytest.mark.parametrize("matrix", [np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), np.array([[1j]]), 5, None])
def test_what_is_no_matrix(matrix):
    with pytest.raises((InputError, TypeError)):
        Corpus.from_csr(matrix)


def test_corrupt_csr_arrays():
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indices = matrix.indices + 5
    with pytest.raises(InputError, match="column index"):
        Corpus.from_csr(matrix)


def test_wrong_lengths(counts):
    with pytest.raises(ParameterError, match="150 words"):
        Corpus.from_csr(counts, vocabulary=["a"])
    with pytest.raises(ParameterError, match="names"):
        Corpus.from_csr(counts, names=["a"])
    with pytest.raises(InputError, match="date"):
        Corpus.from_csr(np.ones((1, 1)), dates=["soon"])


def test_data_frames_name_words_and_documents():
    import pandas

    corpus = Corpus.from_csr(pandas.DataFrame({"cat": [1, 0], "dog": [2, 3]}, index=["a", "b"]))
    assert corpus.vocabulary == ["cat", "dog"] and corpus.names == ["a", "b"]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 1000), max_size=6), min_size=1, max_size=20))
def test_csr_round_trip(rows):
    dense = np.zeros((len(rows), 10), dtype=np.int64)
    for d, row in enumerate(rows):
        for word, count in row.items():
            dense[d, word] = count
    corpus = Corpus.from_csr(sparse.csr_matrix(dense))
    assert (corpus.to_csr().toarray() == dense).all()
    assert pickle.loads(pickle.dumps(corpus)) == corpus


def test_tokens_and_gensim():
    corpus = Corpus.from_tokens([["b", "a", "b"], [], ["c"]], names=["x", "y", "z"])
    assert corpus.vocabulary == ["a", "b", "c"]
    assert corpus.to_csr().toarray().tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 1]]
    same = Corpus.from_gensim([[(0, 1), (1, 2)], [], [(2, 1.0)]], {0: "a", 1: "b", 2: "c"}, names=["x", "y", "z"])
    assert same == corpus
    with pytest.raises(TypeError, match="from_texts"):
        Corpus.from_tokens(["a text"])


def test_empty_corpora():
    for empty in (Corpus.from_tokens([]), Corpus.from_csr(np.zeros((0, 3))), Corpus.from_csr(np.zeros((3, 3)))):
        assert empty.n_tokens == 0
        with pytest.raises(ValueError):
            tinylda.train(empty, k=2, progress=False)


def test_files(tmp_path: Path, corpus):
    path = tmp_path / "c.tlc"
    corpus.save(path)
    read = tinylda.read_corpus(path)
    assert read == corpus and read.path == str(path) and read.labels() == corpus.labels()
    for form in (pickle.loads(pickle.dumps(read)), copy.deepcopy(read)):
        assert form.path == str(path) and form == corpus
    stored = pickle.dumps(read)
    Corpus.from_tokens([["other"]]).save(path)
    with pytest.raises(InputError, match="has changed"):
        pickle.loads(stored)
    with pytest.raises(FileNotFoundError):
        tinylda.read_corpus(tmp_path / "missing.tlc")
    with pytest.raises(tinylda.errors.FileFormatError):
        (tmp_path / "text.tlc").write_text("no corpus")
        tinylda.read_corpus(tmp_path / "text.tlc")


def test_import_of_files(tmp_path: Path, texts):
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps({"body": text, "id": str(d)}) + "\n" for d, text in enumerate(texts)))
    corpus = tinylda.import_corpus(lines, text="body", id="id", language="en", progress=False)
    assert corpus.n_documents == len(texts) and corpus.names[3] == "3" and corpus.path is None
    stored = tinylda.import_corpus(lines, text="body", id="id", language="en", to=tmp_path / "c.tlc", progress=False)
    assert stored == corpus
    table = tmp_path / "t.csv"
    table.write_text("review,kind\n" + "".join(f"{text},k\n" for text in texts))
    corpus = tinylda.import_corpus(str(table), text="review", label="kind", progress=False)
    assert corpus.labels()[0] == ["k"] and corpus.summary["inputs"][0]["text"] == ["review"]
    with pytest.raises(ValueError, match="text"):
        table.write_text("x,y\n" + "".join(f"{text},k\n" for text in texts))
        tinylda.import_corpus(table, progress=False)
    with pytest.raises(FileNotFoundError):
        tinylda.import_corpus(tmp_path / "nothing.csv", progress=False)
    with pytest.raises(TypeError):
        tinylda.import_corpus(lines, unknown_option=1, progress=False)


def test_one_document_warns():
    with pytest.warns(TinyldaWarning, match="single document"):
        Corpus.from_texts(["just one text here"], progress=False)


def test_split(corpus, tmp_path):
    train, test = corpus.split(0.25, seed=3)
    assert (train.n_documents, test.n_documents) == (90, 30)
    again = corpus.split(0.25, seed=3, train_to=tmp_path / "a.tlc", test_to=tmp_path / "b.tlc")
    assert (again[0], again[1]) == (train, test)
    with pytest.raises(ParameterError):
        corpus.split(1.5)


def test_fields_and_columns_are_told_by_the_content(tmp_path):
    """The format decides whether `text` is a column or a field, not the name of the file."""
    lines = '{"title": "x", "words here": "cats chase mice"}\n{"title": "y", "words here": "dogs chase cats"}\n'
    table = "title,words here\nx,cats chase mice\ny,dogs chase cats\n"
    expected = None
    for name, content in [
        ("a.jsonl", lines),
        ("a.log", lines),
        ("a.json.csv", table),
        ("a.data", table),
        ("a.csv", lines),
        ("a.json", table),
    ]:
        path = tmp_path / name
        path.write_text(content)
        corpus = tinylda.import_corpus(path, text="words here", id="title", language="en", progress=False)
        assert corpus.names == ["x", "y"], name
        expected = corpus if expected is None else expected
        assert corpus.content_id == expected.content_id, name
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("inside.jsonl", lines)
    corpus = tinylda.import_corpus(tmp_path / "a.zip", text="words here", id="title", language="en", progress=False)
    assert corpus.vocabulary == expected.vocabulary and len(corpus) == 2
    both = tinylda.import_corpus(
        [tmp_path / "a.jsonl", tmp_path / "a.data"], text="words here", id="title", language="en", progress=False
    )
    assert both.names == ["x", "y", "x", "y"]


def test_options_of_bags_of_words(tmp_path):
    (tmp_path / "zero.uci").write_text("2\n3\n3\n1 1 2\n1 2 0\n2 3 1\n")
    with pytest.raises(InputError, match="skip_zeros"):
        tinylda.import_corpus(tmp_path / "zero.uci", format="uci", progress=False)
    corpus = tinylda.import_corpus(tmp_path / "zero.uci", format="uci", skip_zeros=True, progress=False)
    assert corpus.n_nonzeros == 2
    (tmp_path / "pairs.svm").write_text("0 0:2 1:1\n1 2:3\n")
    with pytest.raises(InputError, match="first_id=0"):
        tinylda.import_corpus(tmp_path / "pairs.svm", format="svmlight", progress=False)
    corpus = tinylda.import_corpus(tmp_path / "pairs.svm", format="svmlight", first_id=0, progress=False)
    assert corpus.shape == (2, 3)


def test_columns_of_a_table_of_counts(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"d": ["a", "a", "b"], "w": ["x", "y", "x"], "n": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "t.parquet")
    corpus = tinylda.import_corpus(
        tmp_path / "t.parquet", doc_column="d", word_column="w", count_column="n", progress=False
    )
    assert corpus.n_tokens == 6 and corpus.names == ["a", "b"] and corpus.vocabulary == ["x", "y"]
    with pytest.raises(InputError, match="expected a column for text"):
        tinylda.import_corpus(tmp_path / "t.parquet", text="nothing", progress=False)


def test_quotes_may_be_characters(tmp_path):
    (tmp_path / "q.csv").write_text('text\tid\n"cats chase mice\ta\ndogs chase cats\tb\n')
    corpus = tinylda.import_corpus(
        tmp_path / "q.csv", text="text", format="csv", delimiter="\t", quotes=False, language="en", progress=False
    )
    assert len(corpus) == 2


@pytest.mark.parametrize("detail", ["names", "labels", "dates"])
def test_surplus_details_are_refused(detail):
    texts = ["cats chase mice", "dogs chase cats"]
    values = {"names": ["a", "b", "c"], "labels": ["x", "y", "z"], "dates": ["2024", "2024", "2025"]}[detail]
    with pytest.raises(ValueError, match=f"{detail} .* 2 texts, not 3"):
        Corpus.from_texts(texts, progress=False, **{detail: values})
    with pytest.raises(ValueError, match="missing"):
        Corpus.from_texts(texts, progress=False, **{detail: values[:1]})


def test_missing_values_of_pandas():
    pandas = pytest.importorskip("pandas")
    matrix = np.ones((3, 2))
    labels = pandas.Series(["a", pandas.NA, None], dtype="string", name="kind")
    dates = pandas.Series([pandas.Timestamp("2024-05-31"), pandas.NaT, pandas.NaT])
    corpus = Corpus.from_csr(matrix, labels=labels, dates=dates)
    assert corpus.labels("kind") == [["a"], [], []]
    assert corpus.dates[0].startswith("2024-05-31") and corpus.dates[1:] == ["", ""]
    assert Corpus.from_csr(matrix, dates=[2024, pandas.NA, "2025"]).dates == ["2024", "", "2025"]
    texts = Corpus.from_texts(["cats chase mice"] * 3, labels=labels, language="en", progress=False)
    assert texts.labels("kind") == [["a"], [], []]
    with pytest.raises(TypeError, match="missing values"):
        Corpus.from_csr(matrix, names=["a", pandas.NA, "c"])


@pytest.mark.parametrize("wrong", [2.5, -1, -0.5, float("nan"), np.float32("nan"), float("inf")])
def test_max_docs_is_checked(wrong, texts):
    with pytest.raises(ParameterError) as error:
        Corpus.from_texts(texts, max_docs=wrong, progress=False)
    assert error.value.parameter == "max_docs"


def test_max_docs_is_a_count_or_a_fraction(texts):
    def words(max_docs):
        return Corpus.from_texts(texts, max_docs=max_docs, language="en", progress=False).n_words

    assert words(0.5) == words(np.float32(0.5)) == words(60) == words(60.0) == words(np.int64(60))


def test_unknown_keywords_are_refused_before_the_work():
    def documents():
        raise AssertionError("the documents were read")
        yield

    with pytest.raises(TypeError, match="unknown"):
        Corpus.from_gensim(documents(), unknown=1)


def test_errors_of_the_system_are_os_errors(tmp_path, corpus):
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        corpus.save(tmp_path / "file" / "c.tlc")
    with pytest.raises(FileNotFoundError):
        tinylda.import_corpus(tmp_path / "none", progress=False)


def test_the_corpus_file_is_called_as_in_python(tmp_path):
    (tmp_path / "a.csv").write_text("text,id\ncats chase mice,1\ndogs chase cats,2\n")
    with pytest.raises(ParameterError, match="^to must be another file"):
        tinylda.import_corpus(tmp_path / "a.csv", to=tmp_path / "a.csv", progress=False)


def test_what_is_no_column_of_texts():
    import pandas

    frame = pandas.DataFrame({"text": ["cats chase mice", "dogs chase cats"], "kind": ["a", "b"]})
    with pytest.raises(InputError, match="expected one column, found 2"):
        Corpus.from_texts(frame, progress=False)
    assert len(Corpus.from_texts(frame[["text"]], language="en", progress=False)) == 2
    with pytest.raises(TypeError, match="not a mapping"):
        Corpus.from_texts({"a": "cats chase mice"}, progress=False)


def test_messages_do_not_name_temporary_files():
    with pytest.raises(InputError, match="^there are no texts"):
        Corpus.from_texts([], progress=False)
    with pytest.raises(InputError, match="^texts contains no words"):
        Corpus.from_texts(["", ""], progress=False)
    with pytest.raises(InputError, match="^texts has 2 documents, none of which"):
        Corpus.from_texts(["cat dog", "dog"], vocabulary=["other"], progress=False)


def test_labels_in_lists_and_tables(texts):
    import polars
    import pyarrow

    lists = polars.Series("tags", [["x", "y"]] * len(texts))
    assert Corpus.from_texts(texts, labels=lists, progress=False).labels("tags")[0] == ["x", "y"]
    assert Corpus.from_csr(np.ones((2, 2)), labels=lists[:2]).labels("tags") == [["x", "y"]] * 2
    table = pyarrow.table({"kind": ["a"] * len(texts), "tags": [["x", "y"]] * len(texts)})
    corpus = Corpus.from_texts(texts, labels=table, progress=False)
    assert corpus.label_columns == ["kind", "tags"] and corpus.labels("tags")[0] == ["x", "y"]


@pytest.mark.parametrize("name", ["min_docs", "min_length", "max_length", "max_words", "threads", "memory"])
@pytest.mark.parametrize("wrong", [0.1, -1, 2**70, "many"])
def test_whole_numbers_are_checked(name, wrong, texts):
    with pytest.raises(ParameterError, match=name) as error:
        Corpus.from_texts(texts, progress=False, **{name: wrong})
    assert error.value.parameter == name
    assert Corpus.from_texts(texts, min_docs=2.0, memory=1e9, progress=False).n_words == 30


def test_arguments_that_make_no_sense(corpus, tmp_path):
    with pytest.raises(ParameterError, match="more than once"):
        Corpus.from_texts(["cat dog"], vocabulary=["cat", "cat"], progress=False)
    with pytest.raises(ParameterError, match="at least one file"):
        tinylda.import_corpus([], progress=False)
    with pytest.raises(InputError, match="masked"):
        Corpus.from_csr(np.ma.masked_array(np.ones((2, 2)), mask=[[0, 1], [0, 0]]))
    with pytest.raises(ParameterError, match="train_to and test_to"):
        corpus.split(0.2, train_to=tmp_path / "a.tlc", test_to=str(tmp_path / "a.tlc"))
    with pytest.raises(ParameterError, match="seed must be at least 0"):
        corpus.split(0.2, seed=-1)


def test_keys_of_a_dictionary_are_listed_once():
    """Every call of the method of gensim's Dictionary makes a list of all words."""

    class Dictionary(dict):
        calls = 0

        def keys(self):
            self.calls += 1
            return list(super().keys())

    words = Dictionary({i: f"w{i}" for i in range(50)})
    assert Corpus.from_gensim([[(i, 1) for i in range(50)]], words).vocabulary[49] == "w49"
    assert words.calls < 3


@pytest.mark.parametrize("name", ["vocabulary", "names", "labels", "dates"])
def test_details_that_are_no_columns(name):
    for wrong in (5, "text", object()):
        with pytest.raises(TypeError, match=f"^{name} must be a list or another iterable"):
            Corpus.from_csr(np.ones((3, 2)), **{name: wrong})
    surrogates = ["\ud800", "b", "c"][: 2 if name == "vocabulary" else 3]
    with pytest.raises(ParameterError, match=f"^{name} contains a lone surrogate"):
        Corpus.from_csr(np.ones((3, 2)), **{name: surrogates})


def test_the_vocabulary_of_a_vectorizer(texts):
    """Its words are numbered by the values of a dictionary, not by the order of the keys."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(texts)
    corpus = Corpus.from_csr(counts, vocabulary=vectorizer.vocabulary_)
    assert corpus.vocabulary == vectorizer.get_feature_names_out().tolist()
    assert list(vectorizer.vocabulary_) != corpus.vocabulary
    for wrong in ({"a": 0, "b": 0}, {"a": 1, "b": 2}, {"a": "x", "b": "y"}):
        with pytest.raises(ParameterError, match="numbers from 0 to 1"):
            Corpus.from_csr(np.ones((1, 2)), vocabulary=wrong)
    with pytest.raises(TypeError, match="not a set"):
        Corpus.from_csr(np.ones((1, 2)), vocabulary={"a", "b"})


def test_damaged_matrices():
    for name, damaged, problem in [
        ("indptr", np.array([0, 1, 2, 3, 3]), "length of 5, not 4"),
        ("indptr", np.array([0, np.nan, 2, 3]), "not integers"),
        ("indices", np.array([0.5, 1, 2]), "not integers"),
        ("data", np.ones((1, 3)), "one dimension"),
    ]:
        matrix = sparse.csr_matrix(np.eye(3))
        setattr(matrix, name, damaged)
        with pytest.raises(InputError, match=problem):
            Corpus.from_csr(matrix)


def test_counts_that_cannot_be_used_name_the_remedy():
    for wrong in (float("nan"), 0.5, -1):
        with pytest.raises(InputError, match="tinylda.sklearn.LDA accepts fractional counts") as error:
            Corpus.from_csr(np.array([[1, wrong]]))
        assert "by the counts that they come from" in error.value.remedy
    with pytest.raises(InputError, match="found NoneType"):
        Corpus.from_csr(None)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([(-1, 2)], "must not be negative"),
        ([(1.5, 2)], r"expected pairs .*\(1.5, 2\)"),
        ([("a", 2)], "expected pairs"),
        ([(2**70, 1)], "expected pairs"),
        ([(2**31, 1)], "largest word id"),
        ([(1, "x")], "expected pairs"),
        ([(1, 2, 3)], "expected pairs"),
        ([3], "expected pairs"),
        ([(1, 0.5)], "expected a whole number"),
    ],
)
def test_documents_of_gensim_are_checked(document, problem):
    with pytest.raises(InputError, match=problem) as error:
        Corpus.from_gensim([[(0, 1)], document])
    assert error.value.row == 1 or "largest" in problem


def test_words_of_gensim_are_checked():
    assert Corpus.from_gensim([[(0, 1)]], ["a", "b"]).vocabulary == ["a", "b"]
    assert Corpus.from_gensim([[(np.int32(2), np.float32(1))]], {0: "a"}).vocabulary == ["a", "word 1", "word 2"]
    for wrong in ({"a": 0}, {10**9: "a"}, {-1: "a"}, []):
        with pytest.raises(ParameterError, match="id2word"):
            Corpus.from_gensim([[(0, 1)]], wrong)
    with pytest.raises(TypeError, match="document 0: expected a list of"):
        Corpus.from_gensim([1, 2])


def test_tokens_are_checked():
    with pytest.raises(InputError, match="empty text"):
        Corpus.from_tokens([["a", ""]])
    with pytest.raises(ParameterError, match="lone surrogate"):
        Corpus.from_tokens([["a", "\ud800"]])
    with pytest.raises(TypeError, match="document 1: expected a list of words, found int"):
        Corpus.from_tokens([["a"], 3])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("language", 3), ("stop_words", 3), ("token_pattern", 3), ("segmentation", 3), ("stem", 3), ("to", 3)],
)
def test_options_of_a_wrong_type_are_named(texts, name, wrong):
    with pytest.raises(TypeError, match=f"^{name} must be a"):
        Corpus.from_texts(texts, progress=False, **{name: wrong})
    for phrases in ("yes", float("nan")):
        with pytest.raises(ParameterError, match="phrases must be a number"):
            Corpus.from_texts(texts, progress=False, phrases=phrases)


def test_files_are_expected(tmp_path):
    import pandas

    with pytest.raises(TypeError, match="not a data frame; use Corpus.from_texts"):
        tinylda.import_corpus(pandas.DataFrame({"text": ["cats chase mice"]}), progress=False)
    for inputs in (5, [5]):
        with pytest.raises(TypeError, match="inputs must be a path"):
            tinylda.import_corpus(inputs, progress=False)
    for name in ("to", "vocabulary_file", "format", "encoding", "layer"):
        with pytest.raises(TypeError, match=f"^{name} must be a"):
            tinylda.import_corpus(tmp_path / "a.csv", progress=False, **{name: 5})


def test_names_of_label_columns(texts):
    for create in (lambda labels: Corpus.from_csr(np.ones((2, 2)), labels=labels), lambda labels: Corpus.from_texts(texts[:2], labels=labels, progress=False)):
        assert create({1: ["a", "b"]}).label_columns == ["1"]
        with pytest.raises(ParameterError, match="must have a name"):
            create({"": ["a", "b"]})
        with pytest.raises(TypeError, match="labels must be texts or numbers"):
            create({"kind": [[["nested"]], []]})
    with pytest.raises(ParameterError, match="uses this name itself"):
        Corpus.from_texts(texts[:2], labels={"__text__": ["a", "b"]}, progress=False)


def test_corpora_and_models_are_not_created_directly(texts):
    with pytest.raises(TypeError, match="Corpus.from_texts"):
        Corpus(texts)
    for arguments in ((), (texts,)):
        with pytest.raises(TypeError, match="tinylda.train"):
            tinylda.Model(*arguments)
