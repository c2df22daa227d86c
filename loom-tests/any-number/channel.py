"""The channel: messages from one rank to another through numbered slots, in both directions
(`src/mailbox/README.md`, "Channels").

For any number of messages and of slots; any two ranks have a pair of channels of their own, so two
sides are all ranks. The fields count messages without end; the code's words are their remainders by
2^32, and all that is compared is compared as the code does, by equality or by distance. Of the
slots this is used, which holds for `n % SLOTS` if their number divides 2^32: those of numbers less
than `SLOTS` apart differ.

Assumed, as the code does not see to it: less than 2^31 messages go one way while one of the other
way is not looked at. (Its high half says what was consumed at its time. By distance a number that
is older than that looks newer, and `learn` takes it: room that is none.)

Shown: a message is read whole, once, in its order; its slot is not written meanwhile. Memory that a
message lends (`settled`) is not read any more once its producer has seen the message acknowledged.
"""

from systems import System, both, choose, either, implies, no
import z3

# `i`: a side, which sends to the other and receives from it.
channel = System("channel", i=lambda _: range(2), k="slot", n=lambda _: range(1, 9))
channel.sizes = {"slot": 4}

WRAP, HALF = 2 ** 32, 2 ** 31
TORN = -1

channel.field("sent", "i")  # Messages from this side: `Cursor::tx`.
channel.field("acked", "i")  # Of those, how many it knows to be consumed.
channel.field("taken", "i")  # Messages from the other side: `Cursor::rx`.
channel.field("writes", "i", False)
channel.field("reads", "i", False)
channel.field("number", "ik")  # The low half of a slot's word.
channel.field("tells", "ik")  # Its high half.
channel.field("holds", "ik")  # Of which message the payload is.
channel.field("ack", "i")  # The word that acknowledges what the side has sent.
channel.field("got", "i")  # What the latest payload was that the side has read.
channel.field("settled", "i")  # Memory of messages up to this one is the side's again.

_slot = z3.Function("slot", z3.IntSort(), channel.sort_of("k"))
_first = z3.Function("first", channel.sort_of("k"), z3.IntSort())  # Message of a slot.
_slots, _a, _b = z3.Ints("slots a b")
_k = z3.Const("k", channel.sort_of("k"))
channel.axioms += [
    _slots >= 1, _slots <= 2 ** 20,
    z3.ForAll([_a, _b], both(
        implies(both(0 < _a - _b, _a - _b < _slots), _slot(_a) != _slot(_b)),
        implies(_a - _b == _slots, _slot(_a) == _slot(_b)))),
    z3.ForAll([_k], both(_slot(_first(_k)) == _k, 1 <= _first(_k), _first(_k) <= _slots)),
    z3.ForAll([_a], implies(_a >= 1, _first(_slot(_a)) <= _a)),
]


def slot(n):
    return _slot(n) if z3.is_expr(n) else n % channel.sizes["slot"]


def first(k):
    return _first(k) if z3.is_expr(k) else k or channel.sizes["slot"]


def slots(s):
    return _slots if s.is_unknown() else channel.sizes["slot"]


def is_ahead(a, b):
    """As `a.wrapping_sub(b) as i32 >= 0`."""
    return (a % WRAP - b % WRAP) % WRAP < HALF


def learn(s, i, consumed):
    """`Cursor::learn`."""
    s.acked[i] = choose(both(is_ahead(consumed, s.acked[i]), consumed % WRAP != s.acked[i] % WRAP),
                        consumed, s.acked[i])


CHANNEL = "src/mailbox/channel.rs"


@channel.step((CHANNEL, "has_acked", ""), (CHANNEL, "has_room", ""), (CHANNEL, "can_post", ""),
              (CHANNEL, "eager_slot", ""), (CHANNEL, "write", ""))
def write(s, i):
    n = s.sent[i] + 1
    s.need(no(s.writes[i]), is_ahead(s.acked[i], n - slots(s)))
    # What is assumed.
    s.need(s.every(lambda k: implies(
        s.taken[i] < s.number[1 - i, k], s.sent[i] + 1 - s.tells[1 - i, k] < HALF)))
    s.writes[i] = True
    s.holds[i, slot(n)] = TORN


@channel.step((CHANNEL, "post", ""))
def post(s, i):
    s.need(s.writes[i])
    n = s.sent[i] + 1
    s.writes[i] = False
    s.sent[i] = n
    s.number[i, slot(n)] = n
    s.holds[i, slot(n)] = n
    s.tells[i, slot(n)] = s.taken[i]


