"""The gate: all ranks exchange payloads by episodes, without acknowledgements
(`src/mailbox/README.md`, "Gates"), for any number of ranks, episodes and slots: of the four slots
it is used only that those of an episode and of the next differ. A rank may die at any point, by
poison or a panic, and shows nothing from then on.

Shown: who reads a slot reads its own episode's payload, which nobody writes; who goes on comes
after all have arrived. A wait ends if all ranks go on: whom a rank waits for has a step that it can
take whatever others do, and each takes it nearer to the awaited word (its stage; the peers that it
has still to look at, and to read)."""
from systems import System, both, choose, either, implies, no, one_of
import z3
system = System({"rank": 3, "slot": 4}, r="rank", q="rank", x="rank", k=range(4))
# Between calls; writes its slot; waits for its peers; has given up.
IDLE, WRITING, LOOKING, DEAD = range(4)
TORN = -1
system.has("", is_poisoned=False)
system.has("r", at=IDLE, episode=0)  # The episode that the rank is in: `Port::episode`,
system.has("r", shown=0)  # and the latest that it has shown.
system.has("rk", word=0, holds=0)  # A slot's word, and of which episode the payload is.
system.has("rq", reads=False, has_read=False, got=0)  # In its episode a rank a peer's payload.
_slot, _n = z3.Function("slot", z3.IntSort(), z3.IntSort()), z3.Int("n")
system.axioms = [z3.ForAll([_n], _slot(_n) != _slot(_n + 1))]
def slot(episode): return _slot(episode) if z3.is_expr(episode) else episode % system.sizes["slot"]

@system.step("shared/port/collective: show_all 7f79c3", "mailbox/gate: eager_slot 8c9d1f",
             "mailbox/channel: write 581cc8", at=(IDLE, WRITING))
def show_all(s, r):
    s.episode[r] = s.episode[r] + 1
    s.holds[r, slot(s.episode[r])] = TORN
@system.step("mailbox/gate: show dce503", at=(WRITING, LOOKING))
def show(s, r):
    episode = s.episode[r]
    s.shown[r], s.has_read[r, :] = episode, False
    s.word[r, slot(episode)], s.holds[r, slot(episode)] = episode, episode
@system.step("mailbox/gate: has_shown c2a93b, has_shown_within 2307f2",
             "mailbox/gate: has_shown_two_lines_within 7d0f66",
             "shared/port/collective: look f37757", at=LOOKING)
def has_shown(s, r, q):
    s.need(r != q, no(s.has_read[r, q]), no(s.reads[r, q]))
    s.need(s.word[q, slot(s.episode[r])] == s.episode[r])
    s.reads[r, q] = True
@system.step("mailbox/gate: read c3481c", "mailbox/channel: read 09c6f0", at=LOOKING)
def read(s, r, q):
    s.need(s.reads[r, q])
    s.reads[r, q], s.has_read[r, q], s.got[r, q] = False, True, s.holds[q, slot(s.episode[r])]
@system.step("shared/port/collective: looked_at_all 5f9067", at=(LOOKING, IDLE))
def looked_at_all(s, r): s.need(s.every(lambda q: either(r == q, s.has_read[r, q])))
@system.step("shared/port/waiting: quiesce bb7a42")
def quiesce(s, r):
    s.need(s.at[r] != DEAD)
    s.at[r], s.reads[r, :], s.is_poisoned = DEAD, False, True

system.safe("who reads a slot reads its episode's payload, unwritten", lambda s, r, q: implies(
    s.reads[r, q], s.holds[q, slot(s.episode[r])] == s.episode[r]))
system.safe("what was read was of the rank's episode", lambda s, r, q: implies(
    both(s.has_read[r, q], one_of(s.at[r], LOOKING, IDLE)), s.got[r, q] == s.episode[r]))
system.safe("who goes on from an episode comes after all have shown it", lambda s, r, q: implies(
    s.at[r] == IDLE, s.shown[q] >= s.episode[r]))
system.safe("what a rank looks for stays in its slot once it is shown", lambda s, r, q: implies(
    both(s.at[r] == LOOKING, s.shown[q] >= s.episode[r]),
    s.word[q, slot(s.episode[r])] == s.episode[r]))
def has_step(s, q):
    can = s.every(lambda x: either(x == q, s.has_read[q, x], s.reads[q, x],
                                     s.can("has_shown", q, x)))
    return choose(s.at[q] == LOOKING, can, s.at[q] != DEAD)
