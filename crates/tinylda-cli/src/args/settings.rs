//! Arguments made from the library's table of settings.
//!
//! A setting of the library becomes an argument here without any further declaration.
//! [`SettingArgs`] holds the parsed values; this module knows nothing about the commands that use
//! them.

use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use tinylda::Settings;
use tinylda::error::{Error, Problem};
use tinylda::settings::{Group, SETTINGS, Setting};

use super::heading;
use crate::parameters;

/// Settings whose arguments are declared by the commands themselves, with help, defaults and checks
/// from the table: [`about`], [`help_of`], [`value_name`], [`default_of`] and [`number`].
const DECLARED_ELSEWHERE: [&str; 3] = ["topics", "seed", "seed_weight"];

/// Settings whose flag differs from their name.
const FLAGS: [(&str, &str); 1] = [("tolerance", "tol")];

/// Settings that `-h` lists; `--help` lists all.
const ESSENTIAL: [&str; 3] = ["optimize", "passes", "tolerance"];

/// Names that other programs use for a setting, accepted as hidden aliases: setting, alias.
const ALIASES: [(&str, &str); 5] = [
    ("passes", "iterations"),
    ("passes", "num-iterations"),
    ("passes", "n-iter"),
    ("passes", "max-iter"),
    ("document_state", "theta"),
];

/// Values of earlier versions, which are still accepted: setting, old value, new value.
const OLD_VALUES: [(&str, &str, &str); 1] = [("document_state", "recompute", "none")];

/// Settings given on the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingArgs(pub(crate) Settings);

/// Declares the arguments of expert settings, whose values [`SettingArgs`] reads.
///
/// They are declared apart because help headings appear in the order of their first argument, and
/// the expert settings come last.
#[derive(Debug, Clone)]
pub(crate) struct ExpertSettingArgs;

/// Returns the settings that are declared here.
fn declared_here() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| !DECLARED_ELSEWHERE.contains(&setting.name))
}

/// Returns whether a setting is listed under the last heading, or not at all.
fn is_expert(setting: &Setting) -> bool {
    !matches!(setting.group, Group::Model | Group::Training)
}

/// Returns the help heading of a group of settings.
fn help_heading(group: Group) -> &'static str {
    match group {
        Group::Model => heading::MODEL,
        Group::Training => heading::TRAINING,
        _ => heading::EXPERT,
    }
}

/// Returns the meaning of a setting, on one line.
fn meaning(setting: &Setting) -> String {
    setting.about.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the help text of a setting: its meaning, the algorithms it applies to and its default.
fn help(setting: &Setting) -> String {
    let only: Vec<&str> = setting.only.iter().map(|algorithm| algorithm.name()).collect();
    let mut text = meaning(setting);
    if matches!(only.len(), 1..=2) {
        text = format!("{text} (only for {})", only.join(" and "));
    }
    if !setting.default.is_empty() && !setting.switch {
        text = format!("{text} [default: {}]", setting.default);
    }
    text
}

/// Returns the meaning of the setting with this name.
pub(super) fn about(name: &str) -> String {
    Setting::named(name).map(meaning).unwrap_or_default()
}

/// Returns the help text of the setting with this name.
pub(super) fn help_of(name: &str) -> String {
    Setting::named(name).map(help).unwrap_or_default()
}

/// Returns the placeholder for the value of the setting with this name.
pub(super) fn value_name(name: &str) -> &'static str {
    Setting::named(name).map_or("", |setting| setting.value)
}

/// Returns the default of the setting with this name, as text.
pub(super) fn default_of(name: &str) -> &'static str {
    Setting::named(name).map_or("", |setting| setting.default)
}

/// Returns the parser of a setting that is a number, with the library's own rules.
pub(super) fn number<T: FromStr>(
    name: &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| check_value(name, text)?.trim().parse().map_err(|_| "expected a number".to_owned())
}

/// Checks a value with the library's own rules.
fn check_value(name: &str, text: &str) -> Result<String, String> {
    match Settings::default().set(name, text) {
        Ok(()) => Ok(text.to_owned()),
        Err(Error::Parameter {
            problem: Problem::OutOfRange { expected, .. } | Problem::Parse { expected, .. },
            ..
        }) => Err(format!("expected {}", parameters::render(&expected))),
        Err(error) => Err(parameters::describe(&error)),
    }
}

/// Returns the long flag of a setting, without its dashes.
fn long(name: &str) -> String {
    let exception = FLAGS.iter().find(|(of, _)| *of == name);
    exception.map_or_else(|| name.replace('_', "-"), |(_, flag)| (*flag).to_owned())
}

/// Returns the flag of a setting, with its dashes.
pub(crate) fn flag(name: &str) -> String {
    format!("--{}", long(name))
}

/// Returns the argument of a setting.
fn argument(setting: &'static Setting) -> Arg {
    let name = setting.name;
    let aliases = ALIASES.iter().filter(|(of, _)| *of == name).map(|(_, alias)| *alias);
    let argument = Arg::new(name)
        .long(long(name))
        .aliases(aliases)
        .help(help(setting))
        .help_heading(help_heading(setting.group))
        .hide(setting.group == Group::Hidden)
        .hide_short_help(!ESSENTIAL.contains(&name));
    if setting.switch {
        return argument.action(ArgAction::SetTrue);
    }
    let parser = if setting.choices.is_empty() {
        ValueParser::new(move |text: &str| check_value(name, text))
    } else {
        let value = |choice: &tinylda::settings::Choice| {
            let old = OLD_VALUES.iter().find(|(of, _, new)| *of == name && *new == choice.name);
            let value = PossibleValue::new(choice.name).help(choice.about);
            if let Some((_, old, _)) = old { value.alias(*old) } else { value }
        };
        PossibleValuesParser::new(setting.choices.iter().map(value)).into()
    };
    argument.value_name(setting.value).allow_negative_numbers(true).value_parser(parser)
}

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        let settings = declared_here().filter(|setting| !is_expert(setting));
        settings.fold(command, |command, setting| command.arg(argument(setting)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        SettingArgs::augment_args(command)
    }
}

impl Args for ExpertSettingArgs {
    fn augment_args(command: Command) -> Command {
        let settings = declared_here().filter(|setting| is_expert(setting));
        settings.fold(command, |command, setting| command.arg(argument(setting)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        ExpertSettingArgs::augment_args(command)
    }
}

impl FromArgMatches for ExpertSettingArgs {
    fn from_arg_matches(_: &ArgMatches) -> Result<ExpertSettingArgs, clap::Error> {
        Ok(ExpertSettingArgs)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingArgs, clap::Error> {
        let mut settings = SettingArgs::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let invalid = |error: Error| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, parameters::describe(&error))
        };
        for setting in declared_here() {
            let name = setting.name;
            if setting.switch {
                if matches.get_flag(name) {
                    self.0.set(name, "true").map_err(invalid)?;
                }
            } else if let Some(text) = matches.get_one::<String>(name) {
                let renamed = OLD_VALUES.iter().find(|(of, old, _)| *of == name && old == text);
                self.0.set(name, renamed.map_or(text.as_str(), |(.., new)| new)).map_err(invalid)?;
            }
        }
        Ok(())
    }
}
