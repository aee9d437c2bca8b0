//! The library's table of settings as arguments.

use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use tinylda::Settings;
use tinylda::error::{Error, Problem};
use tinylda::settings::{Group, SETTINGS, Setting};

use crate::parameters;

/// Settings that commands declare themselves: how many topics, and what belongs to other arguments.
const DECLARED_ELSEWHERE: [&str; 3] = ["topics", "seed", "seed_weight"];

/// Settings whose flag is not their name.
const FLAGS: [(&str, &str); 1] = [("tolerance", "tol")];

/// Flags and values of earlier versions, which still work: setting, flag, value, value now.
const EARLIER: [(&str, &str, &str, &str); 1] = [("document_state", "theta", "recompute", "none")];

/// The options of the library's table that were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingArgs(pub(crate) Settings);

fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| !DECLARED_ELSEWHERE.contains(&setting.name))
}

/// The help text of an option: the algorithms it is for, what it means, and its default.
fn help(setting: &Setting) -> String {
    let only: Vec<&str> = setting.only.iter().map(|algorithm| algorithm.name()).collect();
    let mut text = match only.len() {
        1..=2 => format!("{}: ", only.join(", ")),
        _ => String::new(),
    };
    text += &setting.about.split_whitespace().collect::<Vec<_>>().join(" ");
    if !setting.default.is_empty() && !setting.switch {
        text = format!("{text} [default: {}]", setting.default);
    }
    text
}

/// Checks a value as the library does.
fn checked(name: &str, text: &str) -> Result<String, String> {
    match Settings::default().set(name, text) {
        Ok(()) => Ok(text.to_owned()),
        Err(Error::Parameter {
            problem: Problem::OutOfRange { expected, .. } | Problem::Parse { expected, .. },
            ..
        }) => Err(format!("expected {}", parameters::render(&expected))),
        Err(error) => Err(parameters::describe(&error)),
    }
}

/// The long flag of a setting, without its dashes.
fn long(name: &str) -> String {
    let exception = FLAGS.iter().find(|(of, _)| *of == name);
    exception.map_or_else(|| name.replace('_', "-"), |(_, flag)| (*flag).to_owned())
}

/// The flag of a setting.
pub(crate) fn flag(name: &str) -> String {
    format!("--{}", long(name))
}

fn argument(setting: &'static Setting) -> Arg {
    let name = setting.name;
    let argument = Arg::new(name).long(long(name)).help(help(setting)).hide(setting.group == Group::Hidden);
    if setting.switch {
        return argument.action(ArgAction::SetTrue);
    }
    let earlier = EARLIER.iter().find(|(of, ..)| *of == name);
    let parser = if setting.choices.is_empty() {
        ValueParser::new(move |text: &str| checked(name, text))
    } else {
        let value = |choice: &tinylda::settings::Choice| {
            let alias = earlier.filter(|(.., now)| *now == choice.name).map(|(_, _, before, _)| *before);
            let value = PossibleValue::new(choice.name).help(choice.about);
            if let Some(alias) = alias { value.alias(alias) } else { value }
        };
        PossibleValuesParser::new(setting.choices.iter().map(value)).into()
    };
    let argument = argument.value_name(setting.value).allow_negative_numbers(true).value_parser(parser);
    earlier.map_or(argument.clone(), |(_, flag, ..)| argument.alias(*flag))
}

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        all().fold(command, |command, setting| command.arg(argument(setting)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        SettingArgs::augment_args(command)
    }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingArgs, clap::Error> {
        let mut settings = SettingArgs::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let wrong = |error: Error| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, parameters::describe(&error))
        };
        for setting in all() {
            let name = setting.name;
            if setting.switch {
                if matches.get_flag(name) {
                    self.0.set(name, "true").map_err(wrong)?;
                }
            } else if let Some(text) = matches.get_one::<String>(name) {
                let now = EARLIER.iter().find(|(of, _, before, _)| *of == name && before == text);
                self.0.set(name, now.map_or(text.as_str(), |(.., now)| now)).map_err(wrong)?;
            }
        }
        Ok(())
    }
}
