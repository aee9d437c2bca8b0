//! From options to a trainer, for every command that trains.

use tinylda::{Algorithm, Instructions, Trainer};

use crate::args;
use crate::commands::{infer, usage};

/// Refuses options of another algorithm.
pub(in crate::commands) fn check(how: &args::How) -> anyhow::Result<()> {
    let ours = [
        ("--exclude", how.exclude.is_some()),
        ("--active", how.active.is_some()),
        ("--theta", how.theta.is_some()),
    ];
    for (option, given) in ours {
        if given && how.algorithm != Algorithm::Tbp {
            let found = format!("given with {}", how.algorithm.name());
            return Err(usage(option, found, "it only with --algorithm tbp", "Leave it out, or choose tbp."));
        }
    }
    Ok(())
}

/// On one thread where there is no other way.
pub(in crate::commands) fn threads(how: &args::How) -> usize {
    if how.algorithm.threads() { infer::threads(how.threads) } else { 1 }
}

/// All but memory and files.
pub(in crate::commands) fn trainer(how: &args::How, topics: u32, seed: u64) -> Trainer {
    let mut trainer = Trainer::new(topics)
        .algorithm(how.algorithm)
        .beta(how.beta)
        .optimize(how.optimize)
        .passes(how.passes)
        .threads(threads(how))
        .exclude(how.exclude != Some(args::Exclude::None))
        .recompute(how.theta == Some(args::Theta::Recompute))
        .seed(seed);
    if let Some(tolerance) = how.tol {
        trainer = trainer.tolerance(tolerance);
    }
    if let Some(n) = how.inner {
        trainer = trainer.inner(n);
    }
    if let Some(digamma) = how.digamma {
        trainer = trainer.digamma_of_both(digamma == args::Digamma::Both);
    }
    if let Some(n) = how.batch {
        trainer = trainer.batch(n);
    }
    if let Some(tau0) = how.tau0 {
        trainer = trainer.tau0(tau0);
    }
    if let Some(kappa) = how.kappa {
        trainer = trainer.kappa(kappa);
    }
    if let Some(n) = how.burn_in {
        trainer = trainer.burn_in(n);
    }
    if let Some(n) = how.samples {
        trainer = trainer.samples(n);
    }
    if let Some(active) = how.active {
        trainer = trainer.active(active);
    }
    if let Some(instructions) = how.instructions {
        trainer = trainer.instructions(match instructions {
            args::Instructions::Plain => Instructions::Plain,
            args::Instructions::Avx2 => Instructions::Avx2,
            args::Instructions::Avx512 => Instructions::Avx512,
        });
    }
    if let Some(alpha) = how.alpha.or(how.alpha_sum.map(|sum| sum / f64::from(topics))) {
        trainer = trainer.alpha(alpha);
    }
    trainer
}
