#!/usr/bin/env python3
"""Checks that other programs can read the exports made for them. Stops at the first failure.

    readers.py TINYLDA MODEL CORPUS [--work FOLDER]

Needs little-mallet-wrapper, pyLDAvis, pandas, polars, pyarrow, scipy, gensim and scikit-learn
(pip).
"""
import argparse
import gzip
import json
import os
import subprocess
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
p = argparse.ArgumentParser()
p.add_argument("tinylda")
p.add_argument("model")
p.add_argument("corpus")
p.add_argument("--work", default=None)
a = p.parse_args()
work = a.work or tempfile.mkdtemp()
os.makedirs(work, exist_ok=True)
file = lambda *name: os.path.join(work, *name)


def tinylda(*arguments):
    out = subprocess.run([os.path.abspath(a.tinylda), "-q", *arguments], check=True, capture_output=True, text=True).stdout
    return json.loads(out) if "--json" in arguments else out


def passed(what):
    print("ok  ", what, flush=True)


tinylda("export", a.model, "--npz", file("phi.npz"))
with np.load(file("phi.npz")) as z:
    phi, alpha, beta, vocab = z["phi"], z["alpha"], float(z["beta"][0]), list(z["vocab"])
W, K = phi.shape
p_wk = (phi + beta) / (phi + beta).sum(0, dtype=np.float64)
tinylda("infer", a.model, a.corpus, "-o", file("theta.npy"))
theta = np.load(file("theta.npy"))
D = len(theta)
assert theta.shape == (D, K) and theta.dtype == np.float32 and abs(theta.sum(1, dtype=np.float64) - 1).max() < 1e-5
passed(f"infer: npy {theta.shape}")

import pandas
import polars

tinylda("infer", a.model, a.corpus, "-o", file("theta.tsv"))
tsv = pandas.read_csv(file("theta.tsv"), sep="\t")
assert tsv.shape == (D, K + 2) and abs(tsv.iloc[:, 2:].to_numpy() - theta).max() < 1e-7
tinylda("infer", a.model, a.corpus, "-o", file("top.jsonl"), "--top", "3")
lines = pandas.read_json(file("top.jsonl"), lines=True)
assert len(lines) == D and all(len(t) == 3 for t in lines.topics)
tinylda("infer", a.model, a.corpus, "-o", file("theta.parquet"))
tinylda("infer", a.model, a.corpus, "-o", file("top.parquet"), "--top", "3")
for read in (pandas.read_parquet, polars.read_parquet):
    found = read(file("theta.parquet"))
    assert found.shape == (D, K + 2) and (found[[f"p_{k}" for k in range(K)]].to_numpy() == theta).all()
    top = read(file("top.parquet"))
    assert top.shape == (D, 8) and (np.asarray(top["topic_1"]) == theta.argmax(1)).all()
passed("infer: TSV and JSON lines in pandas, Parquet in pandas and polars")

import little_mallet_wrapper as lmw

tinylda("export", a.model, a.corpus, "--to", "mallet", "-o", file("mallet"))
keys = lmw.load_topic_keys(file("mallet", "topic-keys.txt"))
assert len(keys) == K and all(len(words) == 20 for words in keys)
assert all(words[0] == vocab[p_wk[:, k].argmax()] for k, words in enumerate(keys))
mixes = np.array(lmw.load_topic_distributions(file("mallet", "doc-topics.txt")))
assert mixes.shape == (D, K) and abs(mixes - theta).max() < 1e-7
assert len(lmw.load_training_ids(file("mallet", "doc-topics.txt"))) == D
words = lmw.load_topic_word_distributions(file("mallet", "topic-word-weights.txt"))
assert len(words) == K and all(abs(words[k][vocab[w]] - p_wk[w, k]) < 1e-6 for k in range(K) for w in range(0, W, 97))
assert len(lmw.get_top_docs(list(range(D)), mixes.tolist(), 0, n=5)) == 5
passed("MALLET: topic-keys, doc-topics and topic-word-weights in little-mallet-wrapper")

counts = np.zeros((W, K))
with open(file("mallet", "word-topic-counts.txt")) as f:
    for line in f:
        w, word, *pairs = line.split()
        assert vocab[int(w)] == word
        for pair in pairs:
            k, n = map(int, pair.split(":"))
            counts[int(w), k] = n
