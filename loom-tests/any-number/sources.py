"""The library's functions: where they are, and the digest of their atomic operations."""
import functools
import hashlib
import pathlib
import re
ROOT = pathlib.Path(__file__).resolve().parents[2]

@functools.cache
def functions(path):
    """Those of a file: names, first and last lines, and bodies without comments and strings."""
    text = pathlib.Path(path).read_text()
    text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'[{}]\'', "", text)
    found = []
    for it in re.finditer(r"\bfn (\w+)", text):
        begin, depth = text.find("{", it.end()), 0
        if begin < 0 or ";" in re.sub(r"\[[^\]]*\]", "", text[it.end():begin]):
            continue  # Of a trait, without a body.
        for end in range(begin, len(text)):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                break
        lines = [text.count("\n", 0, at) + 1 for at in (it.start(), end)]
        found.append((it[1], *lines, text[begin:end]))
    return found

@functools.cache
def function_at(path, line):
    """The innermost function there."""
    around = [it for it in functions(path) if it[1] <= line <= it[2]]
    return max(around, key=lambda it: it[1])[0] if around else "?"

def operations(code, names):
    """What a function ("mailbox/gate show") does with words, and with functions of the proofs, in
    its order; its whole body if it does neither."""
    file, name = code.split()
    argument = r"(?:(?!publish|consume)[^(),|])*"
    use = rf"[\w.\[\]]*\.(?:load|store|swap|fetch_\w+|compare_ex\w+|with|with_mut)\({argument}"
    any_of = rf"{use}|(?:publish|consume)\([\w:]+\)|\w*(?:Ordering::|fence\()\w*|\b(?:{names})\("
    bodies = [it[3] for it in functions(ROOT / "src" / f"{file}.rs") if it[0] == name]
    assert bodies, f"{code}: there is no such function"
    found = [it for body in bodies for it in re.findall(any_of, body)] or bodies
    return "; ".join(re.sub(r"\s+", " ", it).strip() for it in found)

def digest(code, names): return hashlib.sha256(operations(code, names).encode()).hexdigest()[:6]
