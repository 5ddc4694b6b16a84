#!/usr/bin/env python3
"""The stable policy against its second implementation in tests/ref: the same parts take the same forms at the
same requests, and cuts fall at the same messages.

Random histories go part by part through a session and through the plain fold: tool loops with parallel
calls, repeats, calls made again, failed calls, fixed parts, thinking that is bound or not, users and
system messages in between; random prices, windows, caps, gates, attach and stop. Some go through the
library as bodies in a wire format. Without PAUCIS_LONG=1 a few thousand histories: test_stable_ref.py [N]
"""
import json
import pathlib
import random
import sys

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import convert
import dialogues
from library import BOUND, LIB, NO_CUT, Library, Session
from stable_ref import Fold
from support import LONG, SANITIZED, expect, faults, finish, skip

PRICES = {  # name: read, write, minimum, match, lookback; as lib/stable/prices.def has them
    "anthropic": (100, 1250, 1024, "breakpoints", 20),
    "anthropic-fable-5.1": (25, 1250, 512, "breakpoints", 20),
    "openai": (100, 1000, 1024, "prefix", 0),
    "deepseek": (33, 1000, 64, "prefix", 0),
    "local": (0, 1000, 16, "prefix", 0),
    "none": (1000, 1000, 0, "none", 0),
}
LEVELS = {  # keep, cap, cap_read, window_read, risk, cuts
    "safe": (21, 0, 0, 0, 10, False),
    "balanced": (21, 2048, 30720, 0, 10, True),
    "deep": (20, 704, 11264, 0, 10, True),
    "whole": (12, 0, 0, 48, 150, True),
}
TOOLS = {b"Read": True, b"view": True, b"fetch": False, b"bash": False}
EDITS = {b"Edit": ("old_string", "new_string"), b"Write": ("content",), b"str_replace": ("old_str", "new_str")}
ANSWERS = (b"The file has been updated successfully.", b"1\n2\nFile created", b"the file was not updated",
           b"updated, with an error", b"ok", b"error: no such text\nfile saved")
seen = {"requests": 0, "cuts": 0, "reference": 0, "capped": 0, "short": 0, "marker": 0, "gone": 0, "full": 0,
        "arguments": 0}


def settings(rng):
    """(options for the library, limits for the reference)"""
    price, level = rng.choice(list(PRICES)), rng.choice(("safe", "balanced", "deep", "whole"))
    read, write, gate, match, lookback = PRICES[price]
    keep, cap, cap_read, window_read, risk, cuts = LEVELS[level]
    options = {"price": price, "level": level, "form": "snippet"}
    given = {"window": rng.choice((0, 1, 3, 8, 20)), "risk": rng.choice((0, 1, 200, 2000000)),
             "window_read": rng.choice((0, 5, 16)),
             "thought": rng.choice((0, 1, 4)), "attach": rng.choice((0, 0, 0, 7)),
             "stop": rng.choice((4294967295, 4294967295, 30)), "keep": rng.choice((1, 5, 21, 30)),
             "cap": rng.choice((0, 300, 900)), "cap_read": rng.choice((0, 700, 5000))}
    options.update({k: str(v) for k, v in given.items()})
    scale = given["keep"] ** 2
    given["cap"] = given["cap"] or cap * scale // keep ** 2
    given["cap_read"] = given["cap_read"] or cap_read * scale // keep ** 2
    given["window_read"] = given["window_read"] or window_read
    given["risk"] = given["risk"] or risk
    return options, {**given, "read": read, "write": write, "gate": gate, "match": match,
                     "lookback": lookback, "cuts": cuts, "bound": False}


# ---- histories ---------------------------------------------------------------------------------


def text(rng, pool):
    if pool and rng.random() < 0.3:
        return rng.choice(pool)
    words = rng.choice(("line %d of the output\n", "€uro %d\n", "x%d ", "%d"))
    made = "".join(words % rng.randrange(1000) for _ in range(rng.choice((1, 5, 20, 20, 80, 300))))
    pool.append(made.encode())
    return pool[-1]


def arguments(rng, keys):
    """Of a call that writes: strings with all sorts of escapes, some nested."""
    def said():
        piece = rng.choice(("int depth = 0;\n", "€uro ", "\U0001f600 \"q\" \\ ", "no line end at all "))
        return piece * rng.choice((0, 1, 4, 30, 30, 400))
    made = {"path": "src/a.c", **{key: said() for key in keys}, "all": rng.random() < 0.5, "n": 1.50}
    if rng.random() < 0.3:
        made = {"edits": [made, {"old_string": said()}, said()], "path": "b"}
    return json.dumps(made, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1))).encode()


