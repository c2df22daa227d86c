"""The end of a failed run: every rank hears of it, and no other run does
(`src/shared/README.md`, "Calls that wait for nobody", "Quiesce").

For any number of ranks and of runs. Runs are poisoned by their ranks, or by threads of other runs,
which may be late; ranks' `present` may be raised by failures of other teams. How a failing rank
waits until nobody reaches its memory is a part of the board's protocol; how ranks that wait wake is
the sleeper's.

Shown: once a run is poisoned, and its poisoner is done, no rank of it begins a call, whether it had
joined by then or joins later. Poison stays until the next run, and none of a run before ends that.
Whoever sees that a failing rank has left finds the poison. Between runs each rank's port is closed.
"""

from systems import System, both, choose, either, implies, no

ending = System("ending", r="rank", n=lambda _: range(1, 9))
ending.sizes = {"rank": 2}

# The lock of the cause: free; its holder looks which run it is; stores poison; shuts all ranks.
FREE, CHECKS, STORES, SHUTS = range(4)
# A rank: in no run; has joined, and is to put back what it has found; is in the run; in a call; is
# refused, and looks for poison; has found it; looks at `present` once more; opens that again; has
# failed; ends the run; leaves: is to look at `present`; to raise it; to say that it has left.
OUT, JOINS, IN, CALLS, REFUSED, HEARS, LOOKS, REOPENS, FAILED, ENDS, LEAVES, CLOSES, SAYS = range(13)

ending.field("run")
ending.field("poison")
ending.field("lock", "", FREE)
ending.field("ends")  # The run that the holder is to end.
ending.field("is_shut", "r", False)  # By the holder.
ending.field("at", "r", OUT)
ending.field("joined", "r")  # `Port::run`
ending.field("present", "r")
ending.field("found", "r")  # In `present`, when it joined.
ending.field("left", "r")
ending.field("failed", "r")  # The latest run that the rank has left in failure.

STATE = "src/shared/team_state.rs"


def passes(run):
    """As `run_pass`."""
    return 2 * run


def higher(a, b):
    return choose(a > b, a, b)


@ending.step((STATE, "begin", ""))
def begin(s):
    """`Dispatch::await_done` has seen all ranks leave (`dispatch.py`)."""
    s.need(s.every(lambda r: both(s.at[r] == OUT, s.left[r] == s.run)))
    s.run = s.run + 1


@ending.step((STATE, "join", ""), ("src/shared/call_log.rs", "run_pass", ""))
def join(s, r):
    s.need(s.at[r] == OUT, s.left[r] < s.run)
    s.found[r], s.joined[r] = s.present[r], s.run
    s.at[r] = choose(s.present[r] > passes(s.run), JOINS, IN)
    s.present[r] = passes(s.run)


@ending.step()
def put_back(s, r):
    s.need(s.at[r] == JOINS)
    s.at[r], s.present[r] = IN, higher(s.present[r], s.found[r])


@ending.step(("src/shared/port/mod.rs", "is_open", ""), ("src/shared/call_log.rs", "present", ""))
def call(s, r):
    s.need(s.at[r] == IN)
    s.at[r] = choose(s.present[r] == passes(s.joined[r]), CALLS, REFUSED)


@ending.step()
def end_call(s, r):
    s.need(s.at[r] == CALLS)
    s.at[r] = IN


@ending.step(("src/comm/diagnose.rs", "refuse_or_not", ""), (STATE, "is_poisoned", ""))
def look_for_poison(s, r):
    s.need(s.at[r] == REFUSED)
    s.at[r] = choose(s.poison == s.joined[r], HEARS, LOOKS)


@ending.step()
def shut_itself(s, r):
    """For the rank's other communicators, if it has opened them."""
    s.need(s.at[r] == HEARS)
    s.at[r], s.present[r] = FAILED, higher(s.present[r], passes(s.joined[r]) + 1)


@ending.step()
def look_once_more(s, r):
    s.need(s.at[r] == LOOKS)
    s.at[r] = choose(s.present[r] == passes(s.joined[r]), CALLS, REOPENS)


@ending.step((STATE, "reopen", ""))
def reopen(s, r):
    s.need(s.at[r] == REOPENS)
    s.at[r], s.present[r] = REFUSED, passes(s.joined[r])


@ending.step()
def fail(s, r):
    """By a panic, or in a wait."""
    s.need(either(s.at[r] == IN, s.at[r] == CALLS))
    s.at[r] = FAILED


@ending.step((STATE, "lock_cause", ""))
def take_lock(s, n):
    """Of any thread, which ends run `n`."""
    s.need(s.lock == FREE, 1 <= n, n <= s.run)
    s.lock, s.ends = CHECKS, n


@ending.step(("src/shared/port/waiting.rs", "quiesce", ""))
def take_lock_itself(s, r):
    """Of a rank that has failed, or has heard that another has."""
    s.need(s.lock == FREE, s.at[r] == FAILED)
    s.lock, s.ends, s.at[r] = CHECKS, s.joined[r], ENDS


@ending.step((STATE, "run", ""))
def check_run(s):
    s.need(s.lock == CHECKS)
    s.lock = choose(s.ends == s.run, STORES, FREE)


@ending.step((STATE, "poison", ""))
def store_poison(s):
    s.need(s.lock == STORES)
    s.lock, s.poison = SHUTS, s.ends
    s.is_shut[:] = False


@ending.step((STATE, "shut", ""))
def shut(s, r):
    s.need(s.lock == SHUTS)
    s.is_shut[r], s.present[r] = True, higher(s.present[r], passes(s.ends) + 1)


