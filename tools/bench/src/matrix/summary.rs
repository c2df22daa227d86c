//! A summary of the rows by the level that the two units share.

use super::saved_run::{MatrixRun, Spread};

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
    let mut keys: Vec<(&[String], Option<usize>)> = Vec::new();
    for row in &run.rows {
        let key = (row.labels.as_slice(), row.bytes);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let class = |(labels, bytes): (&[String], Option<usize>)| {
        let own: Vec<_> =
            run.rows.iter().filter(|r| r.labels == labels && r.bytes == bytes).collect();
        let medians: Vec<f64> = own.iter().map(|r| r.ns.median).collect();
        let mut places: Vec<(String, usize)> = Vec::new();
        for row in &own {
            match places.iter_mut().find(|(place, _)| *place == row.place) {
                Some((_, count)) => *count += 1,
                None => places.push((row.place.clone(), 1)),
            }
        }
        places.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let labels = labels.to_vec();
        Some(Class { labels, bytes, pairs: own.len(), medians: Spread::of(&medians)?, places })
    };
    keys.into_iter().filter_map(class).collect()
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
