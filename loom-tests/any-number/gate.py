"""The gate: all ranks exchange payloads by episodes, one slot after another, without
acknowledgements (`src/mailbox/README.md`, "Gates").

For any number of ranks, of episodes and of slots (two or more; of the real four only this is used,
that the slots of an episode and the next differ). A rank may die at any point: by poison while it
waits, or by a panic; it shows nothing from then on.

Shown: who reads a slot reads the payload of its own episode, which nobody writes meanwhile; who has
looked at all peers follows the arrival of all of them. A wait ends if all ranks go on: whom a rank
waits for has a step that it can take, whatever others do, and each such step takes it nearer to the
awaited word (the measure: its stage, and the peers that it has still to look at, to read).
"""

from systems import System, both, choose, either, implies, no
import z3

gate = System("gate", r="rank", q="rank", x="rank", k=lambda sizes: range(sizes["slots"]))
gate.sizes = {"rank": 3, "slots": 4}

# Between calls; writes its slot; waits for its peers; has given up.
IDLE, WRITING, LOOKING, DEAD = range(4)
TORN = -1

gate.field("at", "r", IDLE)
gate.field("episode", "r")  # That the rank is in: `Port::episode`.
gate.field("shown", "r")  # The latest that it has shown.
gate.field("word", "rk")
gate.field("holds", "rk")  # Of which episode the payload is.
gate.field("reads", "rq", False)  # Now.
gate.field("has_read", "rq", False)  # In this episode.
gate.field("got", "rq")  # Of which episode the payload was.
gate.field("is_poisoned", "", False)

_slot = z3.Function("slot", z3.IntSort(), z3.IntSort())
_n = z3.Int("n")
gate.axioms.append(z3.ForAll([_n], _slot(_n) != _slot(_n + 1)))


def slot(episode):
    return _slot(episode) if z3.is_expr(episode) else episode % gate.sizes["slots"]


COLLECTIVE, GATE, SLOT = "src/shared/port/collective.rs", "src/mailbox/gate.rs", "src/mailbox/channel.rs"


@gate.step((COLLECTIVE, "show_all", ""), (GATE, "eager_slot", ""), (SLOT, "write", ""))
def show_all(s, r):
    s.need(s.at[r] == IDLE)
    episode = s.episode[r] + 1
    s.at[r] = WRITING
    s.episode[r] = episode
    s.holds[r, slot(episode)] = TORN


@gate.step((GATE, "show", ""))
def show(s, r):
    s.need(s.at[r] == WRITING)
    episode = s.episode[r]
    s.at[r] = LOOKING
    s.shown[r] = episode
    s.holds[r, slot(episode)] = episode
    s.word[r, slot(episode)] = episode
    s.has_read[r, :] = False


@gate.step((COLLECTIVE, "look", ""), (GATE, "has_shown", ""), (GATE, "has_shown_within", ""),
           (GATE, "has_shown_two_lines_within", ""))
def has_shown(s, r, q):
    s.need(s.at[r] == LOOKING, r != q, no(s.has_read[r, q]), no(s.reads[r, q]))
    s.need(s.word[q, slot(s.episode[r])] == s.episode[r])
    s.reads[r, q] = True


@gate.step((GATE, "read", ""), (SLOT, "read", ""))
def read(s, r, q):
    s.need(s.at[r] == LOOKING, s.reads[r, q])
    s.got[r, q] = s.holds[q, slot(s.episode[r])]
    s.reads[r, q] = False
    s.has_read[r, q] = True


@gate.step((COLLECTIVE, "looked_at_all", ""))
def looked_at_all(s, r):
    s.need(s.at[r] == LOOKING, s.every(lambda q: either(r == q, s.has_read[r, q])))
    s.at[r] = IDLE


@gate.step(("src/shared/port/waiting.rs", "quiesce", ""))
def quiesce(s, r):
    s.need(s.at[r] != DEAD)
    s.at[r] = DEAD
    s.reads[r, :] = False
    s.is_poisoned = True


@gate.safe
def what_is_read(s):
    """who reads a slot reads its episode's payload, which nobody writes"""
    return s.every(lambda r, q: implies(
        s.reads[r, q], s.holds[q, slot(s.episode[r])] == s.episode[r]))


@gate.safe
def what_was_read(s):
    """what was read was of the rank's episode"""
    return s.every(lambda r, q: implies(
        both(s.has_read[r, q], s.at[r] != WRITING, s.at[r] != DEAD), s.got[r, q] == s.episode[r]))


