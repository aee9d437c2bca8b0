"""Models: topics, inference, evaluation, reports, files."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import tinylda
from tinylda import Corpus
from tinylda.errors import InputError, ParameterError


def test_parameters(model):
    assert model.k == 3 and model.n_words == 30
    assert model.components.shape == (3, 30) and np.allclose(model.components.sum(axis=1), 1)
    assert model.alpha.shape == (3,) and model.beta == pytest.approx(0.01)
    assert model.prevalence.sum() == pytest.approx(1)
    assert model.history[-1][1] == model.training["train_perplexity"]


def test_phi_is_a_read_only_view(model):
    phi = model.phi
    assert phi.shape == (30, 3) and phi.dtype == np.float32 and not phi.flags.writeable
    assert phi.base is not None and not phi.flags.owndata
    with pytest.raises(ValueError):
        phi[0, 0] = 1
    kept = tinylda.load_model  # the view outlives its model
    assert kept and np.allclose((phi + model.beta) / (phi + model.beta).sum(axis=0), model.components.T)


def test_view_outlives_the_model(counts):
    phi = tinylda.train(Corpus.from_csr(counts), k=3, passes=2, progress=False).phi
    copy_before = phi.copy()
    junk = [np.ones(1000) for _ in range(100)]
    assert (phi == copy_before).all() and junk


def test_topics_as_tables(model):
    import pandas
    import polars

    table = model.topics(4, frame="pandas")
    assert isinstance(table, pandas.DataFrame) and len(table) == 12
    assert list(table.columns) == ["topic", "share", "rank", "word", "probability", "lift", "score"]
    assert isinstance(model.topics(4, frame="polars"), polars.DataFrame)
    assert isinstance(model.topics(4, frame="dict"), dict)
    for by in ("relevance", "lift", "frex"):
        assert len(model.top_words(4, by=by)) == 3
    with pytest.raises(ParameterError, match="by must be"):
        model.topics(3, by="magic")
    with pytest.raises(ValueError, match="frame must be"):
        model.topics(3, frame="excel")


def test_transform_of_texts_matrices_and_corpora(model, corpus, texts, tmp_path):
    theta = model.transform(corpus, progress=False)
    assert theta.shape == (120, 3) and np.allclose(theta.sum(axis=1), 1, atol=1e-5)
    assert (model.transform(texts, progress=False) == theta).all()
    assert (model.transform(corpus.to_csr(), threads=1, progress=False) == theta).all()
    assert (model.transform(corpus.to_csr().toarray(), progress=False) == theta).all()
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(texts))
    assert (model.transform(path, progress=False) == theta).all()
    best = model.transform(corpus, top=1, progress=False)
    assert sparse.issparse(best) and best.nnz == 120
    assert (best.toarray().max(axis=1) == theta.max(axis=1)).all()
    assert theta[0].argmax() == theta[3].argmax() != theta[1].argmax()


def test_transform_refuses_what_does_not_fit(model):
    with pytest.raises(InputError, match="columns"):
        model.transform(np.ones((2, 7)), progress=False)
    with pytest.raises(TypeError, match="not a single text"):
        model.transform("a text", progress=False)
    with pytest.warns(tinylda.TinyldaWarning, match="knows no word"):
        assert np.allclose(model.transform(["unknown strange words"], progress=False), 1 / 3)
    with pytest.warns(tinylda.TinyldaWarning, match="does not know 75%"):
        model.transform(["unknown strange words goal"], progress=False)


def test_transform_of_nothing(model):
    assert model.transform(np.zeros((0, 30)), progress=False).shape == (0, 3)
    assert np.allclose(model.transform(np.zeros((2, 30)), progress=False), 1 / 3)


def test_documents_and_similar(model, corpus):
    table = model.documents(corpus, n=2, frame="dict", progress=False)
    assert len(table["topic"]) == 6 and "label" in table
    assert model.documents(corpus, n=2, topics=1, frame="dict", progress=False)["topic"] == [1, 1]
    near = model.similar(corpus, 0, n=3, frame="dict", progress=False)
    assert all(number % 3 == 0 for number in near["document"]) and 0 not in near["document"]
    with pytest.raises(ParameterError):
        model.documents(corpus, topics=99, progress=False)


def test_evaluation(model, corpus, texts, cli, tmp_path):
    perplexity = model.perplexity(corpus, progress=False)
    assert 5 < perplexity < 15
    assert model.perplexity(texts, threads=1, progress=False) == perplexity
    npmi = model.coherence(corpus, progress=False)
    assert 0 < npmi <= 1
    assert model.coherence(corpus, "u_mass", per_topic=True, progress=False).shape == (3,)
    with pytest.raises(ParameterError, match="measure"):
        model.coherence(corpus, "c_magic", progress=False)
    model.save(tmp_path / "m.model")
    corpus.save(tmp_path / "c.tlc")
    shown = cli("eval", tmp_path / "m.model", tmp_path / "c.tlc", "--json")
    import json

    assert json.loads(shown)["predictive_perplexity"] == pytest.approx(perplexity, rel=1e-12)


def test_similar_takes_numbers_and_names(model, counts):
    """A number is a number, even if the documents are named by numbers."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(counts.toarray(), columns=[f"w{i}" for i in range(150)])
    corpus = Corpus.from_csr(frame)
    assert corpus.names[:3] == ["0", "1", "2"]
    other = tinylda.train(corpus, k=3, passes=5, progress=False)
    unnamed = Corpus.from_csr(frame.to_numpy(), vocabulary=list(frame.columns))

    def near(source, document):
        found = other.similar(source, document, n=3, frame="dict", progress=False)
        return found["document"], found["distance"]

    for number in (0, 4, 399, np.int64(7)):
        assert near(corpus, number) == near(unnamed, number) == near(corpus, str(number))
    for wrong in (400, -1, "400", "a name"):
        with pytest.raises(ParameterError, match="document"):
            near(corpus, wrong)
    with pytest.raises(ParameterError, match="no names"):
        near(unnamed, "1")


