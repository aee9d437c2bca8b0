"""Training: the same bytes as the command line, callbacks, checkpoints, memory, errors."""

from __future__ import annotations

import inspect
import json
import logging
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import tinylda
from tinylda import Corpus, _core
from tinylda.errors import CheckpointError, MemoryLimitError, ParameterError


def test_every_setting_is_a_keyword():
    """The keywords of `train` are the settings of the library, and no option lacks documentation."""
    names = {"k" if row["name"] == "topics" else row["name"] for row in _core.settings()}
    parameters = set(inspect.signature(tinylda.train).parameters)
    assert names <= parameters
    for name in parameters:
        assert name in tinylda.train.__doc__


def test_themes_are_found(model):
    from conftest import THEMES

    found = sorted(sorted(words) for words in model.top_words(10))
    assert found == sorted(sorted(words) for words in THEMES.values())


def test_same_bytes_as_the_command_line(tmp_path: Path, cli, texts, counts):
    """Models from texts, from a matrix and from a corpus file, on one thread and two."""
    lines = tmp_path / "texts.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    sparse.save_npz(tmp_path / "counts.npz", counts)
    cases = {
        "texts": (lines, Corpus.from_texts(texts, progress=False)),
        "csr": (tmp_path / "counts.npz", Corpus.from_csr(counts)),
    }
    for name, (source, corpus) in cases.items():
        file = tmp_path / f"{name}.tlc"
        cli("import", source, "-o", file, "-q")
        cli("train", file, "-k", 4, "--seed", 3, "--passes", 20, "-o", tmp_path / "m.model", "-q")
        expected = (tmp_path / "m.model").read_bytes()
        for threads in (1, 2):
            for documents in (corpus, tinylda.read_corpus(file)):
                model = tinylda.train(documents, k=4, seed=3, passes=20, threads=threads, progress=False)
                assert model.to_bytes() == expected, (name, threads)


@pytest.mark.parametrize("algorithm", ["tbp", "stbp", "atbp", "bp", "abp", "gibbs", "vb", "ovb", "nmf"])
def test_all_algorithms(counts, algorithm, tmp_path, cli):
    corpus = Corpus.from_csr(counts)
    model = tinylda.train(corpus, k=3, algorithm=algorithm, passes=5, progress=False)
    corpus.save(tmp_path / "c.tlc")
    cli("train", tmp_path / "c.tlc", "-k", 3, "--algorithm", algorithm, "--passes", 5, "-o", tmp_path / "m", "-q")
    assert tinylda.load_model(tmp_path / "m") .training["algorithm"] == algorithm
    assert (tinylda.load_model(tmp_path / "m").phi == model.phi).all()


def test_callback_sees_every_pass(counts):
    events = []
    model = tinylda.train(Corpus.from_csr(counts), k=3, passes=8, tolerance=0, callback=events.append, progress=False)
    passes = [event for event in events if event.kind == "pass"]
    assert [event.pass_ for event in passes] == list(range(1, 9))
    assert passes[-1].perplexity > 0 and model.summary["stop"] == "passes"
    with pytest.raises(AttributeError):
        passes[0].nothing


def test_callback_stops_after_a_pass(counts):
    def callback(event):
        return not (event.kind == "pass" and event.pass_ == 3)

    model = tinylda.train(Corpus.from_csr(counts), k=3, callback=callback, progress=False)
    # tbp knows the perplexity of a pass during the next one.
    assert model.summary["passes"] == 4 and model.summary["stop"] == "callback"
    again = tinylda.train(Corpus.from_csr(counts), k=3, callback=callback, threads=1, progress=False)
    assert again == model


