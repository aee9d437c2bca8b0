"""Hand-over of models to other packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError

if TYPE_CHECKING:
    from .corpus import Corpus
    from .model import Model


def to_gensim(model: Model) -> Any:
    """Returns a gensim ``LdaModel`` with the topics of a model."""
    from gensim.corpora import Dictionary
    from gensim.models import LdaModel

    words = model.vocabulary or [str(w) for w in range(model.n_words)]
    dictionary = Dictionary()
    dictionary.token2id = {word: i for i, word in enumerate(words)}
    dictionary.id2token = dict(enumerate(words))
    lda = LdaModel(
        id2word=dictionary,
        num_topics=model.k,
        alpha=model.alpha.astype(np.float64),
        eta=model.beta,
        dtype=np.float64,
    )
    lda.state.sstats[...] = model.phi.T
    lda.state.numdocs = int(model.training["corpus"]["documents"])
    lda.sync_state()
    return lda


def to_pyldavis(model: Model, corpus: Corpus, threads: int | None, **options: Any) -> Any:
    """Returns the prepared data of pyLDAvis."""
    import pyLDAvis

    if corpus.n_words != model.n_words:
        raise InputError(
            f"pyLDAvis needs the corpus that the model was trained on: it has {model.n_words} words, this one {corpus.n_words}"
        )
    counts = corpus.to_csr()
    theta = model.transform(corpus, threads=threads, progress=False)
    words = model.vocabulary or [str(w) for w in range(model.n_words)]
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    used = lengths > 0
    options.setdefault("n_jobs", 1)
    return pyLDAvis.prepare(
        topic_term_dists=model.components,
        doc_topic_dists=np.asarray(theta, dtype=np.float64)[used] / np.asarray(theta, dtype=np.float64)[used].sum(axis=1, keepdims=True),
        doc_lengths=lengths[used],
        vocab=words,
        term_frequency=np.asarray(counts.sum(axis=0)).ravel(),
        **options,
    )


def to_octis(model: Model, documents: Any = None) -> dict[str, Any]:
    """Returns the output of a model in OCTIS."""
    output: dict[str, Any] = {"topics": model.top_words(10), "topic-word-matrix": model.components}
    if documents is not None:
        output["topic-document-matrix"] = np.asarray(model.transform(documents, progress=False)).T
    return output
