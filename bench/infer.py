#!/usr/bin/env python3
"""Measures documents per second of inference: tinylda against tomotopy, on the same test documents
and the same number of threads.

    infer.py TINYLDA train.tlc test.tlc [-k 100] [--threads 2] [--runs 5] [--train 100] [--work FOLDER]

Both are trained on train.tlc (tomotopy for --train iterations, which does not affect the time of
inference). tomotopy infers with its default of 100 iterations; documents are created before the
clock starts, so its time is that of `infer` only. The time of tinylda is the one it reports, from
reading the first block to the last byte of the npy file on disk. Uses the best run of both. Prints
a line of JSON.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

p = argparse.ArgumentParser()
p.add_argument("tinylda")
p.add_argument("train_corpus")
p.add_argument("test_corpus")
p.add_argument("-k", type=int, default=100)
p.add_argument("--threads", type=int, default=2)
p.add_argument("--runs", type=int, default=5)
p.add_argument("--train", type=int, default=100)
p.add_argument("--work", default=None)
a = p.parse_args()
work = a.work or tempfile.mkdtemp()
os.makedirs(work, exist_ok=True)
file = lambda name: os.path.join(work, name)


def tinylda(*arguments):
    return subprocess.run([os.path.abspath(a.tinylda), "-q", *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout


def documents(corpus, name):
    tinylda("export", corpus, "--uci", file(name))
    with open(file(name)) as f:
        found = [[] for _ in range(int(f.readline()))]
        f.readline(), f.readline()
        for line in f:
            d, w, n = map(int, line.split())
            found[d - 1] += [str(w)] * n
    return found


if not os.path.exists(file("bench.model")):
    tinylda("train", a.train_corpus, "-k", a.k, "--threads", a.threads, "-o", file("bench.model"))
ours = min(json.loads(tinylda("infer", file("bench.model"), a.test_corpus, "--threads", a.threads, "--json",
                              "-o", file("theta.npy")))["seconds"] for _ in range(a.runs))

import tomotopy

model = tomotopy.LDAModel(k=a.k, alpha=2 / a.k, eta=0.01, seed=1)
for words in documents(a.train_corpus, "train.txt"):
    if words:
        model.add_doc(words)
model.train(a.train, workers=a.threads)
test = [words for words in documents(a.test_corpus, "test.txt") if words]
theirs = []
for _ in range(min(a.runs, 3)):
    made = [model.make_doc(words) for words in test]
    clock = time.perf_counter()
    model.infer(made, workers=a.threads)
    theirs.append(time.perf_counter() - clock)
theirs = min(theirs)
print(json.dumps(dict(k=a.k, threads=a.threads, documents=len(test), tinylda_seconds=round(ours, 4),
                      tinylda_documents_per_second=round(len(test) / ours), tomotopy=tomotopy.__version__,
                      tomotopy_isa=tomotopy.isa, tomotopy_seconds=round(theirs, 3),
                      tomotopy_documents_per_second=round(len(test) / theirs), times=round(theirs / ours, 1))))
