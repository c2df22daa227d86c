//! `indexes=`: the operating system's numbers of a level's objects.

use super::{LevelSpec, error, kind_named};
use crate::machine::MachineError;
use crate::machine::mask::MAX_PU;
use crate::sorted::Arrange;

/// The numbers of the objects of level `own`: a list, or loops given as `STEP*N` or by types.
pub(super) fn indexes(
    text: &str,
    position: usize,
    own: usize,
    levels: &[LevelSpec],
) -> Result<Vec<usize>, MachineError> {
    let total = levels[own].total;
    let at = |part: &str| position + (part.as_ptr() as usize - text.as_ptr() as usize);
    if !text.contains([':', '*']) && text.starts_with(|c: char| c.is_ascii_digit()) {
        let ids: Vec<usize> = text
            .split(',')
            .map(|part| match part.parse::<usize>() {
                Ok(id) if id < MAX_PU => Ok(id),
                _ => Err(error(at(part), format!("expected an index below {MAX_PU}"))),
            })
            .collect::<Result<_, _>>()?;
        if ids.len() != total {
            let reason = format!("{} indexes for {total} objects", ids.len());
            return Err(error(position, reason));
        }
        let mut sorted = ids.clone();
        sorted.arrange();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(error(position, "an index is there twice"));
        }
        return Ok(ids);
    }

    // Loops (step, number): the first one is the fastest to count.
    let mut loops: Vec<(usize, usize)> = Vec::new();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        for part in text.split(':') {
            let loop_ = part
                .split_once('*')
                .and_then(|(step, number)| Some((step.parse().ok()?, number.parse().ok()?)))
                .filter(|&(step, number): &(usize, usize)| step > 0 && number > 0);
            loops.push(loop_.ok_or_else(|| error(at(part), "expected STEP*NUMBER"))?);
        }
    } else {
        let mut named = Vec::new();
        for part in text.split(':') {
            let kind = kind_named(part);
            let found = levels[..own].iter().position(|level| Some(level.kind) == kind);
            let index = found
                .ok_or_else(|| error(at(part), format!("'{part}' is no level above this one")))?;
            if named.contains(&index) {
                return Err(error(at(part), format!("'{part}' was there before")));
            }
            named.push(index);
        }
        for &index in &named {
            let outer = named.iter().filter(|&&other| other < index).max();
            let outer = outer.map_or(1, |&other| levels[other].total);
            loops.push((total / levels[index].total, levels[index].total / outer));
        }
    }
    let product =
        loops.iter().try_fold(1_usize, |product, &(_, number)| product.checked_mul(number));
    let least = loops.iter().map(|&(step, _)| step).min().unwrap_or(1);
    match product {
        Some(product) if product == total => {}
        // What the loops leave out is counted last.
        Some(product) if product.checked_mul(least) == Some(total) => loops.push((1, least)),
        _ => return Err(error(position, format!("the loops do not multiply to {total} objects"))),
    }
    let mut ids = vec![0; total];
    let mut factor = 1;
    for (step, number) in loops {
        for (object, id) in ids.iter_mut().enumerate() {
            *id += object / step % number * factor;
        }
        factor *= number;
    }
    let mut sorted = ids.clone();
    sorted.arrange();
    if sorted.iter().enumerate().any(|(index, &id)| index != id) {
        return Err(error(position, "the loops give an index twice"));
    }
    Ok(ids)
}
