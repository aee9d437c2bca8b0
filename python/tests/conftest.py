"""Shared corpora of the tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import tinylda

THEMES = {
    "sport": "ball goal team match player coach league stadium score win".split(),
    "law": "court judge law trial jury verdict appeal lawyer case crime".split(),
    "food": "bread cheese soup cook recipe oven salt butter dinner taste".split(),
}


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Texts of three themes, ten words each."""
    rng = np.random.default_rng(1)
    themes = list(THEMES.values())
    return [" ".join(rng.choice(themes[d % 3], 30)) for d in range(120)]


@pytest.fixture(scope="session")
def labels() -> list[str]:
    """The themes of the texts."""
    return [list(THEMES)[d % 3] for d in range(120)]


@pytest.fixture(scope="session")
def corpus(texts: list[str], labels: list[str]) -> tinylda.Corpus:
    """A corpus of the texts with labels."""
    return tinylda.Corpus.from_texts(texts, labels=labels, language="en", progress=False)


@pytest.fixture(scope="session")
def model(corpus: tinylda.Corpus) -> tinylda.Model:
    """A model of the three themes."""
    return tinylda.train(corpus, k=3, seed=1, progress=False)


@pytest.fixture(scope="session")
def counts() -> sparse.csr_matrix:
    """A random matrix of counts, 400 documents by 150 words."""
    rng = np.random.default_rng(7)
    topics = rng.dirichlet(np.full(150, 0.05), size=5)
    rows = [rng.multinomial(60, rng.dirichlet(np.full(5, 0.2)) @ topics) for _ in range(400)]
    return sparse.csr_matrix(np.array(rows))


@pytest.fixture(scope="session")
def cli() -> Callable[..., str]:
    """The command line of the installed package; returns its standard output."""

    def run(*arguments: object, cwd: Path | None = None) -> str:
        command = [sys.executable, "-m", "tinylda", *map(str, arguments)]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
