//! Which structural zeros fits can afford.

use crate::domain::{Clique, Domain};
use crate::graph::JunctionTree;

impl Domain {
    /// The same domain, whose structural zeros are left to draws where fits cannot afford them: all models over it contain the
    /// others, whose junction tree has at most `cells` cells. Fits do not know those that are left, and drawn records keep to all
    /// ([`MarkovRandomField::sample`](crate::model::MarkovRandomField::sample)). Tables with few cells come first; of as many
    /// cells, those of the first attributes. Zeros of a single attribute make no model larger, and are never left.
    ///
    /// ```
    /// use jointly_pgm::domain::Domain;
    /// let of = |name: &str| vec![(name.to_owned(), vec![0]), ("c".to_owned(), vec![0])];
    /// let domain = Domain::new([("a", 2), ("b", 3), ("c", 4)])?.forbid([of("a"), of("b")])?;
    /// let left = |cells| domain.clone().with_fits_within(cells).zeros_of_draws().count();
    /// assert_eq!((left(20), left(19), left(9)), (0, 1, 2));
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    #[must_use]
    pub fn with_fits_within(self, cells: u64) -> Self {
        let mut of_size: Vec<Clique> =
            self.structural_zeros().iter().map(|zero| zero.clique().clone()).collect();
        of_size.sort_by_key(|clique| (clique.len() > 1, self.cells(clique)));
        let without = self.leaving(|_| true);
        let mut fitted = of_size.clone();
        if !JunctionTree::is_tractable(&without, &fitted, cells) {
            fitted.clear();
            for clique in of_size {
                fitted.push(clique);
                if fitted.last().is_some_and(|clique| clique.len() > 1)
                    && !JunctionTree::is_tractable(&without, &fitted, cells)
                {
                    fitted.pop();
                }
            }
        }
        without.leaving(|clique| !fitted.contains(clique))
    }

    /// The same domain, whose structural zeros are all known to fits.
    #[must_use]
    pub fn with_all_in_fits(self) -> Self {
        self.leaving(|_| false)
    }
}
