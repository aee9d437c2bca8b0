//! Runs long operations of the library so that Python stays responsive.
//!
//! The operation runs on a worker thread, without the interpreter lock. The caller's thread waits
//! for its events, calls Python functions with them, and looks for signals every
//! [`POLL_INTERVAL`]. Ctrl-C cancels the operation at its next report of progress. Start with
//! [`run`].

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use tinylda::progress::Progress;

use crate::errors::to_python;
use crate::python_code;

/// Time between two looks for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Minimum time between two reports of the progress of one step.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Answer of Python to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Continue.
    Continue,
    /// The callback returned false: stop, and keep what there is.
    Stop,
    /// Ctrl-C was pressed, or the callback raised an exception: stop as soon as possible.
    Cancel,
}

/// Arguments of an event, which are converted to Python on the caller's thread.
pub(crate) type EventFields = Vec<(&'static str, EventValue)>;

/// A value in an event.
#[derive(Debug, Clone)]
pub(crate) enum EventValue {
    Text(String),
    Integer(u64),
    Float(f64),
    Missing,
}

impl From<u64> for EventValue {
    fn from(value: u64) -> EventValue {
        EventValue::Integer(value)
    }
}

impl From<u32> for EventValue {
    fn from(value: u32) -> EventValue {
        EventValue::Integer(value.into())
    }
}

impl From<f64> for EventValue {
    fn from(value: f64) -> EventValue {
        EventValue::Float(value)
    }
}

impl From<String> for EventValue {
    fn from(value: String) -> EventValue {
        EventValue::Text(value)
    }
}

impl<T: Into<EventValue>> From<Option<T>> for EventValue {
    fn from(value: Option<T>) -> EventValue {
        value.map_or(EventValue::Missing, Into::into)
    }
}

impl<'py> IntoPyObject<'py> for EventValue {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            EventValue::Text(text) => text.into_pyobject(py)?.into_any(),
            EventValue::Integer(n) => n.into_pyobject(py)?.into_any(),
            EventValue::Float(x) => x.into_pyobject(py)?.into_any(),
            EventValue::Missing => py.None().into_bound(py),
        })
    }
}

/// A message of the worker to the caller's thread.
struct Message {
    kind: &'static str,
    fields: EventFields,
    /// Where the worker waits for the answer, if it does.
    reply: Option<Sender<Answer>>,
}

/// The worker's side of a call: reports events and learns whether to stop.
pub(crate) struct Reporter<'a> {
    messages: Sender<Message>,
    cancelled: &'a AtomicBool,
    listening: bool,
    last: Instant,
    last_step: &'static str,
}

impl Reporter<'_> {
    /// Returns whether the operation should end as soon as possible.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Reports an event without waiting.
    pub(crate) fn send(&self, kind: &'static str, fields: EventFields) {
        if self.listening {
            // The caller's thread receives until this thread ends.
            let _ = self.messages.send(Message { kind, fields, reply: None });
        }
    }

    /// Reports an event and waits for the answer.
    pub(crate) fn ask(&self, kind: &'static str, fields: EventFields) -> Answer {
        if self.is_cancelled() {
            return Answer::Cancel;
        }
        if !self.listening {
            return Answer::Continue;
        }
        let (reply, answer) = mpsc::channel();
        let sent = self.messages.send(Message { kind, fields, reply: Some(reply) });
        sent.ok().and_then(|()| answer.recv().ok()).unwrap_or(Answer::Cancel)
    }

    /// Returns whether a report of progress is due.
    pub(crate) fn is_due(&mut self, step: &'static str) -> bool {
        let due = step != self.last_step || self.last.elapsed() >= REPORT_INTERVAL;
        if due {
            (self.last, self.last_step) = (Instant::now(), step);
        }
        due
    }

    /// Reports progress of the library; the callback of all operations but training.
    pub(crate) fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        let step = progress.step.name();
        if self.listening && self.is_due(step) {
            let fields: EventFields = vec![
                ("step", step.to_owned().into()),
                ("done", progress.done.into()),
                ("total", progress.total.into()),
            ];
            self.send("progress", fields);
        }
        if self.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Calls `listener(kind, fields)` for a message.
