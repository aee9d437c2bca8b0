#!/usr/bin/env python3
"""Trains another topic modeling program on a corpus in UCI format and writes its topics as tinylda
model files, for `tinylda eval`.

    rivals.py SYSTEM docword.txt K --seconds 60 --iterations 1000 --at 10,30 --out PREFIX [--threads 2]
    rivals.py counts PHI.npy K --out PREFIX             (phi [W, K] of another program)

Prints a line of JSON per model: system, k, iterations, seconds (of training only), peak_rss_bytes,
model. SYSTEM is tomotopy, topica-sparse, topica-lightlda, topica-warp, topica-cvb0, gensim,
gensim-multicore, sklearn-batch, sklearn-online or lda. All systems use alpha = 2/K and beta = 0.01
(called alpha and eta in gensim, doc_topic_prior and topic_word_prior in scikit-learn).
"""
import argparse
import json
import struct
import sys
import time
import warnings
import zlib

import numpy as np

warnings.filterwarnings("ignore")
p = argparse.ArgumentParser()
p.add_argument("system")
p.add_argument("corpus")
p.add_argument("k", type=int)
p.add_argument("--seconds", type=float, default=60)
p.add_argument("--iterations", type=int, default=1000)
p.add_argument("--at", default="")
p.add_argument("--threads", type=int, default=2)
p.add_argument("--out", required=True)
a = p.parse_args()
ALPHA, BETA = 2 / a.k, 0.01


def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024


def write_model(path, phi, beta):
    """Writes a model file as specified in docs/FORMAT.md. phi [W, K] contains counts."""
    phi = np.ascontiguousarray(phi, "<f4")
    w, k = phi.shape
    parts = [("phi", "F32", [w, k], phi.tobytes()),
             ("alpha", "F32", [k], np.full(k, ALPHA, "<f4").tobytes()),
             ("beta", "F32", [1], np.full(1, beta, "<f4").tobytes())]
    corpus = dict(file="rival", fingerprint="00000000", documents=0, words=w, nonzeros=0, tokens=0)
    settings = dict(algorithm=a.system, seed=1, passes=1, tolerance=0.0, train_perplexity=1.0, history=[], corpus=corpus)
    header = {"__metadata__": {"crc32": "00000000", "format": "tinylda-model", "version": "1",
                               "settings": json.dumps(settings)}}
    at = 0
    for name, dtype, shape, data in parts:
        header[name] = dict(dtype=dtype, shape=shape, data_offsets=[at, at + len(data)])
        at += len(data)
    text = json.dumps(header, separators=(",", ":"))
    text += " " * (-len(text) % 8)
    whole = struct.pack("<Q", len(text)) + text.encode() + b"".join(d for *_, d in parts)
    crc = "%08x" % zlib.crc32(whole)
    open(path, "wb").write(whole.replace(b'"crc32":"00000000"', b'"crc32":"%s"' % crc.encode(), 1))


def from_probabilities(p_wk):
    """Returns p(w|k) [W, K] as counts, and a beta that is so small that it does not smooth them."""
    return np.asarray(p_wk) * 1e6, 1e-9


def report(iterations, seconds, topics):
    memory = peak()  # of training only: before the topics are requested
    phi, beta = topics()
    path = f"{a.out}-{iterations}.model"
    write_model(path, phi, beta)
    print(json.dumps(dict(system=a.system, k=a.k, iterations=iterations, seconds=round(seconds, 3),
                          peak_rss_bytes=memory, model=path)), flush=True)


def read():
    f = open(a.corpus)
    d, w, n = int(f.readline()), int(f.readline()), int(f.readline())
    m = np.loadtxt(f, dtype=np.int32, ndmin=2)
    return d, w, m[:, 0] - 1, m[:, 1] - 1, m[:, 2]


def sparse():
    import scipy.sparse as sp
    d, w, rows, cols, x = read()
    return sp.csr_matrix((x, (rows, cols)), shape=(d, w))


def documents():
    """Yields documents as lists of words."""
    f = open(a.corpus)
    for _ in range(3):
        f.readline()
    now, last = [], None
    for line in f:
        d, w, x = line.split()
        if d != last:
            if now:
                yield now
            now, last = [], d
        now.extend([w] * int(x))
    if now:
        yield now


def words_of_corpus():
    f = open(a.corpus)
    f.readline()
    return int(f.readline())


