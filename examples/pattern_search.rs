//! Searching by circular shifts. A text lies on a ring of ranks: each gets the letters that follow
//! its own by one shift, and counts. An image lies on a torus: it is moved on by one column or row
//! of pixels at a time, the ranks passing on their outermost ones, until every pixel of the
//! template has been laid over every pixel of the image.

use phalanx::{Comm, Error, op};

const TEXT: &str = "abracadabra, abracadabra: a spell has no abra but abracadabra or abra";
const WORD: &str = "abra";

/// How often the word is in the text, across the parts' borders, too; at the end nothing follows.
fn count_in_text(comm: &mut Comm, mine: &[u8], word: &[u8]) -> usize {
    let (own, last) = (mine.len(), comm.rank() + 1 == comm.size());
    let mut text = mine.to_vec();
    // The first letters of the next rank.
    let mut beyond = mine[..word.len() - 1].to_vec();
    comm.shift(&mut beyond, -1);
    if !last {
        text.extend(&beyond);
    }
    let mut count = [text.windows(word.len()).take(own).filter(|w| *w == word).count()];
    comm.all_reduce(&mut count, op::Sum);
    count[0]
}

/// The image has HEIGHT x WIDTH pixels and goes on at the other side.
const HEIGHT: usize = 24;
const WIDTH: usize = 36;
const TEMPLATE_HEIGHT: usize = 2;
const TEMPLATE_WIDTH: usize = 3;

fn pixel(i: usize, j: usize) -> u8 {
    let (i, j) = (i % HEIGHT, j % WIDTH);
    ((i * i * 3 + j * 5 + i * j) % 7 % 3) as u8
}

/// A piece of the image that lies across all its borders.
fn template(k: usize, l: usize) -> u8 {
    pixel(HEIGHT - 1 + k, WIDTH - 2 + l)
}

/// At how many places the template's pixels all agree with the image's.
fn count_in_image(comm: &mut Comm, dims: &[usize; 2]) -> usize {
    let mut torus = comm.cart(dims, &[true, true]);
    let at = torus.coordinates();
    let (rows, columns) = (HEIGHT / dims[0], WIDTH / dims[1]);
    let (first_row, first_column) = (at[0] * rows, at[1] * columns);
    let mut image: Vec<Vec<u8>> = (0..rows)
        .map(|i| (0..columns).map(|j| pixel(first_row + i, first_column + j)).collect())
        .collect();
    let mut fits = vec![vec![true; columns]; rows];
    let (mut down, mut across) = (torus.sub(&[true, false]), torus.sub(&[false, true]));
    for k in 0..TEMPLATE_HEIGHT {
        // There and back, line by line.
        for l in 0..TEMPLATE_WIDTH {
            let wanted = template(k, if k % 2 == 0 { l } else { TEMPLATE_WIDTH - 1 - l });
            for (fits, image) in fits.iter_mut().zip(&image) {
                fits.iter_mut().zip(image).for_each(|(fits, &v)| *fits &= v == wanted);
            }
            if l + 1 < TEMPLATE_WIDTH {
                move_across(&mut across, &mut image, k % 2 == 0);
            }
        }
        // The top row leaves, that of the rank below comes.
        let mut edge = image.remove(0);
        down.shift(&mut edge, -1);
        image.push(edge);
    }
    let mut count = [fits.iter().flatten().filter(|&&fits| fits).count()];
    comm.all_reduce(&mut count, op::Sum);
    count[0]
}

/// Moves the image by one column to the left, or back.
fn move_across(across: &mut Comm, image: &mut [Vec<u8>], left: bool) {
    let leaving = |row: &mut Vec<u8>| if left { row.remove(0) } else { row.remove(row.len() - 1) };
    let mut edge: Vec<u8> = image.iter_mut().map(leaving).collect();
    across.shift(&mut edge, if left { -1 } else { 1 });
    for (row, &v) in image.iter_mut().zip(&edge) {
        if left { row.push(v) } else { row.insert(0, v) }
    }
}

fn main() -> Result<(), Error> {
    let (text, word) = (TEXT.as_bytes(), WORD.as_bytes());
    let serial = text.windows(word.len()).filter(|w| *w == word).count();
    for p in [1, 2, 3, 4, 8, 16] {
        let part = |r: usize| text.len() * r / p..text.len() * (r + 1) / p;
        let counts = phalanx::run(p, |comm| count_in_text(comm, &text[part(comm.rank())], word))?;
        assert!(counts.iter().all(|&count| count == serial), "{p} ranks: {counts:?}, not {serial}");
        println!("{p} ranks: `{WORD}` is there {serial} times");
    }

    let fits = |i: usize, j: usize| {
        let line = |k: usize| (0..TEMPLATE_WIDTH).all(|l| pixel(i + k, j + l) == template(k, l));
        (0..TEMPLATE_HEIGHT).all(line)
    };
    let serial = (0..HEIGHT * WIDTH).filter(|at| fits(at / WIDTH, at % WIDTH)).count();
    assert!(serial > 0);
    for dims in [[1, 1], [1, 2], [2, 1], [2, 2], [2, 3], [4, 2]] {
        let counts = phalanx::run(dims[0] * dims[1], |comm| count_in_image(comm, &dims))?;
        assert!(counts.iter().all(|&count| count == serial), "{dims:?}: {counts:?}, not {serial}");
        println!("{} x {} ranks: the template fits at {serial} places", dims[0], dims[1]);
    }
    Ok(())
}