def test_topics_may_be_an_array(model, corpus):
    for topics in (np.array([0, 2]), [0, 2], (np.int64(0), 2)):
        found = model.documents(corpus, n=1, topics=topics, frame="dict", progress=False)
        assert found["topic"] == [0, 2]
    for topic in (1, np.int64(1), np.array(1)):
        assert model.documents(corpus, n=1, topics=topic, frame="dict", progress=False)["topic"] == [1]
    with pytest.raises(ParameterError) as error:
        model.documents(corpus, topics=7, progress=False)
    assert error.value.parameter == "topics"


def test_the_report_names_the_settings(counts):
    vocabulary = [f"w{i}" for i in range(150)]
    corpus = Corpus.from_csr(counts, vocabulary=vocabulary)
    options = {"alpha": 0.5, "passes": 4, "optimize": True, "seeds": {"one": ["w1"]}}
    model = tinylda.train(corpus, k=3, seed=7, progress=False, **options)
    command = "tinylda.train(corpus, k=3, seed=7, alpha=0.5, optimize=True, passes=4, seeds=...)"
    assert command in model.report(progress=False).html


def test_phi_while_another_array_reads_it(model):
    views = [model.phi for _ in range(3)]
    assert all(not view.flags.writeable for view in views)
    assert memoryview(views[0]).readonly and (views[0] == views[2]).all()


def test_texts_without_a_known_word(model):
    with pytest.warns(tinylda.TinyldaWarning, match="knows no word"):
        assert model.transform(["entirely different"], progress=False).shape == (1, 3)
    assert model.transform([], progress=False).shape == (0, 3)


def test_other_errors_of_texts_are_raised(model, monkeypatch):
    """Only the absence of known words is replaced by a warning."""
    from tinylda import _core
    from tinylda.errors import InputError

    class Broken:
        documents = 1

        def import_(self, *_):
            raise InputError("the file is broken")

    monkeypatch.setattr(_core, "write_texts", lambda *_: Broken())
    with pytest.raises(InputError, match="broken"):
        model.transform(["ball"], progress=False)


def test_report(model, corpus, texts, tmp_path):
    report = model.report(corpus, title="Three <themes>", progress=False)
    assert "Three \\u003cthemes" in report.html or "Three" in report.html
    # The beginnings of documents are shown, though the corpus is in memory.
    assert texts[0][:40] in report.html
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "sandbox" in shown and "<script" not in shown
    report.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == report.html
    assert texts[0][:40] not in model.report(corpus, texts=False, progress=False).html
    assert model.report(progress=False).html
    other = Corpus.from_tokens([["goal", "team"]] * 30)
    with pytest.warns(tinylda.TinyldaWarning, match="another corpus"):
        model.report(other, progress=False)


