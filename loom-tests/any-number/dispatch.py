"""The dispatch of a run: the caller starts its workers, and waits for them (`src/team/dispatch.rs`).

For any number of workers and of jobs. Workers spin or sleep without a limit; the caller may nap.
A job is the closure of a run and what it borrows; rank 0 is the caller, which is a rank meanwhile.

Shown: a worker runs each job once, while the caller keeps it; the caller goes on when every worker
has left its result, and is done with all that the job lends. No wake-up is lost: where a worker
sleeps and there is a job, the caller is about to ring; where the caller naps for a worker that is
done, the worker is.
"""

from systems import System, both, choose, either, implies, no

dispatch = System("dispatch", w="worker")
dispatch.sizes = {"worker": 2}

# The caller: has no job; writes one; rings for its workers; waits for them.
IDLE, WRITES, RINGS, AWAITS = range(4)
# Its nap: none; it marks the worker; looks again; sleeps.
NONE, NAP_MARKS, NAP_LOOKS, NAPS = range(4)
# A worker: looks; marks its bed; looks again; sleeps; is up; runs the job; writes its result; looks
# whether the caller naps; rings.
LOOKS, MARKS, AGAIN, SLEEPS, IS_UP, RUNS, RESULT, CHECKS, RINGS_BACK = range(9)
TORN = -1

dispatch.field("caller", "", IDLE)
dispatch.field("epoch")
dispatch.field("job")  # Of which epoch what lies there is.
dispatch.field("has_rung", "w", False)  # In this epoch the caller has changed the worker's word,
dispatch.field("is_to_ring", "w", False)  # which said that it sleeps.
dispatch.field("is_done", "w", False)  # As the caller has seen.
dispatch.field("nap", "", NONE)
dispatch.field("naps_for", of="w")
dispatch.field("caller_token", "", False)  # `Waker::wake` before `Sleeper::nap`.
dispatch.field("worker", "w", LOOKS)
dispatch.field("seen", "w")
dispatch.field("done", "w")
dispatch.field("result", "w")
dispatch.field("sleeps", "w", False)  # `sleep_word` is `ASLEEP`.
dispatch.field("token", "w", False)
dispatch.field("mark", "w", False)

DISPATCH, MARK = "src/team/dispatch.rs", "src/wait/mark.rs"


@dispatch.step(("src/team/handle.rs", "dispatch", ""))
def write(s):
    s.need(s.caller == IDLE)
    s.caller, s.job = WRITES, TORN


@dispatch.step((DISPATCH, "start", ""))
def start(s):
    s.need(s.caller == WRITES)
    s.caller, s.epoch = RINGS, s.epoch + 1
    s.job = s.epoch
    s.has_rung[:], s.is_done[:] = False, False


@dispatch.step()
def change_word(s, w):
    s.need(s.caller == RINGS, no(s.has_rung[w]))
    s.has_rung[w], s.is_to_ring[w], s.sleeps[w] = True, s.sleeps[w], False


@dispatch.step()
def ring(s, w):
    s.need(s.caller == RINGS, s.is_to_ring[w])
    s.is_to_ring[w], s.token[w] = False, True


@dispatch.step()
def started(s):
    s.need(s.caller == RINGS, s.every(lambda w: both(s.has_rung[w], no(s.is_to_ring[w]))))
    s.caller = AWAITS


@dispatch.step((DISPATCH, "await_workers", ""))
def await_done(s, w):
    s.need(s.caller == AWAITS, s.nap == NONE, s.done[w] == s.epoch)
    s.is_done[w] = True


@dispatch.step((DISPATCH, "await_done", ""), (DISPATCH, "result", ""))
def all_done(s):
    s.need(s.caller == AWAITS, s.nap == NONE, s.every(lambda w: s.is_done[w]))
    s.caller = IDLE


@dispatch.step()
def begin_nap(s, w):
    s.need(s.caller == AWAITS, s.nap == NONE, no(s.is_done[w]))
    s.nap, s.naps_for = NAP_MARKS, w


