//! The help of every command and the wording of errors, as users see them: `tests/cmd/*.trycmd`.
//!
//! After an intended change, `TRYCMD=overwrite cargo test -p tinylda-cli --test wording` records
//! the new wording, and the difference shows it in review.

#[test]
fn help_and_errors_are_worded_as_recorded() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
