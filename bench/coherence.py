#!/usr/bin/env python3
"""Compares coherence with gensim, and the words of topics with pyLDAvis.

Needs: pip install gensim==4.4.0 pyLDAvis==3.4.1

    coherence.py fixture OUT.json
        Writes small texts and topics with gensim's results, the fixture of
        crates/tinylda/tests/coherence.rs.
    coherence.py compare TINYLDA docword.txt[.xz] K [--top 20] [--passes 30] [--processes 2] [--work DIR]
        Imports the corpus, trains K topics, then measures their coherence with both programs on the
        same words and texts (words repeated by their counts). Prints a line of JSON per measure: both
        means, the largest difference of a topic, seconds and peak memory of each process. gensim's
        memory includes its workers; tinylda's is at least that of the Python process that starts it.
    coherence.py relevance TINYLDA FILE.model
        Compares the topics' words by relevance at lambda 0, 0.3, 0.6 and 1 with those of pyLDAvis.
"""
import argparse
import json
import lzma
import os
import random
import resource
import subprocess
import sys
import time

MEASURES = ["u_mass", "c_uci", "c_npmi", "c_v"]


def fixture(path):
    """Writes the fixture: texts with repeated words, an empty text and one shorter than every window;
    topics that share words."""
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    draw = random.Random(7)
    names = [f"w{i}" for i in range(40)]
    themes = [names[i * 8 : i * 8 + 12] for i in range(4)]
    texts = []
    for d in range(60):
        theme = themes[d % 4]
        length = draw.choice([3, 9, 10, 11, 40, 130])
        text = []
        for _ in range(length):
            text.append(draw.choice(theme) if draw.random() < 0.7 else draw.choice(names[:38]))
            if draw.random() < 0.2:
                text.append(text[-1])
        texts.append(text)
    texts[17] = []
    texts[40] = ["w3"]
    topics = [theme[:10] for theme in themes] + [names[0:38:5], [names[2], names[9]]]
    dictionary = Dictionary([names])
    ids = dictionary.token2id
    cases = []
    for processes in [1, 2]:
        for window in [None, 1, 3, 5, 25, 1000]:
            for measure in MEASURES:
                cm = CoherenceModel(
                    topics=topics, texts=texts, dictionary=dictionary, coherence=measure,
                    window_size=window, topn=10, processes=processes,
                )
                values = cm.get_coherence_per_topic()
                case = dict(measure=measure, window=window, topics=[float(v) for v in values], mean=float(cm.get_coherence()))
                if processes == 1:
                    cases.append(case)
                else:
                    assert case in cases, case
    # A word that is in gensim's dictionary but in no text.
    lost = ["w1", "w39", "w2", "w3"]
    values = [
        CoherenceModel(topics=[lost, lost], texts=texts, dictionary=dictionary, coherence=m).get_coherence_per_topic()[0]
        for m in MEASURES
    ]
    assert [str(float(v)) for v in values[1:]] == ["inf", "inf", "nan"], values
    order = {name: i for i, name in enumerate(names)}
    assert len(ids) == len(order)
    json.dump(
        dict(
            made_by="bench/coherence.py fixture, gensim 4.4.0",
            texts=[[order[w] for w in text] for text in texts],
            topics=[[order[w] for w in topic] for topic in topics],
            cases=cases,
            lost=[order[w] for w in lost],
            lost_u_mass=float(values[0]),
        ),
        open(path, "w"),
    )