class History:
    """Parts as paucis_read gives them, with requests in between (None)."""

    def __init__(self, rng):
        self.rng, self.parts, self.message, self.pool, self.ids = rng, [], -1, [], 0
        for _ in range(rng.choice((0, 0, 1, 2))):
            self.next("system", "text", b"You are careful. " * rng.randrange(1, 40))
        for _ in range(rng.randrange(1, 5)):
            self.next("user", "text", text(rng, []))
            for _ in range(rng.choice((1, 2, 8, 20))):
                self.step()
            if rng.random() < 0.1:
                self.next("system", "text", b"a reminder")
        self.parts.append(None)

    def next(self, *part, **more):
        self.message += 1
        self.put(*part, **more)

    def put(self, role, kind, said, id_=b"", name=b"", flags=0):
        if self.rng.random() < 0.05:
            flags |= 1
        self.parts.append({"message": self.message, "role": role.encode(), "kind": kind.encode(),
                           "text": said, "id": id_, "name": name, "flags": flags})

    def step(self):
        """An assistant's turn and what its calls answer."""
        rng, ids, edits = self.rng, [], set()
        self.parts.append(None)
        self.message += 1
        if rng.random() < 0.5:
            self.put("assistant", "thinking", b"let me think " * rng.randrange(1, 60))
        if rng.random() < 0.4:
            self.put("assistant", "text", text(rng, []))
        for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
            self.ids += 1
            new = self.ids if rng.random() < 0.9 else rng.randrange(1, self.ids + 1)
            ids.append(rng.choice((b"call_%d", b"call_%d", b"odd id %d")) % new)
            name = rng.choice([*TOOLS, *EDITS])
            said = b'{"path":"f%d.c"}' % rng.randrange(rng.choice((3, 1000)))
            if TOOLS.get(name) and rng.random() < 0.5:
                said = said[:-1] + rng.choice((b',"offset":%d}', b',"limit":%d}', b',"limit":40,"offset":%d}')) \
                    % rng.choice((10, 20, 30, 2100))
            if name in EDITS:
                said = arguments(rng, EDITS[name])
                edits.add(ids[-1])
            self.put("assistant", "call", said, ids[-1], name)
        if not ids:
            self.put("assistant", "text", b"done")
        together = rng.random() < 0.5
        for number, id_ in enumerate(ids):
            if number == 0 or not together:
                self.message += 1
            said = rng.choice(ANSWERS) if id_ in edits else text(rng, self.pool)
            self.put("tool", "result", said, id_, flags=2 * (rng.random() < 0.1))
        if rng.random() < 0.1:
            self.next("user", "opaque", b"{}")
        if rng.random() < 0.1:
            self.next("user", "text", b"go on")


def run(lib, number):
    rng = random.Random(f"stable {number}")
    options, limits = settings(rng)
    limits["bound"] = rng.random() < 0.5
    parts = History(rng).parts
    session = Session(lib, options, BOUND if limits["bound"] else 0)
    fold = Fold(limits, lambda name: TOOLS.get(name), lambda name: name != b"fetch" and name not in EDITS,
                lambda name: name in EDITS)
    asked = True
    for part in parts:
        if part:
            session.add(part)
            fold.add(part)
            asked = False
            continue
        if asked:
            continue
        asked = True
        step, got = session.request()
        want = fold.request()
        cut = None if step.cut == NO_CUT else step.cut
        seen["requests"] += 1
        seen["cuts"] += cut is not None
        for changed, (form, _) in got.items():
            seen["arguments" if fold.parts[changed].kind == "call" else form] += 1
        if not expect(got == want and cut == fold.cut_message, f"history {number}, turn {fold.turn}:",
                      options, "bound" * limits["bound"], "cut", cut, "instead of", fold.cut_message,
                      sorted((k, got.get(k, "-")[0], want.get(k, "-")[0], got.get(k) == want.get(k))
                             for k in {*got, *want} if got.get(k) != want.get(k))[:5]):
            break
    session.close()


# ---- bodies ------------------------------------------------------------------------------------


def standing(fold):
    return [p.text if p.form == "full" else p.now for p in fold.parts if p.form != "gone"]


def run_body(lib, number):
    """The same through a wire format: what stands at the end is what the body became. Files that were read
    are nothing special here."""
    rng = random.Random(f"body {number}")
    options, limits = settings(rng)
    window = max(limits["window"], 1)
    same = {"cap": 900, "cap_read": 900, "attach": 0, "window": window, "window_read": window}
    limits.update(same)
    options.update({k: str(v) for k, v in same.items()})
    format_ = rng.choice(("anthropic", "openai-chat", "neutral"))
    conv = dialogues.dialogue(rng)
    convert.fit_ids(conv, format_)
    body = convert.WRITERS[format_](conv)
    body["model"] = "gpt-5"
    if format_ == "anthropic":
        body["model"] = rng.choice(("claude-opus-5-5", "claude-sonnet-4-5"))
        limits["bound"] = body["model"] == "claude-opus-5-5"
    body = convert.encode(body)
    fold = Fold(limits, lambda name: name == b"read", lambda name: name.decode() not in dialogues.WRITES,
                lambda name: name.decode() in dialogues.WRITES)
    last = b"assistant"
    for part in lib.read(body, format_):
        if part["role"] == b"assistant" and last != b"assistant":
            fold.request()
        fold.add(part)
        last = part["role"]
    fold.request()
    code, out, _ = lib.compact(body, None, None, options, format_)
    got = [p["text"] for p in lib.read(out, format_)] if not code else []
    expect(got == standing(fold), f"body {number} ({format_}):", options, "stands otherwise")


def main():
    if SANITIZED or not LIB.exists():
        skip("a sanitized library cannot be loaded into a Python that is not")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100000 if LONG else 500
    lib = Library()
    for number in range(count):
        run(lib, number)
        if number % 4 == 0:
            run_body(lib, number)
        if len(faults) > 20:
            break
    lib.close()
    expect(all(n for form, n in seen.items() if form != "full"), "every form was seen", seen)
    finish(f"{count} histories, {seen}")


main()
