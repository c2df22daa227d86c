"""The mark and the sleeper: a rank sleeps until another has something for it, and no wake-up is lost
(`src/wait/mark.rs`, `src/wait/berth.rs`).

For one seat, any number of ranks that publish for it, and of sleeps. Its owner waits for one rank,
for the last of all, or for any; ranks publish such things in any order, and one of them may be the
end of the run. Sequentially consistent, so the fences (a heavy one here, light ones there) stand for
nothing: what is shown is that the order of accesses is right. Where the system refuses heavy fences
naps are short, and nothing is claimed.

Shown: while the owner sleeps and what it waits for has come, a rank is about to wake it. And the wait
ends if all ranks go on: that rank is not held up by anybody, each step takes it nearer to the wake
(`STAGES`), and then each of the owner's steps takes it nearer to the end of its wait. There a look at
the rings of all ranks, in a wait for any, counts as one access.
"""

from systems import System, both, choose, either, implies, no

sleeper = System("sleeper", q="rank", x="rank", k=lambda _: range(4))
sleeper.sizes = {"rank": 3}

# What is published, and waited for: something for the owner alone; that all are done, of whom the
# last counts; a message that any may have sent; the end of the run.
ONE, LAST, ANY, END = range(4)
# The owner: does not wait; looks; sets its mark; names whom it awaits; looks again; goes to sleep;
# sleeps; takes the name back. In the order in which its steps lead it to the end, once all has come.
AWAKE, LOOKS, WAKES, ASLEEP, SLEEPS, AGAIN, NAMES, MARKS = range(8)
# A rank that publishes: nothing to do; has changed the word; knows that it is meant; judges whether
# all are done; has seen the mark; has published. In the same order.
IDLE, CHANGED, MEANT, JUDGES, CALLS, PUBLISHED = range(6)
# The word of the berth: it names a rank, or everybody, or nobody.
NOBODY, RANK, EVERYBODY = range(3)

sleeper.field("at", "", AWAKE)
sleeper.field("awaits", "", ONE)
sleeper.field("awaited", of="q")
sleeper.field("mark", "", False)
sleeper.field("word", "", NOBODY)
sleeper.field("named", of="q")
sleeper.field("has_looked", "q", False)  # In this second look: at what the rank publishes,
sleeper.field("has_looked_at_end", "", False)
sleeper.field("news", "qk", False)  # Published, and not heard by the owner.
sleeper.field("is_over", "", False)
sleeper.field("stage", "q", IDLE)
sleeper.field("tells", "q", ONE)  # What the rank has published last.
sleeper.field("saw", "q", NOBODY)  # The word, as the rank has read it,
sleeper.field("saw_named", "q", of="q")

MARK, BERTH, PORT = "src/wait/mark.rs", "src/wait/berth.rs", "src/shared/port/mod.rs"
WAITING = "src/shared/port/waiting.rs"


def is_own(s):
    """Whether the word is as the owner has written it."""
    return either(both(s.awaits == ONE, s.word == RANK, s.named == s.awaited),
                  both(s.awaits != ONE, s.word == EVERYBODY))


def has_come(s):
    return either(
        s.is_over, both(s.awaits == ONE, s.news[s.awaited, ONE]),
        both(s.awaits == LAST, s.every(lambda q: s.news[q, LAST])),
        both(s.awaits == ANY, s.some(lambda q: s.news[q, ANY])))


@sleeper.step()
def begin(s, q, k):
    s.need(s.at == AWAKE, k >= ONE, k < END)
    s.at, s.awaits, s.awaited = LOOKS, k, q


@sleeper.step((WAITING, "wait_long", ""), (MARK, "fade", ""))
def end(s, q):
    s.need(s.at == LOOKS, has_come(s), either(s.is_over, s.news[q, s.awaits]))
    s.need(either(s.awaits != ONE, q == s.awaited))
    s.at = AWAKE
    last = s.awaits == LAST
    s.news[q, s.awaits] = False
    for_all = s.news.copy()
    for_all[:, LAST] = False
    s.news = merged(last, for_all, s.news)


def merged(this, yes, other):
    """One table or the other."""
    if this is True or this is False:
        return yes if this else other
    return type(yes)(lambda *at: choose(this, yes[at], other[at]))


