"""The end of a failed run: every rank hears of it, and no other run does (`src/shared/README.md`,
"Calls that wait for nobody"), for any number of ranks and of runs. Runs are poisoned by their
ranks, or by threads of other runs, which may be late; a rank's `present` may be raised by failures
of other teams. (How a failing rank waits until nobody reaches its memory is in `board.py`, how
ranks that sleep wake in `sleeper.py`.)

Shown: once a run is poisoned, and its poisoner is done, no rank of it begins a call, whether it has
joined by then or joins later. Poison stays until the next run, which is not poisoned by it. Whoever
sees that a failing rank has left finds the poison. Between runs each rank's port is closed."""
from systems import System, both, choose, either, implies, no, one_of
system = System({"rank": 2}, r="rank", n=range(1, 9))
# The lock of the cause: free; its holder looks which run it is; stores poison; shuts all ranks.
FREE, CHECKS, STORES, SHUTS = range(4)
# A rank: in no run; has joined, and is to put back what it has found; in the run; refused,
# looks for poison; has found it; looks once more; opens its port again; has failed; ends the run;
# leaves: is to look at `present`; to raise it; to say that it has left.
OUT, JOINS, IN, REFUSED, HEARS, LOOKS, REOPENS, FAILED, ENDS, LEAVES, CLOSES, SAYS = range(12)
system.has("", run=0, poison=0, lock=FREE, ends=0)  # The last: the run that the holder is to end.
system.has("r", at=OUT, joined=0, present=0, left=0)
system.has("r", holds=False, is_shut=False)  # The lock; by its holder.
system.has("r", found=0, failed=0)  # In `present`, by who joins; the latest run left in failure.
def passes(run):
    """As `run_pass`."""
    return 2 * run
def higher(a, b): return choose(a > b, a, b)

@system.step("shared/team_state: begin 02b7f5")
def begin(s):  # The caller has seen all ranks leave (`dispatch.py`).
    s.need(s.every(lambda r: both(s.at[r] == OUT, s.left[r] == s.run)))
    s.run = s.run + 1
@system.step("shared/team_state: join 98c7f7", "shared/call_log: run_pass 096190", at=OUT)
def join(s, r):
    s.need(s.left[r] < s.run)
    s.at[r] = choose(s.present[r] > passes(s.run), JOINS, IN)
    s.joined[r], s.found[r], s.present[r] = s.run, s.present[r], passes(s.run)
@system.step(at=(JOINS, IN))
def put_back(s, r): s.present[r] = higher(s.present[r], s.found[r])
@system.step("shared/port/mod: is_open 98d07e", "shared/call_log: present 370bb0", at=IN)
def call(s, r): s.at[r] = choose(s.present[r] == passes(s.joined[r]), IN, REFUSED)
@system.step("comm/diagnose: refuse_or_not 33b6f6", "shared/team_state: is_poisoned dfbdb7",
             at=REFUSED)
def look_for_poison(s, r): s.at[r] = choose(s.poison == s.joined[r], HEARS, LOOKS)
@system.step(at=(HEARS, FAILED))
def shut_itself(s, r):  # For the rank's other communicators, if it has opened them.
    s.present[r] = higher(s.present[r], passes(s.joined[r]) + 1)
@system.step(at=LOOKS)
def look_once_more(s, r): s.at[r] = choose(s.present[r] == passes(s.joined[r]), IN, REOPENS)
@system.step("shared/team_state: reopen 2c9305", at=(REOPENS, REFUSED))
def reopen(s, r): s.present[r] = passes(s.joined[r])
@system.step(at=(IN, FAILED))
def fail(s, r): """By a panic, or in a wait."""
@system.step("shared/port/waiting: quiesce bb7a42", lock=(FREE, CHECKS))
def take_lock(s, r):  # Of a rank that has failed, or has heard that another has.
    s.need(s.at[r] == FAILED)
    s.ends, s.at[r], s.holds[r] = s.joined[r], ENDS, True
@system.step("shared/team_state: lock_cause fad656", "shared/thread: tell 2eacfe",
             lock=(FREE, CHECKS))
def take_lock_of_others(s, n):  # Of any thread, which ends run `n`.
    s.need(1 <= n, n <= s.run)
    s.ends = n
@system.step("shared/team_state: run 41da5e", lock=CHECKS)
def check_run(s): s.lock = choose(s.ends == s.run, STORES, FREE)
@system.step("shared/team_state: poison de85c9", lock=(STORES, SHUTS))
def store_poison(s): s.poison, s.is_shut[:] = s.ends, False
@system.step("shared/team_state: shut 5fd46d", lock=SHUTS)
def shut(s, r): s.is_shut[r], s.present[r] = True, higher(s.present[r], passes(s.ends) + 1)
@system.step(lock=(SHUTS, FREE))
def unlock(s):
    s.need(s.every(lambda r: s.is_shut[r]))
    s.holds[:] = False
@system.step()
def shut_by_others(s, r, n):  # By a failure of another team, in which its thread is a rank.
    s.need(1 <= n, n <= s.run)
    s.present[r] = higher(s.present[r], passes(n) + 1)
@system.step("team/run_rank: take_part 5b9343")
def leave(s, r):  # In good order, or after its own `poison`.
    s.need(either(s.at[r] == IN, both(s.at[r] == ENDS, no(s.holds[r]))))
    s.failed[r], s.at[r] = choose(s.at[r] == ENDS, s.joined[r], s.failed[r]), LEAVES
