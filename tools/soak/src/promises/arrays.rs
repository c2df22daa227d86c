//! Each part of a distributed array lies in the memory of its rank, and each rank finds the copy of
//! a mirrored one there; after other ranks have used them, too. In huge pages or without.

use super::first_touch::{home, lie_at, memories};
use super::page_nodes::whole_pages;
use super::subject::{Kept, Subject, said};
use phalanx::Team;
use phalanx::dist::GeneralBlock;
use phalanx::machine::affinity;
use phalanx::placement::{Placement, assign};

/// Words of a part: two huge pages of the usual size, and so a whole one wherever it begins.
const WORDS: usize = (4 << 20) / 8;

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let machine = subject.machine;
    let memories = match memories(machine) {
        Ok(memories) => memories,
        Err(why) => return Ok(Kept::NotHere(why)),
    };
    let ranks = machine.allowed_pus().len().min(subject.most);
    let (mut pages, mut huge) = (0, String::new());
    for placement in [Placement::Scatter, Placement::Auto] {
        assign(&placement, machine, ranks).map_err(said)?;
        let team = subject.builder(ranks).placement(placement.clone()).build().map_err(said)?;
        let mut wrong = Vec::new();
        let mask = affinity::current_mask().map_err(said)?;
        let looked = look_at(&team, &mut pages, &mut wrong);
        affinity::restore(&mask).map_err(said)?;
        huge = looked.map_err(said)?;
        if let Some(wrong) = wrong.first() {
            return Err(format!("{placement}: {wrong}"));
        }
    }
    Ok(Kept::Holds(format!(
        "{ranks} ranks, {memories} memories: {pages} pages of distributed and mirrored arrays, \
         each in its ranks' memory, before others use them and after; {huge}"
    )))
}

/// Makes arrays, looks where they are, has other ranks use them, and looks again. Returns the
/// answer about huge pages.
fn look_at(
    team: &Team,
    pages: &mut usize,
    wrong: &mut Vec<String>,
) -> Result<String, phalanx::Error> {
    let ranks = team.size();
    let mut homes = Vec::new();
    for (own, nowhere) in team.run(|_| {
        let mut wrong = Vec::new();
        (home(&mut wrong), wrong)
    })? {
        homes.push(own);
        wrong.extend(nowhere);
    }
    // The system may move the caller between two runs.
    let abroad = (0..ranks).find(|&rank| homes[rank] != homes[0]);
    if let Some(unit) = abroad.and_then(|rank| team.bindings()[rank].pu) {
        drop(affinity::restore(&[unit]));
    }
    // Their borders lie within pages, and within huge ones.
    let parts = GeneralBlock::of_counts((0..ranks).map(|rank| WORDS + 1000 * (rank % 7) + 1));
    let mut array = team.distributed(&parts, |i| i as u64)?;
    let mirrored = team.mirrored(WORDS, |i| i as u64)?;
    for use_of_others in ["", ", after others have used it"] {
        if !use_of_others.is_empty() {
            let mut lent = array.parts_mut();
            lent.rotate_left(1 % ranks);
            team.run_with(&mut lent, |_, theirs| theirs.iter_mut().for_each(|word| *word += 1))?;
            drop(lent);
            let sums = team.run(|_| {
                let words = array.iter().chain(mirrored.copies().flatten());
                words.step_by(64).fold(0_u64, |sum, word| sum.wrapping_add(*word))
            })?;
            std::hint::black_box(sums);
        }
        let mut look = |what: &str, rank: usize, words: &[u64]| {
            let (at, bytes) = whole_pages(words.as_ptr().addr(), size_of_val(words));
            let what = format!("rank {rank}: {what}{use_of_others}");
            lie_at(&what, at, bytes, homes[rank], pages, wrong);
        };
        for rank in 0..ranks {
            look("its part of an array", rank, array.part(rank));
            look("its copy of an array", rank, mirrored.near(rank));
        }
    }
    Ok(array.huge_pages().to_string())
}
