//! A distributed work list: ways to put 8 queens on a board. The boards that follow from a rank's
//! go to ranks by chance. That no board is left is found by Safra's algorithm (Dijkstra, EWD 998,
//! 1987): a token goes round among idle ranks, and sums up the boards sent less those received; it
//! is black if a rank has received one since it was there last.

use phalanx::{Comm, Error, Source, Tag};

const QUEENS: usize = 8;
const BOARD: u32 = 0;
const TOKEN: u32 = 1;
const OVER: u32 = 2;

/// Whether the next row's queen can stand there; a board has the columns of the first rows'.
fn is_safe(board: &[usize], column: usize) -> bool {
    let rows = board.len();
    board.iter().enumerate().all(|(row, &c)| c != column && c.abs_diff(column) != rows - row)
}

/// The full boards that this rank has found.
fn search(comm: &mut Comm) -> usize {
    let (me, p) = (comm.rank(), comm.size());
    let mut boards = if me == 0 { vec![Vec::new()] } else { vec![] };
    let (mut found, mut balance, mut is_black) = (0, 0, false);
    let mut token = (me == 0).then_some((0, true)); // its first round decides nothing
    loop {
        let is_idle = boards.is_empty() && token.is_none();
        let status = is_idle.then(|| comm.probe(Source::Any, Tag::Any));
        if let Some(status) = status.or_else(|| comm.try_probe(Source::Any, Tag::Any)) {
            match status.tag {
                BOARD => boards.push(comm.recv_owned(status.source, BOARD).0),
                TOKEN => token = Some(comm.recv_owned::<(i64, bool)>(status.source, TOKEN).0),
                _ => return found + comm.recv_vec::<usize>(0, OVER).0.len(),
            }
            let is_board = status.tag == BOARD;
            (balance, is_black) = (balance - i64::from(is_board), is_black || is_board);
        } else if let Some(board) = boards.pop() {
            found += usize::from(board.len() == QUEENS);
            for column in (0..QUEENS).filter(|&c| board.len() < QUEENS && is_safe(&board, c)) {
                let next = [&board[..], &[column]].concat();
                let to = next.iter().fold(next.len(), |hash, c| hash * 31 + c) % p;
                comm.send_owned(next, to, BOARD);
                balance += 1;
            }
        } else if let Some((sum, was_black)) = token.take() {
            if me == 0 && !was_black && !is_black && sum + balance == 0 {
                (1..p).for_each(|rank| comm.send_tagged::<usize>(&[], rank, OVER));
                return found;
            }
            let next = if me == 0 { (0, false) } else { (sum + balance, was_black || is_black) };
            comm.send_owned(next, (me + 1) % p, TOKEN);
            is_black = false;
        }
    }
}

fn main() -> Result<(), Error> {
    (1..=6)
        .try_for_each(|p| phalanx::run(p, search).map(|n| assert_eq!(n.iter().sum::<usize>(), 92)))
}
