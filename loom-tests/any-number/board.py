"""The board: ranks lend each other memory by notices, and end a call together
(`src/mailbox/README.md`, "Boards"; `src/shared/README.md`, "Quiesce"), for any number of ranks and
of calls. In a call any ranks show a notice, and any others use the memory that it names. A rank may
fail in any wait and between accesses; then it ends the run, leaves, and quiesces.

Shown: a notice is read whole, by ranks in its call; memory is used while it is lent only, until its
owner returns from the call, or unwinds."""
from systems import System, both, either, implies, no, one_of
system = System({"rank": 3}, r="rank", q="rank")
# Between calls; in a call; writes its notice; has finished; has given up; has left, and waits for
# those who may have its memory; is gone.
OUT, IN, WRITING, FINISHED, STOPPED, QUIESCING, GONE = range(7)
TORN = -1
system.has("r", at=OUT, call=0, lends=False)  # `Port::calls`, `Port::open`
system.has("r", entered=0, finished=0, left=False, holds=0)  # Words; of which call the notice is.
system.has("rq", uses=False, is_done=False)  # A rank a peer's memory; has seen that a peer is done.

@system.step("shared/port/mod: begin 45eab3", at=(OUT, IN))
def begin(s, r): s.call[r] = s.call[r] + 1
@system.step("shared/port/collective: put_up 597cca", at=(IN, WRITING))
def put_up(s, r):
    s.need(no(s.lends[r]))
    s.lends[r], s.holds[r] = True, TORN
@system.step("mailbox/board: show bfc8b2", at=(WRITING, IN))
def show(s, r): s.holds[r], s.entered[r] = s.call[r], s.call[r]
@system.step("mailbox/board: look f3f267, notice 0fbb44",
             "shared/port/collective: await_notice 7967c9", at=IN)
def look(s, r, q):
    s.need(r != q, s.entered[q] == s.call[r])
    s.uses[r, q] = True
@system.step("mailbox/board: finish e21d45",
             "shared/port/collective: finish d907b8, finish_for 5639cf", at=(IN, FINISHED))
def finish(s, r): s.uses[r, :], s.finished[r] = False, s.call[r]
@system.step("mailbox/board: has_finished 232ce1")
def has_finished(s, r, q):
    s.need(either(s.at[r] == FINISHED, both(s.at[r] == IN, s.lends[r])), s.finished[q] >= s.call[r])
    s.is_done[r, q] = True
@system.step("shared/port/collective: await_finished 0a2c2d, close 691143")
def close(s, r):  # A root that uses no memory does not finish.
    s.need(either(s.at[r] == FINISHED, both(s.at[r] == IN, s.lends[r])))
    s.need(either(no(s.lends[r]), s.every(lambda q: either(q == r, s.is_done[r, q]))))
    s.need(s.every(lambda q: no(s.uses[r, q])))
    s.at[r], s.lends[r], s.is_done[r, :] = OUT, False, False
@system.step("shared/team_state: poison de85c9")
def poison(s, r):
    s.need(one_of(s.at[r], OUT, IN, FINISHED))
    s.at[r], s.uses[r, :], s.is_done[r, :] = STOPPED, False, False
@system.step("shared/comm_state: leave b23dd2", "shared/port/waiting: quiesce bb7a42",
             at=(STOPPED, QUIESCING))
def leave(s, r): s.left[r] = True
@system.step("shared/comm_state: is_gone 579566", at=QUIESCING)
def is_gone(s, r, q):
    s.need(either(s.left[q], no(s.lends[r]), s.finished[q] >= s.call[r]))
    s.is_done[r, q] = True
@system.step("shared/port/waiting: wait_to_the_end 0f1f00", at=(QUIESCING, GONE))
def unwind(s, r):
    s.need(s.every(lambda q: either(q == r, s.is_done[r, q])))
    s.lends[r] = False