@gate.safe
def all_have_come(s):
    """who goes on from an episode comes after all have shown it"""
    return s.every(lambda r, q: implies(s.at[r] == IDLE, s.shown[q] >= s.episode[r]))


@gate.safe
def equality_suffices(s):
    """what a rank waits for and has not read stays in its slot once it is shown"""
    return s.every(lambda r, q: implies(
        both(s.at[r] == LOOKING, s.shown[q] >= s.episode[r]),
        s.word[q, slot(s.episode[r])] == s.episode[r]))


@gate.safe
def whom_a_rank_waits_for_goes_on(s):
    """whom a rank waits for has a step, unless the run is poisoned"""
    def has_step(q):
        look = s.every(lambda x: either(
            x == q, s.has_read[q, x], s.reads[q, x], s.can("has_shown", q, x)))
        return choose(s.at[q] == LOOKING, look, s.at[q] != DEAD)

    return either(s.is_poisoned, s.every(lambda r, q: implies(
        both(s.at[r] == LOOKING, r != q, s.word[q, slot(s.episode[r])] != s.episode[r]),
        has_step(q))))


def stage(s, q):
    return choose(s.at[q] == LOOKING, 2, choose(s.at[q] == IDLE, 1, 0))


def left(s, q, x):
    return choose(s.has_read[q, x], 0, choose(s.reads[q, x], 1, 2))


@gate.move
def falls(before, after, step, mover):
    """a step of a rank that is waited for lowers its measure, and no other step raises it"""
    if step == "quiesce":
        return True

    def same(q):
        return both(after.shown[q] == before.shown[q], stage(after, q) == stage(before, q), before.every(
            lambda x: left(after, q, x) == left(before, q, x)))

    lower = both(
        before.every(lambda x: left(after, mover, x) <= left(before, mover, x)),
        before.some(lambda x: left(after, mover, x) < left(before, mover, x)))
    return both(
        before.every(lambda q: either(q == mover, same(q))),
        either(after.shown[mover] > before.shown[mover], stage(after, mover) < stage(before, mover),
               both(stage(after, mover) == stage(before, mover), lower)))


def invariant(s):
    now, last = (lambda r: slot(s.shown[r])), (lambda r: slot(s.shown[r] - 1))
    return {
        "stages": s.every(lambda r: both(
            s.at[r] >= IDLE, s.at[r] <= DEAD, s.shown[r] >= 0,
            either(s.episode[r] == s.shown[r],
                   both(s.episode[r] == s.shown[r] + 1, either(s.at[r] == WRITING, s.at[r] == DEAD))),
            implies(s.at[r] == WRITING, s.episode[r] == s.shown[r] + 1),
            implies(s.at[r] == DEAD, s.is_poisoned))),
        "nobody is two episodes ahead": s.every(lambda r, q: both(
            s.shown[q] >= s.shown[r] - 1,
            implies(either(s.at[r] == IDLE, s.episode[r] > s.shown[r]), s.shown[q] >= s.shown[r]))),
        "the latest word": s.every(lambda r: s.word[r, now(r)] == s.shown[r]),
        "the word before": s.every(lambda r: either(
            s.shown[r] == 0, s.word[r, last(r)] == s.shown[r] - 1)),
        "words are of the past": s.every(lambda r, k: s.word[r, k] <= s.shown[r]),
        "the latest payload": s.every(lambda r: s.holds[r, now(r)] == s.shown[r]),
        "the payload before": s.every(lambda r: either(
            s.shown[r] == 0, s.episode[r] > s.shown[r], s.holds[r, last(r)] == s.shown[r] - 1)),
        "reading": s.every(lambda r, q: implies(
            s.reads[r, q], both(r != q, s.at[r] == LOOKING, no(s.has_read[r, q]),
                                s.holds[q, slot(s.episode[r])] == s.episode[r],
                                s.shown[q] >= s.episode[r]))),
        "has read": s.every(lambda r, q: implies(
            both(s.has_read[r, q], either(s.at[r] == LOOKING, s.at[r] == IDLE)),
            both(r != q, s.shown[q] >= s.episode[r], s.got[r, q] == s.episode[r]))),
        "idle": s.every(lambda r, q: implies(s.at[r] == IDLE, either(
            r == q, s.episode[r] == 0, s.has_read[r, q]))),
    }


gate.invariant = invariant
gate.rare = {"quiesce"}
gate.mistake("one slot", {"slots": 1})
