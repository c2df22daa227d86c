//! A summary of the rows by the level that the two units share.

use super::saved_run::{MatrixRow, MatrixRun, Spread};
use crate::table::of_key;

/// All rows with equal labels (the level is one of them).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    /// The values of the run's own columns, then the bytes where there are any.
    pub(crate) labels: Vec<String>,
    pub(crate) bytes: Option<usize>,
    pub(crate) pairs: usize,
    /// Of the rows' medians.
    pub(crate) medians: Spread,
    /// The places that were seen, by how often.
    pub(crate) places: Vec<(String, usize)>,
}

/// The classes of a run, in the order in which they first appear.
pub(crate) fn classes(run: &MatrixRun) -> Vec<Class> {
    type Key<'a> = (&'a [String], Option<usize>);
    let mut classes: Vec<(Key<'_>, Vec<&MatrixRow>)> = Vec::new();
    for row in &run.rows {
        of_key(&mut classes, (&row.labels[..], row.bytes)).push(row);
    }
    let class = |((labels, bytes), own): (Key<'_>, Vec<&MatrixRow>)| {
        let medians: Vec<f64> = own.iter().map(|r| r.ns.median).collect();
        let mut places: Vec<(String, usize)> = Vec::new();
        for row in &own {
            *of_key(&mut places, row.place.clone()) += 1;
        }
        places.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let labels = labels.to_vec();
        Some(Class { labels, bytes, pairs: own.len(), medians: Spread::of(&medians)?, places })
    };
    classes.into_iter().filter_map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::super::saved_run::tests::sample;
    use super::*;

    #[test]
    fn pairs_alike_are_one_class() {
        let mut run = sample();
        run.rows[1].place = "far".into();
        let classes = classes(&run);
        assert_eq!(classes.len(), 1);
        assert_eq!((classes[0].pairs, classes[0].medians.min), (2, 100.0));
        assert_eq!(classes[0].places.len(), 2);
        run.rows[1].labels[0] = "package".into();
        assert_eq!(super::classes(&run).len(), 2);
    }
}
