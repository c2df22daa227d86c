"""The dispatch of a run: the caller starts its workers, and waits for them
(`src/team/dispatch.rs`), for any number of workers and of jobs. Workers spin, or sleep without a
limit; the caller may nap. A job is the closure of a run, with what it borrows.

Shown: a worker runs each job once, while the caller keeps it; the caller goes on when every worker
has left its result and uses nothing of the job any more. No wake-up is lost: where a worker sleeps
and there is a job, the caller is about to ring; where the caller naps for a worker that is done,
that worker is."""
from systems import System, both, choose, either, implies, no, one_of
system = System({"worker": 2}, w="worker")
# The caller: has no job; writes one; rings for its workers, and waits for them.
IDLE, WRITES, WAITS = range(3)
NONE, MARKED, NAPS = range(3)  # Its nap: none; it has marked its worker, and is to look; it sleeps.
# A worker: looks; has marked its bed, and is to look; sleeps; is up; runs the job; writes its
# result; looks whether the caller naps; rings.
LOOKS, LIES, SLEEPS, IS_UP, RUNS, RESULT, CHECKS, RINGS = range(8)
TORN = -1
system.has("", caller=IDLE, epoch=0, job=0)  # Of which epoch what lies there is.
system.has("", nap=NONE, caller_token=False)  # `Waker::wake` has come before `Sleeper::nap`.
system.has("", of="w", naps_for=0)
# In this epoch the caller has changed a worker's word, which said that it sleeps; seen its end.
system.has("w", has_rung=False, is_to_ring=False, is_done=False)
system.has("w", worker=LOOKS, seen=0, done=0, result=0, sleeps=False, token=False, mark=False)

@system.step("team/handle: dispatch 093a4a", caller=(IDLE, WRITES))
def write(s): s.job = TORN
@system.step("team/dispatch: start 7b4c8d", caller=(WRITES, WAITS))
def start(s):
    s.epoch, s.job = s.epoch + 1, s.epoch + 1
    s.has_rung[:], s.is_done[:] = False, False
@system.step(caller=WAITS)
def change_word(s, w):
    s.need(no(s.has_rung[w]))
    s.has_rung[w], s.is_to_ring[w], s.sleeps[w] = True, s.sleeps[w], False
@system.step()
def ring(s, w):
    s.need(s.is_to_ring[w])
    s.is_to_ring[w], s.token[w] = False, True
def has_started(s):
    return both(s.caller == WAITS, s.nap == NONE, s.every(
        lambda w: both(s.has_rung[w], no(s.is_to_ring[w]))))
@system.step("team/dispatch: await_workers 3f0212")
def await_done(s, w):
    s.need(has_started(s), s.done[w] == s.epoch)
    s.is_done[w] = True
@system.step("team/dispatch: await_done 75fe42, result a3020c")
def go_on(s):
    s.need(has_started(s), s.every(lambda w: s.is_done[w]))
    s.caller = IDLE
@system.step("wait/mark: set c5b131")
def set_mark(s, w):
    s.need(has_started(s), no(s.is_done[w]))
    s.nap, s.naps_for, s.mark[w] = MARKED, w, True
@system.step(nap=MARKED)
def look_for_nap(s): s.nap = choose(s.done[s.naps_for] == s.epoch, NONE, NAPS)
@system.step("wait/mod: nap 0f1f00", nap=(NAPS, NONE))
def end_nap(s): s.caller_token = False  # By the token, or by itself.
@system.step("team/dispatch: fade e6f490", "wait/mark: fade 8c1618, clear e11a55")
def clear_mark(s, w):
    s.need(has_started(s), s.mark[w])
    s.mark[w] = False
@system.step("team/dispatch: next b1e429, job a6cf45", worker=(LOOKS, RUNS))
def come(s, w):
    s.need(s.epoch != s.seen[w])
    s.seen[w] = s.epoch
@system.step(worker=(LOOKS, LIES))
def lie_down(s, w): s.sleeps[w] = True
@system.step(worker=LIES)
def look_again(s, w): s.worker[w] = choose(s.epoch != s.seen[w], IS_UP, SLEEPS)
@system.step("wait/mod: sleep 8fdf8c", worker=(SLEEPS, LOOKS))
def wake(s, w): s.token[w] = False  # By the token, or for no reason.
@system.step(worker=(IS_UP, LOOKS))
def get_up(s, w): s.sleeps[w] = False
@system.step("team/run_rank: take_part 5b9343", "team/worker: work 7a3123", worker=(RUNS, RESULT))
def write_result(s, w): s.result[w] = TORN
@system.step("team/dispatch: done 1ef9ef", worker=(RESULT, CHECKS))
def done(s, w): s.result[w], s.done[w] = s.seen[w], s.seen[w]
@system.step("wait/mark: is_set d0f2a6", worker=CHECKS)
def see_mark(s, w): s.worker[w] = choose(s.mark[w], RINGS, LOOKS)
@system.step("wait/mod: wake 52dd8b", worker=(RINGS, LOOKS))
def ring_back(s, w): s.caller_token = True

system.safe("a worker runs the latest job, which is whole, and is kept", lambda s, w: (
    implies(one_of(s.worker[w], RUNS, RESULT), both(
        s.job == s.seen[w], s.seen[w] == s.epoch, s.caller == WAITS))))
system.safe("once the caller goes on each worker has left each job's result", lambda s, w: (
    implies(s.caller == IDLE, both(
        s.seen[w] == s.epoch, s.done[w] == s.epoch, s.result[w] == s.epoch))))
system.safe("where a worker sleeps and has a job the caller is about to ring", lambda s, w: implies(
    both(s.worker[w] == SLEEPS, no(s.token[w]), s.seen[w] != s.epoch),
    both(s.caller == WAITS, either(s.is_to_ring[w], both(no(s.has_rung[w]), s.sleeps[w])))))