def test_callback_stops_a_training_to_a_file(counts, tmp_path):
    """The topics found so far are written, whether there is a checkpoint folder or not."""

    def callback(event):
        return not (event.kind == "pass" and event.pass_ == 3)

    corpus = Corpus.from_csr(counts)
    expected = tinylda.train(corpus, k=3, callback=callback, progress=False)
    for checkpoint in (None, tmp_path / "c"):
        file = tmp_path / "m.model"
        model = tinylda.train(corpus, k=3, callback=callback, checkpoint=checkpoint, output=file, progress=False)
        assert model.summary["stop"] == "callback" and model.summary["passes"] == 4
        assert model == expected and file.read_bytes() == expected.to_bytes()
        file.unlink()
    assert not (tmp_path / "c").exists() or not list((tmp_path / "c").iterdir())


def test_ctrl_c_after_the_last_pass_keeps_the_model(counts, tmp_path, caplog):
    """An interrupt that comes too late does not discard a model, unless it is in a file."""

    def callback(event):
        if event.kind == "pass" and event.pass_ == 5:
            raise KeyboardInterrupt

    corpus = Corpus.from_csr(counts)
    options = {"k": 3, "passes": 5, "tolerance": 0, "callback": callback, "progress": False}
    expected = tinylda.train(corpus, k=3, passes=5, tolerance=0, progress=False)
    with caplog.at_level(logging.WARNING, "tinylda"):
        assert tinylda.train(corpus, **options) == expected
    assert "Ctrl-C" in caplog.text
    with pytest.raises(KeyboardInterrupt):
        tinylda.train(corpus, output=tmp_path / "m.model", **options)
    assert tinylda.load_model(tmp_path / "m.model") == expected

    def failing(event):
        if event.kind == "pass" and event.pass_ == 5:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tinylda.train(corpus, **{**options, "callback": failing})


def test_callback_that_raises(counts, tmp_path):
    def callback(event):
        if event.kind == "pass" and event.pass_ == 4:
            raise ZeroDivisionError("stop here")

    corpus = Corpus.from_csr(counts)
    with pytest.raises(ZeroDivisionError, match="stop here"):
        tinylda.train(corpus, k=3, callback=callback, progress=False)
    with pytest.raises(ZeroDivisionError):
        tinylda.train(corpus, k=3, passes=150, tolerance=0, callback=callback, checkpoint=tmp_path / "c", progress=False)
    # The checkpoint was written, and the training goes on to the same model.
    events = []
    resumed = tinylda.train(
        corpus, k=3, passes=150, tolerance=0, checkpoint=tmp_path / "c", resume=True, callback=events.append, threads=1, progress=False
    )
    assert any(event.kind == "resumed" for event in events)
    assert resumed == tinylda.train(corpus, k=3, passes=150, tolerance=0, progress=False)


def test_checkpoints_are_not_lost_by_accident(counts, tmp_path):
    corpus = Corpus.from_csr(counts)

    def stop(event):
        if event.kind == "pass":
            raise KeyboardInterrupt

    options = {"k": 3, "passes": 150, "tolerance": 0, "checkpoint": tmp_path / "c", "progress": False}
    with pytest.raises(KeyboardInterrupt):
        tinylda.train(corpus, callback=stop, **options)
    with pytest.raises(CheckpointError, match="resume=True"):
        tinylda.train(corpus, **options)
    with pytest.raises(CheckpointError, match="seed=1.*seed=2"):
        tinylda.train(corpus, seed=2, resume=True, **options)
    assert tinylda.train(corpus, resume="restart", **options).summary["passes"] == 150
    with pytest.raises(ParameterError, match="resume requires checkpoint"):
        tinylda.train(corpus, k=3, resume=True)


