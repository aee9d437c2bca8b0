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
        kept = os.fspath(folder or os.path.join(temporary, "demo"))
        command = [sys.executable, "-m", "tinylda", "demo", "--keep", kept]
        # Notebooks show what this process prints, but not what its children print.
        shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        model = Model(load_model(os.path.join(kept, "demo.model"))._core)
    if folder is None:
        # The rest is about files that do not exist any more.
        shown = shown.partition("\nNext, ")[0] + (
            "\nNext, try your own texts:\n"
            "  corpus = tinylda.Corpus.from_texts(texts)\n"
            "  model = tinylda.train(corpus, k=20)\n"
            '  model.report(corpus).save("report.html")\n'
        )
    print(shown, end="")
    return model
