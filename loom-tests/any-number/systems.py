"""Transition systems that are read twice.

By a solver (z3): states are unknown functions over any number of ranks and slots, and an invariant
is shown to hold at first, to be kept by each step, and to imply what is safe. With numbers: the
same steps, on a state of a few ranks, walk at random, and replay what the code did in a model.

All is sequentially consistent: one step is at most one access to a word that is shared, as if all
such accesses came one after another. (Which orderings the code needs for that is what loom shows.)
Memory that is no atomic is written and read between two steps, so that overlaps show.

A protocol's file makes a `System`: its fields with their first values; its steps, functions of a
state, which say what they `need` and assign to fields; what is `safe`; the `invariant`; and mistakes
(`broken`), which replace steps and must be refused.
"""

import inspect
import itertools
import random
import time

import z3

def plain(*values):
    return not any(z3.is_expr(value) for value in values)


def both(*them):
    return all(them) if plain(*them) else z3.And(*them)


def either(*them):
    return any(them) if plain(*them) else z3.Or(*them)


def no(it):
    return not it if plain(it) else z3.Not(it)


def implies(this, that):
    return either(no(this), that)


def choose(this, yes, other):
    if plain(this):
        return yes if this else other
    return z3.If(this, yes, other)


class Disabled(Exception):
    """A step is not allowed; why."""


class Table:
    """A field with indices, of which `:` stands for all. In the solver's hands a function."""

    def __init__(self, look, at=None, rows=None):
        self.look, self.at, self.rows = look, at, rows

    def copy(self):
        return Table(self.look) if self.at is None else Table(self.look, dict(self.at), dict(self.rows))

    def __getitem__(self, at):
        at = at if isinstance(at, tuple) else (at,)
        if self.at is None:
            return self.look(*at)
        if at in self.at:
            return self.at[at]
        fits = (value for row, value in self.rows.items() if fit(row, at))
        return next(fits, None) if any(fit(row, at) for row in self.rows) else self.look(*at)

    def __setitem__(self, at, value):
        at = at if isinstance(at, tuple) else (at,)
        if self.at is None:
            old = self.look

            def look(*asked):
                same = [a == b for a, b in zip(at, asked) if not isinstance(a, slice)]
                return choose(both(*same), value, old(*asked))

            self.look = look
        elif any(isinstance(a, slice) for a in at):
            row = tuple(None if isinstance(a, slice) else a for a in at)
            self.at = {key: v for key, v in self.at.items() if not fit(row, key)}
            self.rows = {key: v for key, v in self.rows.items() if not fit(row, key)}
            self.rows[row] = value
        else:
            self.at[at] = value


def fit(row, at):
    return all(a is None or a == b for a, b in zip(row, at))


class State:
    """The fields as attributes; what a step needs is collected, or asked at once."""

    def __init__(self, system, fields, needs=None):
        self.__dict__.update(fields)
        self._system, self._needs = system, needs

    def copy(self):
        fields = {name: getattr(self, name) for name in self._system.fields}
        fields = {n: v.copy() if isinstance(v, Table) else v for n, v in fields.items()}
        return State(self._system, fields, None if self._needs is None else [])

    def need(self, *what):
        if self._needs is not None:
            self._needs += what
        elif not both(*what):
            raise Disabled(next(i for i, it in enumerate(what) if not it))

    def is_unknown(self):
        return self._needs is not None

    def can(self, step, *args):
        """Whether a step is allowed, as a formula."""
        after = self.copy()
        try:
            self._system.steps[step](after, *args)
        except Disabled:
            return False
        return both(*after._needs) if after._needs is not None else True

    def every(self, what):
        """That a formula of some indices, told by their names, holds for all of them."""
        return self._of(what, z3.ForAll, all)

    def some(self, what):
        return self._of(what, z3.Exists, any)

    def _of(self, what, quantify, join):
        names = list(inspect.signature(what).parameters)
        if self._needs is None:
            ranges = [self._system.range_of(name) for name in names]
            return join(what(*at) for at in itertools.product(*ranges))
        at = [z3.FreshConst(self._system.sort_of(name), name) for name in names]
        body = what(*at)
        return body if plain(body) else quantify(at, body)


