"""The mark and the sleeper: a rank sleeps until another has something for it (`src/wait/mark.rs`,
`src/wait/berth.rs`), for one seat (each is for itself), and any number of ranks that publish for it
and of sleeps. Its owner waits for one rank, for the last of all, or for any; the end of the run may
come between. As all is sequentially consistent fences stand for nothing: what is shown is that the
order of accesses is right. Where the system refuses heavy fences naps are short, and nothing is
claimed.

Shown: while the owner sleeps and what it waits for has come, a rank is about to wake it. The wait
ends if all ranks go on: each step of that rank, which waits for nobody, takes it nearer to the
wake, and then each of the owner's takes it nearer to the end of its wait. (There a look of who
waits for any, at the rings of all, counts as one access.)"""
from systems import System, both, choose, either, implies, no, one_of
system = System({"rank": 3}, q="rank", x="rank", k=range(4))
# What is published, and waited for: something for the owner alone; that all are done, of whom the
# last counts; a message that any may send; the end of the run.
ONE, LAST, ANY, END = range(4)
# The owner: does not wait; looks; takes its name back; sleeps; goes to sleep; looks again; names
# whom it awaits; sets its mark. Backwards, as its steps lead it to the end.
AWAKE, LOOKS, WAKES, ASLEEP, SLEEPS, AGAIN, NAMES, MARKS = range(8)
# A rank: has nothing to do; has changed the word; knows that it is meant; is to judge whether all
# are done; has seen the mark; has published. Backwards, too.
IDLE, CHANGED, MEANT, JUDGES, CALLS, PUBLISHED = range(6)
NOBODY, RANK, EVERYBODY = range(3)  # The word of the berth; which rank is in a field of its own.
system.has("", at=AWAKE, awaits=ONE, mark=False, word=NOBODY, is_over=False)
system.has("", of="q", awaited=0, named=0)
system.has("q", has_looked=False)  # In this second look, at what a rank publishes.
system.has("", has_looked_at_end=False)
system.has("qk", news=False)  # Published, and not heard.
system.has("q", stage=IDLE, tells=ONE, saw=NOBODY)  # What a rank has published; the word, as read.
system.has("q", of="q", saw_named=0)
def is_own(s):  # Whether the word is as the owner has written it.
    return either(both(s.awaits == ONE, s.word == RANK, s.named == s.awaited),
                  both(s.awaits != ONE, s.word == EVERYBODY))
def has_come(s):
    return either(s.is_over, both(s.awaits == ONE, s.news[s.awaited, ONE]),
                  both(s.awaits == LAST, s.every(lambda q: s.news[q, LAST])),
                  both(s.awaits == ANY, s.some(lambda q: s.news[q, ANY])))

@system.step(at=AWAKE)
def hear(s, q, k):  # What was published is no news any more.
    s.need(ONE <= k, k < END)
    s.news[q, k] = False
@system.step(at=(AWAKE, LOOKS))
def begin(s, q, k):
    s.need(ONE <= k, k < END)
    s.awaits, s.awaited = k, q
@system.step("shared/port/waiting: wait_long 5508ed", at=(LOOKS, AWAKE))
def end(s): s.need(has_come(s))
@system.step("shared/port/waiting: sleep 10d295", at=(LOOKS, MARKS))
def not_yet(s, q):
    s.need(no(s.is_over), no(s.news[q, s.awaits]))
    s.need(either(s.awaits != ONE, q == s.awaited), either(s.awaits == LAST, no(has_come(s))))
@system.step("wait/mark: set c5b131", at=(MARKS, NAMES))
def set_mark(s): s.mark = True
@system.step("wait/mark: clear e11a55, fade 8c1618", at=AWAKE)
def clear_mark(s): s.mark = False
@system.step("wait/berth: sleep 18cbd7", "wait/word: store 8042d9", at=(NAMES, AGAIN))
def name(s):
    s.named, s.word = s.awaited, choose(s.awaits == ONE, RANK, EVERYBODY)
    s.has_looked[:], s.has_looked_at_end = False, False
@system.step(at=AGAIN)
def look_again(s, q):
    s.need(no(s.has_looked[q]), no(s.news[q, s.awaits]))
    s.has_looked[q] = True
@system.step(at=AGAIN)
def look_at_end(s):
    s.need(no(s.has_looked_at_end), no(s.is_over))
    s.has_looked_at_end = True
@system.step(at=(AGAIN, WAKES))
def over(s, q): s.need(either(s.is_over, s.news[q, s.awaits]))
@system.step(at=(AGAIN, SLEEPS))
def in_vain(s, q):
    s.need(s.has_looked_at_end, s.has_looked[q])
    s.need(either(s.awaits == LAST, both(s.awaits == ONE, q == s.awaited),
                  s.every(lambda x: s.has_looked[x])))
