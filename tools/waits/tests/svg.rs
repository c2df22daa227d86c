//! The picture of a run with known waits.

mod common;

use common::{in_one_of_eight, recorded, sleep};
use phalanx_waits::svg::svg;

/// The pixels of all areas of that colour.
fn pixels(picture: &str, fill: &str) -> u64 {
    let paths = picture.lines().filter(|line| line.contains(&format!("fill=\"{fill}\"")));
    let areas = paths.filter_map(|line| line.split_once(" d=\"")).flat_map(|it| it.1.split('M'));
    let sides = |area: &str| -> Option<u64> {
        let (width, height) = area.split_once('h')?.1.split_once('v')?;
        Some(width.parse::<u64>().ok()? * height.split_once('h')?.0.parse::<u64>().ok()?)
    };
    areas.filter_map(sides).sum()
}

#[test]
fn a_wait_is_as_wide_as_it_is_long() {
    in_one_of_eight(|| {
        let (run, summary, _) = recorded("picture", 2, |comm| {
            comm.barrier();
            if comm.rank() == 1 {
                sleep(20);
            }
            comm.barrier();
        });
        let length = summary.length;
        let picture = svg(&run, &summary, (0, length));
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
        for text in [">rank 0<", ">rank 1<", ">work<", ">wait at barrier<", ">critical path<"] {
            assert!(picture.contains(text), "{text} in {picture}");
        }
        // The track has 800 times 40 pixels; the legend's square 120.
        let wait = pixels(&picture, "#d35400") - 120;
        let wanted = 800.0 * 40.0 * summary.ranks[0].spent.waiting as f64 / length as f64;
        assert!((wait as f64 - wanted).abs() < wanted / 10.0, "{wait} of {wanted}");
        // In the middle of the wait, all of it is.
        let middle = length / 2;
        let part = svg(&run, &summary, (middle, middle + 1_000_000));
        assert_eq!(pixels(&part, "#d35400"), 800 * 40 + 120);
    });
}

#[test]
fn a_picture_of_many_ranks_and_calls_is_small() {
    let (run, summary, _) = recorded("many", 20, |comm| {
        for _ in 0..100 {
            comm.barrier();
        }
    });
    let picture = svg(&run, &summary, (0, summary.length));
    assert!(picture.contains("20 ranks, of which 16 are shown"), "{picture}");
    assert!(picture.len() < 60_000, "{} bytes", picture.len());
}