@ending.step()
def unlock(s):
    s.need(s.lock == SHUTS, s.every(lambda r: s.is_shut[r]))
    s.lock = FREE


@ending.step(("src/shared/thread.rs", "tell", ""))
def shut_by_others(s, r, n):
    """A failure of another team, in which the rank's thread is a rank."""
    s.need(1 <= n, n <= s.run)
    s.present[r] = higher(s.present[r], passes(n) + 1)


@ending.step(("src/team/run_rank.rs", "take_part", ""))
def leave(s, r):
    """In good order, or after its own `poison`."""
    s.need(either(s.at[r] == IN, both(s.at[r] == ENDS, s.lock == FREE)))
    s.failed[r] = choose(s.at[r] == ENDS, s.joined[r], s.failed[r])
    s.at[r] = LEAVES


@ending.step((STATE, "leave", ""))
def close(s, r):
    s.need(s.at[r] == LEAVES)
    s.at[r] = choose(s.present[r] == passes(s.joined[r]), CLOSES, SAYS)


@ending.step()
def raise_present(s, r):
    s.need(s.at[r] == CLOSES)
    s.at[r], s.present[r] = SAYS, passes(s.joined[r]) + 1


@ending.step((STATE, "has_left", ""))
def say(s, r):
    s.need(s.at[r] == SAYS)
    s.at[r], s.left[r] = OUT, s.joined[r]


def is_ended(s):
    """The run is poisoned, and its poisoner is done with all ranks."""
    return both(s.run >= 1, s.poison == s.run, either(s.lock != SHUTS, s.ends != s.run))


@ending.safe
def no_rank_begins_a_call(s):
    """once a run has been ended no rank of it begins a call"""
    return implies(is_ended(s), s.every(lambda r: both(
        implies(either(s.at[r] == IN, s.at[r] == LOOKS), s.present[r] != passes(s.run)),
        implies(both(s.at[r] == OUT, s.left[r] < s.run), s.present[r] > passes(s.run)))))


@ending.safe
def ports_are_closed(s):
    """between runs no rank's port is open"""
    return s.every(lambda r: implies(
        both(s.at[r] == OUT, s.left[r] >= 1), s.present[r] > passes(s.left[r])))


@ending.safe
def who_sees_it_leave_sees_the_poison(s):
    """when a failing rank has left its run is poisoned"""
    return s.every(lambda r: implies(
        both(s.failed[r] == s.run, s.run >= 1), s.poison == s.run))


@ending.safe
def poison_is_of_the_past(s):
    """a run is in nobody's poison before it begins"""
    return s.poison <= s.run


@ending.move
def poison_stays(before, after, step, _):
    """poison stays until the next run, which is not poisoned"""
    return choose(after.run == before.run,
                  implies(both(before.poison == before.run, before.run >= 1), after.poison == before.run),
                  after.poison < after.run)


def invariant(s):
    def in_run(r):
        return s.at[r] != OUT

    def raised(r):
        return s.present[r] > passes(s.run)

    shut_by = both(s.run >= 1, s.poison == s.run)
    return {
        "numbers": both(0 <= s.poison, s.poison <= s.run, s.run >= 0, s.ends <= s.run, FREE <= s.lock,
                        s.lock <= SHUTS),
        "the holder": both(
            either(s.lock == FREE, s.ends >= 1), implies(s.lock == SHUTS, s.poison == s.ends),
            implies(s.lock == STORES, either(s.ends < s.run, s.poison <= s.run))),
        "poison waits for its time": implies(
            both(s.lock == STORES, s.poison == s.run, s.run >= 1), s.ends == s.run),
        "ranks": s.every(lambda r: both(
            s.at[r] >= OUT, s.at[r] <= SAYS, 0 <= s.left[r], s.left[r] <= s.run,
            s.left[r] >= s.run - 1, s.failed[r] <= s.run, s.present[r] <= passes(s.run) + 1,
            implies(in_run(r), both(s.joined[r] == s.run, s.left[r] < s.run)))),
        "closed": s.every(lambda r: both(
            implies(both(s.at[r] == OUT, s.left[r] >= 1), s.present[r] > passes(s.left[r])),
            implies(s.at[r] == SAYS, s.present[r] > passes(s.joined[r])))),
        "in the run": s.every(lambda r: implies(in_run(r), s.present[r] >= passes(s.run))),
        "found": s.every(lambda r: implies(
            s.at[r] == JOINS, s.found[r] == passes(s.run) + 1)),
        "who ends the run": s.every(lambda r: implies(s.at[r] == ENDS, either(
            s.poison == s.run, both(s.ends == s.run, either(s.lock == CHECKS, s.lock == STORES))))),
        "failed": s.every(lambda r: implies(
            both(s.failed[r] == s.run, s.run >= 1), s.poison == s.run)),
        "who was shut finds out": implies(shut_by, s.every(lambda r: either(
            raised(r), both(s.lock == SHUTS, s.ends == s.run, no(s.is_shut[r])),
            s.at[r] == JOINS, s.at[r] == REFUSED, s.at[r] == HEARS))),
    }


ending.invariant = invariant
ending.rare = {"take_lock", "shut_by_others", "fail"}


def join_by_a_store(s, r):
    join(s, r)
    s.at[r] = IN


def reopen_and_go_on(s, r):
    reopen(s, r)
    s.at[r] = IN


ending.mistake("a rank joins by a store", join=join_by_a_store)
ending.mistake("no look for poison after a port is opened again", reopen=reopen_and_go_on)
