"""Transition systems that are read twice. By a solver (z3): a state is unknown functions of any
number of ranks and slots; an invariant is shown to hold at first, to be kept by each step, and to
imply what is safe. With numbers: the same steps walk at random over a few ranks, and replay what
the code did in a model (`traces.py`).

All is sequentially consistent: a step is at most one access to a shared word, as if all of these
came one after another. (Loom shows which orderings the code needs for that.) Memory that is no
atomic is written, and read, between two steps, so that overlaps show.

A protocol's file makes a `System`: fields with their first values; steps, functions of a state and
of indices, which say what they need and assign to fields; what is safe; the invariant; and
mistakes, which put other steps in the places of some, and must be refused."""
import functools
import inspect
import itertools
import random
import z3

def plain(*them): return not any(z3.is_expr(it) for it in them)
def both(*them): return all(them) if plain(*them) else z3.And(*them)
def either(*them): return any(them) if plain(*them) else z3.Or(*them)
def no(it): return not it if plain(it) else z3.Not(it)
def implies(this, that): return either(no(this), that)
def one_of(it, *them): return either(*[it == one for one in them])
def choose(this, yes, other):
    return (yes if this else other) if plain(this) else z3.If(this, yes, other)

@functools.cache
def names_of(function): return list(inspect.signature(function).parameters)
def names_in(closure): return closure.__code__.co_varnames[:closure.__code__.co_argcount]

class Disabled(Exception): """A step is not allowed."""

class Table:
    """A field with indices, of which `:` stands for all; for the solver a function."""
    def __init__(self, look, numbers=None):
        self.look, self.numbers = look, numbers  # The latest assignment first.
    def copy(self): return Table(self.look, None if self.numbers is None else list(self.numbers))
    def __getitem__(self, at):
        at = at if isinstance(at, tuple) else (at,)
        for row, value in self.numbers or ():
            if all(a is None or a == b for a, b in zip(row, at)):
                return value
        return self.look(*at)
    def __setitem__(self, at, value):
        at = at if isinstance(at, tuple) else (at,)
        row = tuple(None if isinstance(a, slice) else a for a in at)
        if self.numbers is not None:
            self.numbers = [(row, value)] + [it for it in self.numbers if any(
                a not in (None, b) for a, b in zip(row, it[0]))]
            return
        old = self.look
        self.look = lambda *asked: choose(
            both(*[a == b for a, b in zip(row, asked) if a is not None]), value, old(*asked))

class State:
    """The fields as attributes. What a step needs is collected for the solver, or asked."""
    def __init__(self, system, fields, needs=None):
        self.__dict__.update(fields)
        self._system, self._needs = system, needs
    def copy(self):
        fields = {name: getattr(self, name) for name in self._system.fields}
        fields = {name: it.copy() if isinstance(it, Table) else it for name, it in fields.items()}
        return State(self._system, fields, None if self._needs is None else [])
    def need(self, *what):
        if self._needs is not None:
            self._needs += what
        elif not both(*what):
            raise Disabled(f"condition {[bool(it) for it in what].index(False) + 1}")
    def can(self, step, *at):
        """Whether a step is allowed, as a formula."""
        after = self.copy()
        try:
            self._system.steps[step](after, *at)
            return True if after._needs is None else both(*after._needs)
        except Disabled:
            return False
    def size(self, name): return self._system.sizes[name] if self._needs is None else z3.Int(name)
    def every(self, what): return self.quantify(what, names_in(what), z3.ForAll, all)
    def some(self, what): return self.quantify(what, names_in(what), z3.Exists, any)
    def quantify(self, what, names, quantify, join):
        """That a formula of indices, told by their names, holds for all of them, or for some."""
        if self._needs is None:
            return join(what(*at) for at in self._system.indices(names))
        at = [z3.FreshConst(self._system.sort_of(name), name) for name in names]
        body = what(*at)
        return body if plain(body) or not at else quantify(at, body)

