//! `tinylda plot`: draws figures of a model.

use std::path::Path;

use serde_json::json;
use tinylda::format::human_bytes;
use tinylda::{Error, Model};

use super::report::title;
use super::{check_output, infer, path_string, print};
use crate::args::{self, PlotKind};
use crate::plot;
use crate::progress::{Ui, Unit};

/// Pixels per unit of a drawing.
const PNG_SCALE: f64 = 2.0;
/// Number of topics that are drawn by default.
const DEFAULT_TOPICS: usize = 12;
pub(crate) fn run(a: &args::PlotArgs, ui: Ui) -> anyhow::Result<()> {
    let as_png = as_png(&a.output)?;
    check_output("-o", &a.output, &[Some(a.model.as_path())])?;
    if !a.topics.is_empty() && a.what != PlotKind::Topics {
        return Err(Error::only_with("topics", ["{what=topics}"]).into());
    }
    tinylda::files::check_writable(&a.output)?;
    let model = Model::load(&a.model)?;
    let heading = a.title.clone().unwrap_or_else(|| title(&model, &path_string(&a.model), 0));
    let drawing = match a.what {
        PlotKind::Topics => plot::topics(&model, &chosen_topics(a, &model)?, a.top as usize, &heading),
        PlotKind::Perplexity => plot::perplexity(&model, &heading),
        PlotKind::Map => {
            let bar = ui.bar("map of topics", Unit::Plain);
            plot::topic_map(&model, &heading, infer::thread_count(None), &mut |p| bar.update(p))?
        }
    };
    let bytes = if as_png { drawing.png(PNG_SCALE)? } else { drawing.svg().into_bytes() };
    tinylda::files::write_file(&a.output, &bytes)?;
    let value = json!({ "file": path_string(&a.output), "bytes": bytes.len() });
    print(a.json, &value, &format!("{}: {}\n", a.output.display(), human_bytes(bytes.len() as u64)))
}

/// Returns whether the output is a PNG file, by its suffix.
fn as_png(output: &Path) -> anyhow::Result<bool> {
    let ending = output.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "png" => Ok(true),
        "svg" => Ok(false),
        _ => Err(Error::out_of_range("output", output.display(), "a name that ends in .svg or .png").into()),
    }
}

/// Returns the requested topics, or the most prevalent ones.
fn chosen_topics(a: &args::PlotArgs, model: &Model) -> anyhow::Result<Vec<u32>> {
    if let Some(bad) = a.topics.iter().find(|&&k| k >= model.topics()) {
        let expected = format!("numbers from 0 to {}", model.topics() - 1);
        return Err(Error::out_of_range("topics", bad, expected)
            .with_remedy("`tinylda topics` shows the topics with their numbers")
            .into());
    }
    if !a.topics.is_empty() {
        return Ok(a.topics.clone());
    }
    let mut all: Vec<u32> = (0..model.topics()).collect();
    all.sort_by(|&a, &b| model.share(b).total_cmp(&model.share(a)));
    all.truncate(DEFAULT_TOPICS);
    Ok(all)
}