def test_files_and_pickles(model, tmp_path, corpus):
    model.save(tmp_path / "m.model")
    assert tinylda.load_model(tmp_path / "m.model") == model
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other == model and hash(other) == hash(model)
        assert (other.transform(corpus, progress=False) == model.transform(corpus, progress=False)).all()
    with pytest.raises(FileNotFoundError):
        tinylda.load_model(tmp_path / "no.model")
    corpus.save(tmp_path / "c.tlc")
    with pytest.raises(tinylda.errors.FileFormatError, match="not a tinylda model"):
        tinylda.load_model(tmp_path / "c.tlc")
    with pytest.raises(tinylda.errors.FileFormatError):
        damaged = bytearray((tmp_path / "m.model").read_bytes())
        damaged[-10] ^= 1
        (tmp_path / "d.model").write_bytes(damaged)
        tinylda.load_model(tmp_path / "d.model")


def test_sklearn_view(model, corpus):
    lda = model.to_sklearn()
    assert np.allclose(lda.transform(corpus.to_csr()), model.transform(corpus, progress=False), atol=1e-6)


def test_a_corpus_is_expected(model, counts):
    for call in (model.documents, model.report, model.to_pyldavis, lambda other: model.similar(other, 0)):
        with pytest.raises(TypeError, match="expected a tinylda.Corpus, not csr_matrix"):
            call(counts)


def test_data_frames_are_matched_by_name(model, corpus):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(corpus.to_csr().toarray(), columns=corpus.vocabulary)
    expected = model.transform(corpus, progress=False)
    assert np.allclose(model.transform(frame[frame.columns[::-1]], progress=False), expected, atol=1e-3)
    assert model.transform(frame[frame.columns[:20]], progress=False).shape == (120, 3)
    unnamed = pandas.DataFrame(frame.to_numpy())
    assert (model.transform(unnamed, progress=False) == expected).all()


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda m, c: m.topics(-1), "n"),
        (lambda m, c: m.top_words(1.5), "n"),
        (lambda m, c: m.topics(3, by="relevance", weight=2), "weight"),
        (lambda m, c: m.topics(3, by="frex", weight=-1), "weight"),
        (lambda m, c: m.transform(c, top=0), "top"),
        (lambda m, c: m.documents(c, n=-1), "n"),
        (lambda m, c: m.documents(c, topics=-1), "topics"),
        (lambda m, c: m.similar(c, 2**70), "document"),
        (lambda m, c: m.perplexity(c, seed=-1), "seed"),
        (lambda m, c: m.coherence(c, n=1), "n"),
    ],
)
def test_errors_name_the_keyword(model, corpus, call, parameter):
    with pytest.raises(ParameterError, match=f"^{parameter} must be") as error:
        call(model, corpus)
    assert error.value.parameter == parameter


def test_texts_of_a_report_may_be_one_path(model, corpus, tmp_path):
    (tmp_path / "t.txt").write_text("other")
    assert model.report(corpus, texts=str(tmp_path / "t.txt"), progress=False).html
    with pytest.raises(InputError, match="^expected documents that can be split"):
        model.perplexity(["goal"], progress=False)


def test_lists_of_words_are_no_texts(model):
    for call in (model.transform, Corpus.from_texts):
        with pytest.raises(TypeError, match="Corpus.from_tokens"):
            call([["goal", "team"]], progress=False)
        with pytest.raises(TypeError, match="decode them"):
            call([b"goal team"], progress=False)
    words = [["goal", "team", "score"], ["court", "judge", "law"]]
    theta = model.transform(Corpus.from_tokens(words), progress=False)
    assert (theta == model.transform([" ".join(document) for document in words], progress=False)).all()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda m, c: m.topics(by=None), "by"),
        (lambda m, c: m.coherence(c, None), "measure"),
        (lambda m, c: m.report(c, title=5), "title"),
        (lambda m, c: m.report(c, texts=5), "texts"),
        (lambda m, c: m.similar(c, None), "document"),
        (lambda m, c: m.similar(c, 1.5), "document"),
        (lambda m, c: m.topics(by="relevance", weight="x"), "weight"),
    ],
)
def test_wrong_types_are_named(model, corpus, call, name):
    with pytest.raises((TypeError, ParameterError), match=f"^{name} must be a"):
        call(model, corpus)


def test_a_report_that_cannot_be_saved_leaves_no_file(model, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        model.report(progress=False).save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_pyldavis_needs_the_same_words(model):
    pytest.importorskip("pyLDAvis")
    with pytest.raises(InputError, match="30 words, this one 2"):
        model.to_pyldavis(Corpus.from_tokens([["goal", "team"]] * 3))


def test_data_in_memory_has_no_path(model):
    with pytest.raises(InputError) as error:
        model.perplexity(np.zeros((2, 30)), progress=False)
    assert error.value.path is None