assert abs(counts.sum(1) - phi.sum(1)).max() <= 0.51 and abs(counts - phi).max() < 1.01
passed("MALLET: word-topic-counts are phi rounded to integers")
state = pandas.read_csv(file("mallet", "state.gz"), compression="gzip", sep=" ", skiprows=[1, 2], quoting=3)
assert list(state.columns) == ["#doc", "source", "pos", "typeindex", "type", "topic"]
with gzip.open(file("mallet", "state.gz"), "rt") as f:
    f.readline()
    assert f.readline().startswith("#alpha : ") and f.readline().startswith("#beta : ")
drawn = np.zeros((D, K))
np.add.at(drawn, (state["#doc"], state.topic), 1)
known = drawn.sum(1) > 0
away = abs(drawn[known] / drawn[known].sum(1, keepdims=True) - theta[known]).sum(1).mean() / 2
passed(f"MALLET: state of {len(state)} tokens in pandas; mean total variation distance of its document topics to theta: {away:.3f}")

import pyLDAvis

tinylda("export", a.model, a.corpus, "--to", "pyldavis", "-o", file("vis.json"))
with open(file("vis.json")) as f:
    inputs = json.load(f)
for name in ("topic_term_dists", "doc_topic_dists"):
    assert abs(np.array(inputs[name]).sum(1) - 1).max() < 1e-6, name
with open(file("vis.json")) as f:
    prepared = pyLDAvis.prepare(**json.load(f), n_jobs=1)
assert len(prepared.topic_coordinates) == K
passed(f"pyLDAvis.prepare: {len(prepared.topic_info)} rows of topic_info")

tinylda("export", a.model, "--to", "gensim", "-o", file("gensim.npz"))
with np.load(file("gensim.npz")) as z:
    assert z["topics"].shape == (K, W) and abs(z["topics"].sum(1, dtype=np.float64) - 1).max() < 1e-5
    assert z["alpha"].shape == (K,) and z["eta"].shape == (W,) and list(z["id2word"]) == vocab
    from gensim.models import LdaModel

    model = LdaModel(id2word=dict(enumerate(map(str, z["id2word"]))), num_topics=K, alpha=z["alpha"], eta=z["eta"])
    model.state.sstats = z["topics"] * 1e6
    model.sync_state()
    assert [w for w, _ in model.show_topic(0, 5)] == keys[0][:5]
passed("gensim: LdaModel shows the same words")

tinylda("export", a.model, "--to", "sklearn", "-o", file("sklearn.npz"))
with np.load(file("sklearn.npz")) as z:
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_components=K, doc_topic_prior=float(z["doc_topic_prior"]),
                                      topic_word_prior=float(z["topic_word_prior"]))
    model.components_ = z["components_"].astype(np.float64)
    model.exp_dirichlet_component_ = np.exp(np.log(model.components_) - np.log(model.components_.sum(1, keepdims=True)))
    model.doc_topic_prior_, model.topic_word_prior_ = float(z["doc_topic_prior"]), float(z["topic_word_prior"])
    model.n_features_in_ = W
    assert z["components_"].shape == (K, W) and list(z["feature_names"]) == vocab
    some = state[state["#doc"] < 50]
    x = csr_matrix((np.ones(len(some)), (some["#doc"], some.typeindex)), shape=(50, W))
    mixed = model.transform(x)
    agree = (mixed.argmax(1) == theta[:50].argmax(1)).mean()
passed(f"scikit-learn: transform of 50 documents, same largest topic as infer in {agree:.0%}")

for form, reads in (("csv", [pandas.read_csv, polars.read_csv]), ("parquet", [pandas.read_parquet, polars.read_parquet])):
    tinylda("export", a.model, a.corpus, "--to", form, "-o", file(form))
    for read in reads:
        found = read(file(form, f"topic-word.{form}"))
        assert found.shape == (W, K + 1) and abs(found[[f"topic_{k}" for k in range(K)]].to_numpy() - p_wk).max() < 1e-6
        found = read(file(form, f"doc-topic.{form}"))
        assert found.shape == (D, K + 3) and abs(found[[f"topic_{k}" for k in range(K)]].to_numpy() - theta).max() < 1e-6
    passed(f"{form}: topic-word and doc-topic in pandas and polars")
