//! `tinylda split`

use serde_json::json;
use tinylda::Corpus;

use super::{check_output, print, shape_json, shape_line, shown};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::Split, ui: Ui) -> anyhow::Result<()> {
    let [train, test] = &a.output[..] else { anyhow::bail!("-o takes two files: TRAIN TEST") };
    check_output("-o", train, &[Some(&a.corpus), Some(test)])?;
    check_output("-o", test, &[Some(&a.corpus)])?;
    let corpus = Corpus::open(&a.corpus)?;
    let bar = ui.bar("blocks split", Unit::Plain);
    let parts = tinylda::corpus::split(&corpus, a.test, a.seed, train, test, &mut |p| bar.step(p))?;
    bar.done();
    let part = |path, shape| {
        let mut map = shape_json(shape);
        map.insert("corpus".into(), shown(path).into());
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
