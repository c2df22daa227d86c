"""The ring of messages from one rank to another: tagged ones, and those of C and MPI
(`src/shared/message_ring.rs`).

For any number of messages, slots, and rooms, which are no more than slots. Takers are any ranks, one
at a time: each holds the lock of the receiver's queue. Of slots and rooms this is used: those of
numbers fewer than all of them apart differ. Numbers have 64 bits and do not wrap.

Shown: a message is read whole, in its order, whether it lies in its slot (or in memory of the
slot's own, which is used alike) or in a room; nobody writes there meanwhile. A message that is to
stay is found again.
"""

from systems import System, both, choose, either, implies, no
import z3

ring = System("ring", k="slot", m="room", n=lambda _: range(1, 30))
ring.sizes = {"slot": 4, "room": 2}

TORN = -1

ring.field("sent")  # By the sender: `SenderSide::sent`,
ring.field("known")  # and how many of those it knows to be taken.
ring.field("taken")  # The word.
ring.field("writes", "", False)
ring.field("to_room", "", False)
ring.field("reads")  # The message that is being read, or 0.
ring.field("number", "k")
ring.field("holds", "k")  # Of which message the content is;
ring.field("is_long", "k", False)  # and whether the data is in a room,
ring.field("room", "m")  # of which message those are.

_slot = z3.Function("slot", z3.IntSort(), ring.sort_of("k"))
_room = z3.Function("room_of", z3.IntSort(), ring.sort_of("m"))
_slots, _rooms, _a, _b = z3.Ints("slots rooms a b")
ring.axioms += [
    _rooms >= 1, _slots >= _rooms,
    z3.ForAll([_a, _b], both(
        implies(both(0 < _a - _b, _a - _b < _slots), _slot(_a) != _slot(_b)),
        implies(both(0 < _a - _b, _a - _b < _rooms), _room(_a) != _room(_b)))),
]


def slot(n):
    return _slot(n) if z3.is_expr(n) else (n - 1) % ring.sizes["slot"]


def room(n):
    return _room(n) if z3.is_expr(n) else (n - 1) % ring.sizes["room"]


def slots(s):
    return _slots if s.is_unknown() else ring.sizes["slot"]


def rooms(s):
    return _rooms if s.is_unknown() else ring.sizes["room"]


RING = "src/shared/message_ring.rs"


@ring.step((RING, "finds_room", ""))
def finds_room(s):
    s.known = s.taken


@ring.step((RING, "push", ""), (RING, "has_room", ""), (RING, "has_slot", ""))
def push(s):
    s.need(no(s.writes), s.sent - s.known < slots(s))
    s.writes, s.to_room = True, False
    s.holds[slot(s.sent + 1)] = TORN


@ring.step((RING, "push_long", ""))
def push_long(s):
    s.need(no(s.writes), s.sent - s.known < rooms(s))
    s.writes, s.to_room = True, True
    s.holds[slot(s.sent + 1)] = TORN
    s.room[room(s.sent + 1)] = TORN


@ring.step((RING, "write_next", ""))
def write_next(s):
    s.need(s.writes)
    n = s.sent + 1
    s.sent, s.writes = n, False
    s.number[slot(n)] = n
    s.holds[slot(n)] = n
    s.is_long[slot(n)] = s.to_room
    s.room[room(n)] = choose(s.to_room, n, s.room[room(n)])


@ring.step((RING, "has_come", ""), (RING, "awaited", ""), (RING, "taken", ""))
def has_come(s):
    s.need(s.reads == 0, s.number[slot(s.taken + 1)] >= s.taken + 1)
    s.reads = s.taken + 1


@ring.step((RING, "take_if", ""), (RING, "read", ""))
def stays(s):
    s.need(s.reads > 0)
    s.reads = 0


@ring.step((RING, "pass", ""))
def taken(s):
    s.need(s.reads > 0)
    s.reads, s.taken = 0, s.reads


@ring.safe
def what_is_read(s):
    """what is read is the next message, in its slot and its room, which nobody writes"""
    n = s.reads
    return implies(n > 0, both(
        s.number[slot(n)] == n, s.holds[slot(n)] == n,
        either(no(s.is_long[slot(n)]), s.room[room(n)] == n)))


@ring.safe
def what_comes_is_seen(s):
    """a message that was sent is found where it is looked for, and no other"""
    return (s.sent > s.taken) == (s.number[slot(s.taken + 1)] >= s.taken + 1)


def invariant(s):
    def under_way(n):
        return both(s.taken < n, n <= s.sent)

    return {
        "counts": both(0 <= s.known, s.known <= s.taken, s.taken <= s.sent,
                       s.sent - s.known <= slots(s)),
        "writing": implies(s.writes, s.sent - s.known < choose(s.to_room, rooms(s), slots(s))),
        "reading": either(s.reads == 0, both(s.reads == s.taken + 1, s.reads <= s.sent)),
        "words": s.every(lambda n: implies(under_way(n), s.number[slot(n)] == n)),
        "contents": s.every(lambda n: implies(under_way(n), s.holds[slot(n)] == n)),
        "rooms": s.every(lambda n: implies(
            both(under_way(n), s.is_long[slot(n)]), s.room[room(n)] == n)),
        "nothing is ahead": s.every(lambda k: s.number[k] <= s.sent),
    }


ring.invariant = invariant


def has_come_and_is_free(s):
    has_come(s)
    s.taken = s.reads


def push_long_like_a_short_one(s):
    push(s)
    s.to_room = True
    s.room[room(s.sent + 1)] = TORN


ring.mistake("frees before it reads", has_come=has_come_and_is_free)
ring.mistake("a room for two messages", push_long=push_long_like_a_short_one)