fn deliver(py: Python<'_>, listener: &Bound<'_, PyAny>, message: Message) -> PyResult<Answer> {
    let fields = pyo3::types::PyDict::new(py);
    for (name, value) in message.fields {
        fields.set_item(name, value)?;
    }
    let answer = python_code::call(listener, &(message.kind, fields).into_pyobject(py)?)?;
    let stops = answer.cast::<PyBool>().is_ok_and(|value| !value.is_true());
    Ok(if stops { Answer::Stop } else { Answer::Continue })
}

/// Runs `work` on a worker thread and returns its result. An exception that was raised meanwhile
/// takes precedence over the result; see [`run_to_end`].
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut Reporter<'_>) -> tinylda::Result<T> + Send,
) -> PyResult<T> {
    match run_to_end(py, listener, work)? {
        (result, None) => Ok(result),
        (_, Some(error)) => Err(error),
    }
}

/// Runs `work` on a worker thread and returns its result, and the exception that was raised
/// meanwhile but too late to cancel the operation.
///
/// `listener(kind, fields)` is called on this thread for every event; it may return false to stop,
/// where the operation supports that, or raise. An exception of the listener or of a signal handler
/// cancels the operation; it is raised when the operation has ended.
pub(crate) fn run_to_end<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut Reporter<'_>) -> tinylda::Result<T> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let cancelled = AtomicBool::new(false);
    let (sender, mut messages) = mpsc::channel();
    let listening = listener.is_some();
    let mut raised: Option<PyErr> = None;
    let result = std::thread::scope(|scope| {
        let mut reporter = Reporter {
            messages: sender,
            cancelled: &cancelled,
            listening,
            last: Instant::now(),
            last_step: "",
        };
        let worker = std::thread::Builder::new()
            .name("tinylda".into())
            .spawn_scoped(scope, move || work(&mut reporter))
            .map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
        raised = serve(py, listener, &mut messages, &cancelled);
        py.detach(|| worker.join()).map_err(|panic| {
            let reason = panic.downcast_ref::<String>().map(String::as_str);
            let reason = reason.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
            PyRuntimeError::new_err(format!("internal error, please report it: {reason}"))
        })
    });
    match (result?, raised) {
        // What the operation has done is lost, but its error says where a checkpoint is.
        (Err(tinylda::Error::Stopped { path, passes }), Some(error)) => {
            let note = format!("stopped after {passes} passes; the checkpoint is in {}", path.display());
            add_note(py, &error, &note);
            Err(error)
        }
        (Err(_), Some(error)) => Err(error),
        (Ok(result), raised) => Ok((result, raised)),
        (Err(error), None) => Err(to_python(py, &error)),
    }
}

/// Adds a note to an exception. Before Python 3.11, it becomes part of the message.
fn add_note(py: Python<'_>, error: &PyErr, note: &str) {
    let value = error.value(py);
    if value.call_method1("add_note", (note,)).is_ok() {
        return;
    }
    let message = value.str().map(|text| text.to_string()).unwrap_or_default();
    let separator = if message.is_empty() { "" } else { "; " };
    // A failure to add the note must not hide the exception.
    let _ = value.setattr("args", (format!("{message}{separator}{note}"),));
}

/// Receives messages until the worker ends. Returns the exception that was raised meanwhile.
fn serve(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    messages: &mut Receiver<Message>,
    cancelled: &AtomicBool,
) -> Option<PyErr> {
    let mut raised: Option<PyErr> = None;
    loop {
        // A unique reference can be sent to where the lock is not held, a shared one cannot.
        let receiver = &mut *messages;
        let message = match py.detach(move || receiver.recv_timeout(POLL_INTERVAL)) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return raised,
        };
        let mut answer = if raised.is_some() { Answer::Cancel } else { Answer::Continue };
        let reply = message.as_ref().and_then(|message| message.reply.clone());
        if let (Some(message), Some(listener), None) = (message, listener, &raised) {
            match deliver(py, listener, message) {
                Ok(given) => answer = given,
                Err(error) => raised = Some(error),
            }
        }
        if raised.is_none()
            && let Err(error) = py.check_signals()
        {
            raised = Some(error);
        }
        if raised.is_some() {
            cancelled.store(true, Ordering::Relaxed);
            answer = Answer::Cancel;
        }
        if let Some(reply) = reply {
            // The worker waits for the answer.
            let _ = reply.send(answer);
        }
    }
}