@sleeper.step()
def not_yet(s, q):
    s.need(s.at == LOOKS, no(s.is_over), no(s.news[q, s.awaits]))
    s.need(either(s.awaits != ONE, q == s.awaited), either(s.awaits == LAST, no(has_come(s))))
    s.at = MARKS


@sleeper.step((MARK, "set", ""), (WAITING, "sleep", ""))
def set_mark(s):
    s.need(s.at == MARKS)
    s.at, s.mark = NAMES, True


@sleeper.step((MARK, "clear", ""))
def clear(s):
    s.need(s.at == AWAKE)
    s.mark = False


@sleeper.step((BERTH, "sleep", ""))
def name(s):
    s.need(s.at == NAMES)
    s.at, s.named = AGAIN, s.awaited
    s.word = choose(s.awaits == ONE, RANK, EVERYBODY)
    s.has_looked[:], s.has_looked_at_end = False, False


@sleeper.step()
def look_again(s, q):
    s.need(s.at == AGAIN, no(s.has_looked[q]), no(s.news[q, s.awaits]))
    s.has_looked[q] = True


@sleeper.step()
def look_at_end(s):
    s.need(s.at == AGAIN, no(s.has_looked_at_end), no(s.is_over))
    s.has_looked_at_end = True


@sleeper.step()
def over(s, q):
    s.need(s.at == AGAIN, either(s.is_over, s.news[q, s.awaits]))
    s.at = WAKES


@sleeper.step()
def in_vain(s, q):
    s.need(s.at == AGAIN, s.has_looked_at_end, s.has_looked[q])
    s.need(either(s.awaits == LAST, both(s.awaits == ONE, q == s.awaited),
                  s.every(lambda x: s.has_looked[x])))
    s.at = SLEEPS


@sleeper.step(("src/wait/word.rs", "sleep", ""), ("src/wait/system.rs", "sleep", ""))
def sleep(s):
    """The system compares the word and puts the thread to sleep at once."""
    s.need(s.at == SLEEPS)
    s.at = choose(is_own(s), ASLEEP, WAKES)


@sleeper.step()
def wake_for_no_reason(s):
    s.need(s.at == ASLEEP)
    s.at = WAKES


@sleeper.step(("src/wait/word.rs", "change", ""))
def take_back(s):
    s.need(s.at == WAKES)
    s.at, s.word = LOOKS, choose(is_own(s), NOBODY, s.word)


@sleeper.step()
def publish(s, q, k):
    s.need(s.stage[q] == IDLE, k >= ONE, k <= END)
    s.stage[q], s.tells[q] = PUBLISHED, k
    s.is_over = either(s.is_over, k == END)
    s.news[q, k] = True


@sleeper.step((MARK, "is_set", ""), (PORT, "wake", ""), (PORT, "wake_for_any", ""),
              ("src/shared/comm_state.rs", "wake_everybody", ""))
def see_mark(s, q):
    s.need(s.stage[q] == PUBLISHED)
    s.stage[q] = choose(s.mark, CALLS, IDLE)


@sleeper.step((BERTH, "call", ""), (BERTH, "rouse", ""), (PORT, "call", ""), (PORT, "call_for_any", ""))
def load_word(s, q):
    s.need(s.stage[q] == CALLS)
    s.saw[q], s.saw_named[q] = s.word, s.named
    is_meant = either(both(s.word == RANK, s.named == q), both(s.word == EVERYBODY, s.tells[q] == ANY),
                      both(s.word != NOBODY, s.tells[q] == END))
    s.stage[q] = choose(is_meant, MEANT, choose(
        both(s.word == EVERYBODY, s.tells[q] == LAST), JUDGES, IDLE))


@sleeper.step(("src/shared/port/collective.rs", "finish_for", ""))
def is_last(s, q):
    s.need(s.stage[q] == JUDGES)
    s.stage[q] = MEANT


@sleeper.step()
def is_not_last(s, q, x):
    s.need(s.stage[q] == JUDGES, no(s.news[x, LAST]))
    s.stage[q] = IDLE


@sleeper.step((BERTH, "wake", ""))
def change(s, q):
    s.need(s.stage[q] == MEANT)
    is_it = both(s.word == s.saw[q], either(s.word != RANK, s.named == s.saw_named[q]))
    s.stage[q], s.word = choose(is_it, CHANGED, IDLE), choose(is_it, NOBODY, s.word)


