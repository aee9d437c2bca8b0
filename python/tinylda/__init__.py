"""Topic models (latent Dirichlet allocation) for collections larger than memory.

>>> import tinylda
>>> corpus = tinylda.Corpus.from_texts(["cats chase mice", "dogs chase cats"] * 20)
>>> model = tinylda.train(corpus, k=2, seed=1, progress=False)
>>> model.transform(["cats and mice"], progress=False).shape
(1, 2)

The package has two layers: corpora, training, models and reports here, and an estimator for
scikit-learn in :mod:`tinylda.sklearn`. :mod:`tinylda.scanpy` is for single cells.
"""

from __future__ import annotations

from typing import Any

from . import errors
from ._core import __version__
from ._progress import Event
from .corpus import Corpus, import_corpus, read_corpus
from .errors import TinyldaError, TinyldaWarning
from .model import Model, load_model
from .report import Report
from .training import Plan, Sweep, plan, sweep, train

__all__ = [
    "Corpus",
    "Event",
    "Model",
    "Plan",
    "Report",
    "Sweep",
    "TinyldaError",
    "TinyldaWarning",
    "__version__",
    "demo",
    "errors",
    "import_corpus",
    "load_model",
    "plan",
    "read_corpus",
    "sweep",
    "train",
]


def __getattr__(name: str) -> Any:
    # The modules for other packages are imported at their first use: `import tinylda` is enough.
    if name in ("scanpy", "sklearn"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def demo(folder: str | None = None) -> Model:
    """Trains a model on a small generated collection, prints its topics and returns it.

    With ``folder``, the texts, the corpus, the model and the report are kept there.
    """
    import os
    import subprocess
    import sys
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tinylda-demo-") as temporary:
        kept = folder or os.path.join(temporary, "demo")
        subprocess.run([sys.executable, "-m", "tinylda", "demo", "--keep", kept], check=True)
        return Model(load_model(os.path.join(kept, "demo.model"))._core)