@system.step("shared/team_state: leave b88f75", at=(OUT, GONE))
def end(s, r):
    """The closure returns in good order."""
    s.left[r] = True

system.safe("who uses memory has a whole notice of its call, and it is lent", lambda s, r, q: (
    implies(s.uses[r, q], both(s.lends[q], s.holds[q] == s.call[r], s.call[q] == s.call[r]))))
system.safe("who is between calls, or gone, lends nothing", lambda s, r: implies(
    one_of(s.at[r], OUT, GONE), no(s.lends[r])))

system.keeps("stages", lambda s, r: both(
    s.at[r] >= OUT, s.at[r] <= GONE, s.left[r] == one_of(s.at[r], QUIESCING, GONE),
    implies(one_of(s.at[r], OUT, GONE), no(s.lends[r])),
    implies(both(s.at[r] == IN, no(s.lends[r])), s.entered[r] < s.call[r]),
    implies(s.at[r] == WRITING, both(s.lends[r], s.entered[r] < s.call[r]))))
system.keeps("counts", lambda s, r: both(
    0 <= s.entered[r], s.entered[r] <= s.call[r], 0 <= s.finished[r], s.finished[r] <= s.call[r],
    implies(one_of(s.at[r], IN, WRITING), s.finished[r] < s.call[r])))
system.keeps("notices", lambda s, r: either(s.at[r] == WRITING, both(
    s.holds[r] == s.entered[r], implies(s.lends[r], s.entered[r] == s.call[r]))))
system.keeps("use", lambda s, r, q: implies(s.uses[r, q], both(
    one_of(s.at[r], IN, WRITING), r != q, s.lends[q], s.at[q] != WRITING,
    s.entered[q] == s.call[r], s.call[q] == s.call[r])))
system.keeps("of what is not lent all are done", lambda s, r, q: implies(
    either(no(s.lends[q]), s.at[q] == WRITING),
    either(r == q, s.left[r], s.finished[r] >= s.entered[q])))
system.keeps("who is seen to be done is", lambda s, r, q: implies(s.is_done[r, q], both(
    either(one_of(s.at[r], FINISHED, QUIESCING, GONE), both(s.at[r] == IN, s.lends[r])), either(
        s.finished[q] >= s.call[r],
        both(one_of(s.at[r], QUIESCING, GONE), either(s.left[q], no(s.lends[r])))))))

def close_at_once(s, r):
    s.need(s.at[r] == FINISHED)
    s.at[r], s.lends[r] = OUT, False
def unwind_at_once(s, r):
    s.need(s.at[r] == QUIESCING)
    s.at[r], s.lends[r] = GONE, False
system.rare = {"poison", "end"}
system.mistake("nobody waits for the readers", close=close_at_once)
system.mistake("a failed rank does not quiesce", unwind=unwind_at_once)

MODELS = {"loom-tests": [f"models::board::{it}" for it in (
    "two_ranks_two_calls", "two_ranks_root_twice", "three_ranks_root")]}
RANKS, COUNTED, NEEDED = "board", ["rank"], "board show store"

def replay(one, e, r):
    def go_to(call):
        while one.s.call[r] < call:
            if one.s.at[r] != OUT:
                one.do("close", r)
            one.do("begin", r)
    if e.where == "board show write":
        go_to(one.s.call[r] + 1)
        one.do("put_up", r)
    elif e.where == "board show store":
        one.do("show", r, saw=(e.new, one.s.call[r]))
    elif e.where == "board look load" and e.then == "board notice read":
        go_to(e.old)
        q = one.owner(e, "board show store")
        one.do("look", r, q, saw=(e.old, one.s.entered[q]))
    elif e.where == "board finish store":
        go_to(e.new)
        one.do("finish", r)
    elif e.where == "board has_finished load" and e.old >= one.s.call[r]:
        q = one.owner(e, "board finish store")
        one.do("has_finished", r, q, saw=(e.old, one.s.finished[q]))