system.safe("whom a rank waits for has a step, unless the run is poisoned", lambda s, r, q: implies(
    both(no(s.is_poisoned), s.at[r] == LOOKING, r != q,
         s.word[q, slot(s.episode[r])] != s.episode[r]), has_step(s, q)))
def falls(before, after, step, mover):
    def stage(s, q): return choose(s.at[q] == LOOKING, 2, choose(s.at[q] == IDLE, 1, 0))
    def left(s, q, x): return choose(s.has_read[q, x], 0, choose(s.reads[q, x], 1, 2))
    def same(q):
        return both(after.shown[q] == before.shown[q], stage(after, q) == stage(before, q),
                    before.every(lambda x: left(after, q, x) == left(before, q, x)))
    lower = both(before.every(lambda x: left(after, mover, x) <= left(before, mover, x)),
                 before.some(lambda x: left(after, mover, x) < left(before, mover, x)))
    return step == "quiesce" or both(before.every(lambda q: either(q == mover, same(q))),
        either(after.shown[mover] > before.shown[mover], stage(after, mover) < stage(before, mover),
               both(stage(after, mover) == stage(before, mover), lower)))
system.move("a step lowers its rank's measure, till it shows an episode, no other's", falls)

system.keeps("stages", lambda s, r: both(
    s.at[r] >= IDLE, s.at[r] <= DEAD, s.shown[r] >= 0, implies(s.at[r] == DEAD, s.is_poisoned),
    either(s.episode[r] == s.shown[r],
           both(s.episode[r] == s.shown[r] + 1, one_of(s.at[r], WRITING, DEAD))),
    implies(s.at[r] == WRITING, s.episode[r] == s.shown[r] + 1)))
system.keeps("nobody is two episodes ahead", lambda s, r, q: both(s.shown[q] >= s.shown[r] - 1,
    implies(either(s.at[r] == IDLE, s.episode[r] > s.shown[r]), s.shown[q] >= s.shown[r])))
system.keeps("the latest word", lambda s, r: s.word[r, slot(s.shown[r])] == s.shown[r])
system.keeps("the word before", lambda s, r: either(
    s.shown[r] == 0, s.word[r, slot(s.shown[r] - 1)] == s.shown[r] - 1))
system.keeps("words are of the past", lambda s, r, k: s.word[r, k] <= s.shown[r])
system.keeps("the latest payload", lambda s, r: s.holds[r, slot(s.shown[r])] == s.shown[r])
system.keeps("the payload before", lambda s, r: either(
    s.shown[r] == 0, s.episode[r] > s.shown[r], s.holds[r, slot(s.shown[r] - 1)] == s.shown[r] - 1))
system.keeps("reading", lambda s, r, q: implies(s.reads[r, q], both(
    r != q, s.at[r] == LOOKING, no(s.has_read[r, q]), s.shown[q] >= s.episode[r],
    s.holds[q, slot(s.episode[r])] == s.episode[r])))
system.keeps("has read", lambda s, r, q: implies(
    both(s.has_read[r, q], one_of(s.at[r], LOOKING, IDLE)),
    both(r != q, s.shown[q] >= s.episode[r], s.got[r, q] == s.episode[r])))
system.keeps("idle", lambda s, r, q: implies(
    s.at[r] == IDLE, either(r == q, s.episode[r] == 0, s.has_read[r, q])))
system.rare = {"quiesce"}
system.mistake("one slot", {"slot": 1})

MODELS = {"loom-tests": ["models::gate::five_episodes"], "shuttle-tests": ["good::gates_of_three"]}
RANKS, COUNTED, NEEDED = "gate show", ["rank"], "gate show store"

def replay(one, e, r):
    if e.where == "channel write write" and e.then == "gate show store":
        if one.s.at[r] == LOOKING:
            one.do("looked_at_all", r)
        one.do("show_all", r)
    elif e.where == "gate show store":
        one.do("show", r, saw=(e.new, one.s.episode[r]))
    elif e.where.startswith("gate has_shown") and e.old == one.s.episode[r]:
        one.notes[r] = one.owner(e, "gate show store")
        one.do("has_shown", r, one.notes[r])
    elif e.where == "channel read read" and r in one.notes:
        one.do("read", r, one.notes.pop(r))
