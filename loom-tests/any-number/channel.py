"""The channel: messages from one rank to another through numbered slots, both ways
(`src/mailbox/README.md`, "Channels"), for any number of messages and of slots; any two ranks have a
pair of channels of their own, so two sides are all ranks. The fields count without end; words are
their remainders by 2^32, compared as the code does, for equality or by distance. Of slots it is
used what holds of `n % SLOTS` if their number divides 2^32: those of numbers `SLOTS` apart are the
same, of numbers less apart they differ, and each has a first message.

Assumed, as the code does not see to it: less than 2^32 messages go one way while a message of the
other way is not looked at, whose high half says what was consumed when it was posted.

Shown: a message is read whole, in its order; its slot is not written meanwhile; memory that it
lends is not read any more once its producer has seen it acknowledged (`settle`)."""
from systems import System, both, choose, either, implies, no
import z3
# `i`: a side, which sends to the other, and receives from it.
system = System({"slot": 4}, i=range(2), k="slot", n=range(1, 9))
WRAP, HALF, TORN = 2 ** 32, 2 ** 31, -1
system.has("i", sent=0, acked=0, taken=0)  # As `Cursor`: `tx`, `acked`, and `rx` of the other's.
system.has("i", ack=0)  # The word that acknowledges what the side has sent.
system.has("i", writes=False, reads=False, settled=0)  # The last whose memory is its own again.
system.has("ik", number=0, tells=0, holds=0)  # Words' halves; of which message payloads are.
_slot = z3.Function("slot", z3.IntSort(), system.sort_of("k"))
_first = z3.Function("first", system.sort_of("k"), z3.IntSort())
_slots, _a, _b, _k = *z3.Ints("slot a b"), z3.Const("k", system.sort_of("k"))
system.axioms = [1 <= _slots, _slots <= 2 ** 20,
    z3.ForAll([_a, _b], both(implies(both(0 < _a - _b, _a - _b < _slots), _slot(_a) != _slot(_b)),
                             implies(_a - _b == _slots, _slot(_a) == _slot(_b)))),
    z3.ForAll([_k], both(_slot(_first(_k)) == _k, 1 <= _first(_k), _first(_k) <= _slots)),
    z3.ForAll([_a], implies(_a >= 1, _first(_slot(_a)) <= _a))]
def slot(n): return _slot(n) if z3.is_expr(n) else n % system.sizes["slot"]
def first(k): return _first(k) if z3.is_expr(k) else k or system.sizes["slot"]
def is_ahead(a, b):
    """As `a.wrapping_sub(b) as i32 >= 0`."""
    return (a % WRAP - b % WRAP) % WRAP < HALF
def learn(s, i, consumed):
    ahead = lambda n: (n % WRAP - s.acked[i] % WRAP) % WRAP
    is_news = ahead(consumed) <= ahead(s.sent[i])
    s.acked[i] = choose(is_news, consumed, s.acked[i])

@system.step("mailbox/channel: has_acked c5b4c8, has_room 5b74f9, can_post 035011",
             "mailbox/channel: eager_slot 8c9d1f, write 581cc8")
def write(s, i):
    s.need(no(s.writes[i]), is_ahead(s.acked[i], s.sent[i] + 1 - s.size("slot")))
    s.need(s.every(lambda k: implies(  # What is assumed.
        s.taken[i] < s.number[1 - i, k], s.sent[i] + 1 - s.tells[1 - i, k] < WRAP)))
    s.writes[i], s.holds[i, slot(s.sent[i] + 1)] = True, TORN
@system.step("mailbox/channel: post fbb26b")
def post(s, i):
    s.need(s.writes[i])
    n = s.sent[i] + 1
    s.writes[i], s.sent[i], s.number[i, slot(n)], s.holds[i, slot(n)] = False, n, n, n
    s.tells[i, slot(n)] = s.taken[i]
@system.step("mailbox/channel: look_at_ack f212d5, learn e65477")
def look_at_ack(s, i): learn(s, i, s.ack[i])
@system.step("mailbox/channel: poll b4d514, poll_for cdfc97")
def poll(s, i):
    n = s.taken[i] + 1
    s.need(no(s.reads[i]), s.number[1 - i, slot(n)] % WRAP == n % WRAP)
    s.reads[i] = True
    learn(s, i, s.tells[1 - i, slot(n)])
