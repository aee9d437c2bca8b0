#!/usr/bin/env python3
"""Generates a large artificial text, one document per line, to test the memory limit of `import`.

    bench/pile.py GIGABYTES DISTINCT > pile.txt

Writes to standard output. A line has 200 tokens from 100,000 common words with Zipf frequencies,
and some words that occur only once; the text has DISTINCT such words in total. The same arguments
give the same text. Needs numpy.
"""
import sys

import numpy as np

gigabytes, distinct = float(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(1)
letters = "etaoinshrdlucmfwypvbgkjqxz"


def word(i):
    made = ""
    while i >= 0:
        made += letters[i % 26]
        i = i // 26 - 1
    return made


common = [word(i) for i in range(100_000)]
share = np.cumsum(1.0 / (np.arange(len(common)) + 5.0))
share /= share[-1]
size, length = int(gigabytes * 1e9), 200
# Lines of common words, which are reused: only the rare words must be many.
lines = []
for _ in range(50):
    ids = np.searchsorted(share, random.random((1000, length))).clip(0, len(common) - 1)
    lines += [" ".join([common[i] for i in row]) for row in ids.tolist()]
written, rare = 0, 0
out = sys.stdout
while written < size:
    batch = []
    for line in lines:
        # Spreads the rare words evenly over the text.
        wanted = min(distinct, int(distinct * (written + len(line)) / size) + 1)
        batch.append(line + "".join([f" {word(j)}{j % 7}z" for j in range(rare, wanted)]) + "\n")
        rare = max(rare, wanted)
        written += len(batch[-1])
    out.write("".join(batch))
