"""The estimator for scikit-learn."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import tinylda
from tinylda.sklearn import LDA


def checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(estimator_checks_generator(LDA(max_iter=20)))


@pytest.mark.parametrize(("estimator", "check"), checks(), ids=lambda value: getattr(getattr(value, "func", None), "__name__", ""))
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(estimator, check):
    check(estimator)


def test_attributes(counts):
    lda = LDA(n_components=5, random_state=0, max_iter=30).fit(counts)
    assert lda.components_.shape == (5, 150) and lda.n_features_in_ == 150
    assert lda.n_iter_ <= 30 and lda.perplexity_ > 1
    assert lda.get_feature_names_out().tolist() == [f"lda{k}" for k in range(5)]
    assert lda.score(counts) == pytest.approx(-np.log(lda.perplexity(counts)))
    assert lda.doc_topic_prior_ == pytest.approx(0.4) and lda.topic_word_prior_ == pytest.approx(0.01)


def test_fit_transform_is_fit_and_transform(counts):
    lda = LDA(n_components=4, max_iter=20)
    both = lda.fit_transform(counts)
    assert (both == clone(lda).fit(counts).transform(counts)).all()
    assert (both == LDA(n_components=4, max_iter=20, n_jobs=1).fit(counts).transform(counts)).all()
    assert (pickle.loads(pickle.dumps(lda)).transform(counts) == both).all()


def test_data_frames(counts):
    import pandas

    frame = pandas.DataFrame(counts.toarray(), columns=[f"w{w}" for w in range(150)])
    lda = LDA(n_components=3, max_iter=10).set_output(transform="pandas").fit(frame)
    out = lda.transform(frame)
    assert list(out.columns) == ["lda0", "lda1", "lda2"] and lda.feature_names_in_[0] == "w0"
    assert lda.model_.vocabulary[0] == "w0"


def test_fractions(texts):
    X = TfidfVectorizer().fit_transform(texts)
    lda = LDA(n_components=3, random_state=1).fit(X)
    assert lda._scale_ > 1
    best = lda.transform(X).argmax(axis=1)
    assert len({tuple(best[d::3]) for d in range(3)}) == 3 and len(set(best[::3])) == 1
    assert lda.components_.sum() == pytest.approx(X.sum() + lda.components_.size * 0.01, rel=0.05)
    with pytest.raises(ValueError, match="learn_priors"):
        LDA(n_components=3, learn_priors=True).fit(X)


def test_scaling_does_not_change_the_model(counts):
    """Halves are whole counts with half of the priors."""
    half = LDA(n_components=5, random_state=0, max_iter=40, doc_topic_prior=0.2, topic_word_prior=0.005).fit(counts * 0.5)
    whole = LDA(n_components=5, random_state=0, max_iter=40, doc_topic_prior=0.4, topic_word_prior=0.01).fit(counts)
    assert half.perplexity(counts * 0.5) == pytest.approx(whole.perplexity(counts), rel=0.15)


def test_pipeline_and_grid_search(texts, labels):
    pipeline = make_pipeline(CountVectorizer(), LDA(random_state=0, max_iter=30), LogisticRegression())
    search = GridSearchCV(pipeline, {"lda__n_components": [2, 3, 4]}, cv=3, n_jobs=1)
    search.fit(texts, labels)
    assert search.best_score_ > 0.95


def test_joblib_processes(texts, labels):
    pipeline = make_pipeline(CountVectorizer(), LDA(random_state=0, max_iter=10), LogisticRegression())
    search = GridSearchCV(pipeline, {"lda__n_components": [2, 3]}, cv=2, n_jobs=2)
    assert search.fit(texts, labels).best_score_ > 0.5


def test_random_states(counts):
    first = LDA(n_components=3, max_iter=5, random_state=np.random.RandomState(3)).fit(counts)
    again = LDA(n_components=3, max_iter=5, random_state=np.random.RandomState(3)).fit(counts)
    assert (first.components_ == again.components_).all()
    with pytest.raises(ValueError, match="random_state"):
        LDA(random_state=-1).fit(counts)


def test_negative_values():
    with pytest.raises(ValueError, match="Negative values"):
        LDA().fit(sparse.csr_matrix([[1, -1]]))


def test_a_model_with_learned_priors_keeps_them(counts):
    model = tinylda.train(tinylda.Corpus.from_csr(counts), k=4, passes=20, optimize=True, progress=False)
    estimator = model.to_sklearn()
    assert estimator.doc_topic_prior_.shape == (4,)
    assert np.allclose(estimator.doc_topic_prior_, model.alpha)
    fixed = tinylda.train(tinylda.Corpus.from_csr(counts), k=4, passes=2, progress=False).to_sklearn()
    assert isinstance(fixed.doc_topic_prior_, float)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("n_components", 0),
        ("n_components", 2.5),
        ("max_iter", 0),
        ("tol", -1),
        ("doc_topic_prior", -1),
        ("topic_word_prior", 0),
        ("random_state", 2**70),
        ("n_jobs", 0),
    ],
)
def test_errors_name_the_parameter_of_the_estimator(counts, name, wrong):
    with pytest.raises(ValueError, match=rf"^({name} must be|invalid value .* for {name}:)") as error:
        LDA(**{name: wrong}).fit(counts)
    assert error.value.parameter == name


def test_fractions_that_cannot_be_scaled_warn(counts):
    with pytest.warns(tinylda.TinyldaWarning, match="too small"):
        LDA(n_components=3, max_iter=2).fit(counts * 1e-30)


def test_what_is_no_matrix_of_counts(counts):
    for wrong in (np.array([["1", "2"]]), np.array([["2020-01-01"]], dtype="M8[D]")):
        with pytest.raises(ValueError, match="CountVectorizer"):
            LDA(n_components=2).fit(wrong)
    masked = np.ma.masked_array(np.ones((3, 2)), mask=[[0, 1], [0, 0], [0, 0]])
    with pytest.raises(ValueError, match="masked"):
        LDA(n_components=2).fit(masked)