@system.step("wait/word: sleep 2435da", "wait/system: sleep 84e29e", at=SLEEPS)
def sleep(s): s.at = choose(is_own(s), ASLEEP, WAKES)  # The system compares and sleeps at once.
@system.step(at=(ASLEEP, WAKES))
def wake_by_itself(s): pass
@system.step("wait/word: change 52f6ba", at=(WAKES, LOOKS))
def take_back(s): s.word = choose(is_own(s), NOBODY, s.word)
@system.step(stage=(IDLE, PUBLISHED))
def publish(s, q, k):
    s.need(ONE <= k, k <= END)
    s.tells[q], s.news[q, k] = k, True
    s.is_over = either(s.is_over, k == END)
@system.step("wait/mark: is_set d0f2a6", "shared/port/mod: wake 74e367, wake_for_any c20663",
             "shared/comm_state: wake_everybody 608cb1", stage=PUBLISHED)
def see_mark(s, q): s.stage[q] = choose(s.mark, CALLS, IDLE)
@system.step("wait/berth: call 99470b, rouse 99470b", "wait/word: load c86072", stage=CALLS)
def load_word(s, q):
    is_meant = either(both(s.word == RANK, s.named == q), both(s.word != NOBODY, s.tells[q] == END),
                      both(s.word == EVERYBODY, s.tells[q] == ANY))
    is_to_judge = both(s.word == EVERYBODY, s.tells[q] == LAST)
    s.saw[q], s.saw_named[q] = s.word, s.named
    s.stage[q] = choose(is_meant, MEANT, choose(is_to_judge, JUDGES, IDLE))
@system.step("shared/port/collective: finish_for 5639cf", stage=(JUDGES, MEANT))
def is_last(s, q): pass
@system.step(stage=(JUDGES, IDLE))
def is_not_last(s, q, x): s.need(no(s.news[x, LAST]))
@system.step("wait/berth: wake 89e44f", stage=MEANT)
def change(s, q):
    is_it = both(s.word == s.saw[q], either(s.word != RANK, s.named == s.saw_named[q]))
    s.stage[q], s.word = choose(is_it, CHANGED, IDLE), choose(is_it, NOBODY, s.word)
@system.step("wait/word: wake cfe92b", "wait/system: wake c2561c", stage=(CHANGED, IDLE))
def wake(s, q): s.at = choose(s.at == ASLEEP, WAKES, s.at)

def will_wake(s, q, kind):  # It has published this, and will change the word.
    saw = both(s.saw[q] == s.word, either(s.word != RANK, s.saw_named[q] == s.named))
    return both(s.tells[q] == kind, either(one_of(s.stage[q], PUBLISHED, CALLS),
        both(either(s.stage[q] == MEANT, both(s.stage[q] == JUDGES, kind == LAST)), saw)))
def is_sure(s, q):  # It will wake the owner that sleeps.
    return either(s.stage[q] == CHANGED, *[both(will_wake(s, q, kind), it) for kind, it in (
        (ONE, both(s.awaits == ONE, q == s.awaited)), (ANY, s.awaits == ANY), (END, s.is_over),
        (LAST, both(s.awaits == LAST, s.every(lambda x: s.news[x, LAST]))))])
system.safe("while the owner sleeps, and what it waits for has come, a rank is about to wake it",
            lambda s: implies(both(s.at == ASLEEP, has_come(s)), s.some(lambda q: is_sure(s, q))))
system.safe("once what the owner waits for has come, it has a step, unless it sleeps",
            lambda s: implies(has_come(s), either(
                one_of(s.at, AWAKE, ASLEEP, MARKS, NAMES, SLEEPS, WAKES), s.can("end"),
                s.some(lambda q: s.can("over", q)))))
def falls(before, after, step, mover):
    if step in ("see_mark", "load_word", "is_last", "is_not_last", "change", "wake"):
        same = before.every(lambda q: either(q == mover, after.stage[q] == before.stage[q]))
        sure = implies(both(is_sure(before, mover), after.at == ASLEEP), is_sure(after, mover))
        return both(after.stage[mover] < before.stage[mover], after.at <= before.at, same,
                    either(sure, before.some(lambda q: before.stage[q] == CHANGED)))
    if step in ("look_again", "look_at_end", "begin", "clear_mark", "publish", "hear"):
        return after.at == (before.at if step != "begin" else LOOKS)  # A look at each word once.
    return implies(has_come(before), after.at < before.at)
