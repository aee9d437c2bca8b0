//! Tips of errors about unknown options and commands.
//!
//! A name that another program uses, or a name with underscores, leads to the option of this
//! program. A tip never names a hidden option or a hidden alias, since the help does not show them.
//! Start with [`improve`].

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// Options of other programs and what they are called here, both without dashes.
const OPTIONS: [(&str, &str); 71] = [
    ("bigrams", "phrases"),
    ("trigrams", "phrases"),
    ("ngrams", "phrases"),
    ("n-grams", "phrases"),
    ("ngram", "phrases"),
    ("ngram-size", "phrases"),
    ("ngram-range", "phrases"),
    ("gram-sizes", "phrases"),
    ("stopwords", "stop-words"),
    ("stoplist", "stop-words"),
    ("stoplist-file", "stop-words"),
    ("extra-stopwords", "stop-words"),
    ("remove-stopwords", "stop-words"),
    ("ntopics", "topics"),
    ("k", "topics"),
    ("iter", "passes"),
    ("iters", "passes"),
    ("niter", "passes"),
    ("epochs", "passes"),
    ("max-iterations", "passes"),
    ("cores", "threads"),
    ("cpus", "threads"),
    ("jobs", "threads"),
    ("num-threads", "threads"),
    ("num-workers", "threads"),
    ("rng-seed", "seed"),
    ("eta", "beta"),
    ("topic-word-prior", "beta"),
    ("doc-topic-prior", "alpha"),
    ("optimize-interval", "optimize"),
    ("optimize-alpha", "optimize"),
    ("tolerance", "tol"),
    ("limit", "memory"),
    ("mem", "memory"),
    ("ram", "memory"),
    ("max-memory", "memory"),
    ("memory-limit", "memory"),
    ("min-cf", "min-docs"),
    ("min-count", "min-docs"),
    ("min-df", "min-docs"),
    ("no-below", "min-docs"),
    ("max-df", "max-docs"),
    ("no-above", "max-docs"),
    ("max-features", "max-words"),
    ("vocab-size", "max-words"),
    ("keep-n", "max-words"),
    ("lang", "language"),
    ("lemmatize", "stem"),
    ("stemming", "stem"),
    ("seed-words", "seeds"),
    ("guided", "seeds"),
    ("label", "label-column"),
    ("labels", "label-column"),
    ("text", "text-column"),
    ("column", "text-column"),
    ("field", "text-field"),
    ("sep", "delimiter"),
    ("separator", "delimiter"),
    ("dry-run", "plan"),
    ("force", "restart"),
    ("html", "report"),
    ("model", "output"),
    ("out", "output"),
    ("output-file", "output"),
    ("output-model", "output"),
    ("n-words", "top"),
    ("num-words", "top"),
    ("top-words", "top"),
    ("topn", "top"),
    ("like", "similar-to"),
    ("similar", "similar-to"),
];

/// Short options of other programs and what they are called here, without dashes.
const SHORT_OPTIONS: [(char, &str); 7] = [
    ('t', "threads"),
    ('j', "threads"),
    ('s', "seed"),
    ('i', "passes"),
    ('p', "passes"),
    ('m', "memory"),
    ('a', "algorithm"),
];

/// Commands of other programs and what they are called here.
const COMMANDS: [(&str, &str); 23] = [
    ("fit", "train"),
    ("lda", "train"),
    ("learn", "train"),
    ("train-topics", "train"),
    ("resume", "train --resume"),
    ("predict", "infer"),
    ("transform", "infer"),
    ("infer-topics", "infer"),
    ("coherence", "eval --coherence"),
    ("perplexity", "eval"),
    ("compare", "eval"),
    ("evaluate", "eval"),
    ("evaluate-topics", "eval"),
    ("visualize", "report"),
    ("vis", "report"),
    ("show", "topics"),
    ("words", "topics"),
    ("describe", "info"),
    ("import-file", "import"),
    ("import-dir", "import"),
    ("similar", "documents --similar-to"),
    ("tune", "sweep"),
    ("generate", "synth"),
];

/// Replaces the tip of an error about an unknown option or command, if there is a better one.
/// `program` is the definition of the whole command line, and `arguments` begins with the name of
/// the program.
pub(crate) fn improve(mut error: clap::Error, mut program: Command, arguments: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::UnknownArgument => {
            program.build();
            improve_option(&mut error, &program, running(&program, arguments));
        }
        ErrorKind::InvalidSubcommand => {
            let known = invalid(&error, ContextKind::InvalidSubcommand)
                .and_then(|name| COMMANDS.into_iter().find(|&(other, _)| other == name));
            if let Some((_, ours)) = known {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(ours.to_owned()));
            }
        }
        _ => {}
    }
    error
}