system.safe("where the caller naps for who is done, that one is about to ring", lambda s: implies(
    both(s.nap == NAPS, no(s.caller_token), s.done[s.naps_for] == s.epoch),
    both(s.mark[s.naps_for], one_of(s.worker[s.naps_for], CHECKS, RINGS))))

system.keeps("stages", lambda s: both(
    s.caller >= IDLE, s.caller <= WAITS, s.nap >= NONE, s.nap <= NAPS,
    either(s.nap == NONE, s.caller == WAITS), either(s.nap == NONE, s.mark[s.naps_for])))
system.keeps("workers", lambda s, w: both(
    s.worker[w] >= LOOKS, s.worker[w] <= RINGS, s.seen[w] >= s.epoch - 1,
    s.done[w] <= s.seen[w], s.seen[w] <= s.epoch, choose(
        one_of(s.worker[w], RUNS, RESULT), both(s.seen[w] == s.epoch, s.done[w] < s.epoch),
        s.done[w] == s.seen[w])))
system.keeps("the job", lambda s: either(s.caller == WRITES, s.job == s.epoch))
system.keeps("all are done", lambda s, w: either(s.caller == WAITS, s.done[w] == s.epoch))
system.keeps("results", lambda s, w: either(s.worker[w] == RESULT, s.result[w] == s.done[w]))
system.keeps("who is seen to be done is", lambda s, w: implies(s.is_done[w], s.done[w] == s.epoch))
system.keeps("rings", lambda s, w: both(
    implies(s.is_to_ring[w], both(s.caller == WAITS, s.has_rung[w], s.nap == NONE)),
    either(s.nap == NONE, s.has_rung[w])))
system.keeps("a bed is marked, or the worker is woken", lambda s, w: implies(
    one_of(s.worker[w], LIES, SLEEPS), either(s.sleeps[w], s.is_to_ring[w], s.token[w])))
system.keeps("who sleeps by a mark gets a ring", lambda s, w: implies(
    both(s.worker[w] == SLEEPS, s.sleeps[w], s.seen[w] != s.epoch),
    both(s.caller == WAITS, no(s.has_rung[w]))))
system.keeps("who naps gets a ring", lambda s: implies(
    both(s.nap == NAPS, no(s.caller_token), s.done[s.naps_for] == s.epoch),
    one_of(s.worker[s.naps_for], CHECKS, RINGS)))

def wake_and_lie(s, w):
    wake(s, w)
    s.worker[w] = LIES
def look_before_the_mark(s, w):
    s.need(has_started(s), no(s.is_done[w]), s.done[w] != s.epoch)
    s.nap, s.naps_for = MARKED, w
def mark_and_nap(s):
    s.need(s.nap == MARKED)
    s.nap, s.mark[s.naps_for] = NAPS, True
system.rare = {"clear_mark"}
system.mistake("a bed that is marked once a wait", wake=wake_and_lie)
system.mistake("a mark after the look", set_mark=look_before_the_mark, look_for_nap=mark_and_nap)

MODELS = {"loom-tests": [f"models::dispatch::{it}" for it in (
    "two_jobs_and_stop_asleep", "a_caller_asleep")]}
RANKS, COUNTED, NEEDED = "dispatch next", ["worker"], "dispatch start store"  # Ranks: the workers.

def replay(one, e, w):
    s = one.s
    if w is None:
        return replay_caller(one, e, s, range(len(one.ranks)))
    if s.worker[w] == CHECKS and e.where.startswith("dispatch next"):
        one.do("see_mark", w)  # Where no mark is modelled.
    if e.where == "dispatch next load" and s.worker[w] == LIES:
        one.do("look_again", w, saw=(e.old, s.epoch))
    elif e.where == "dispatch next load" and s.worker[w] != SLEEPS and e.old != s.seen[w]:
        one.do("come", w, saw=(e.old, s.epoch))
    elif e.where in ("dispatch next swap", "wait sleep swap"):
        if s.worker[w] == SLEEPS:
            one.do("wake", w, saw=(True, s.token[w]))
        if e.where.startswith("dispatch"):
            one.do("lie_down" if e.new else "get_up", w, saw=(e.old, int(s.sleeps[w])))
    elif e.where == "dispatch done write":
        one.do("write_result", w)
    elif e.where == "dispatch done store":
        one.do("done", w, saw=(e.new, s.seen[w]))
    elif e.where == "mark is_set load":
        one.do("see_mark", w, saw=(e.old != 0, s.mark[w]))
    elif e.where == "wait wake swap":
        one.do("ring_back", w)
def replay_caller(one, e, s, workers):
    w = one.owner(e, "dispatch done store")
    if e.where == "dispatch start write":
        if s.caller == WAITS:
            one.do("go_on")
        one.do("write")
    elif e.where == "dispatch start store":
        one.do("start", saw=(e.new, s.epoch + 1))
    elif e.where == "dispatch start swap":
        w = one.owner(e, "dispatch next swap")
        w = next(w for w in workers if not s.has_rung[w]) if w is None else w
        one.do("change_word", w, saw=(e.old, int(s.sleeps[w])))
    elif e.where == "wait wake swap":
        one.do("ring", next(w for w in workers if s.is_to_ring[w]))
    elif e.where == "dispatch await_workers load" and w is not None and s.nap == MARKED:
        one.do("look_for_nap", saw=(e.old, s.done[w]))
    elif e.where == "dispatch await_workers load" and w is not None and e.old == s.epoch:
        one.do("await_done", w)
    elif e.where == "mark set store":
        one.do("set_mark", one.owner(e, "mark is_set load"))
    elif e.where == "wait sleep swap":
        one.do("end_nap", saw=(True, s.caller_token))
