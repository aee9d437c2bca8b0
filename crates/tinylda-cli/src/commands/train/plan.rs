//! Prints the planned use of memory and disk.

use serde_json::json;
use tinylda::Plan;
use tinylda::format::human_bytes;

use crate::args;
use crate::commands::{print, table};

/// Prints the plan, as a table or as JSON.
///
/// `import` is the memory in bytes that the import of the text needs before the training, if there
/// is one.
pub(super) fn show(
    a: &args::TrainArgs,
    plan: &Plan,
    threads: usize,
    import: Option<u64>,
) -> anyhow::Result<()> {
    let value = json!({
        "memory_bytes": plan.ceiling,
        "program": plan.program,
        "words": plan.words,
        "phi": plan.phi,
        "phi_on_disk": plan.phi_on_disk,
        "work": plan.work,
        "buffers": plan.buffers,
        "kept": plan.kept,
        "kept_on_disk": plan.kept_on_disk,
        "total": plan.memory(),
        "import": import,
        "read_per_pass": plan.read,
        "written_per_pass": plan.written,
        "disk": plan.disk,
        "threads": threads,
    });
    let bytes = |n: u64| human_bytes(n);
    let both = |memory: u64, disk: u64| {
        if disk > 0 {
            format!("{:>10}   and {} on disk", bytes(memory), bytes(disk))
        } else {
            format!("{:>10}", bytes(memory))
        }
    };
    let one = |memory: u64| both(memory, 0);
    let mut rows = vec![
        ("program and threads", one(plan.program)),
        ("words, index", one(plan.words)),
        ("phi", both(plan.phi, plan.phi_on_disk)),
        ("per-thread buffers", one(plan.work)),
        ("buffers", one(plan.buffers)),
        ("documents and messages", both(plan.kept, plan.kept_on_disk)),
        ("total", one(plan.memory())),
    ];
    if let Some(import) = import {
        rows.push(("import of the text, before", format!("{:>10}   at least", bytes(import))));
    }
    if let Some(ceiling) = plan.ceiling {
        rows.push(("limit", one(ceiling)));
    }
    if plan.on_disk() {
        rows.push(("read per pass, about", one(plan.read)));
        rows.push(("written per pass, about", one(plan.written)));
    }
    rows.push(("disk, with checkpoints", one(plan.disk)));
    print(a.json, &value, &table(&rows))
}