@channel.step((CHANNEL, "look_at_ack", ""), (CHANNEL, "learn", ""))
def look_at_ack(s, i):
    learn(s, i, s.ack[i])


@channel.step((CHANNEL, "poll", ""), (CHANNEL, "poll_for", ""))
def poll(s, i):
    n = s.taken[i] + 1
    s.need(no(s.reads[i]), s.number[1 - i, slot(n)] % WRAP == n % WRAP)
    learn(s, i, s.tells[1 - i, slot(n)])
    s.reads[i] = True


@channel.step((CHANNEL, "read", ""))
def read(s, i):
    s.need(s.reads[i])
    s.got[i] = s.holds[1 - i, slot(s.taken[i] + 1)]


@channel.step((CHANNEL, "consume", ""))
def consume(s, i):
    s.need(s.reads[i])
    s.reads[i] = False
    s.taken[i] = s.taken[i] + 1
    s.ack[1 - i] = s.taken[i]


@channel.step((CHANNEL, "is_acked", ""), ("src/shared/port/point_to_point.rs", "wait_acked", ""),
              ("src/shared/port/point_to_point.rs", "settle", ""))
def settle(s, i, n):
    s.need(n <= s.sent[i], n > s.sent[i] - HALF, is_ahead(s.acked[i], n))
    s.settled[i] = choose(n > s.settled[i], n, s.settled[i])


@channel.safe
def what_is_read(s):
    """what is read is the next message, which nobody writes"""
    return s.every(lambda i: implies(s.reads[i], both(
        s.sent[1 - i] > s.taken[i], s.holds[1 - i, slot(s.taken[i] + 1)] == s.taken[i] + 1)))


@channel.safe
def what_comes_is_seen(s):
    """a message that was posted is found where it is looked for, and no other"""
    return s.every(lambda i: (s.sent[1 - i] > s.taken[i]) == (
        s.number[1 - i, slot(s.taken[i] + 1)] % WRAP == (s.taken[i] + 1) % WRAP))


@channel.safe
def what_is_settled(s):
    """nobody reads memory of a message that is settled"""
    return s.every(lambda i: s.settled[i] <= s.taken[1 - i])


@channel.safe
def room_comes(s):
    """a look at the acknowledgement finds all room that there is"""
    return s.every(lambda i: s.ack[i] >= s.taken[1 - i])


def invariant(s):
    return {
        "counts": s.every(lambda i: both(
            0 <= s.acked[i], s.acked[i] <= s.taken[1 - i], s.taken[1 - i] <= s.sent[i],
            s.sent[i] <= s.acked[i] + slots(s), s.ack[i] == s.taken[1 - i],
            s.settled[i] <= s.acked[i])),
        "writing": s.every(lambda i: implies(s.writes[i], s.sent[i] < s.acked[i] + slots(s))),
        "reading": s.every(lambda i: implies(s.reads[i], s.taken[i] < s.sent[1 - i])),
        "words": s.every(lambda i, k: either(
            both(s.number[i, k] == 0, s.sent[i] < first(k)),
            both(slot(s.number[i, k]) == k, s.sent[i] - slots(s) < s.number[i, k],
                 1 <= s.number[i, k], s.number[i, k] <= s.sent[i]))),
        "payloads": s.every(lambda i, k: either(
            s.holds[i, k] == s.number[i, k], both(s.writes[i], k == slot(s.sent[i] + 1)))),
        "the other half": s.every(lambda i, k: implies(
            s.taken[1 - i] < s.number[i, k],
            both(s.tells[i, k] <= s.taken[i], s.tells[i, k] >= 0,
                 s.sent[1 - i] + choose(s.writes[1 - i], 1, 0) - s.tells[i, k] < HALF))),
    }


channel.invariant = invariant


def write_before_it_is_read(s, i):
    """Room for one message more than there is."""
    n = s.sent[i] + 1
    s.need(no(s.writes[i]), is_ahead(s.acked[i], n - slots(s) - 1))
    s.writes[i] = True
    s.holds[i, slot(n)] = TORN


def poll_and_free(s, i):
    poll(s, i)
    s.ack[1 - i] = s.taken[i] + 1


channel.mistake("a slot more than there are", write=write_before_it_is_read)
channel.mistake("frees before it reads", poll=poll_and_free)
