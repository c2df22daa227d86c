"""The board: ranks lend each other memory by notices, and end a call together
(`src/mailbox/README.md`, "Boards"; `src/shared/README.md`, "Quiesce").

For any number of ranks and calls. In a call any ranks show a notice, and any others use the memory
that it names: all of them, one root, or none. A rank may fail in any wait and between accesses; then
it ends the run, leaves, and quiesces.

Shown: a notice is read whole, by ranks in its call; and memory is used while it is lent only: until
its owner returns from the call, or unwinds.
"""

from systems import System, both, choose, either, implies, no

board = System("board", r="rank", q="rank")
board.sizes = {"rank": 3}

# Between calls; in a call; writes its notice; has finished; has given up; has left, and waits for
# those who have its memory; is gone.
OUT, IN, WRITING, FINISHED, STOPPED, QUIESCING, GONE = range(7)
TORN = -1

board.field("at", "r", OUT)
board.field("call", "r")  # `Port::calls`
board.field("lends", "r", False)  # `Port::open`
board.field("entered", "r")
board.field("finished", "r")
board.field("left", "r", False)
board.field("holds", "r")  # Of which call the notice is.
board.field("uses", "rq", False)  # A rank the memory of another.
board.field("is_done", "rq", False)  # As a rank that waits has seen.

COLLECTIVE, BOARD = "src/shared/port/collective.rs", "src/mailbox/board.rs"
WAITING, STATE = "src/shared/port/waiting.rs", "src/shared/comm_state.rs"


@board.step(("src/shared/port/mod.rs", "begin_call", ""))
def begin(s, r):
    s.need(s.at[r] == OUT)
    s.at[r] = IN
    s.call[r] = s.call[r] + 1


@board.step((COLLECTIVE, "put_up", ""))
def put_up(s, r):
    s.need(s.at[r] == IN, no(s.lends[r]))
    s.at[r] = WRITING
    s.lends[r] = True
    s.holds[r] = TORN


@board.step((BOARD, "show", ""))
def show(s, r):
    s.need(s.at[r] == WRITING)
    s.at[r] = IN
    s.holds[r] = s.call[r]
    s.entered[r] = s.call[r]


@board.step((BOARD, "look", ""), (BOARD, "notice", ""), (COLLECTIVE, "await_notice", ""))
def look(s, r, q):
    s.need(s.at[r] == IN, r != q, s.entered[q] == s.call[r])
    s.uses[r, q] = True


@board.step((BOARD, "finish", ""), (COLLECTIVE, "finish", ""), (COLLECTIVE, "finish_for", ""))
def finish(s, r):
    s.need(s.at[r] == IN)
    s.at[r] = FINISHED
    s.uses[r, :] = False
    s.finished[r] = s.call[r]


@board.step((BOARD, "has_finished", ""))
def has_finished(s, r, q):
    s.need(s.at[r] == FINISHED, s.finished[q] >= s.call[r])
    s.is_done[r, q] = True


@board.step((COLLECTIVE, "await_finished", ""), (COLLECTIVE, "close", ""))
def close(s, r):
    s.need(s.at[r] == FINISHED)
    s.need(either(no(s.lends[r]), s.every(lambda q: either(q == r, s.is_done[r, q]))))
    s.at[r] = OUT
    s.lends[r] = False
    s.is_done[r, :] = False


@board.step(("src/shared/team_state.rs", "poison", ""))
def poison(s, r):
    s.need(either(s.at[r] == OUT, s.at[r] == IN, s.at[r] == FINISHED))
    s.at[r] = STOPPED
    s.uses[r, :] = False
    s.is_done[r, :] = False


@board.step((STATE, "leave", ""), (WAITING, "quiesce", ""))
def leave(s, r):
    s.need(s.at[r] == STOPPED)
    s.at[r] = QUIESCING
    s.left[r] = True


@board.step((STATE, "is_gone", ""))
def is_gone(s, r, q):
    s.need(s.at[r] == QUIESCING)
    s.need(either(s.left[q], no(s.lends[r]), s.finished[q] >= s.call[r]))
    s.is_done[r, q] = True


@board.step((WAITING, "wait_to_the_end", ""))
def quiesced(s, r):
    s.need(s.at[r] == QUIESCING, s.every(lambda q: either(q == r, s.is_done[r, q])))
    s.at[r] = GONE
    s.lends[r] = False


@board.step(("src/shared/team_state.rs", "leave", ""))
def returns(s, r):
    """The closure ends in good order."""
    s.need(s.at[r] == OUT)
    s.at[r] = GONE
    s.left[r] = True


@board.safe
def memory_is_lent(s):
    """who uses memory has read a whole notice of its call, and the owner lends it"""
    return s.every(lambda r, q: implies(s.uses[r, q], both(
        s.lends[q], s.holds[q] == s.call[r], s.call[q] == s.call[r])))


@board.safe
def nobody_lends_on(s):
    """who is between calls, or gone, lends nothing"""
    return s.every(lambda r: implies(either(s.at[r] == OUT, s.at[r] == GONE), no(s.lends[r])))


def invariant(s):
    return {
        "stages": s.every(lambda r: both(
            s.at[r] >= OUT, s.at[r] <= GONE,
            s.left[r] == either(s.at[r] == QUIESCING, s.at[r] == GONE),
            implies(either(s.at[r] == OUT, s.at[r] == GONE), no(s.lends[r])),
            implies(both(s.at[r] == IN, no(s.lends[r])), s.entered[r] < s.call[r]),
            implies(s.at[r] == WRITING, both(s.lends[r], s.entered[r] < s.call[r])))),
        "counts": s.every(lambda r: both(
            0 <= s.entered[r], s.entered[r] <= s.call[r],
            0 <= s.finished[r], s.finished[r] <= s.call[r],
            implies(either(s.at[r] == IN, s.at[r] == WRITING), s.finished[r] < s.call[r]))),
        "notices": s.every(lambda r: either(
            s.at[r] == WRITING, both(s.holds[r] == s.entered[r],
                                     implies(s.lends[r], s.entered[r] == s.call[r])))),
        "use": s.every(lambda r, q: implies(s.uses[r, q], both(
            either(s.at[r] == IN, s.at[r] == WRITING), r != q, s.lends[q], s.entered[q] == s.call[r], s.call[q] == s.call[r],
            s.at[q] != WRITING))),
        "what is not lent is finished": s.every(lambda r, q: implies(
            either(no(s.lends[q]), s.at[q] == WRITING),
            either(r == q, s.left[r], s.finished[r] >= s.entered[q]))),
        "seen": s.every(lambda r, q: implies(s.is_done[r, q], both(
            either(s.at[r] == FINISHED, s.at[r] == QUIESCING, s.at[r] == GONE),
            either(both(s.at[r] != FINISHED, s.left[q]),
                   both(s.at[r] != FINISHED, no(s.lends[r])), s.finished[q] >= s.call[r])))),
    }


board.invariant = invariant
board.rare = {"poison", "returns"}


def close_at_once(s, r):
    s.need(s.at[r] == FINISHED)
    s.at[r] = OUT
    s.lends[r] = False


def quiesced_at_once(s, r):
    s.need(s.at[r] == QUIESCING)
    s.at[r] = GONE
    s.lends[r] = False


board.mistake("nobody waits for the readers", close=close_at_once)
board.mistake("a failed rank does not quiesce", quiesced=quiesced_at_once)
