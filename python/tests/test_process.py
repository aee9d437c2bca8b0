"""Signals, threads, processes, the end of the interpreter, memory: each in a separate process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import tinylda
from tinylda import Corpus
from tinylda.sklearn import LDA

BIG = """
import numpy as np, tinylda, sys, time, os, signal, threading
rng = np.random.default_rng(1)
dense = rng.poisson(0.3, size=(8000, 600))
corpus = tinylda.Corpus.from_csr(dense)
def interrupt_when(ready):
    "Sends SIGINT to this process as soon as `ready` returns true."
    def wait():
        while not ready():
            time.sleep(0.01)
        global sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=wait, daemon=True).start()
def high_water():
    "Returns the peak of the resident memory of this process in bytes."
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
"""


def run(code: str, *, check: bool = True, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Runs a script in a separate process."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def test_import_is_light():
    code = """
    import sys, tinylda
    heavy = {"sklearn", "pandas", "polars", "scanpy", "anndata", "scipy", "gensim", "tqdm"}
    assert not heavy & set(sys.modules), heavy & set(sys.modules)
    assert tinylda.sklearn.LDA().n_components == 10 and "sklearn" in sys.modules
    assert not hasattr(tinylda, "nothing")
    """
    run(code)


def test_ctrl_c_in_training(tmp_path):
    code = f"""
    started = threading.Event()
    interrupt_when(started.is_set)
    try:
        tinylda.train(corpus, k=50, passes=100000, tolerance=0, checkpoint={str(tmp_path / "c")!r},
                      callback=lambda event: started.set(), progress=False)
    except KeyboardInterrupt as error:
        print("interrupted", *getattr(error, "__notes__", []))
    """
    done = run(BIG + textwrap.dedent(code))
    assert done.stdout.startswith("interrupted")
    if sys.version_info >= (3, 11):
        assert "the checkpoint is in" in done.stdout
    assert (tmp_path / "c").is_dir()


@pytest.mark.parametrize(
    "operation",
    [
        "model.transform(corpus, progress=False)",
        "model.perplexity(corpus, progress=False)",
        "model.report(corpus, progress=False)",
        "Corpus.from_texts(texts(), progress=False)",
        "tinylda.train(corpus, k=20, passes=3, progress=False)",
        "tinylda.sweep(corpus, k=[5, 10], repeats=1, passes=3, progress=False)",
    ],
)
def test_ctrl_c_everywhere(operation):
    """Repeats an operation until the signal arrives in it."""
    code = f"""
    from tinylda import Corpus
    model = tinylda.train(corpus, k=20, passes=2, progress=False)
    def texts():
        for d in range(2000):
            yield f"some words of document number{{d}} and others"
    began = time.perf_counter()
    interrupt_when(lambda: time.perf_counter() > began + 0.5)
    try:
        while True:
            {operation}
    except KeyboardInterrupt:
        print("interrupted")
    """
    assert run(BIG + textwrap.dedent(code)).stdout == "interrupted\n"


def test_other_python_threads_run_while_training():
    """The interpreter lock is free: Python code goes on while a training runs."""
    code = """
    steps, finished = 0, threading.Event()
    def work():
        global steps
        while not finished.is_set():
            steps += 1
    threading.Thread(target=work, daemon=True).start()
    before = steps
    tinylda.train(corpus, k=20, passes=5, threads=1, progress=False)
    finished.set()
    assert steps - before > 1000, steps - before
    """
    run(BIG + textwrap.dedent(code))


def test_arrow_streams_run_without_the_interpreter_lock():
    """A producer whose threads need the interpreter lock does not block forever."""
    pytest.importorskip("pyarrow")
    code = """
    import pyarrow as pa, pyarrow.dataset, tinylda
    schema = pa.schema([("text", pa.string())])
    def batches():
        for _ in range(50):
            yield pa.record_batch([pa.array(["some words here"] * 10)], schema=schema)
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    class Column:
        "Texts that the threads of a scanner produce with Python code."
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.dataset.Scanner.from_batches(reader).to_reader().__arrow_c_stream__(requested_schema)
    corpus = tinylda.Corpus.from_texts(Column(), language="en", progress=False)
    assert len(corpus) == 500
    """
    run(code, timeout=120)


def test_relations_of_duckdb_over_python_objects():
    pytest.importorskip("duckdb")
    pytest.importorskip("pandas")
    code = """
    import duckdb, pandas, tinylda
    texts = [f"some words number{i % 50} here" for i in range(250_000)]
    frame = pandas.DataFrame({"text": pandas.Series(texts, dtype=object)})
    connection = duckdb.connect()
    connection.execute("SET threads = 4")
    relation = connection.sql("SELECT text FROM frame")
    assert len(tinylda.Corpus.from_texts(relation, language="en", progress=False)) == 250_000
    """
    run(code, timeout=300)


def test_exit_during_training():
    """A daemon thread that trains does not crash the interpreter at its end."""
    code = """
    threading.Thread(
        target=lambda: tinylda.train(corpus, k=50, passes=100000, tolerance=0, progress=False), daemon=True
    ).start()
    time.sleep(0.5)
    """
    assert run(BIG + textwrap.dedent(code)).returncode == 0


@pytest.mark.parametrize(
    "operation",
    [
        "tinylda.train(corpus, k=5, passes=100000, tolerance=0, callback=lambda event: work(), progress=False)",
        "tinylda.Corpus.from_texts((work() for _ in range(10**7)), progress=False)",
        "tinylda.Corpus.from_texts(['a'] * 10**7, labels=(work() for _ in range(10**7)), progress=False)",
    ],
)
def test_exit_while_python_code_runs(operation):
    """Daemon threads that are in Python functions which Rust has called do not crash at the end."""
    code = f"""
    import warnings
    warnings.simplefilter("ignore")
    def work():
        for _ in range(1_000_000):
            pass
        return "cat dog"
    class Slow:
        "Runs Python code at the end of the interpreter, so that other threads wait for the lock."
        def __del__(self):
            work()
    slow = Slow()
    for _ in range(3):
        threading.Thread(target=lambda: {operation}, daemon=True).start()
    time.sleep(0.5)
    """
    run(BIG + textwrap.dedent(code))


@pytest.mark.parametrize("end", ["sys.stderr = None", "sys.stderr.close()"])
def test_progress_without_standard_error(end):
    code = f"""
    {end}
    for progress in (True, "auto"):
        tinylda.train(tinylda.Corpus.from_csr(np.eye(30)), k=2, passes=2, progress=progress)
    """
    run(BIG + textwrap.dedent(code))


def _train_in_child(queue) -> None:
    corpus = Corpus.from_csr(np.eye(40))
    queue.put(tinylda.train(corpus, k=2, passes=3, progress=False).to_bytes())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method):
    expected = tinylda.train(Corpus.from_csr(np.eye(40)), k=2, passes=3, progress=False).to_bytes()
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_train_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=300) == expected
    child.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork_during_training(counts):
    """A child that is forked from a callback can train as well, and the parent goes on."""
    codes = []

    def callback(event):
        if event.kind == "pass" and event.pass_ == 2:
            child = os.fork()
            if child == 0:
                try:
                    tinylda.train(Corpus.from_csr(np.eye(40)), k=2, passes=2, progress=False)
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    model = tinylda.train(Corpus.from_csr(counts), k=3, passes=4, callback=callback, progress=False)
    assert codes == [0]
    assert model == tinylda.train(Corpus.from_csr(counts), k=3, passes=4, progress=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_topics_after_a_fork(model):
    """Threads that the parent has used to rank words do not exist in a forked child."""
    expected = model.top_words(5)
    child = os.fork()
    if child == 0:
        signal.alarm(300)  # Ends a child that waits forever.
        os._exit(0 if model.top_words(5) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_many_estimators_in_threads(counts):
    expected = LDA(n_components=3, max_iter=3).fit(counts).components_
    failures = []

    def fit():
        try:
            if not (LDA(n_components=3, max_iter=3, n_jobs=1).fit(counts).components_ == expected).all():
                failures.append("different")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=fit) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads VmHWM from /proc")
def test_memory_budget_is_kept_beside_the_process():
    """A training stays within its budget, beside what the process holds."""
    code = """
    ballast = np.ones(40_000_000, dtype=np.uint8)
    tinylda.train(corpus, k=5, passes=1, progress=False)
    open("/proc/self/clear_refs", "w").write("5")
    before = high_water()
    budget = 48 << 20
    tinylda.train(corpus, k=200, passes=2, memory=budget, threads=2, progress=False)
    grown = high_water() - before
    assert grown <= budget, (grown, budget)
    """
    run(BIG + textwrap.dedent(code))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads VmHWM from /proc")
def test_memory_budget_of_a_sweep_is_beside_the_process():
    """A sweep stays within its budget and uses it, though the process holds more already."""
    code = """
    ballast = np.ones(200_000_000, dtype=np.uint8)
    tinylda.train(corpus, k=5, passes=1, progress=False)
    open("/proc/self/clear_refs", "w").write("5")
    before = high_water()
    budget = 96 << 20
    tinylda.sweep(corpus, k=[100, 200], repeats=1, passes=2, memory=budget, threads=2, progress=False)
    grown = high_water() - before
    assert budget / 4 < grown <= budget, (grown, budget)
    """
    run(BIG + textwrap.dedent(code))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_delete_the_texts(texts):
    """A child process that drops its copy of a corpus leaves the parent's texts for reports alone."""
    corpora = [Corpus.from_texts(texts, language="en", progress=False)]
    model = tinylda.train(corpora[0], k=3, passes=3, progress=False)
    child = os.fork()
    if child == 0:
        corpora.clear()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert texts[0][:40] in model.report(corpora[0], progress=False).html


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="there is no affinity here")
def test_threads_follow_the_affinity():
    code = """
    import os
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from tinylda._options import thread_count
    assert thread_count(None) == 1
    """
    run(code)


def test_command_line(tmp_path):
    done = subprocess.run([sys.executable, "-m", "tinylda", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and tinylda.__version__ in done.stdout
    done = subprocess.run([sys.executable, "-m", "tinylda", "train"], capture_output=True, text=True)
    assert done.returncode == 2
    missing = subprocess.run(
        [sys.executable, "-m", "tinylda", "topics", str(tmp_path / "none")], capture_output=True, text=True
    )
    assert missing.returncode == 1 and missing.stderr.startswith("error:")


def test_demo(tmp_path, model, capsys):
    model.save(tmp_path / "another.model")
    assert tinylda.demo(str(tmp_path)).k > model.k
    assert str(tmp_path / "demo.html") in capsys.readouterr().out
    assert time and signal


def test_demo_names_no_files_that_are_deleted(capsys):
    assert tinylda.demo().k > 5
    shown = capsys.readouterr().out
    assert "themes found" in shown and "Corpus.from_texts" in shown and "tinylda-demo-" not in shown
