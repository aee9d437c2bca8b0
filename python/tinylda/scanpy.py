"""Topic models of single cells, after the conventions of scanpy.

>>> import tinylda.scanpy as tls  # doctest: +SKIP
>>> tls.tl.lda(adata, n_topics=40)  # doctest: +SKIP
>>> tls.pl.topics(adata)  # doctest: +SKIP

Cells are documents, genes or peaks are words. Results are stored in the AnnData object:
``obsm["X_lda"]`` (cells by topics), ``varm["lda"]`` (genes by topics) and ``uns["lda"]``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ._options import Memory, own_parameters
from ._progress import ProgressOption
from .corpus import Corpus
from .errors import ParameterError
from .model import Model
from .training import train

#: Parameters of :func:`lda` by their names in :func:`tinylda.train`.
_PARAMETERS = {"k": "n_topics", "seed": "random_state"}

__all__ = ["get_model", "lda", "pl", "rank_genes", "tl", "topics"]


def lda(
    adata: Any,
    n_topics: int = 20,
    *,
    layer: str | None = None,
    key_added: str = "lda",
    random_state: int = 1,
    memory: Memory | None = None,
    threads: int | None = None,
    progress: ProgressOption = "auto",
    copy: bool = False,
    **settings: Any,
) -> Any:
    """Trains a topic model of cells and stores it in ``adata``.

    Parameters
    ----------
    adata : AnnData
        Cells by genes or peaks. An object that is backed by a file is read from the file.
    n_topics : int
        Number of topics.
    layer : str, optional
        Layer with raw counts; ``X`` by default. Normalized values are refused.
    key_added : str
        Results are stored under this name: ``obsm["X_lda"]``, ``varm["lda"]``, ``uns["lda"]``.
    random_state : int
        Random seed.
    memory, threads, progress
        As in :func:`tinylda.train`.
    copy : bool
        Return a copy instead of changing ``adata``.
    **settings
        Other options of :func:`tinylda.train`.
    """
    if copy:
        backed = getattr(adata, "isbacked", False)
        adata = adata.to_memory() if backed else adata.copy()
    corpus = Corpus.from_anndata(adata, layer=layer)
    with own_parameters(_PARAMETERS):
        model = train(
            corpus, n_topics, seed=random_state, memory=memory, threads=threads, progress=progress, **settings
        )
    proportions = model.transform(corpus, threads=threads, progress=progress)
    adata.obsm[f"X_{key_added}"] = np.asarray(proportions)
    adata.varm[key_added] = model.components.T
    adata.uns[key_added] = {
        "params": {"n_topics": n_topics, "layer": layer or "X", "random_state": random_state},
        "alpha": model.alpha,
        "beta": model.beta,
        "prevalence": model.prevalence,
        "perplexity": model.training["train_perplexity"],
        "history": np.asarray(model.history, dtype=np.float64),
        "model": np.frombuffer(model.to_bytes(), dtype=np.uint8),
    }
    return adata if copy else None


def get_model(adata: Any, key: str = "lda") -> Model:
    """Returns the model that :func:`lda` has stored."""
    from . import _core

    stored = adata.uns.get(key) if hasattr(adata, "uns") else None
    if stored is None or "model" not in stored:
        raise ParameterError(f"key must name results of tinylda.scanpy.tl.lda in adata.uns, not {key!r}; train first", parameter="key")
    return Model(_core.Model.from_bytes(np.asarray(adata.uns[key]["model"], dtype=np.uint8).tobytes()))


def rank_genes(adata: Any, n: int = 20, *, key: str = "lda", by: str = "relevance") -> Any:
    """Returns the best genes or peaks of every topic as a data frame."""
    return get_model(adata, key).topics(n, by=by)


def topics(adata: Any, *, key: str = "lda", n_genes: int = 10, show: bool = True) -> Any:
    """Plots the best genes or peaks of every topic. Returns the matplotlib figure."""
    import matplotlib.pyplot as plt

    model = get_model(adata, key)
    ranked = model._core.ranked_words("relevance", None, n_genes)
    words = model.vocabulary or [str(w) for w in range(model.n_words)]
    columns = min(5, model.k)
    rows = -(-model.k // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3 * columns, 0.25 * n_genes * rows + 0.6 * rows), squeeze=False)
    for k, axis in enumerate(axes.flat):
        if k >= model.k:
            axis.axis("off")
            continue
        best = ranked[k][::-1]
        axis.barh([words[w] for w, *_ in best], [p for _, p, *_ in best])
        axis.set_title(f"topic {k} ({100 * model.prevalence[k]:.1f}%)")
    figure.tight_layout()
    if show:
        plt.show()
    return figure


#: Tools, as in ``scanpy.tl``.
tl = SimpleNamespace(lda=lda, rank_genes=rank_genes)
#: Plots, as in ``scanpy.pl``.
pl = SimpleNamespace(topics=topics)
