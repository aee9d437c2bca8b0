//! `tinylda synth`: generates a synthetic corpus.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use tinylda::Error;
use tinylda::corpus::Synth;
use tinylda::files::TemporaryFolder;

use super::{path_string, print, shape_json, shape_line};
use crate::args::{self, SynthFormat};
use crate::machine;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::SynthArgs, ui: Ui) -> anyhow::Result<()> {
    let clock = Instant::now();
    let settings = Synth {
        documents: a.documents,
        words: a.words,
        topics: a.topics,
        mean_length: a.mean_length,
        length_shape: a.length_shape,
        alpha: a.alpha,
        concentration: a.concentration,
        zipf_exponent: a.zipf_exponent,
        zipf_shift: a.zipf_shift,
        smooth: a.smooth,
        burst: a.burst,
        seed: a.seed,
    };
    let to_stdout = a.output == Path::new("-");
    let uci = match a.format {
        Some(SynthFormat::Tlc) if to_stdout => {
            return Err(Error::unsupported_value(
                "output",
                "-",
                "only {format=uci} can go to standard output",
            )
            .into());
        }
        Some(format) => format == SynthFormat::Uci,
        None => to_stdout,
    };
    if to_stdout && a.json {
        return Err(super::export::stdout_conflict("-o -"));
    }
    let topics = ui.bar("topics drawn", Unit::Plain);
    let mut synthetic = settings.prepare(&mut |p| topics.update(p))?;
    topics.finish();
    let mut draw = |path: &Path| {
        let bar = ui.bar("documents drawn", Unit::Plain);
        synthetic.write(path, &settings.vocabulary(), &mut |p| bar.update(p))
    };
    let shape = if uci {
        // UCI text begins with the number of entries, which is known only at the end, so a
        // temporary corpus file is written first.
        let beside = a.output.parent().filter(|p| !to_stdout && !p.as_os_str().is_empty());
        let folder = match beside {
            Some(folder) => folder.to_path_buf(),
            None if to_stdout => std::env::temp_dir(),
            None => ".".into(),
        };
        let folder = TemporaryFolder::new_in(folder)
            .with_context(|| format!("cannot create a temporary folder for {}", a.output.display()))?;
        let path = folder.path().join("synth.tlc");
        let corpus = draw(&path)?;
        super::export::uci(&corpus, &a.output, ui)?;
        corpus.shape()
    } else {
        draw(&a.output)?.shape()
    };
    let mut value = shape_json(shape);
    value.insert("file".into(), path_string(&a.output).into());
    value.insert("seconds".into(), clock.elapsed().as_secs_f64().into());
    value.insert("peak_rss_bytes".into(), machine::peak_rss_bytes().into());
    let line = format!("{}: {}\n", a.output.display(), shape_line(shape));
    if to_stdout {
        ui.say(line.trim_end());
        return Ok(());
    }
    print(a.json, &value.into(), &line)
}