/// Returns the definition of the running subcommand, or that of the program.
fn running<'a>(command: &'a Command, arguments: &[OsString]) -> &'a Command {
    let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    words.into_iter().find_map(|word| command.find_subcommand(word)).unwrap_or(command)
}

/// Returns the name that is not known.
fn invalid(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.clone()),
        _ => None,
    }
}

fn improve_option(error: &mut clap::Error, program: &Command, command: &Command) {
    let Some(given) = invalid(error, ContextKind::InvalidArg) else { return };
    let suggested = invalid(error, ContextKind::SuggestedArg);
    let of_import = option_of_import(program, command, &given);
    let tip = if of_import.is_some() { None } else { tip(command, &given, suggested.as_deref()) };
    if tip != suggested {
        // The usage contains the option that `clap` suggested.
        let usage = ContextValue::StyledStr(command.clone().render_usage());
        error.insert(ContextKind::Usage, usage);
        error.remove(ContextKind::SuggestedArg);
        if let Some(tip) = tip {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(tip));
        }
    }
    // "To pass '-K' as a value, use '-- -K'" misleads: hardly any file has such a name.
    if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
        let tips: Vec<StyledStr> =
            tips.into_iter().filter(|tip| !tip.to_string().contains("as a value")).collect();
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    if let Some(flag) = of_import {
        let tip = format!("{flag} is an option of `tinylda import`; import the data first");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

/// Returns the flag if an option that a command does not know is one of `import`, and the command
/// imports data as well.
fn option_of_import(program: &Command, command: &Command, given: &str) -> Option<String> {
    let name = given.strip_prefix("--")?;
    let name = name.split('=').next().unwrap_or(name).replace('_', "-");
    let imports_data = find(command, "text-column").is_some() && command.get_name() != "import";
    let option = find(program.find_subcommand("import")?, &name).filter(|_| imports_data)?;
    flag(option).filter(|_| find(command, &name).is_none())
}

/// Returns the visible option to propose for an unknown one. `suggested` is the proposal of `clap`.
fn tip(command: &Command, given: &str, suggested: Option<&str>) -> Option<String> {
    if let Some(name) = given.strip_prefix("--") {
        let name = name.split('=').next().unwrap_or(name).replace('_', "-").to_lowercase();
        let ours = OPTIONS.into_iter().find(|&(other, _)| other == name).map(|(_, ours)| ours);
        let suggested = suggested.and_then(|flag| flag.strip_prefix("--"));
        let suggested = suggested.filter(|suggested| is_similar(&name, suggested));
        let known = [Some(name.as_str()), ours].into_iter().flatten().find_map(|name| find(command, name));
        let guess = || nearest(command, &name).or_else(|| find(command, suggested?));
        return known.or_else(guess).and_then(flag);
    }
    let short = given.strip_prefix('-')?.chars().next()?;
    let other_case =
        if short.is_lowercase() { short.to_ascii_uppercase() } else { short.to_ascii_lowercase() };
    let has = |c: char| command.get_arguments().any(|argument| argument.get_short() == Some(c));
    if has(other_case) && !['h', 'q', 'V'].contains(&other_case) {
        return Some(format!("-{other_case}"));
    }
    let ours = SHORT_OPTIONS.into_iter().find(|&(other, _)| other == short);
    ours.and_then(|(_, name)| find(command, name)).and_then(flag)
}

/// Returns whether one name may be a misspelling or an abbreviation of the other.
fn is_similar(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a) || misspelling(a, b).is_some()
}

/// Returns the edit distance of two names if one may be a misspelling of the other.
fn misspelling(a: &str, b: &str) -> Option<usize> {
    // Two of three letters may not differ.
    let most = if a.len().max(b.len()) < 5 { 1 } else { 2 };
    Some(strsim::levenshtein(a, b)).filter(|&distance| distance <= most)
}

/// Returns the visible option of which a name is most likely a misspelling, by one of its names.
fn nearest<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let distance = |argument: &Arg| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long().into_iter().chain(aliases).filter_map(|other| misspelling(name, other)).min()
    };
    let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let all = visible.filter_map(|argument| Some((distance(argument)?, argument)));
    all.min_by_key(|&(distance, _)| distance).map(|(_, argument)| argument)
}

/// Finds an option by its long name or one of its aliases.
fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let is_named = |argument: &&Arg| {
        argument.get_long() == Some(name)
            || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    };
    command.get_arguments().find(is_named)
}

