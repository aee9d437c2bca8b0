//! The topics: the matrices that every algorithm updates and that a model consists of.
//!
//! Only storage: how the numbers change is up to `algorithms`. Start reading at [`Topics`].
//!
//! ```text
//! phi[W,K]   counts, not normalized: tokens of word w in topic k
//! lambda[K]  sum of phi over words, in f64 because it adds billions of small numbers
//! alpha[K]   Dirichlet parameter of a document's topics
//! beta       Dirichlet parameter of a topic's words
//! p(w|k) = (phi[w,k]+beta) / (lambda[k]+W*beta)
//! ```

use crate::error::Result;
use crate::memory;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{LANES, Lanes, flat, flat_mut};

/// Rows of K numbers, padded to whole [`Lanes`].
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Matrix {
    stride: usize,
    data: Vec<Lanes>,
}

/// Returns the number of [`Lanes`] in a row of `topics` numbers.
pub(crate) fn stride(topics: u32) -> usize {
    (topics as usize).div_ceil(LANES)
}

impl Matrix {
    /// Creates a matrix of zeros.
    pub(crate) fn zeros(rows: u32, topics: u32) -> Result<Matrix> {
        Matrix::of_rows(rows, topics, |_, _| Ok(()))
    }

    /// Creates a matrix row by row. `fill(row number, row)` receives a row of zeros. Memory is
    /// touched as rows are filled.
    pub(crate) fn of_rows(
        rows: u32,
        topics: u32,
        mut fill: impl FnMut(u32, &mut [f32]) -> Result<()>,
    ) -> Result<Matrix> {
        let stride = stride(topics);
        let mut data = memory::try_with_capacity(stride as u64 * u64::from(rows))?;
        for r in 0..rows {
            let start = data.len();
            data.resize(start + stride, Lanes::ZERO);
            fill(r, flat_mut(&mut data[start..]))?;
        }
        Ok(Matrix { stride, data })
    }

    /// Returns whether the matrix has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Returns a row.
    #[inline]
    pub(crate) fn row(&self, r: u32) -> &[Lanes] {
        let start = r as usize * self.stride;
        &self.data[start..start + self.stride]
    }

    /// Returns a row for writing.
    #[inline]
    pub(crate) fn row_mut(&mut self, r: u32) -> &mut [Lanes] {
        let start = r as usize * self.stride;
        &mut self.data[start..start + self.stride]
    }

    /// Returns all rows and the number of [`Lanes`] per row.
    pub(crate) fn all(&self) -> (&[Lanes], usize) {
        (&self.data, self.stride)
    }

    /// Returns all rows for writing, and the number of [`Lanes`] per row.
    pub(crate) fn all_mut(&mut self) -> (&mut [Lanes], usize) {
        (&mut self.data, self.stride)
    }

    /// Splits the rows into parts. `bounds` has the first row of each part and the number of rows.
    pub(crate) fn parts(&mut self, bounds: &[u32]) -> Vec<MatrixRows<'_>> {
        let stride = self.stride;
        let mut rest = &mut self.data[..];
        bounds
            .windows(2)
            .map(|ends| {
                let rows = (ends[1] - ends[0]) as usize;
                let (data, tail) = std::mem::take(&mut rest).split_at_mut(rows * stride);
                rest = tail;
                MatrixRows { first: ends[0], stride, data }
            })
            .collect()
    }

    pub(crate) fn save(&self, out: &mut SectionWriter) -> Result<()> {
        out.numbers(flat(&self.data))
    }

    pub(crate) fn restore(&mut self, from: &mut SectionReader) -> Result<()> {
        from.begin((self.data.len() * LANES) as u64)?;
        from.read_values(flat_mut(&mut self.data))
    }
}

/// Consecutive rows of a matrix.
#[derive(Debug)]
pub(crate) struct MatrixRows<'a> {
    first: u32,
    stride: usize,
    data: &'a mut [Lanes],
}

impl MatrixRows<'_> {
    /// Returns a row by its number in the matrix.
    #[inline]
    pub(crate) fn row_mut(&mut self, r: u32) -> &mut [Lanes] {
        let start = (r - self.first) as usize * self.stride;
        &mut self.data[start..start + self.stride]
    }

    /// Returns all rows with their numbers in the matrix.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut [Lanes])> {
        (self.first..).zip(self.data.chunks_exact_mut(self.stride.max(1)))
    }
}

