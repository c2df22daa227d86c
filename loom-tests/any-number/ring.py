"""The ring of messages from one rank to another, tagged ones, and those of C and MPI
(`src/shared/message_ring.rs`), for any number of messages, slots, and rooms, which are no more than
slots. Takers are any ranks, one at a time: each holds the lock of the receiver's queue. Slots
(rooms) of numbers less apart than all of them differ. Numbers have 64 bits and do not wrap.

Shown: a message is read whole, in its order, in its slot (memory of the slot's own is used alike)
or its room; nobody writes there meanwhile. A message that is to stay is found again."""
from systems import System, both, choose, either, implies, no
import z3
system = System({"slot": 2, "room": 1}, k="slot", m="room", n=range(1, 30))
TORN = -1
system.has("", sent=0, known=0)  # As `SenderSide`: of those sent the sender knows some to be taken.
system.has("", taken=0, reads=0)  # The word; and the message that is being read, or 0.
system.has("", writes=False, to_room=False)
system.has("k", number=0, holds=0, is_long=False)  # A slot's word, its message, whether in a room.
system.has("m", room=0)  # Of which message the data is.
_slot = z3.Function("slot", z3.IntSort(), system.sort_of("k"))
_room = z3.Function("room", z3.IntSort(), system.sort_of("m"))
_slots, _rooms, _a, _b = z3.Ints("slot room a b")
system.axioms = [1 <= _rooms, _rooms <= _slots, z3.ForAll([_a, _b], both(
    implies(both(0 < _a - _b, _a - _b < _slots), _slot(_a) != _slot(_b)),
    implies(both(0 < _a - _b, _a - _b < _rooms), _room(_a) != _room(_b))))]
def slot(n): return _slot(n) if z3.is_expr(n) else (n - 1) % system.sizes["slot"]
def room(n): return _room(n) if z3.is_expr(n) else (n - 1) % system.sizes["room"]

@system.step("shared/message_ring: finds_room 318211")
def finds_room(s): s.known = s.taken
@system.step("shared/message_ring: push bd946f, has_room 310890, has_slot d91aee")
def push(s):
    s.need(no(s.writes), s.sent - s.known < s.size("slot"))
    s.writes, s.to_room, s.holds[slot(s.sent + 1)] = True, False, TORN
@system.step("shared/message_ring: push_long d0b556")
def push_long(s):
    s.need(no(s.writes), s.sent - s.known < s.size("room"))
    s.writes, s.to_room = True, True
    s.holds[slot(s.sent + 1)], s.room[room(s.sent + 1)] = TORN, TORN
@system.step("shared/message_ring: write_next d5b09c")
def write_next(s):
    s.need(s.writes)
    n = s.sent + 1
    s.sent, s.writes = n, False
    s.number[slot(n)], s.holds[slot(n)], s.is_long[slot(n)] = n, n, s.to_room
    s.room[room(n)] = choose(s.to_room, n, s.room[room(n)])
@system.step("shared/message_ring: has_come 1dee39, awaited aa5ce8, taken 4e6c08")
def has_come(s):
    s.need(s.reads == 0, s.number[slot(s.taken + 1)] >= s.taken + 1)
    s.reads = s.taken + 1
@system.step("shared/message_ring: take_if 9a7fd2, read 4411e4")
def stay(s):
    s.need(s.reads > 0)
    s.reads = 0
@system.step("shared/message_ring: pass fa2d91")
def take(s):
    s.need(s.reads > 0)
    s.reads, s.taken = 0, s.reads

system.safe("what is read is whole, in slot and room, which nobody writes", lambda s: implies(
    s.reads > 0, both(s.number[slot(s.reads)] == s.reads, s.holds[slot(s.reads)] == s.reads,
                      either(no(s.is_long[slot(s.reads)]), s.room[room(s.reads)] == s.reads))))
system.safe("a message that was sent is found where it is looked for, and no other", lambda s: (
    s.sent > s.taken) == (s.number[slot(s.taken + 1)] >= s.taken + 1))
def is_under_way(s, n): return both(s.taken < n, n <= s.sent)

system.keeps("counts", lambda s: both(
    0 <= s.known, s.known <= s.taken, s.taken <= s.sent, s.sent - s.known <= s.size("slot"),
    implies(s.writes, s.sent - s.known < choose(s.to_room, s.size("room"), s.size("slot"))),
    either(s.reads == 0, both(s.reads == s.taken + 1, s.reads <= s.sent))))
system.keeps("words", lambda s, n: implies(is_under_way(s, n), s.number[slot(n)] == n))
system.keeps("contents", lambda s, n: implies(is_under_way(s, n), s.holds[slot(n)] == n))
system.keeps("rooms", lambda s, n: implies(
    both(is_under_way(s, n), s.is_long[slot(n)]), s.room[room(n)] == n))
system.keeps("nothing is ahead", lambda s, k: s.number[k] <= s.sent)

def has_come_and_free(s):
    has_come(s)
    s.taken = s.reads
system.mistake("frees before it reads", has_come=has_come_and_free)

MODELS = {"loom-tests": [f"models::ring::{it}" for it in (
    "messages_in_order", "long_messages_in_order", "slots_are_used_again", "a_message_that_stays")]}
RANKS, COUNTED, NEEDED = "$", [], "message_ring write_next store"

def replay(one, e, _):
    if e.where == "message_ring push_long write":
        one.notes["in a room"] = "rooms[" in e.text
    elif e.where == "message_ring write_next write":
        one.do("push_long" if one.notes.pop("in a room", False) else "push")
    elif e.where == "message_ring write_next store":
        one.do("write_next", saw=(e.new, one.s.sent + 1))
    elif e.where == "message_ring finds_room load":
        one.do("finds_room", saw=(e.old, one.s.taken))
    elif e.where == "message_ring read read":
        if one.s.reads:
            one.do("stay")
        one.do("has_come")
    elif e.where == "message_ring pass store":
        one.do("take", saw=(e.new, one.s.reads))