/// Returns the long flag of an option, unless it is hidden.
fn flag(argument: &Arg) -> Option<String> {
    argument.get_long().filter(|_| !argument.is_hide_set()).map(|long| format!("--{long}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    /// Returns the error of a command line, as the user sees it.
    fn error(line: &str) -> String {
        let arguments: Vec<OsString> = line.split(' ').map(Into::into).collect();
        match Cli::command().try_get_matches_from(&arguments) {
            Ok(_) => String::new(),
            Err(error) => improve(error, Cli::command(), &arguments).render().to_string(),
        }
    }

    #[test]
    fn names_of_other_programs_lead_to_visible_options() {
        for (given, expected) in [
            ("--num_topics 20", "--topics"),
            ("--n_topics 20", "--topics"),
            ("--ntopics 20", "--topics"),
            ("-K 20", "-k"),
            ("-t 2", "--threads"),
            ("-j2", "--threads"),
            ("--num_iterations 3", "--passes"),
            ("--iters 3", "--passes"),
            ("--random_seed 3", "--seed"),
            ("--random_state=3", "--seed"),
            ("--ngrams 2", "--phrases"),
            ("--ngrams", "--phrases"),
            ("--bigrams", "--phrases"),
            ("--ngram_range 1", "--phrases"),
            ("--stopwords en", "--stop-words"),
            ("--stop_words en", "--stop-words"),
            ("--n_jobs 2", "--threads"),
            ("--min_df 2", "--min-docs"),
            ("--optimize-interval 10", "--optimize"),
            ("--output-model x", "--output"),
            ("--ngram 2", "--phrases"),
            ("--ngram-size 2", "--phrases"),
            ("--labels x", "--label-column"),
            ("--label x", "--label-column"),
            ("--min-count 2", "--min-docs"),
            ("--min-cf 2", "--min-docs"),
            ("--model x", "--output"),
            ("--html x", "--report"),
            ("--limit 2GiB", "--memory"),
            ("--force", "--restart"),
            ("--dry-run", "--plan"),
            ("--pases 3", "--passes"),
            ("--check 3", "--checkpoint"),
        ] {
            let text = error(&format!("tinylda train a.txt -k 2 -o m {given}"));
            assert!(text.contains(&format!("a similar argument exists: '{expected}'")), "{given}: {text}");
            assert!(!text.contains("as a value"), "{text}");
        }
        assert_eq!(error("tinylda synth -k 5 -D 3 -W 3 -o x"), "");
        for option in ["--layer counts", "--transpose", "--names names.txt"] {
            let text = error(&format!("tinylda train a.h5ad -k 2 -o m {option}"));
            let name = option.split(' ').next().unwrap();
            assert!(text.contains(&format!("{name} is an option of `tinylda import`")), "{text}");
            assert!(!text.contains("similar argument"), "{text}");
        }
        let text = error("tinylda documents m.model t.tlc --like 3");
        assert!(text.contains("'--similar-to'"), "{text}");
    }

    #[test]
    fn other_names_get_no_tip() {
        for line in [
            // The command has no such option.
            "tinylda info m.model --bigrams",
            "tinylda topics m.model --force",
            "tinylda sweep a.txt -k 2 --html x",
            // The most similar option means something else.
            "tinylda train a.txt -k 2 -o m --title x",
            "tinylda train a.txt -k 2 -o m --coherence c_v",
            "tinylda topics m.model --model x",
        ] {
            let text = error(line);
            assert!(text.contains("unexpected argument") && !text.contains("tip:"), "{line}: {text}");
        }
        assert!(is_similar("topcs", "topics") && is_similar("checkpoint-eve", "checkpoint-every"));
        assert!(!is_similar("html", "tol") && !is_similar("force", "order"));
    }

    #[test]
    fn aliases_of_other_programs_are_accepted() {
        for given in [
            "--num-topics 3",
            "--n-topics 3",
            "--n-components 3",
            "--topics 3",
            "-k 3 --iterations 9",
            "-k 3 --num-iterations 9",
            "-k 3 --random-seed 9",
            "-k 3 --random-state 9",
            "-k 3 --workers 2",
            "-k 3 --n-jobs 2",
        ] {
            assert_eq!(error(&format!("tinylda train a.txt -o m {given}")), "", "{given}");
        }
    }

    #[test]
    fn tips_name_options_and_commands_that_exist() {
        let program = Cli::command();
        let train = program.find_subcommand("train").unwrap();
        for (other, ours) in OPTIONS {
            let visible = |command: &Command| find(command, ours).and_then(flag).is_some();
            assert!(program.get_subcommands().any(visible), "{other}: {ours}");
            assert!(find(train, other).is_none(), "{other}");
        }
        for (_, ours) in SHORT_OPTIONS {
            assert!(find(train, ours).and_then(flag).is_some(), "{ours}");
        }
        for (other, ours) in COMMANDS {
            let (name, option) = ours.split_once(" --").unwrap_or((ours, ""));
            let command = program.find_subcommand(name);
            assert!(command.is_some() && program.find_subcommand(other).is_none(), "{other}: {ours}");
            assert!(option.is_empty() || find(command.unwrap(), option).and_then(flag).is_some(), "{ours}");
        }
        assert!(error("tinylda coherence m.model").contains("'eval --coherence'"));
    }
}
