//! The paper's loops, transcribed: f64, one message at a time, K divisions each. They are
//! deliberately simple and slow, as the reference for the results (`golden`) and the speed
//! (`benches/pass.rs`) of the shipped code.
//!
//! Legend: K topics, W words, D documents; x a count; n_d, n_w, N sums of x over a document, a
//! word, all; phi[W,K], theta[D,K] counts; `lambda[K]` = sum of phi over words.

#![allow(clippy::needless_range_loop, reason = "the paper's loops over k, as they stand")]

/// A non-zero: document, word, count x.
pub(crate) type Entry = (usize, usize, f64);

pub(crate) struct Reference {
    pub(crate) k: usize,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) entries: Vec<Entry>,
    pub(crate) phi: Vec<f64>,
    pub(crate) theta: Vec<f64>,
    pub(crate) lambda: Vec<f64>,
    /// Messages of every entry, only for belief propagation.
    messages: Vec<f64>,
    words: usize,
    n_d: Vec<f64>,
    n_w: Vec<f64>,
    n: f64,
}

impl Reference {
    /// Creates the state in which all tokens of entry i have topic `start[i]`.
    pub(crate) fn new(
        documents: usize,
        words: usize,
        k: usize,
        alpha: f64,
        beta: f64,
        entries: Vec<Entry>,
        start: &[usize],
    ) -> Reference {
        let mut r = Reference {
            k,
            alpha,
            beta,
            phi: vec![0.0; words * k],
            theta: vec![0.0; documents * k],
            lambda: vec![0.0; k],
            messages: Vec::new(),
            words,
            n_d: vec![0.0; documents],
            n_w: vec![0.0; words],
            n: 0.0,
            entries,
        };
        for (&(d, w, x), &t) in r.entries.iter().zip(start) {
            r.phi[w * k + t] += x;
            r.theta[d * k + t] += x;
            r.lambda[t] += x;
            r.n_d[d] += x;
            r.n_w[w] += x;
            r.n += x;
        }
        r
    }

    pub(crate) fn synchronous_pass(&mut self) {
        let k = self.k;
        let beta_sum = self.words as f64 * self.beta;
        let mut phi = vec![0.0; self.phi.len()];
        let mut theta = vec![0.0; self.theta.len()];
        let mut lambda = vec![0.0; k];
        let mut eta = vec![0.0; k];
        for &(d, w, x) in &self.entries {
            let mut sum = 0.0;
            for t in 0..k {
                eta[t] = (self.phi[w * k + t] + self.beta) / (self.lambda[t] + beta_sum)
                    * (self.theta[d * k + t] + self.alpha);
                sum += eta[t];
            }
            for t in 0..k {
                let message = x * eta[t] / sum;
                phi[w * k + t] += message;
                theta[d * k + t] += message;
                lambda[t] += message;
            }
        }
        (self.phi, self.theta, self.lambda) = (phi, theta, lambda);
    }

    /// Sets the messages to the initial topics `start`.
    #[allow(dead_code, reason = "for belief propagation")]
    pub(crate) fn with_messages(mut self, start: &[usize]) -> Reference {
        self.messages = vec![0.0; self.entries.len() * self.k];
        for (i, &t) in start.iter().enumerate() {
            self.messages[i * self.k + t] = 1.0;
        }
        self
    }

    /// Computes the unnormalized message of an entry, with its own message excluded from all
    /// counts. Returns the sum.
    fn excluded(&self, i: usize, eta: &mut [f64]) -> f64 {
        let (k, (d, w, x)) = (self.k, self.entries[i]);
        let beta_sum = self.words as f64 * self.beta;
        for t in 0..k {
            let own = x * self.messages[i * k + t];
            eta[t] = (self.phi[w * k + t] - own + self.beta) / (self.lambda[t] - own + beta_sum)
                * (self.theta[d * k + t] - own + self.alpha);
        }
        eta.iter().sum()
    }

    #[allow(dead_code, reason = "for belief propagation")]
    pub(crate) fn synchronous_bp_pass(&mut self) {
        let k = self.k;
        let mut messages = vec![0.0; self.messages.len()];
        let mut eta = vec![0.0; k];
        for i in 0..self.entries.len() {
            let sum = self.excluded(i, &mut eta);
            for t in 0..k {
                messages[i * k + t] = eta[t] / sum;
            }
        }
        self.messages = messages;
        self.phi.fill(0.0);
        self.theta.fill(0.0);
        self.lambda.fill(0.0);
        for (i, &(d, w, x)) in self.entries.iter().enumerate() {
            for t in 0..k {
                let message = x * self.messages[i * k + t];
                self.phi[w * k + t] += message;
                self.theta[d * k + t] += message;
                self.lambda[t] += message;
            }
        }
    }