@sleeper.step(("src/wait/word.rs", "wake", ""), ("src/wait/system.rs", "wake", ""))
def wake(s, q):
    s.need(s.stage[q] == CHANGED)
    s.stage[q], s.at = IDLE, choose(s.at == ASLEEP, WAKES, s.at)


def is_about_to_wake(s, q, kind):
    """What was published is of this kind, and the rank has yet to change the word, and will."""
    return both(s.tells[q] == kind, either(
        s.stage[q] == PUBLISHED, s.stage[q] == CALLS,
        both(either(s.stage[q] == MEANT, both(s.stage[q] == JUDGES, kind == LAST)),
             s.saw[q] == s.word, either(s.word != RANK, s.saw_named[q] == s.named))))


@sleeper.safe
def no_wake_up_is_lost(s):
    """while the owner sleeps, and what it waits for has come, a rank is about to wake it"""
    return implies(both(s.at == ASLEEP, has_come(s)), s.some(lambda q: s.stage[q] != IDLE))


@sleeper.safe
def the_owner_goes_on(s):
    """once what the owner waits for has come, it has a step, unless it sleeps"""
    return implies(has_come(s), either(
        s.at == AWAKE, s.at == ASLEEP, s.can("set_mark"), s.can("name"), s.can("sleep"),
        s.can("take_back"), s.some(lambda q: either(s.can("end", q), s.can("over", q)))))


@sleeper.move
def falls(before, after, step, mover):
    """steps lead the owner to the end of its wait, once that has come, and others to their wake"""
    looks = ("look_again", "look_at_end")  # At each word once.
    if step in ("see_mark", "load_word", "is_last", "is_not_last", "change", "wake"):
        others = before.every(lambda q: either(q == mover, after.stage[q] == before.stage[q]))
        return both(after.stage[mover] < before.stage[mover], after.at <= before.at, others)
    if step in ("begin", "clear", "publish") + looks:
        return True
    return implies(has_come(before), after.at < before.at)


def invariant(s):
    waits = both(s.at >= ASLEEP, s.at <= AGAIN)
    named = both(waits, is_own(s))
    return {
        "stages": both(s.at >= AWAKE, s.at <= MARKS, s.awaits >= ONE, s.awaits < END,
                       s.word >= NOBODY, s.word <= EVERYBODY, s.every(lambda q: both(
                           s.stage[q] >= IDLE, s.stage[q] <= PUBLISHED,
                           s.tells[q] >= ONE, s.tells[q] <= END))),
        "marked": implies(either(waits, s.at == NAMES), s.mark),
        "the word is the owner's, or taken": either(s.word == NOBODY, named, both(s.at == WAKES, is_own(s))),
        "who takes the word wakes": either(
            s.at != ASLEEP, is_own(s), s.some(lambda q: s.stage[q] == CHANGED)),
        "looked": implies(s.at <= SLEEPS, implies(s.at >= ASLEEP, both(s.has_looked_at_end, choose(
            s.awaits == ONE, s.has_looked[s.awaited],
            choose(s.awaits == ANY, s.every(lambda q: s.has_looked[q]),
                   s.some(lambda q: s.has_looked[q])))))),
        "one": implies(both(named, s.awaits == ONE, s.has_looked[s.awaited], s.news[s.awaited, ONE]),
                       is_about_to_wake(s, s.awaited, ONE)),
        "any": implies(both(named, s.awaits == ANY), s.every(lambda q: implies(
            both(s.has_looked[q], s.news[q, ANY]), is_about_to_wake(s, q, ANY)))),
        "last": implies(
            both(named, s.awaits == LAST, s.every(lambda q: s.news[q, LAST]),
                 s.some(lambda q: s.has_looked[q])),
            s.some(lambda q: is_about_to_wake(s, q, LAST))),
        "end": implies(both(named, s.has_looked_at_end, s.is_over),
                       s.some(lambda q: is_about_to_wake(s, q, END))),
    }


sleeper.invariant = invariant
sleeper.rare = {"wake_for_no_reason", "clear", "publish"}


def not_yet_and_no_mark(s, q):
    not_yet(s, q)
    s.at = NAMES


def in_vain_and_mark(s, q):
    in_vain(s, q)
    s.mark = True


def name_and_sleep(s):
    name(s)
    s.at = SLEEPS


sleeper.mistake("a mark after the look", not_yet=not_yet_and_no_mark, in_vain=in_vain_and_mark)
sleeper.mistake("no look after the name", name=name_and_sleep)