def stepwise(step, topics, chunk=1):
    """Calls step(n) until the time or the iterations are used up. Reports at the times of --at and at
    the end."""
    times = sorted(float(t) for t in a.at.split(",") if t)
    clock, used, n, last = 0.0, 0.0, 0, 0
    while used < a.seconds and n < a.iterations:
        clock = time.perf_counter()
        step(chunk)
        n += chunk
        used += time.perf_counter() - clock
        if times and used >= times[0]:
            while times and used >= times[0]:
                times.pop(0)
            report(n, used, topics)
            last = n
    if last != n:
        report(n, used, topics)


if a.system == "counts":
    a.system = "abp"
    write_model(f"{a.out}.model", np.load(a.corpus), BETA)
elif a.system == "tomotopy":
    import tomotopy as tp
    m = tp.LDAModel(k=a.k, alpha=ALPHA, eta=BETA, seed=1)
    m.optim_interval = 0
    m.burn_in = 0
    for words in documents():
        m.add_doc(words)
    total = words_of_corpus()

    def topics():
        phi = np.zeros((total, a.k), np.float32)
        ids = [int(w) - 1 for w in m.used_vocabs]
        sizes = m.get_count_by_topics()
        for k in range(a.k):
            # (count + beta) / (size + V beta) -> count
            phi[ids, k] = m.get_topic_word_dist(k) * (sizes[k] + len(ids) * BETA) - BETA
        return np.maximum(phi, 0), BETA

    stepwise(lambda n: m.train(n, workers=a.threads), topics, 5)
elif a.system.startswith("topica-"):
    import topica
    data = list(documents())
    total = words_of_corpus()

    def fit(n):
        m = topica.LDA(a.k, alpha_sum=2.0, beta=BETA, optimize_interval=0, burn_in=0, seed=1,
                       num_threads=a.threads, sampler=a.system[7:])
        clock = time.perf_counter()
        m.fit(data, iters=n, num_samples=1, sample_interval=1, progress=False, keep_theta_draws=False)
        return m, time.perf_counter() - clock

    _, few = fit(5)
    _, more = fit(15)
    n = int(min(a.iterations, max(10, a.seconds / max((more - few) / 10, 1e-6))))
    m, used = fit(n)

    def topics():
        phi = np.zeros((total, a.k), np.float64)
        phi[[int(w) - 1 for w in m.vocabulary]] = np.asarray(m.topic_word).T
        return from_probabilities(phi)

    report(n, used, topics)
elif a.system in ("gensim", "gensim-multicore"):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel, LdaMulticore
    x = sparse()
    corpus = Sparse2Corpus(x, documents_columns=False)
    names = {i: str(i) for i in range(x.shape[1])}
    same = dict(id2word=names, num_topics=a.k, alpha=[ALPHA] * a.k, eta=BETA, passes=1, random_state=1, eval_every=None)
    if a.system == "gensim":
        m = LdaModel(**same)
    else:
        m = LdaMulticore(workers=max(1, a.threads - 1), **same)
    stepwise(lambda n: m.update(corpus), lambda: from_probabilities(m.get_topics().T))
elif a.system in ("sklearn-batch", "sklearn-online"):
    from sklearn.decomposition import LatentDirichletAllocation
    x = sparse().astype(np.float64)
    kind = a.system[8:]
    m = LatentDirichletAllocation(a.k, doc_topic_prior=ALPHA, topic_word_prior=BETA, learning_method=kind, max_iter=1,
                                  n_jobs=a.threads, random_state=1, total_samples=x.shape[0])

    def once(_):
        if kind == "online":
            m.partial_fit(x)
        elif not hasattr(m, "components_"):
            m.fit(x)
        else:
            with __import__("joblib").Parallel(n_jobs=a.threads) as parallel:
                m._em_step(x, total_samples=x.shape[0], batch_update=True, parallel=parallel)

    stepwise(once, lambda: (np.maximum(m.components_.T - BETA, 0), BETA))
elif a.system == "lda":
    import lda
    import logging
    logging.getLogger("lda").setLevel(logging.ERROR)
    x = sparse()
    few, more = [], []
    for n, out in ((2, few), (6, more)):
        clock = time.perf_counter()
        lda.LDA(a.k, n_iter=n, alpha=ALPHA, eta=BETA, random_state=1, refresh=10**9).fit(x.astype(np.int64))
        out.append(time.perf_counter() - clock)
    n = int(min(a.iterations, max(5, a.seconds / max((more[0] - few[0]) / 4, 1e-6))))
    clock = time.perf_counter()
    m = lda.LDA(a.k, n_iter=n, alpha=ALPHA, eta=BETA, random_state=1, refresh=10**9).fit(x.astype(np.int64))
    report(n, time.perf_counter() - clock, lambda: from_probabilities(m.components_.T))
else:
    sys.exit(f"rivals.py: unknown system {a.system!r}; see the top of this file for the list")