system.move("steps lead to the wake and, once all has come, to the end of the wait", falls)
def is_named(s): return both(s.at >= ASLEEP, s.at <= AGAIN, is_own(s))

system.keeps("stages", lambda s, q: both(
    s.at >= AWAKE, s.at <= MARKS, s.awaits >= ONE, s.awaits < END, s.word >= NOBODY,
    s.word <= EVERYBODY, s.stage[q] >= IDLE, s.stage[q] <= PUBLISHED, s.tells[q] >= ONE,
    s.tells[q] <= END, implies(both(s.at >= ASLEEP, s.at <= NAMES), s.mark)))
system.keeps("the word is the owner's, or taken", lambda s: either(
    s.word == NOBODY, is_named(s), both(s.at == WAKES, is_own(s))))
system.keeps("who takes the word wakes", lambda s: either(
    s.at != ASLEEP, is_own(s), s.some(lambda q: s.stage[q] == CHANGED)))
system.keeps("who sleeps has looked", lambda s: implies(one_of(s.at, SLEEPS, ASLEEP), both(
    s.has_looked_at_end, either(
        both(s.awaits == ONE, s.has_looked[s.awaited]), s.every(lambda q: s.has_looked[q]),
        both(s.awaits == LAST, s.some(lambda q: s.has_looked[q]))))))
system.keeps("one", lambda s: implies(
    both(is_named(s), s.awaits == ONE, s.has_looked[s.awaited], s.news[s.awaited, ONE]),
    will_wake(s, s.awaited, ONE)))
system.keeps("any", lambda s, q: implies(
    both(is_named(s), s.awaits == ANY, s.has_looked[q], s.news[q, ANY]), will_wake(s, q, ANY)))
system.keeps("last", lambda s: implies(
    both(is_named(s), s.awaits == LAST, s.every(lambda q: s.news[q, LAST]),
         s.some(lambda q: s.has_looked[q])), s.some(lambda q: will_wake(s, q, LAST))))
system.keeps("end", lambda s: implies(
    both(is_named(s), s.has_looked_at_end, s.is_over), s.some(lambda q: will_wake(s, q, END))))

def not_yet_and_no_mark(s, q):
    not_yet(s, q)
    s.at = NAMES
def in_vain_and_mark(s, q):
    in_vain(s, q)
    s.mark = True
system.rare, system.seldom = {"wake_by_itself", "clear_mark", "publish"}, 0.1
system.mistake("a mark after the look", not_yet=not_yet_and_no_mark, in_vain=in_vain_and_mark)

MODELS = {"loom-tests": [f"models::waiting::a_mark_{it}" for it in (
    "and_senders_that_do_not_fence", "that_stays_set", "that_is_cleared")]}
RANKS, COUNTED, NEEDED = "waiting show store", ["rank"], "mark set store"  # The owner is no rank.

def replay(one, e, q):
    s, notes = one.s, one.notes
    if q is not None and s.stage[q] == CHANGED:
        one.do("wake", q)
    if e.where == "waiting show store":
        one.do("publish", q, ONE)
    elif e.where == "mark is_set load":
        one.do("see_mark", q, saw=(e.old != 0, s.mark))
    elif e.where == "word load load":
        one.do("load_word", q, saw=(e.old != 0, s.word != NOBODY))
    elif e.where == "word change swap" and q is not None:
        one.do("change", q)
        one.saw(e.new != e.old, one.s.stage[q] == CHANGED)
    elif e.where == "waiting has load":
        q = one.owner(e, "waiting show store")
        if s.at == AWAKE:
            one.do("begin", q, ONE)
        has_come = e.old > notes.get(q, 0)
        one.saw(has_come, one.s.news[q, ONE])
        if one.s.at == AGAIN:
            one.do("over" if has_come else "look_again", q)
        elif not has_come:
            one.do("not_yet", q)
        else:
            one.do("end")
            notes[q] = notes.get(q, 0) + 1
            if e.old == notes[q]:
                one.do("hear", q, ONE)
    elif e.where in ("mark set store", "mark clear store"):
        one.do("set_mark" if e.new else "clear_mark")
    elif e.where == "word store store":
        one.do("name")
        notes["word"] = e.new
    elif e.where == "word sleep swap":
        one.do("look_at_end")
        one.do("in_vain", s.awaited)
        one.do("sleep", saw=(e.old == notes["word"], is_own(one.s)))
    elif e.where == "word change swap":
        if s.at == ASLEEP:
            one.do("wake", next(it for it in range(len(one.ranks)) if s.stage[it] == CHANGED))
        one.do("take_back", saw=(e.new != e.old, is_own(one.s)))
