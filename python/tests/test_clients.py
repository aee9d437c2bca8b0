"""Other packages that use tinylda's results; each test runs where the package is installed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import tinylda
from tinylda import Corpus


def test_gensim_coherence(model, texts, corpus):
    gensim = pytest.importorskip("gensim")
    from gensim.models import CoherenceModel

    lda = model.to_gensim()
    tokens = [text.split() for text in texts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = CoherenceModel(model=lda, texts=tokens, dictionary=lda.id2word, coherence="u_mass", topn=10).get_coherence()
    assert found == pytest.approx(model.coherence(corpus, "u_mass", progress=False), rel=1e-6)
    for k in range(3):
        words = [word for word, _ in lda.show_topic(k, 5)]
        assert words == model.top_words(5)[k]
    bow = [[(lda.id2word.token2id[w], tokens[0].count(w)) for w in set(tokens[0])]]
    assert np.argmax([p for _, p in lda.get_document_topics(bow[0], minimum_probability=0)]) == model.transform(
        [texts[0]], progress=False
    ).argmax()
    assert gensim


@pytest.mark.filterwarnings("ignore")
def test_pyldavis(model, corpus):
    pyldavis = pytest.importorskip("pyLDAvis")
    prepared = model.to_pyldavis(corpus, mds="mmds") if model.k < 3 else model.to_pyldavis(corpus)
    assert len(prepared.topic_coordinates) == 3
    assert "ldavis" in pyldavis.prepared_data_to_html(prepared)


@pytest.mark.filterwarnings("ignore")
def test_anndata_and_scanpy(counts, tmp_path):
    anndata = pytest.importorskip("anndata")
    import tinylda.scanpy as tls

    adata = anndata.AnnData(counts.astype(np.float32))
    adata.layers["counts"] = counts.astype(np.int32)
    tls.tl.lda(adata, n_topics=5, layer="counts", passes=30, progress=False)
    assert adata.obsm["X_lda"].shape == (400, 5) and adata.varm["lda"].shape == (150, 5)
    assert np.allclose(adata.obsm["X_lda"].sum(axis=1), 1, atol=1e-5)
    model = tls.get_model(adata)
    assert model == tinylda.train(Corpus.from_anndata(adata, layer="counts"), k=5, passes=30, progress=False)
    assert len(tls.tl.rank_genes(adata, 3)) == 15
    adata.write_h5ad(tmp_path / "a.h5ad")
    stored = anndata.read_h5ad(tmp_path / "a.h5ad")
    assert tls.get_model(stored) == model
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    assert Corpus.from_anndata(backed).content_id == Corpus.from_anndata(adata).content_id
    # A view has other rows than the file, even if it has as many of them.
    order = np.arange(adata.n_obs)[::-1]
    reordered = Corpus.from_anndata(backed[order])
    assert reordered == Corpus.from_anndata(adata[order].copy())
    assert reordered.names == list(adata.obs_names[order])
    assert Corpus.from_anndata(backed[:10]).shape == (10, adata.n_vars)
    assert tls.tl.lda(backed.to_memory(), n_topics=2, passes=2, copy=True, progress=False).obsm["X_lda"].shape == (400, 2)
    with pytest.raises(ValueError, match="whole number"):
        adata.X = adata.X * 0.3
        tls.tl.lda(adata, n_topics=2, progress=False)
    scanpy = pytest.importorskip("scanpy")
    scanpy.pp.neighbors(adata, use_rep="X_lda")
    assert "neighbors" in adata.uns


@pytest.mark.filterwarnings("ignore")
def test_plot_of_topics(counts):
    pytest.importorskip("anndata")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import anndata

    import tinylda.scanpy as tls

    adata = anndata.AnnData(counts.astype(np.float32))
    tls.tl.lda(adata, n_topics=3, passes=3, progress=False)
    figure = tls.pl.topics(adata, show=False)
    assert len(figure.axes) == 3


def test_duckdb(texts, corpus):
    duckdb = pytest.importorskip("duckdb")
    import pandas

    frame = pandas.DataFrame({"text": texts})
    relation = duckdb.sql("select text from frame")
    assert Corpus.from_texts(relation, language="en", progress=False).content_id == corpus.content_id
    assert len(frame) == 120


def test_octis_output(model, corpus):
    output = model.to_octis(corpus)
    assert output["topic-word-matrix"].shape == (3, 30) and output["topic-document-matrix"].shape == (3, 120)


@pytest.mark.filterwarnings("ignore")
def test_octis_metrics(model, corpus, texts):
    diversity = pytest.importorskip("octis.evaluation_metrics.diversity_metrics")
    coherence = pytest.importorskip("octis.evaluation_metrics.coherence_metrics")
    significance = pytest.importorskip("octis.evaluation_metrics.topic_significance_metrics")
    output = model.to_octis(corpus)
    assert diversity.TopicDiversity(topk=10).score(output) == 1.0
    assert diversity.InvertedRBO(topk=10).score(output) == 1.0
    # Three equal topics of ten words each: log 3 from the uniform distribution, from that of the
    # corpus, and (documents of one topic each) from the uniform distribution over documents.
    for metric in (significance.KL_uniform, significance.KL_vacuous):
        assert metric().score(output) == pytest.approx(np.log(3), abs=0.15)
    assert significance.KL_background().score(output) > 0.5
    tokens = [text.split() for text in texts]
    assert coherence.Coherence(texts=tokens, topk=10, measure="c_npmi", processes=1).score(output) > 0.3


def test_a_peak_matrix():
    """Cells by peaks: binary, very sparse, more columns than rows."""
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 3, 300)
    columns = [rng.choice(np.arange(group * 2000, group * 2000 + 2000), 150, replace=False) for group in groups]
    indices = np.concatenate(columns)
    matrix = sparse.csr_matrix((np.ones(len(indices), dtype=bool), indices, np.arange(0, len(indices) + 1, 150)), shape=(300, 6000))
    model = tinylda.train(Corpus.from_csr(matrix), k=3, progress=False)
    best = model.transform(matrix, progress=False).argmax(axis=1)
    assert len({(a, b) for a, b in zip(groups, best)}) == 3


@pytest.mark.filterwarnings("ignore")
def test_errors_of_anndata_name_the_remedy(counts):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(counts.astype(np.float32) * 0.3)
    with pytest.raises(tinylda.errors.InputError, match='name their layer, as in layer="counts"') as error:
        Corpus.from_anndata(adata)
    assert error.value.column is not None
    adata.var_names = ["gene"] * adata.n_vars
    with pytest.raises(tinylda.errors.InputError, match="var_names_make_unique"):
        Corpus.from_anndata(adata)
    with pytest.raises(TypeError, match="AnnData"):
        Corpus.from_anndata(counts)
    adata.layers["counts"] = counts
    adata.var_names_make_unique()
    with pytest.raises(tinylda.errors.ParameterError, match=r"layer must be one of adata.layers \('counts'\), not 'raw'"):
        Corpus.from_anndata(adata, layer="raw")
    with pytest.raises(tinylda.errors.ParameterError, match="labels must be columns of adata.obs"):
        Corpus.from_anndata(adata, labels="type")


@pytest.mark.filterwarnings("ignore")
def test_errors_of_the_functions_for_cells(counts):
    anndata = pytest.importorskip("anndata")
    import tinylda.scanpy as tls

    adata = anndata.AnnData(counts.astype(np.float32))
    for call in (tls.get_model, tls.tl.rank_genes, tls.pl.topics):
        with pytest.raises(tinylda.errors.ParameterError, match="key must name results .* not 'lda'; train first"):
            call(adata)
    with pytest.raises(tinylda.errors.ParameterError, match="^n_topics must be") as error:
        tls.tl.lda(adata, n_topics=0)
    assert error.value.parameter == "n_topics"


@pytest.mark.filterwarnings("ignore")
def test_a_copy_of_a_backed_object_is_in_memory(counts, tmp_path):
    anndata = pytest.importorskip("anndata")
    import tinylda.scanpy as tls

    anndata.AnnData(counts.astype(np.float32)).write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    copied = tls.tl.lda(backed, n_topics=2, passes=2, copy=True, progress=False)
    assert copied.obsm["X_lda"].shape == (400, 2) and not copied.isbacked and "X_lda" not in backed.obsm


def test_topicwizard(texts):
    """The pipelines of topicwizard take the estimator as their model."""
    topicwizard = pytest.importorskip("topicwizard.pipeline")
    from sklearn.feature_extraction.text import CountVectorizer

    from tinylda.sklearn import LDA

    pipeline = topicwizard.make_topic_pipeline(CountVectorizer(), LDA(n_components=3, random_state=0))
    data = pipeline.prepare_topic_data(texts)
    assert data["document_topic_matrix"].shape == (120, 3) and data["topic_term_matrix"].shape == (3, 30)
    assert len(data["topic_names"]) == 3
