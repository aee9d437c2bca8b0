#!/usr/bin/env python3
"""Compares `tinylda import` with scikit-learn's CountVectorizer: words, counts and speed.

    bench/vectorizer.py TINYLDA FILE [--column N] [--threads N]

FILE has a document per line, or is tab-separated (--column, from 1); it may be compressed with xz.
Times are wall-clock and CPU seconds, including reading; that of the import also includes writing
the corpus file. Exits with 1 if words or counts differ. Needs scikit-learn.
"""

import argparse
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time

from sklearn.feature_extraction.text import CountVectorizer

PATTERN = r"(?u)\b\w\w+\b"


def documents(path, column):
    opened = lzma.open if path.endswith(".xz") else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            line = line.rstrip("\n").removesuffix("\r")
            yield line if column is None else line.split("\t")[column - 1]


def vocabulary(path):
    """Reads the vocabulary of a corpus file (docs/FORMAT.md)."""
    data = open(path, "rb").read()
    footer = len(data) - 80
    number = lambda at, size: int.from_bytes(data[at : at + size], "little")
    blocks, length, count = number(footer + 24, 8), number(footer + 32, 8), number(footer + 40, 4)
    at = footer - blocks * (48 if number(8, 4) == 1 else 64) - number(footer + 60, 4) - length
    lengths = []
    for start in range(0, count, 32):
        n, bits = min(32, count - start), data[at]
        size = (n * bits + 7) // 8
        packed = number(at + 1, size)
        lengths += [packed >> (i * bits) & ((1 << bits) - 1) for i in range(n)]
        at += 1 + size
    words = []
    for size in lengths:
        words.append(data[at : at + size].decode())
        at += size
    return words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tinylda")
    parser.add_argument("file")
    parser.add_argument("--column", type=int)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus, uci = (os.path.join(folder, name) for name in ("c.tlc", "c.txt"))
        command = [a.tinylda, "import", a.file, "-o", corpus, "--token-pattern", PATTERN, "--stop-words", "none"]
        command += ["--numbers", "keep", "--min-docs", "1", "--max-length", "1000000", "--threads", str(a.threads), "--quiet"]
        command += ["--format", "text"] if a.column is None else ["--text-column", str(a.column), "--header", "no", "--quotes", "no"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        ours = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        ours_cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        subprocess.run([a.tinylda, "export", corpus, "--uci", uci, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        start, start_cpu = time.perf_counter(), time.process_time()
        vectorizer = CountVectorizer(token_pattern=PATTERN)
        matrix = vectorizer.fit_transform(documents(a.file, a.column))
        theirs, theirs_cpu = time.perf_counter() - start, time.process_time() - start_cpu
        matrix.sort_indices()
        same_words = vocabulary(corpus) == list(vectorizer.get_feature_names_out())
        same_counts = True
        with open(uci) as lines:
            for _ in range(3):
                next(lines)
            for d in range(matrix.shape[0]):
                for i in range(matrix.indptr[d], matrix.indptr[d + 1]):
                    same_counts &= next(lines).split() == [str(d + 1), str(matrix.indices[i] + 1), str(matrix.data[i])]
            same_counts &= next(lines, None) is None
    n = matrix.shape[0]
    print(f"{n} documents, {matrix.shape[1]} words, {matrix.nnz} non-zeros; same words: {same_words}, same counts: {same_counts}")
    print(f"tinylda       {ours:8.2f} s ({ours_cpu:.2f} CPU s), {n / ours:10.0f} documents/s")
    print(f"scikit-learn  {theirs:8.2f} s ({theirs_cpu:.2f} CPU s), {n / theirs:10.0f} documents/s")
    print(f"tinylda is {theirs / ours:.1f} times as fast in wall-clock time, {theirs_cpu / ours_cpu:.1f} times in CPU time")
    return 0 if same_words and same_counts else 1


if __name__ == "__main__":
    sys.exit(main())
