#!/usr/bin/env python3
"""Compares `tinylda report` with pyLDAvis on the same model and corpus.

usage: bench/pyldavis.py TINYLDA MODEL CORPUS [--prepare]

Checks that the report contains the 30 words that pyLDAvis shows at lambda 0, 0.3, 0.6 and 1, in the
same order (except for words whose relevance is equal in the stored digits), and that distances and
coordinates agree within 1e-6 beyond the report's rounding to four and five digits. Prints the times
of both; with --prepare also that of the whole of pyLDAvis.prepare, which takes long. Exits with 1
if something differs. Needs: pip install pyLDAvis==3.4.1
"""
import json
import math
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    tinylda, model, corpus = arguments[:3]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        inputs, page = Path(folder) / "inputs.json", Path(folder) / "report.html"
        subprocess.run([tinylda, "-q", "export", model, corpus, "--to", "pyldavis", "-o", inputs], check=True, stdout=subprocess.DEVNULL)
        began = time.time()
        subprocess.run([tinylda, "-q", "report", model, corpus, "-o", page], check=True, stdout=subprocess.DEVNULL)
        ours_seconds = time.time() - began
        given = json.loads(inputs.read_text())
        text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S).group(1)
        ours = json.loads(text)
    import pyLDAvis._prepare as prepare
    from scipy.spatial.distance import pdist, squareform

    p = np.array(given["topic_term_dists"], dtype="float64")
    topics, words = p.shape
    print(f"K = {topics}, W = {words}; the whole of tinylda report: {ours_seconds:.2f} s", flush=True)
    # Functions of pyLDAvis on the exported inputs.
    began = time.time()
    distances = squareform(pdist(p, metric=prepare._jensen_shannon))
    places = prepare._pcoa(distances)
    print(f"pyLDAvis, only distances and map: {time.time() - began:.2f} s", flush=True)

    worst = 0.0
    for k in range(topics):
        for l, d in zip(ours["topics"]["near"][k], ours["topics"]["apart"][k]):
            worst = max(worst, abs(d - distances[k, l]) - 0.5 * 10 ** (math.floor(math.log10(max(d, 1e-12))) - 3))
    failures += worst > 1e-6
    print(f"distances of near topics: largest difference beyond rounding to four digits {max(worst, 0):.1e}")
    for axis, name in enumerate("xy"):
        theirs, mine = np.real(places[:, axis]), np.array(ours["topics"][name])
        if theirs @ mine < 0:
            theirs = -theirs
        beyond = np.max(np.abs(theirs - mine) - 0.5 * 10.0 ** (np.floor(np.log10(np.maximum(np.abs(mine), 1e-12))) - 4))
        failures += beyond > 1e-6
        print(f"{name}: largest difference beyond rounding to five digits {max(beyond, 0):.1e}")
    # p(w) as `prepare` computes it, and its function for the order.
    import pandas as pd

    frequency = np.array(given["doc_topic_dists"]).T @ np.array(given["doc_lengths"], dtype="float64")
    share = frequency @ p / frequency.sum()
    log_p, log_lift = pd.DataFrame(np.log(p)), pd.DataFrame(np.log(p / share))
    vocab = {word: i for i, word in enumerate(given["vocab"])}
    own = [vocab[word] for word in ours["words"]["text"]]
    own_share = np.array(ours["words"]["share"])
    others = missing = 0
    for lam in (0.0, 0.3, 0.6, 1.0):
        began = time.time()
        theirs = prepare._find_relevance(log_p, log_lift, 30, lam)
        print(f"pyLDAvis, words for one of 101 values of lambda: {time.time() - began:.2f} s", flush=True)
        score = lam * log_p.values + (1 - lam) * log_lift.values
        for k in range(topics):
            ids = ours["top"][k]
            probability = np.array(ours["topP"][k])
            mine = lam * np.log(probability) + (1 - lam) * np.log(probability / own_share[ids])
            mine = [own[ids[i]] for i in np.argsort(-mine, kind="stable")[:30]]
            list_ = theirs[k].tolist()
            missing += len(set(list_) - {own[i] for i in ids})
            # The report has four digits: words with the same relevance in these digits may be swapped.
            others += sum(a != b and abs(score[k, a] - score[k, b]) > 2e-3 for a, b in zip(list_, mine))
    failures += others > 0 or missing > 0
    print(f"words at lambda 0, 0.3, 0.6 and 1: {missing} missing, {others} in another order beyond rounding")
    if "--prepare" in sys.argv:
        began = time.time()
        prepare.prepare(**{name: np.array(value) if name != "vocab" else value for name, value in given.items()}, sort_topics=False)
        print(f"the whole of pyLDAvis.prepare: {time.time() - began:.2f} s", flush=True)
    sys.exit(1 if failures else 0)


main()