@dispatch.step((MARK, "set", ""))
def set_mark(s):
    s.need(s.nap == NAP_MARKS)
    s.nap, s.mark[s.naps_for] = NAP_LOOKS, True


@dispatch.step()
def look_for_nap(s):
    s.need(s.nap == NAP_LOOKS)
    s.nap = choose(s.done[s.naps_for] == s.epoch, NONE, NAPS)


@dispatch.step(("src/wait/mod.rs", "nap", ""))
def end_nap(s):
    s.need(s.nap == NAPS, s.caller_token)
    s.nap, s.caller_token = NONE, False


@dispatch.step()
def nap_ends_by_itself(s):
    s.need(s.nap == NAPS)
    s.nap = NONE


@dispatch.step((DISPATCH, "fade", ""), (MARK, "fade", ""), (MARK, "clear", ""))
def clear_mark(s, w):
    s.need(s.caller == AWAITS, s.nap == NONE, s.mark[w])
    s.mark[w] = False


@dispatch.step((DISPATCH, "next", ""), (DISPATCH, "job", ""))
def come(s, w):
    s.need(s.worker[w] == LOOKS, s.epoch != s.seen[w])
    s.worker[w], s.seen[w] = RUNS, s.epoch


@dispatch.step()
def lie_down(s, w):
    s.need(s.worker[w] == LOOKS)
    s.worker[w] = MARKS


@dispatch.step()
def mark_bed(s, w):
    s.need(s.worker[w] == MARKS)
    s.worker[w], s.sleeps[w] = AGAIN, True


@dispatch.step()
def look_again(s, w):
    s.need(s.worker[w] == AGAIN)
    s.worker[w] = choose(s.epoch != s.seen[w], IS_UP, SLEEPS)


@dispatch.step(("src/wait/mod.rs", "sleep", ""))
def wake(s, w):
    s.need(s.worker[w] == SLEEPS, s.token[w])
    s.worker[w], s.token[w] = MARKS, False


@dispatch.step()
def wake_for_no_reason(s, w):
    s.need(s.worker[w] == SLEEPS)
    s.worker[w] = MARKS


@dispatch.step()
def get_up(s, w):
    s.need(s.worker[w] == IS_UP)
    s.worker[w], s.sleeps[w] = LOOKS, False


@dispatch.step(("src/team/run_rank.rs", "take_part", ""), ("src/team/worker.rs", "work", ""))
def write_result(s, w):
    s.need(s.worker[w] == RUNS)
    s.worker[w], s.result[w] = RESULT, TORN


@dispatch.step((DISPATCH, "done", ""))
def done(s, w):
    s.need(s.worker[w] == RESULT)
    s.worker[w], s.result[w], s.done[w] = CHECKS, s.seen[w], s.seen[w]


@dispatch.step((MARK, "is_set", ""))
def see_mark(s, w):
    s.need(s.worker[w] == CHECKS)
    s.worker[w] = choose(s.mark[w], RINGS_BACK, LOOKS)


@dispatch.step(("src/wait/mod.rs", "wake", ""))
def ring_back(s, w):
    s.need(s.worker[w] == RINGS_BACK)
    s.worker[w], s.caller_token = LOOKS, True


def works(s, w):
    return either(s.worker[w] == RUNS, s.worker[w] == RESULT)


@dispatch.safe
def the_job_lasts(s):
    """a worker runs the latest job, which is whole, and which the caller keeps"""
    return s.every(lambda w: implies(works(s, w), both(
        s.job == s.seen[w], s.seen[w] == s.epoch, s.caller != IDLE, s.caller != WRITES)))


@dispatch.safe
def all_have_left_results(s):
    """once the caller goes on each worker has run each job, and has left its result"""
    return implies(s.caller == IDLE, s.every(lambda w: both(
        s.seen[w] == s.epoch, s.done[w] == s.epoch, s.result[w] == s.epoch)))