def test_output_file(counts, tmp_path):
    corpus = Corpus.from_csr(counts)
    model = tinylda.train(corpus, k=3, passes=5, output=tmp_path / "m.model", progress=False)
    assert model == tinylda.train(corpus, k=3, passes=5, progress=False)
    assert model.to_bytes() == (tmp_path / "m.model").read_bytes()


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"k": 0}, "k"),
        ({"k": 3, "alpha": -1}, "alpha"),
        ({"k": 3, "alpha": float("nan")}, "alpha"),
        ({"k": 3, "kappa": 0.7}, "kappa"),
        ({"k": 3, "algorithm": "lda"}, "algorithm"),
        ({"k": 3, "memory": "much"}, "memory"),
        ({"k": 3, "threads": 0}, "threads"),
        ({"k": 3, "seed": -1}, "seed"),
        ({"k": 2.5}, "k"),
        ({"k": 3, "resume": "maybe"}, "resume"),
    ],
)
def test_errors_name_the_keyword(counts, options, parameter):
    with pytest.raises(ParameterError) as error:
        tinylda.train(Corpus.from_csr(counts), progress=False, **options)
    assert error.value.parameter == parameter and isinstance(error.value, ValueError)
    assert parameter in str(error.value) and "--" not in str(error.value)


#: Parameters in messages that users of the package cannot cause.
UNREACHABLE = {
    *("columns", "compression", "data", "indptr", "parquet", "row", "settings"),  # Arguments of the library.
    *("instructions", "snapshots", "start", "order"),  # Settings that the package does not have.
    *("mean_length", "length_shape", "concentration", "words"),  # Options of synthetic corpora.
    *("reference", "window", "inference"),  # Options of other commands.
    *("count", "name", "option", "tokens_unknown"),  # Variables in text that is formatted elsewhere.
    *("model",),  # The model of `Model.update`.
}


def _parameters_in_messages() -> set[str]:
    """Returns the parameters that errors of the library are about or refer to."""
    constructors = "out_of_range|parse|missing|conflict|only_with|requires|unsupported|unsupported_value"
    names = {row["name"] for row in _core.settings()}
    for path in (Path(__file__).parents[2] / "crates" / "tinylda" / "src").rglob("*.rs"):
        if path.name in ("tests.rs", "template.rs"):
            continue
        source = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
        source = "\n".join(line for line in source.splitlines() if not line.strip().startswith("//"))
        names |= set(re.findall(rf'\b(?:{constructors})\(\s*"([a-z][a-z0-9_]*)"', source))
        # Lists of (name, whether it is given, ...).
        names |= set(re.findall(r'^ +\("([a-z][a-z0-9_]*)", [^"]*(?:self|given|parts|selection|&c)\b', source, re.M))
        names |= set(re.findall(r'then_some\("([a-z][a-z0-9_]*)"\)', source))
        for before, literal in re.findall(r'([^"]*)"((?:[^"\\]|\\.)*)"', source, re.S):
            # In a format string, a name in braces is a variable, and a marker has double braces.
            is_format = re.search(r"\w+!\([^()]*$", before) is not None
            marker = r"\{\{([a-z][a-z0-9_]*)(?:=[^{}]*)?\}" if is_format else r"(?<![u{])\{([a-z][a-z0-9_]*)(?:=[^{}]*)?\}"
            names |= set(re.findall(marker, literal.replace("\\u{", "")))
    return names


@pytest.mark.skipif(not (Path(__file__).parents[2] / "crates").is_dir(), reason="needs the sources of the library")
def test_every_parameter_in_a_message_is_a_keyword():
    functions = [
        *(tinylda.train, tinylda.plan, tinylda.sweep, tinylda.import_corpus, Corpus.from_texts, Corpus.from_csr),
        *(Corpus.split, tinylda.Model.coherence, tinylda.Model.documents, tinylda.Model.similar),
            tinylda.Model.update,
    ]
    keywords = {name for function in functions for name in inspect.signature(function).parameters}
    found = _parameters_in_messages()
    assert {"memory", "kappa", "skip_zeros", "doc_column", "label_from", "keep_case", "vocab"} <= found
    spelled = {name: _core.keyword(name).split("=")[0] for name in found - UNREACHABLE}
    assert {name: keyword for name, keyword in spelled.items() if keyword not in keywords} == {}
    assert _core.keyword("keep_case", "true") == "lowercase=False"
    assert _core.keyword("memory", "2GiB") == 'memory="2GiB"'