@system.step("mailbox/channel: consume e55e27, read 09c6f0")
def consume(s, i):
    s.need(s.reads[i])
    s.reads[i], s.taken[i], s.ack[1 - i] = False, s.taken[i] + 1, s.taken[i] + 1
@system.step("mailbox/channel: is_acked 5bd8b4", "shared/port/point_to_point: wait_acked a5a5b9")
def settle(s, i, n):
    s.need(n <= s.sent[i], n > s.sent[i] - HALF, is_ahead(s.acked[i], n))
    s.settled[i] = choose(n > s.settled[i], n, s.settled[i])

system.safe("what is read is the next message, which nobody writes", lambda s, i: implies(
    s.reads[i], both(s.sent[1 - i] > s.taken[i],
                     s.holds[1 - i, slot(s.taken[i] + 1)] == s.taken[i] + 1)))
system.safe("messages are found where they are looked for, and no others", lambda s, i: (
    s.sent[1 - i] > s.taken[i]) == (
    s.number[1 - i, slot(s.taken[i] + 1)] % WRAP == (s.taken[i] + 1) % WRAP))
system.safe("nobody reads the memory of a message that is settled", lambda s, i: (
    s.settled[i] <= s.taken[1 - i]))
system.safe("the acknowledgement says all room there is", lambda s, i: s.ack[i] >= s.taken[1 - i])

system.keeps("counts", lambda s, i: both(
    0 <= s.acked[i], s.acked[i] <= s.taken[1 - i], s.taken[1 - i] <= s.sent[i],
    s.sent[i] <= s.acked[i] + s.size("slot"), s.ack[i] == s.taken[1 - i],
    s.settled[i] <= s.acked[i],
    implies(s.writes[i], s.sent[i] < s.acked[i] + s.size("slot")),
    implies(s.reads[i], s.taken[i] < s.sent[1 - i])))
system.keeps("words", lambda s, i, k: either(both(s.number[i, k] == 0, s.sent[i] < first(k)),
    both(slot(s.number[i, k]) == k, s.sent[i] - s.size("slot") < s.number[i, k],
         s.number[i, k] <= s.sent[i])))
system.keeps("payloads", lambda s, i, k: either(
    s.holds[i, k] == s.number[i, k], both(s.writes[i], k == slot(s.sent[i] + 1))))
system.keeps("the other half", lambda s, i, k: implies(s.taken[1 - i] < s.number[i, k], both(
    0 <= s.tells[i, k], s.tells[i, k] <= s.taken[i],
    s.sent[1 - i] + choose(s.writes[1 - i], 1, 0) - s.tells[i, k] < WRAP)))

def poll_and_free(s, i):
    poll(s, i)
    s.ack[1 - i] = s.taken[i] + 1
system.mistake("frees before it reads", poll=poll_and_free)

MODELS = {"loom-tests": [f"models::mailbox::{it}" for it in (
    "wrap_around_of_numbers", "both_directions", "both_directions_inline")]}
RANKS, COUNTED, NEEDED = "channel (post|poll|look)", [], "channel post store"
def begin(s, start):
    """Channels on which there have been so many messages before."""
    for field in (s.sent, s.acked, s.taken, s.ack, s.settled):
        field[:] = start
    for k in range(system.sizes["slot"] if start else 0):
        s.number[:, k] = s.holds[:, k] = start - (start - k) % system.sizes["slot"]
        s.tells[:, k] = start
    assert all(system.holds(it, s) for it in system.invariant.values())

def replay(one, e, i):
    s, low, high = one.s, e.old % WRAP, e.old // WRAP
    if e.where == "channel write write":
        if not one.steps:
            posts = (it.new for it in one.events if it.where == "channel post store")
            begin(s, (next(posts) - 1) % WRAP)
        one.do("write", i)
    elif e.where == "channel post store":
        saw, expected = (e.new % WRAP, e.new // WRAP), ((s.sent[i] + 1) % WRAP, s.taken[i] % WRAP)
        one.do("post", i, saw=(saw, expected))
    elif e.where.startswith("channel poll") and one.steps and low == (s.taken[i] + 1) % WRAP:
        one.do("poll", i, saw=(high, s.tells[1 - i, slot(s.taken[i] + 1)] % WRAP))
    elif e.where == "channel look_at_ack load" and one.steps:
        one.do("look_at_ack", i, saw=(low, s.ack[i] % WRAP))
    elif e.where == "channel consume store":
        one.do("consume", i, saw=(e.new, (s.taken[i] + 1) % WRAP))
