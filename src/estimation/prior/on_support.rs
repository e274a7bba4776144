//! Algorithm 1 on a list of records with weights.

use crate::error::Result;
use crate::estimation::prior::{Answers, PriorAware, PriorAwareEstimate, check, l1};
use crate::model::{Distribution, WeightedSupport};

/// A distribution over listed records that is being scaled to answers.
struct Posterior<'a> {
    answers: &'a [Answers],
    /// For each marginal, the block of every record: its cell, or the rest of the cells.
    cells: Vec<Vec<u32>>,
    /// For each marginal and block, how many records lie there.
    members: Vec<Vec<u32>>,
    /// Probabilities of the records.
    weights: Vec<f64>,
}

impl PriorAware {
    /// The posterior of a prior that lists records. Records of weight 0 may get weight where answers require it.
    ///
    /// # Errors
    /// Answers whose shape differs from their marginals' or cells', outside the prior's domain or not finite; no pass.
    ///
    /// ```
    /// use jointly::{data::Dataset, domain::{Clique, Domain}, model::{Distribution, WeightedSupport}};
    /// use jointly::estimation::prior::{Answers, PriorAware};
    /// let domain = Domain::new([("a", 2), ("b", 2)])?;
    /// let rows = Dataset::from_rows(domain, &[[0, 0], [0, 1], [1, 1]])?;
    /// let prior = WeightedSupport::new(&rows, vec![0.25, 0.25, 0.5], 100.0)?;
    /// let answers = [Answers::new(Clique::new([0]), vec![0.8, 0.2])];
    /// let posterior = PriorAware::default().update(&prior, &answers)?;
    /// assert_eq!(posterior.model.marginals(&[Clique::new([1])])?[0].values(), [40.0, 60.0]);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn update(
        &self,
        prior: &WeightedSupport,
        answers: &[Answers],
    ) -> Result<PriorAwareEstimate<WeightedSupport>> {
        check(prior.domain(), answers)?;
        let sum: f64 = prior.weights().iter().sum();
        let cells = blocks(prior, answers)?;
        let members = answers.iter().zip(&cells).map(|(answers, cells)| {
            let mut members = vec![0_u32; answers.blocks()];
            cells.iter().for_each(|cell| members[*cell as usize] += 1);
            members
        });
        let mut posterior = Posterior {
            answers,
            members: members.collect(),
            cells,
            weights: prior.weights().iter().map(|w| w / sum).collect(),
        };
        let (moved, converged) = self.run(
            answers.len(),
            &mut posterior,
            |posterior, index| posterior.projected(self, index).map(|(y, b)| l1(&y, &b)),
            |posterior, index| posterior.step(self, index),
        )?;
        let model = prior.clone().reweighted(posterior.weights, prior.total())?;
        Ok(PriorAwareEstimate { model, moved, converged })
    }
}

/// For each marginal, the block of every record.
pub(super) fn blocks(prior: &WeightedSupport, answers: &[Answers]) -> Result<Vec<Vec<u32>>> {
    let of = |answers: &Answers| -> Result<Vec<u32>> {
        let block = answers.block_of();
        Ok(prior.rows().cells(&answers.clique)?.into_iter().map(block).collect())
    };
    answers.iter().map(of).collect()
}

impl Posterior<'_> {
    /// The projected answers on one marginal, and the current ones.
    fn projected(&self, method: &PriorAware, index: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut current = vec![0.0; self.members[index].len()];
        for (cell, weight) in self.cells[index].iter().zip(&self.weights) {
            current[*cell as usize] += weight;
        }
        let possible: Vec<bool> = self.members[index].iter().map(|members| *members > 0).collect();
        let y = method.project(&self.answers[index].frequencies, &current, &possible)?;
        Ok((y, current))
    }

    /// Definition 3.1.
    fn step(&mut self, method: &PriorAware, index: usize) -> Result<f64> {
        let (y, b) = self.projected(method, index)?;
        let members = &self.members[index];
        let ratio: Vec<f64> =
            y.iter().zip(&b).map(|(y, b)| if *b > 0.0 { y / b } else { 0.0 }).collect();
        for (cell, weight) in self.cells[index].iter().zip(&mut self.weights) {
            let cell = *cell as usize;
            if b[cell] > 0.0 {
                *weight *= ratio[cell];
            } else {
                *weight = y[cell] / f64::from(members[cell]);
            }
        }
        Ok(l1(&y, &b))
    }
}