def test_memory_is_planned(counts):
    corpus = Corpus.from_csr(counts)
    plan = tinylda.plan(corpus, k=10, memory="1GiB", threads=2)
    assert plan["total"] <= plan["limit"] and "MiB" in repr(plan) and "<table>" in plan._repr_html_()
    assert "phi" in str(plan)
    with pytest.raises(MemoryLimitError, match='memory="') as error:
        tinylda.train(corpus, k=10, memory=1000, progress=False)
    assert error.value.needed > error.value.available and isinstance(error.value, MemoryError)


def test_the_plan_is_that_of_the_training(counts):
    """With the planned memory a training runs, with less it does not; a file needs less memory."""
    corpus = Corpus.from_csr(counts)
    for options in ({}, {"seeds": {"one": ["w1"]}}):
        named = Corpus.from_csr(counts, vocabulary=[f"w{i}" for i in range(150)]) if options else corpus
        with pytest.raises(MemoryLimitError) as planned:
            tinylda.plan(named, k=10, memory=1, threads=1, **options)
        with pytest.raises(MemoryLimitError) as trained:
            tinylda.train(named, k=10, memory=1, threads=1, progress=False, **options)
        assert planned.value.needed == trained.value.needed
    in_memory = tinylda.plan(corpus, k=10, memory="1GiB", threads=1)
    in_file = tinylda.plan(corpus, k=10, memory="1GiB", threads=1, output="m.model")
    assert in_file["total"] <= in_memory["total"]
    with pytest.raises(ParameterError, match="sweep"):
        tinylda.sweep(corpus, k=[2], seeds={"one": ["w1"]}, progress=False)


@pytest.mark.parametrize(
    ("text", "size"), [("2G", 2 << 30), ("2GB", 2 * 10**9), ("1.5 GiB", 3 << 29), ("800M", 800 << 20), ("64kb", 64000)]
)
def test_memory_is_parsed_as_by_the_command_line(text, size):
    from tinylda._options import memory_bytes

    assert memory_bytes(text) == size
    assert 0 < memory_bytes("50%") < memory_bytes("100%")
    for wrong in ("2", "2 apples", "-1GiB", "nanGiB", "200%"):
        with pytest.raises(ParameterError, match="memory"):
            memory_bytes(wrong)


def test_flags_of_numpy(counts):
    corpus = Corpus.from_csr(counts)
    model = tinylda.train(corpus, k=np.int64(3), passes=5, optimize=np.True_, progress=False)
    assert model == tinylda.train(corpus, k=3, passes=5, optimize=True, progress=False)
    assert "optimize" not in tinylda.train(corpus, k=3, passes=2, optimize=np.False_, progress=False).training["settings"]


