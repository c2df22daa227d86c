"""Replays what the models of loom and shuttle did, access by access (`trace.rs`): each must be a
step that the system allows, with the values that were seen. Steps between accesses are taken as
late as can be; a look that fails is no step. Under loom a load may see an old value: if what
follows is not allowed then, the execution is none of a sequentially consistent machine, and is
passed over."""
import pathlib
import re
import sources
from systems import Disabled

class Event:
    """An access: its thread; its kind and the value before and after; "file function kind"."""
    def __init__(self, line):
        self.thread, self.what, place, self.at, old, new = line.rsplit(" ", 5)
        path, line = place.rsplit(":", 1)
        path = pathlib.Path(path) if path.startswith("/") else sources.ROOT / path
        self.old, self.new = int(old), int(new)
        # A copy with a part that is modelled has the file's name, and more.
        stem = re.sub("_.*modelled.*", "", path.parent.name if path.stem == "mod" else path.stem)
        self.where = f"{stem} {sources.function_at(path, int(line))} {self.what}"
        self.text = path.read_text().splitlines()[int(line) - 1]

class Wrong(Exception): """The code did what the system does not allow."""
class Old(Exception): """A load saw an old value."""

class Replay:
    """One execution. What an event means a protocol's file says, in `replay`; its `RANKS` are the
    threads that do such things."""
    def __init__(self, module, events):
        self.system, self.events, self.notes, self.steps = module.system, events, {}, 0
        self.has_old = False
        self.ranks = [*dict.fromkeys(e.thread for e in events if re.match(module.RANKS, e.where))]
        self.system.sizes.update(dict.fromkeys(module.COUNTED, len(self.ranks)))
        self.s, self.owners = self.system.first(), {(e.at, e.where): self.rank(e) for e in events}
        latest = {}
        for e in reversed(events):
            e.then, latest[e.thread] = latest.get(e.thread, ""), e.where
    def rank(self, e):
        """The number of its thread; none of a thread that is no rank."""
        return self.ranks.index(e.thread) if e.thread in self.ranks else None
    def owner(self, e, where):
        """The rank that does this at the same place."""
        return self.owners.get((e.at, where))
    def do(self, step, *at, saw=(0, 0)):
        """A step, of an access that saw the first value where the second is to be."""
        self.saw(*saw)
        after = self.s.copy()
        try:
            self.system.steps[step](after, *at)
        except Disabled as why:
            raise Wrong(f"{step}{at}: {why}") from None
        self.s, self.steps = after, self.steps + 1
    def saw(self, value, expected):
        self.has_old |= self.is_old
        if value != expected and not self.is_old:
            raise Wrong(f"saw {value}, where {expected} is")
    def run(self, replay):
        latest = {}
        for e in self.events:
            self.is_old = e.what == "load" and latest.get(e.at, e.old) != e.old
            if e.what in ("store", "swap"):
                latest[e.at] = e.new
            try:
                replay(self, e, self.rank(e))
            except Wrong as why:
                if self.has_old:
                    raise Old from None
                raise Wrong(f"{e.thread}, {e.where}, {e.old} -> {e.new}: {why}") from None

def replay(module, lines):
    """Of executions: how many were replayed, their steps, and how many were passed over."""
    counts = [0, 0, 0]
    for number, execution in enumerate("\n".join(lines).split("begin\n")[1:], 1):
        one = Replay(module, [Event(line) for line in execution.splitlines()])
        try:
            one.run(module.replay)
            counts[0], counts[1] = counts[0] + 1, counts[1] + one.steps
        except Old:
            counts[2] += 1
        except Wrong as why:
            raise Wrong(f"execution {number}: {why}") from None
    return counts