class System:
    def __init__(self, name, about="", **sorts):
        """`sorts`: by first letter of an index, a sort's name, or an integer's range with numbers."""
        self.name, self.about, self.sorts = name, about, sorts
        self.fields, self.steps, self.names = {}, {}, {}
        self.claims, self.moves, self.axioms, self.broken, self.sizes = [], [], [], {}, {}
        self.rare = set()
        self._sorts = {}

    # What a protocol's file says.

    def field(self, name, indices="", value=0, of=None):
        self.fields[name] = (indices, value, of)

    def step(self, *functions):
        """A step that stands for these functions, each with the digest of its atomic operations:
        `("src/mailbox/gate.rs", "show", "0123abcd")`."""

        def add(step):
            self.steps[step.__name__] = step
            self.names[step.__name__] = functions
            return step

        return add

    def safe(self, claim):
        self.claims.append(claim)
        return claim

    def move(self, claim):
        """A claim on each step: of the state before, the state after, the step's name, its rank."""
        self.moves.append(claim)
        return claim

    def mistake(self, called, /, sizes=None, **steps):
        """Other steps, or other sizes, of which the axioms do not hold."""
        self.broken[called] = (sizes or {}, steps)

    # Sorts and states.

    def sort_of(self, name):
        what = self.sorts[name[0]]
        if not isinstance(what, str):
            return z3.IntSort()
        return self._sorts.setdefault(what, z3.DeclareSort(what))

    def range_of(self, name):
        what = self.sorts[name[0]]
        return range(self.sizes[what]) if isinstance(what, str) else what(self.sizes)

    def unknown(self, tag):
        fields = {}
        for name, (indices, value, of) in self.fields.items():
            kind = z3.BoolSort() if isinstance(value, bool) else z3.IntSort()
            kind = self.sort_of(of) if of else kind
            args = [self.sort_of(index) for index in indices]
            called = f"{name}{tag}"
            look = z3.Function(called, *args, kind) if args else z3.Const(called, kind)
            fields[name] = Table(look) if args else look
        return State(self, fields, [])

    def first(self, numbers):
        fields = {}
        for name, (indices, value, _) in self.fields.items():
            lift = (lambda it: it) if numbers else (
                z3.BoolVal if isinstance(value, bool) else z3.IntVal)
            look = lambda *_, it=lift(value): it
            fields[name] = Table(look, *([{}, {}] if numbers else [])) if indices else look()
        return State(self, fields, None if numbers else [])

    def args_of(self, step):
        return list(inspect.signature(step).parameters)[1:]

    def after(self, state, step):
        after = state.copy()
        args = [z3.Const(name, self.sort_of(name)) for name in self.args_of(step)]
        step(after, *args)
        return after, args

    # The proof.

    def obligations(self, invariant=None):
        """Pairs of a name and a formula that has no model if the obligation holds."""
        invariant = invariant or self.invariant
        first, before = self.first(False), self.unknown("")
        holds = list(invariant(before).values())
        for name, it in invariant(first).items():
            yield f"at first: {name}", [no(it)]
        for claim in self.claims:
            yield f"safe: {claim.__doc__}", holds + [no(claim(before))]
        for called, step in self.steps.items():
            after, args = self.after(before, step)
            for name, it in invariant(after).items():
                yield f"{called} keeps: {name}", holds + after._needs + [no(it)]
            for claim in self.moves:
                it = claim(before, after, called, args[0] if args else None)
                yield f"{called}: {claim.__doc__}", holds + after._needs + [no(it)]

    def prove(self, limit=60_000, first=False):
        """The number of obligations that hold, and the names of those that do not, or the first,
        with so many milliseconds for each."""
        held, failed = 0, []
        for name, formulas in self.obligations():
            solver = z3.Solver()
            solver.set("timeout", limit)
            solver.add(*self.axioms)
            solver.add(*formulas)
            answer = solver.check()
            if answer == z3.unsat:
                held += 1
            else:
                failed.append(f"{name} ({answer})")
                if first:
                    break
        return held, failed

    def refuse(self, name):
        """What shows that a mistake is one: an obligation that fails, and a walk to an unsafe
        state."""
        sizes, steps = self.broken[name]
        kept = self.sizes, self.steps, self.axioms
        self.sizes, self.steps = self.sizes | sizes, self.steps | steps
        self.axioms = [] if sizes else self.axioms
        try:
            failed = self.prove(2_000, first=True)[1]
            walks = (self.walk(seed, 100, False) for seed in range(2_000))
            return failed, next(((len(taken), wrong) for taken, wrong in walks if wrong), None)
        finally:
            self.sizes, self.steps, self.axioms = kept

    # With numbers.

    def walk(self, seed, length, with_invariant=True):
        """Random steps from the first state. Each state must be safe and have the invariant; the
        steps taken, and what was found to be wrong first."""
        luck, state, taken = random.Random(seed), self.first(True), []
        for _ in range(length):
            often = [name for name in self.steps if name not in self.rare]
            seldom = [name for name in self.steps if name in self.rare]
            chosen = [seldom, often] if luck.random() < 0.1 else [often, seldom]
            for name, at in (it for names in chosen for it in self.tries(luck, names)):
                after = state.copy()
                try:
                    self.steps[name](after, *at)
                except Disabled:
                    continue
                state = after
                taken.append((name, *at))
                break
            else:
                return taken, None
            wrong = [claim.__doc__ for claim in self.claims if not claim(state)]
            if with_invariant:
                wrong += [name for name, it in self.invariant(state).items() if not it]
            if wrong:
                return taken, wrong[0]
        return taken, None

    def tries(self, luck, names):
        ranges = {name: map(self.range_of, self.args_of(self.steps[name])) for name in names}
        tries = [(name, at) for name in names for at in itertools.product(*ranges[name])]
        luck.shuffle(tries)
        return tries