@dispatch.safe
def no_ring_is_lost(s):
    """where a worker sleeps and there is a job, the caller is about to ring"""
    return s.every(lambda w: implies(
        both(s.worker[w] == SLEEPS, no(s.token[w]), s.seen[w] != s.epoch),
        both(s.caller == RINGS, either(s.is_to_ring[w], both(no(s.has_rung[w]), s.sleeps[w])))))


@dispatch.safe
def no_ring_back_is_lost(s):
    """where the caller naps for a worker that is done, that worker is about to ring"""
    w = s.naps_for
    return implies(both(s.nap == NAPS, no(s.caller_token), s.done[w] == s.epoch),
                   either(both(s.worker[w] == CHECKS, s.mark[w]), s.worker[w] == RINGS_BACK))


def invariant(s):
    return {
        "stages": both(s.caller >= IDLE, s.caller <= AWAITS, s.nap >= NONE, s.nap <= NAPS,
                       either(s.nap == NONE, s.caller == AWAITS)),
        "workers": s.every(lambda w: both(
            s.worker[w] >= LOOKS, s.worker[w] <= RINGS_BACK,
            s.seen[w] <= s.epoch, s.seen[w] >= s.epoch - 1, s.done[w] <= s.seen[w],
            implies(works(s, w), both(s.seen[w] == s.epoch, s.done[w] < s.epoch)),
            either(works(s, w), s.done[w] == s.seen[w]))),
        "the job": implies(s.caller != WRITES, s.job == s.epoch),
        "all are done": implies(either(s.caller == IDLE, s.caller == WRITES), s.every(
            lambda w: s.done[w] == s.epoch)),
        "results": s.every(lambda w: either(s.worker[w] == RESULT, s.result[w] == s.done[w])),
        "as the caller has seen": s.every(lambda w: implies(s.is_done[w], s.done[w] == s.epoch)),
        "rings": s.every(lambda w: implies(s.is_to_ring[w], both(s.caller == RINGS, s.has_rung[w]))),
        "has rung": implies(s.caller == AWAITS, s.every(lambda w: s.has_rung[w])),
        "a bed is marked, or the worker is woken": s.every(lambda w: implies(
            either(s.worker[w] == AGAIN, s.worker[w] == SLEEPS),
            either(s.sleeps[w], s.is_to_ring[w], s.token[w]))),
        "who sleeps by a mark gets a ring": s.every(lambda w: implies(
            both(s.worker[w] == SLEEPS, s.sleeps[w], s.seen[w] != s.epoch),
            both(s.caller == RINGS, no(s.has_rung[w])))),
        "naps": implies(either(s.nap == NAP_LOOKS, s.nap == NAPS), s.mark[s.naps_for]),
        "who naps gets a ring": implies(
            both(s.nap == NAPS, no(s.caller_token), s.done[s.naps_for] == s.epoch),
            either(s.worker[s.naps_for] == CHECKS, s.worker[s.naps_for] == RINGS_BACK)),
    }


dispatch.invariant = invariant
dispatch.rare = {"wake_for_no_reason", "nap_ends_by_itself", "clear_mark"}


def wake_and_lie(s, w):
    """Marks its bed once a wait, not before each sleep."""
    wake(s, w)
    s.worker[w] = AGAIN


def nap_before_the_mark(s, w):
    begin_nap(s, w)
    s.nap = NAP_LOOKS


def look_before_the_mark(s):
    look_for_nap(s)
    s.nap = choose(s.nap == NAPS, NAP_MARKS, NONE)


def mark_and_nap(s):
    set_mark(s)
    s.nap = NAPS


def await_none(s):
    s.need(s.caller == AWAITS, s.nap == NONE)
    s.caller = IDLE


dispatch.mistake("a bed that is marked once a wait", wake=wake_and_lie)
dispatch.mistake("a mark after the look", begin_nap=nap_before_the_mark,
                 look_for_nap=look_before_the_mark, set_mark=mark_and_nap)
dispatch.mistake("the caller goes on before its workers", all_done=await_none)