def run(command, **kwargs):
    """Runs a process and returns its seconds, peak memory in bytes and standard output."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **kwargs) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} failed")
    return time.perf_counter() - start, usage.ru_maxrss * 1024, out


def gensim_side(work, measure, window, topn, processes):
    """Measures gensim in a separate process. The time is that of CoherenceModel only, the memory that
    of the process and its workers."""
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    topics = json.load(open(f"{work}/topics.json"))
    texts = [line.split() for line in open(f"{work}/texts.txt")]
    dictionary = Dictionary(texts)
    start = time.perf_counter()
    cm = CoherenceModel(
        topics=topics, texts=texts, dictionary=dictionary, coherence=measure,
        window_size=window, topn=topn, processes=processes,
    )
    values = [float(v) for v in cm.get_coherence_per_topic()]
    seconds = time.perf_counter() - start
    usage = [resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps(dict(seconds=seconds, values=values, peak=usage[0] + usage[1] * (processes if usage[1] else 0))))


def compare(a):
    work = a.work
    os.makedirs(work, exist_ok=True)
    tool = [os.path.abspath(a.tinylda), "--quiet"]
    opened = lzma.open(a.corpus, "rt") if a.corpus.endswith(".xz") else open(a.corpus)
    with opened as lines, open(f"{work}/texts.txt", "w") as texts:
        documents, words, _ = (int(next(lines)) for _ in range(3))
        at, text = 1, []
        for line in lines:
            d, w, x = map(int, line.split())
            while d > at:
                texts.write(" ".join(text) + "\n")
                at, text = at + 1, []
            text += [f"w{w}"] * x
        for _ in range(at, documents + 1):
            texts.write(" ".join(text) + "\n")
            text = []
    with open(f"{work}/vocab.txt", "w") as vocab:
        vocab.writelines(f"w{w}\n" for w in range(1, words + 1))
    if not os.path.exists(f"{work}/k{a.k}.model"):
        run(tool + ["import", a.corpus, "--vocab", f"{work}/vocab.txt", "-o", f"{work}/c.tlc"])
        run(tool + ["train", f"{work}/c.tlc", "-k", str(a.k), "--passes", str(a.passes), "-o", f"{work}/k{a.k}.model"])
    model = f"{work}/k{a.k}.model"
    _, _, out = run(tool + ["topics", model, "--top", str(a.top), "--json"])
    topics = [[w["word"] for w in t["words"]] for t in json.loads(out)["topics"]]
    json.dump(topics, open(f"{work}/topics.json", "w"))
    common = ["eval", model, "--top", str(a.top), "--json"]
    reference = ["--reference", f"{work}/texts.txt"]
    corpus = [f"{work}/c.tlc"]
    # (measure, gensim's window, our source): a document as one window, and the default windows.
    whole = 10**6
    jobs = [("u_mass", None, corpus)] + [(m, whole, corpus) for m in ["c_npmi", "c_v"]]
    jobs += [(m, None, reference) for m in ["c_uci", "c_npmi", "c_v"]]
    for measure, window, source in jobs:
        if a.measures and measure not in a.measures.split(","):
            continue
        seconds, peak, out = run(tool + common + source + ["--coherence", measure])
        ours = json.loads(out)["coherence"][0]
        command = [sys.executable, __file__, "gensim", work, measure, str(window), str(a.top), str(a.processes)]
        _, _, out = run(command)
        theirs = json.loads(out)
        mean = sum(theirs["values"]) / len(theirs["values"])
        worst = max(abs(x - y) for x, y in zip(ours["topics"], theirs["values"]))
        print(json.dumps(dict(
            measure=measure, window=window or "usual", tinylda=ours["mean"], gensim=mean, worst_difference=worst,
            tinylda_seconds=round(seconds, 3), gensim_seconds=round(theirs["seconds"], 3),
            tinylda_peak_bytes=peak, gensim_peak_bytes=theirs["peak"],
        )), flush=True)


def relevance(a):
    import numpy as np
    import pandas as pd
    import pyLDAvis
    from pyLDAvis._prepare import _find_relevance

    os.makedirs(a.work, exist_ok=True)
    npz = f"{a.work}/relevance.npz"
    run([a.tinylda, "--quiet", "export", a.corpus, "--npz", npz, "--json"])
    z = np.load(npz)
    phi, beta = z["phi"].astype("float64"), float(z["beta"][0])
    W, K = phi.shape
    p = ((phi + beta) / (phi.sum(0) + W * beta)).T
    lengths = phi.sum(0)
    # One document per topic, as long as the topic: pyLDAvis then uses the model's shares of topics.
    prepared = pyLDAvis.prepare(
        p, np.eye(K), lengths, [str(w) for w in range(W)], phi.sum(1),
        R=30, lambda_step=0.1, mds=lambda d: np.zeros((len(d), 2)), sort_topics=False, start_index=0, n_jobs=1,
    )
    overall = (p * (lengths / lengths.sum())[:, None]).sum(0)
    log_p, log_lift = pd.DataFrame(np.log(p)), pd.DataFrame(np.log(p / overall))
    names = {str(word): w for w, word in enumerate(z["vocab"])}
    swapped = checked = 0
    lambdas = [0.0, 0.3, 0.6, 1.0]
    for l in lambdas:
        theirs = _find_relevance(log_p, log_lift, 30, l)
        command = [a.tinylda, "--quiet", "topics", a.corpus, "--by", "relevance", "--lambda", str(l), "--top", "30", "--json"]
        score = l * np.log(p) + (1 - l) * np.log(p / overall)
        for topic in json.loads(run(command)[2])["topics"]:
            k = topic["topic"]
            table = prepared.topic_info[prepared.topic_info.Category == f"Topic{k}"].set_index("Term")
            for word, y in zip(topic["words"], theirs[k]):
                x = names[word["word"]]
                checked += 1
                if x != y:
                    # Allowed only if the two scores are equal except for rounding.
                    assert abs(score[k][x] - score[k][y]) < 1e-9, (l, k, x, y)
                    swapped += 1
                elif str(x) in table.index:
                    row = table.loc[str(x)]
                    assert abs(np.log(word["lift"]) - row.loglift) < 1e-4, (l, k, x)
                    assert abs(np.log(word["probability"]) - row.logprob) < 1e-4, (l, k, x)
    print(json.dumps(dict(words=checked, same_but_for_rounding=swapped, lambdas=lambdas)))


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "gensim":
        work, measure, window, topn, processes = sys.argv[2:]
        return gensim_side(work, measure, None if window == "None" else int(window), int(topn), int(processes))
    if len(sys.argv) > 1 and sys.argv[1] == "fixture":
        return fixture(sys.argv[2])
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["compare", "relevance"])
    p.add_argument("tinylda")
    p.add_argument("corpus")
    p.add_argument("k", type=int, nargs="?", default=50)
    p.add_argument("--top", type=int, default=20)
    p.add_argument("--passes", type=int, default=30)
    p.add_argument("--processes", type=int, default=2)
    p.add_argument("--measures", default="")
    p.add_argument("--work", default="coherence.work")
    a = p.parse_args()
    compare(a) if a.what == "compare" else relevance(a)


if __name__ == "__main__":
    main()
