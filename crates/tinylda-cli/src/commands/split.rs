//! `tinylda split`: splits a corpus into training and test documents.

use serde_json::json;
use tinylda::Corpus;

use super::{check_output, path_string, print, shape_json, shape_line};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::SplitArgs, ui: Ui) -> anyhow::Result<()> {
    let [train, test] = &a.output[..] else { anyhow::bail!("-o takes two files: TRAIN TEST") };
    check_output("-o", train, &[Some(&a.corpus), Some(test)])?;
    check_output("-o", test, &[Some(&a.corpus)])?;
    let corpus = Corpus::open(&a.corpus)?;
    let bar = ui.bar("blocks split", Unit::Plain);
    let parts = tinylda::corpus::split(&corpus, a.test, a.seed, train, test, &mut |p| bar.update(p))?;
    bar.finish();
    let part = |path, shape| {
        let mut map = shape_json(shape);
        map.insert("corpus".into(), path_string(path).into());
        map
    };
    let value = json!({ "seed": a.seed, "train": part(train, parts.train), "test": part(test, parts.test) });
    let lines = format!(
        "{}: {}\n{}: {}\n",
        train.display(),
        shape_line(parts.train),
        test.display(),
        shape_line(parts.test)
    );
    print(a.json, &value, &lines)
}