/// Number of tokens above which a word is *heavy*: sums of its small shares would stall in the 24
/// bits of an f32, so they are computed in f64. There are few such words, at most one per million
/// tokens of the corpus.
const HEAVY_TOKENS: u64 = 1 << 20;

/// Returns the heavy words, given the number of tokens of each word.
pub(crate) fn heavy_words(word_tokens: &[u64]) -> impl Iterator<Item = u32> {
    (0u32..).zip(word_tokens).filter(|&(_, &n)| n > HEAVY_TOKENS).map(|(w, _)| w)
}

/// phi, lambda, alpha and beta.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Topics {
    /// Number of topics, K.
    pub(crate) count: u32,
    /// Number of words, W.
    words: u32,
    /// Counts by word and topic; empty while an algorithm keeps them in a format of its own.
    pub(crate) phi: Matrix,
    /// Sums of phi over words, by topic.
    pub(crate) lambda: Vec<f64>,
    /// Dirichlet parameters by topic. The padding is zero, so that padding topics never get any
    /// weight.
    pub(crate) alpha: Vec<Lanes>,
    pub(crate) alpha_sum: f64,
    pub(crate) beta: f32,
}

impl Topics {
    pub(crate) fn new(words: u32, count: u32, alpha: &[f32], beta: f32) -> Result<Topics> {
        let phi = Matrix::zeros(words, count)?;
        Ok(Topics { phi, ..Topics::without_phi(words, count, alpha, beta) })
    }

    /// Creates topics for an algorithm that keeps phi in a format of its own until training ends.
    pub(crate) fn without_phi(words: u32, count: u32, alpha: &[f32], beta: f32) -> Topics {
        let mut padded = vec![Lanes::ZERO; stride(count)];
        flat_mut(&mut padded)[..alpha.len()].copy_from_slice(alpha);
        Topics {
            count,
            words,
            phi: Matrix::default(),
            lambda: vec![0.0; stride(count) * LANES],
            alpha: padded,
            alpha_sum: alpha.iter().map(|&a| f64::from(a)).sum(),
            beta,
        }
    }

    /// Sets alpha and beta to learned values.
    pub(crate) fn set_priors(&mut self, alpha: &[f32], beta: f32) {
        flat_mut(&mut self.alpha)[..alpha.len()].copy_from_slice(alpha);
        self.alpha_sum = alpha.iter().map(|&a| f64::from(a)).sum();
        self.beta = beta;
    }

    pub(crate) fn words(&self) -> u32 {
        self.words
    }

    /// Returns W * beta.
    pub(crate) fn beta_sum(&self) -> f64 {
        f64::from(self.words()) * f64::from(self.beta)
    }

    /// Recomputes lambda from phi, in the order of words.
    pub(crate) fn sum_lambda(&mut self) {
        self.lambda.fill(0.0);
        for w in 0..self.words() {
            for (sum, &value) in self.lambda.iter_mut().zip(flat(self.phi.row(w))) {
                *sum += f64::from(value);
            }
        }
    }

    /// Writes what changes in training: lambda and phi.
    pub(crate) fn save(&self, out: &mut SectionWriter) -> Result<()> {
        out.numbers(&self.lambda)?;
        self.phi.save(out)
    }

    pub(crate) fn restore(&mut self, from: &mut SectionReader) -> Result<()> {
        from.numbers(self.lambda.len(), &mut self.lambda)?;
        self.phi.restore(from)
    }

    /// Writes 1 / (`lambda[k]` + W*beta) to `out`, padded.
    pub(crate) fn inverse(&self, out: &mut Vec<Lanes>) {
        let beta_sum = self.beta_sum();
        out.resize(stride(self.count), Lanes::ZERO);
        for (inverse, &lambda) in flat_mut(out).iter_mut().zip(&self.lambda) {
            let total = lambda + beta_sum;
            *inverse = if total > 0.0 { (1.0 / total) as f32 } else { 0.0 };
        }
    }
}