@system.step("shared/team_state: leave b88f75", at=LEAVES)
def close(s, r): s.at[r] = choose(s.present[r] == passes(s.joined[r]), CLOSES, SAYS)
@system.step(at=(CLOSES, SAYS))
def raise_present(s, r): s.present[r] = passes(s.joined[r]) + 1
@system.step("shared/team_state: has_left 860833", at=(SAYS, OUT))
def say(s, r): s.left[r] = s.joined[r]
def is_ended(s):  # The run is poisoned, and its poisoner is done with all ranks.
    return both(s.run >= 1, s.poison == s.run, either(s.lock != SHUTS, s.ends != s.run))

system.safe("no rank of an ended run begins a call", lambda s, r: implies(is_ended(s), both(
    implies(one_of(s.at[r], IN, LOOKS), s.present[r] != passes(s.run)),
    implies(both(s.at[r] == OUT, s.left[r] < s.run), s.present[r] > passes(s.run)))))
system.safe("between runs no rank's port is open", lambda s, r: implies(
    both(s.at[r] == OUT, s.left[r] >= 1), s.present[r] > passes(s.left[r])))
system.safe("when a failing rank leaves its run is poisoned", lambda s, r: implies(
    both(s.failed[r] == s.run, s.run >= 1), s.poison == s.run))
system.move("poison stays until the next run, which has none", lambda before, after, *_: choose(
    after.run == before.run,
    implies(both(before.poison == before.run, before.run >= 1), after.poison == before.run),
    after.poison < after.run))

system.keeps("numbers", lambda s: both(
    0 <= s.poison, s.poison <= s.run, s.ends <= s.run, FREE <= s.lock, s.lock <= SHUTS,
    either(s.lock == FREE, s.ends >= 1), implies(s.lock == SHUTS, s.poison == s.ends),
    implies(both(s.lock == STORES, s.poison == s.run), s.ends == s.run)))
system.keeps("ranks", lambda s, r: both(
    s.at[r] >= OUT, s.at[r] <= SAYS, s.left[r] <= s.run, s.left[r] >= s.run - 1, s.left[r] >= 0,
    s.failed[r] <= s.run, s.present[r] <= passes(s.run) + 1,
    implies(s.at[r] != OUT, both(s.joined[r] == s.run, s.left[r] < s.run)),
    implies(s.at[r] != OUT, s.present[r] >= passes(s.run)),
    implies(s.at[r] == SAYS, s.present[r] > passes(s.joined[r])),
    implies(both(s.at[r] == OUT, s.left[r] >= 1), s.present[r] > passes(s.left[r])),
    implies(s.at[r] == JOINS, s.found[r] == passes(s.run) + 1)))
system.keeps("who ends the run", lambda s, r: both(
    implies(s.holds[r], both(s.at[r] == ENDS, s.lock != FREE, s.ends == s.run)),
    implies(s.at[r] == ENDS, either(s.poison == s.run, both(s.holds[r], s.lock != SHUTS)))))
system.keeps("who has failed", lambda s, r: implies(
    both(s.failed[r] == s.run, s.run >= 1), s.poison == s.run))
system.keeps("ranks find out", lambda s, r: implies(both(s.run >= 1, s.poison == s.run), either(
    s.present[r] > passes(s.run), both(s.lock == SHUTS, s.ends == s.run, no(s.is_shut[r])),
    one_of(s.at[r], JOINS, REFUSED, HEARS))))

def join_by_a_store(s, r):
    join(s, r)
    s.at[r] = IN
system.rare = {"take_lock_of_others", "shut_by_others", "fail"}
system.mistake("a rank joins by a store", join=join_by_a_store)

MODELS = {"shuttle-tests": ["failed::renew", "failed::caught", "failed::parked_workers"]}
RANKS, COUNTED, NEEDED = "team_state join", ["rank"], "team_state join swap"

def replay(one, e, r):
    s, other = one.s, one.owner(e, "team_state join swap")
    if e.where == "team_state begin store":
        one.do("begin", saw=(e.new, s.run + 1))
    elif e.where == "team_state join swap":
        one.do("put_back" if s.at[r] == JOINS else "join", r, saw=(e.old, s.present[r]))
    elif e.where == "call_log present load":
        one.saw(e.old, s.present[r])
        if s.at[r] == LOOKS:
            one.do("look_once_more", r)
        elif e.then == "team_state leave store" and s.at[r] != OUT:
            one.do("leave", r)
            one.do("close", r)
        elif s.at[r] == IN:
            one.do("call", r)
    elif e.where == "team_state is_poisoned load" and s.at[r] == REFUSED:
        one.do("look_for_poison", r, saw=(e.old, s.poison))
    elif e.where == "team_state reopen swap":
        one.do("reopen", r)
    elif e.where == "team_state run load" and e.then == "team_state poison store":
        if s.at[r] == IN:
            one.do("fail", r)
        one.do(*(["take_lock", r] if one.s.at[r] == FAILED else ["take_lock_of_others", e.old]))
        one.do("check_run")
    elif e.where == "team_state poison store":
        one.do("store_poison", saw=(e.new, s.ends))
    elif e.where == "team_state shut swap":
        step = "shut_itself" if s.at[r] == HEARS else "shut"
        one.do(step, other, saw=(e.old, s.present[other]))
        if one.s.can("unlock"):
            one.do("unlock")
    elif e.where == "team_state leave store" and other is not None:
        one.do("raise_present", r, saw=(e.new, e.old + 1))
    elif e.where == "team_state leave store" and s.at[r] == OUT:
        one.saw(e.new, s.left[r])  # Once more, at the end of its closure.
    elif e.where == "team_state leave store":
        one.do("say", r, saw=(e.new, s.joined[r]))