    #[allow(dead_code, reason = "for belief propagation")]
    pub(crate) fn asynchronous_bp_pass(&mut self, order: &[usize]) {
        let k = self.k;
        let mut eta = vec![0.0; k];
        for &document in order {
            let start = self.entries.partition_point(|&(d, _, _)| d < document);
            let end = self.entries.partition_point(|&(d, _, _)| d <= document);
            for i in start..end {
                let (d, w, x) = self.entries[i];
                let sum = self.excluded(i, &mut eta);
                for t in 0..k {
                    let message = eta[t] / sum;
                    let more = x * (message - self.messages[i * k + t]);
                    self.messages[i * k + t] = message;
                    self.phi[w * k + t] += more;
                    self.theta[d * k + t] += more;
                    self.lambda[t] += more;
                }
            }
        }
    }

    #[allow(dead_code, reason = "for variational Bayes")]
    pub(crate) fn variational_pass(&mut self) {
        let k = self.k;
        let beta_sum = self.words as f64 * self.beta;
        let expected: Vec<f64> = self.theta.iter().map(|&v| digamma(v + self.alpha).exp()).collect();
        let (mut phi, mut theta) = (vec![0.0; self.phi.len()], vec![0.0; self.theta.len()]);
        let (mut lambda, mut eta) = (vec![0.0; k], vec![0.0; k]);
        for &(d, w, x) in &self.entries {
            for t in 0..k {
                eta[t] =
                    (self.phi[w * k + t] + self.beta) / (self.lambda[t] + beta_sum) * expected[d * k + t];
            }
            let sum: f64 = eta.iter().sum();
            for t in 0..k {
                let message = x * eta[t] / sum;
                phi[w * k + t] += message;
                theta[d * k + t] += message;
                lambda[t] += message;
            }
        }
        (self.phi, self.theta, self.lambda) = (phi, theta, lambda);
    }

    /// Processes documents in the given order. Entries must be sorted by document.
    #[allow(dead_code, reason = "the benchmark includes this file for the synchronous pass alone")]
    pub(crate) fn asynchronous_pass(&mut self, order: &[usize]) {
        let k = self.k;
        let beta_sum = self.words as f64 * self.beta;
        let mut eta = vec![0.0; k];
        for &document in order {
            let start = self.entries.partition_point(|&(d, _, _)| d < document);
            let end = self.entries.partition_point(|&(d, _, _)| d <= document);
            for &(d, w, x) in &self.entries[start..end] {
                let mut sum = 0.0;
                for t in 0..k {
                    self.theta[d * k + t] *= (self.n_d[d] - x) / self.n_d[d];
                    self.phi[w * k + t] *= (self.n_w[w] - x) / self.n_w[w];
                    self.lambda[t] *= (self.n - x) / self.n;
                    eta[t] = (self.phi[w * k + t] + self.beta) / (self.lambda[t] + beta_sum)
                        * (self.theta[d * k + t] + self.alpha);
                    sum += eta[t];
                }
                for t in 0..k {
                    let message = x * eta[t] / sum;
                    self.theta[d * k + t] += message;
                    self.phi[w * k + t] += message;
                    self.lambda[t] += message;
                }
            }
        }
    }

    #[allow(dead_code, reason = "the benchmark includes this file for the synchronous pass alone")]
    pub(crate) fn training_perplexity(&self) -> f64 {
        let k = self.k;
        let beta_sum = self.words as f64 * self.beta;
        let mut sum = 0.0;
        for &(d, w, x) in &self.entries {
            let p: f64 = (0..k)
                .map(|t| {
                    (self.phi[w * k + t] + self.beta) / (self.lambda[t] + beta_sum)
                        * (self.theta[d * k + t] + self.alpha)
                        / (self.n_d[d] + k as f64 * self.alpha)
                })
                .sum();
            sum += x * p.ln();
        }
        (-sum / self.n).exp()
    }
}

/// Returns the digamma function psi(x), by the recurrence psi(x) = psi(x+1) - 1/x and the
/// asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 15.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    sum + x.ln() - 0.5 / x - s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s / 240.0)))
}