def test_a_model_in_a_file_is_found_from_another_folder(counts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = tinylda.train(Corpus.from_csr(counts), k=3, passes=2, output="m.model", progress=False)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert model.k == 3


def test_little_memory_gives_the_same_model(counts):
    corpus = Corpus.from_csr(counts)
    with pytest.raises(MemoryLimitError) as error:
        tinylda.train(corpus, k=10, memory=1, threads=1, passes=5, progress=False)
    least = error.value.needed
    model = tinylda.train(corpus, k=10, memory=least, threads=1, passes=5, progress=False)
    assert model == tinylda.train(corpus, k=10, passes=5, progress=False)


def test_seeds(corpus):
    model = tinylda.train(corpus, k=3, seeds={"kitchen": ["bread", "soup"]}, progress=False)
    assert "kitchen" in model.topic_names
    assert "bread" in model.top_words(10)[model.topic_names.index("kitchen")]
    assert "name" in model.topics(3, frame="dict")
    with pytest.raises(ParameterError):
        tinylda.train(corpus, k=3, seeds={"kitchen": ["two words"]}, progress=False)


def test_logging(counts, caplog):
    with caplog.at_level(logging.INFO, "tinylda"):
        tinylda.train(Corpus.from_csr(counts), k=3, passes=3, progress=False)
    assert sum("perplexity" in record.message for record in caplog.records) == 3


def test_progress_is_shown(counts, capsys):
    tinylda.train(Corpus.from_csr(counts), k=3, passes=3, progress=True)
    assert "training" in capsys.readouterr().err


def test_few_documents_warn():
    with pytest.warns(tinylda.TinyldaWarning, match="5 topics for 4 documents"):
        tinylda.train(Corpus.from_csr(np.ones((4, 10))), k=5, passes=2, progress=False)


def test_a_corpus_is_expected(counts):
    with pytest.raises(TypeError, match="from_csr"):
        tinylda.train(counts, k=3)


def test_sweep(corpus, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "tinylda"):
        found = tinylda.sweep(corpus, k=[2, 3, 5], repeats=2, passes=20, folder=tmp_path / "s", progress=False)
    table = found.table("dict")
    assert table["k"] == [2, 3, 5] and len(table["perplexity"]) == 3
    # There are three themes: two topics are too few. The best score decides among the others.
    assert found.best_k == table["k"][int(np.argmax(table["score"]))] != 2
    assert found.best.k == found.best_k and f"best: {found.best_k}" in repr(found)
    assert sum("perplexity" in record.message for record in caplog.records) == 6
    # The runs are kept: the second sweep trains nothing again.
    again = tinylda.sweep(corpus, k=[2, 3, 5], repeats=2, passes=20, folder=tmp_path / "s", progress=False)
    assert again.rows == found.rows and again.best == found.best
    with pytest.raises(ParameterError, match="coherence"):
        tinylda.sweep(corpus, k=[2], coherence="c_magic", progress=False)
    with pytest.raises((ParameterError, RuntimeError)):
        tinylda.sweep(corpus, k=[], progress=False)


def test_seeds_that_cannot_be_written(corpus):
    """Seed words are passed on as lines of a file, in which some characters mean something else."""
    for seeds in ({"#a": ["goal"], "b": ["team"]}, {"a": ["goal,team"]}, {"a": []}):
        with pytest.raises(ParameterError) as error:
            tinylda.train(corpus, k=3, seeds=seeds, progress=False)
        assert error.value.parameter == "seeds"
    with pytest.raises(TypeError, match="mapping"):
        tinylda.train(corpus, k=3, seeds=["goal"], progress=False)
    assert tinylda.train(corpus, k=3, seeds={}, passes=2, progress=False) == tinylda.train(corpus, k=3, passes=2, progress=False)


def test_keywords_of_plans_and_sweeps(corpus):
    plan = tinylda.plan(corpus, k=3, passes=7)
    assert tinylda.plan(corpus, k=3, passes=7, checkpoint="c", resume=True, callback=print, progress=False).keys() == plan.keys()
    for call in (tinylda.plan, tinylda.sweep):
        with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
            call(corpus, [3], nonsense=1)
    with pytest.raises(TypeError, match="several numbers"):
        tinylda.sweep(corpus, k=3, progress=False)
    for options in ({"k": []}, {"k": [2.5]}, {"k": [-1]}, {"k": [2], "repeats": 0}, {"k": [2], "n": 1}):
        with pytest.raises(ParameterError):
            tinylda.sweep(corpus, progress=False, **options)


def test_false_of_numpy_stops(counts):
    model = tinylda.train(Corpus.from_csr(counts), k=3, callback=lambda event: np.False_, progress=False)
    assert model.summary["stop"] == "callback"


def test_the_output_is_checked_before_the_training(counts, tmp_path):
    """A file that cannot be written is no surprise at the end of a long training."""
    called = []
    options = {"k": 3, "passes": 2, "callback": called.append, "progress": False}
    corpus = Corpus.from_csr(counts)
    with pytest.raises(IsADirectoryError):
        tinylda.train(corpus, output=tmp_path, **options)
    with pytest.raises(FileNotFoundError, match="create it first"):
        tinylda.train(corpus, output=tmp_path / "none" / "m.model", **options)
    with pytest.raises(TypeError, match="output must be a path"):
        tinylda.train(corpus, output=7, **options)
    assert called == []


def test_a_corpus_without_tokens(tmp_path):
    for empty in (Corpus.from_csr(np.zeros((3, 3))), Corpus.from_tokens([])):
        for call in (tinylda.train, tinylda.plan):
            with pytest.raises(tinylda.errors.InputError, match="have no tokens"):
                call(empty, 2)


@pytest.mark.parametrize("name", ["scratch", "checkpoint", "output", "callback"])
def test_options_of_a_wrong_type_are_named(counts, name):
    with pytest.raises(TypeError, match=f"^{name} must be a"):
        tinylda.train(Corpus.from_csr(counts), k=3, progress=False, **{name: 5})


def test_options_of_sweeps_are_named(corpus, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        tinylda.sweep(corpus, k=[2], folder=tmp_path / "file", progress=False)
    for name, wrong in (("folder", 5), ("coherence", 5)):
        with pytest.raises(TypeError, match=f"^{name} must be a"):
            tinylda.sweep(corpus, k=[2], progress=False, **{name: wrong})
    for call in (lambda: tinylda.sweep(corpus, k=[2], test="a"), lambda: corpus.split("a")):
        with pytest.raises(ParameterError, match="^test must be a number"):
            call()


def test_small_corpora_take_one_thread(counts):
    """On a busy machine, threads that wait for each other are slower than one."""
    from tinylda.training import _training_threads

    small = Corpus.from_csr(counts)
    large = Corpus.from_csr(np.full((10, 10), 10_000))
    assert [_training_threads(threads, small) for threads in (None, 1, 2)] == [1, 1, 2]
    assert [_training_threads(threads, large) for threads in (None, 1, 2)] == [None, 1, 2]


def test_update_gives_the_same_bytes_as_the_command_line(tmp_path: Path, cli, texts):
    """A model is updated with documents that have new words, in memory and into a file."""
    old, new = Corpus.from_texts(texts, progress=False), Corpus.from_texts([f"{text} unheard" for text in texts[:40]], progress=False)
    old.save(tmp_path / "old.tlc")
    new.save(tmp_path / "new.tlc")
    cli("train", tmp_path / "old.tlc", "-k", 4, "--passes", 20, "-o", tmp_path / "old.model", "-q")
    cli("update", tmp_path / "old.model", tmp_path / "new.tlc", "--weight", 0.5, "--passes", 12, "-o", tmp_path / "new.model", "-q")
    expected = (tmp_path / "new.model").read_bytes()
    model = tinylda.load_model(tmp_path / "old.model")
    updated = model.update(new, weight=0.5, passes=12, progress=False)
    assert updated.to_bytes() == expected
    assert model.update(new, weight=0.5, passes=12, progress=False, threads=2, output=tmp_path / "out.model").to_bytes() == expected
    assert updated.vocabulary[: model.n_words] == model.vocabulary and "unheard" in updated.vocabulary
    record = updated.training["update"]
    assert len(record["similarities"]) == 4 and record["weight"] == 0.5
    assert record["corpora"] == [model.training["corpus"]]


def test_update_refuses_what_does_not_fit(model):
    foreign = Corpus.from_tokens([["xylophone", "zither"]] * 5)
    with pytest.raises(tinylda.TinyldaError, match="no word of the new documents is in the model"):
        model.update(foreign, progress=False)
    known = Corpus.from_tokens([model.vocabulary[:3]] * 5)
    with pytest.raises(ParameterError, match="weight"):
        model.update(known, weight=0, progress=False)
    with pytest.raises(TypeError):
        model.update("texts", progress=False)