class System:
    def __init__(self, sizes, **sorts):
        """`sizes`: with numbers. `sorts`: of indices, by their letters; a range is of integers."""
        self.sizes, self.sorts, self.rare, self.seldom = sizes, sorts, set(), 0.03
        self.fields, self.steps, self.code, self.invariant, self.claims = {}, {}, {}, {}, {}
        self.moves, self.axioms, self.mistakes = {}, [], {}
    def has(self, indices, of=None, **values):
        """Fields with these indices; numbers, truth values, or (`of`) one of those indices."""
        self.fields.update({name: (indices, value, of) for name, value in values.items()})
    def step(self, *code, **moves):
        """A step that stands for functions, each with the digest of its atomic operations
        (`sources.py`): "mailbox/gate: show 0123ab, read 4567cd". A field (of its first index, if it
        has some) has to be as it says there, or moves from the first value to the second."""
        def add(step):
            @functools.wraps(step)
            def whole(s, *at):
                for name, move in moves.items():
                    old, new = move if isinstance(move, tuple) else (move, None)
                    field = getattr(s, name)
                    of_all = isinstance(field, Table)
                    s.need((field[at[0]] if of_all else field) == old)
                    if new is not None and of_all:
                        field[at[0]] = new
                    elif new is not None:
                        setattr(s, name, new)
                return step(s, *at)
            self.steps[step.__name__], self.code[step.__name__] = whole, [
                [f"{file} {pair.split()[0]}", pair.split()[1]] for file, them in (
                    it.split(": ") for it in code) for pair in them.split(", ")]
            return whole
        return add
    def keeps(self, name, formula):
        """A part of the invariant: a formula of a state and indices, for all of them."""
        self.invariant[name] = formula
    def safe(self, name, formula): self.claims[name] = formula
    def move(self, name, formula):
        """A claim on each step: of the states before and after, its name, its first index."""
        self.moves[name] = formula
    def mistake(self, called, /, sizes=None, **steps):
        """Other steps, or other sizes, of which the axioms do not hold."""
        self.mistakes[called] = sizes or {}, steps
    def sort_of(self, name):
        sort = self.sorts[name[0]]
        return z3.DeclareSort(sort) if isinstance(sort, str) else z3.IntSort()
    def indices(self, names):
        them = [self.sorts[name[0]] for name in names]
        return itertools.product(*[range(self.sizes[s]) if isinstance(s, str) else s for s in them])
    def holds(self, formula, s):
        """A formula of a state and indices, in this state, for all of them."""
        return s.quantify(functools.partial(formula, s), names_of(formula)[1:], z3.ForAll, all)
    def unknown(self, is_first=False):
        """Any state; or any first one."""
        fields = {}
        for name, (indices, value, of) in self.fields.items():
            sort = z3.BoolSort() if isinstance(value, bool) else z3.IntSort()
            sorts = [*map(self.sort_of, indices), self.sort_of(of) if of else sort]
            fields[name] = Table(z3.Function(name, *sorts)) if indices else z3.Const(name, sorts[0])
            if is_first and not of:
                value = z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value)
                fields[name] = Table(lambda *_, v=value: v) if indices else value
        return State(self, fields, [])
    def first(self):
        return State(self, {name: Table(lambda *_, v=value: v, []) if indices else value
                            for name, (indices, value, _) in self.fields.items()})
    def obligations(self):
        """Names, and formulas that no state has if the obligation holds."""
        first, before = self.unknown(is_first=True), self.unknown()
        have = [self.holds(it, before) for it in self.invariant.values()]
        for name, it in self.invariant.items():
            yield f"at first: {name}", [no(self.holds(it, first))]
        for name, it in self.claims.items():
            yield f"safe: {name}", have + [no(self.holds(it, before))]
        for called, step in self.steps.items():
            after = before.copy()
            at = [z3.Const(name, self.sort_of(name)) for name in names_of(step)[1:]]
            step(after, *at)
            for name, it in self.invariant.items():
                yield f"{called} keeps: {name}", have + after._needs + [no(self.holds(it, after))]
            for name, it in self.moves.items():
                claim = it(before, after, called, *at[:1] or [None])
                yield f"{called}: {name}", have + after._needs + [no(claim)]
    def prove(self, limit=60_000, first=False):
        """How many obligations hold, and which (or the first that) do not, in milliseconds each."""
        held, failed = 0, []
        for name, formulas in self.obligations():
            solver = z3.Solver()
            solver.set("timeout", limit)
            solver.add(*self.axioms, *formulas)
            if (answer := solver.check()) == z3.unsat:
                held += 1
            elif failed.append(f"{name} ({answer})") or first:
                break
        return held, failed
    def refuse(self, mistake):
        """What shows it: an obligation that fails; and a walk, with what is not safe."""
        sizes, steps = self.mistakes[mistake]
        kept = self.sizes.copy(), self.steps, self.axioms
        self.sizes.update(sizes)
        self.steps, self.axioms = self.steps | steps, [] if sizes else self.axioms
        try:
            failed = self.prove(2_000, first=True)[1]
            walks = (self.walk(seed, 100, self.claims) for seed in range(2_000))
            return failed, next((walk for walk in walks if walk[1]), None)
        finally:
            self.sizes.update(kept[0])
            _, self.steps, self.axioms = kept
    def walk(self, seed, length, asked):
        """Random steps, and which of the formulas that are asked was false first."""
        luck, state, taken = random.Random(seed), self.first(), []
        for _ in range(length):
            tries = [(name, *at) for name, step in self.steps.items()
                     for at in self.indices(names_of(step)[1:])]
            rare = luck.random() < self.seldom
            luck.shuffle(tries)
            tries.sort(key=lambda it: (it[0] in self.rare) != rare)
            name, *at = next((it for it in tries if state.can(*it)), [None])
            if name is None:
                break
            state = state.copy()
            self.steps[name](state, *at)
            taken.append((name, *at))
            wrong = [name for name, it in asked.items() if not self.holds(it, state)]
            if wrong:
                return taken, wrong[0]
        return taken, None
