#!/usr/bin/env python3
"""Compares `tinylda report` with pyLDAvis on the same model and corpus.

usage: bench/pyldavis.py TINYLDA MODEL CORPUS [--distances-only] [--fixture FILE]

Checks that the words shown at lambda 0, 0.3, 0.6 and 1 are the same in the same order (but for words whose relevance is
the same to the digits that are kept), that every word that pyLDAvis keeps for some lambda is kept here, and that distances and
places on the map agree within 1e-6 (distances are in the report with four digits: the nearest topics' are compared to
those, and all places to five). States both times. Needs: pip install pyLDAvis==3.4.1. Exit code 1 where something differs.
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
    quick = "--distances-only" in sys.argv
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
    print(f"K = {topics}, W = {words}; tinylda report, all of it: {ours_seconds:.2f} s", flush=True)
    # pyLDAvis's own functions, on its own inputs.
    began = time.time()
    distances = squareform(pdist(p, metric=prepare._jensen_shannon))
    places = prepare._pcoa(distances)
    print(f"pyLDAvis, distances and map alone: {time.time() - began:.2f} s", flush=True)

    worst = 0.0
    for k in range(topics):
        for l, d in zip(ours["topics"]["near"][k], ours["topics"]["apart"][k]):
            worst = max(worst, abs(d - distances[k, l]) - 0.5 * 10 ** (math.floor(math.log10(max(d, 1e-12))) - 3))
    failures += worst > 1e-6
    print(f"distances of near topics: beyond rounding to four digits by {max(worst, 0):.1e} at the most")
    for axis, name in enumerate("xy"):
        theirs, mine = np.real(places[:, axis]), np.array(ours["topics"][name])
        if theirs @ mine < 0:
            theirs = -theirs
        beyond = np.max(np.abs(theirs - mine) - 0.5 * 10.0 ** (np.floor(np.log10(np.maximum(np.abs(mine), 1e-12))) - 4))
        failures += beyond > 1e-6
        print(f"{name}: beyond rounding to five digits by {max(beyond, 0):.1e} at the most")
    if quick:
        sys.exit(1 if failures else 0)

    began = time.time()
    prepared = prepare.prepare(**{name: np.array(value) if name != "vocab" else value for name, value in given.items()}, sort_topics=False)
    print(f"pyLDAvis.prepare, all of it: {time.time() - began:.2f} s", flush=True)
    vocab = ours["words"]["text"]
    share = np.array(ours["words"]["share"])
    others = 0
    for k in range(topics):
        ids, probability = ours["top"][k], np.array(ours["topP"][k])
        info = prepared.topic_info[prepared.topic_info.Category == f"Topic{k + 1}"]
        missing = set(info.Term) - {vocab[i] for i in ids}
        logprob = dict(zip(info.Term, info.logprob))
        loglift = dict(zip(info.Term, info.loglift))
        for lam in (0.0, 0.3, 0.6, 1.0):
            # Their words in the order of their numbers, ours in the order of ours.
            theirs = prepared.sorted_terms(k + 1, lam).Term.tolist()[:30]
            score = lam * np.log(probability) + (1 - lam) * np.log(probability / share[ids])
            mine = [vocab[ids[i]] for i in np.argsort(-score, kind="stable")[:30]]
            for a, b in zip(theirs, mine):
                if a != b:
                    relevance = lambda w: lam * logprob[w] + (1 - lam) * loglift[w]
                    # Numbers are kept with four digits: a thousandth in the logarithm is no difference.
                    if b not in logprob or abs(relevance(a) - relevance(b)) > 2e-3:
                        others += 1
        # A word at the edge of some lambda may be one that is as relevant.
        if missing:
            edge = [w for w in missing if not near_the_edge(w, info, logprob, loglift)]
            others += len(edge)
    failures += others > 0
    print(f"words at lambda 0, 0.3, 0.6 and 1: {others} differ beyond rounding")
    sys.exit(1 if failures else 0)


def near_the_edge(word, info, logprob, loglift):
    """Whether a word is never better than the thirtieth by more than rounding."""
    for step in range(101):
        lam = step / 100
        scores = np.sort(lam * info.logprob.values + (1 - lam) * info.loglift.values)[::-1]
        own = lam * logprob[word] + (1 - lam) * loglift[word]
        if own > scores[min(29, len(scores) - 1)] + 2e-3:
            return False
    return True


main()
