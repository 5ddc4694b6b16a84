#!/usr/bin/env python3
"""Never invalid, under the stable policy: no body gains a break, and bodies sent one after another agree.

Bodies: the examples (good and bad), generated conversations and the traces, as they came and in every
format, each as all the requests that led to it; and the same with signed thinking put in, on models that
bind it to what stands before it, with thinking enabled, adaptive and off. Every output is judged alone,
against the body it came from (`--before`) and against the output of the request before it (`--sent`).
Without PAUCIS_LONG=1 only some of the traces and runs.
"""
import collections
import json
import pathlib
import random
import sys

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import convert
import dialogues
from library import LIB, Library
from support import LONG, SANITIZED, SHARED, SRC, expect, finish, skip, traces
from turns import Turns, thinks

FORMAT_OF = {"A": "openai-chat", "B": "anthropic", "C": "openai-responses", "D": "gemini", "E": "bedrock"}
RUNS = {
    "balanced": {},
    "safe": {"level": "safe"},
    "deep, snippets": {"level": "deep", "form": "snippet"},
    "openai": {"price": "openai"},
    "whole": {"level": "whole", "window": "3", "window_read": "10"},
    "eager": {"price": "none", "window": "0", "thought": "0", "risk": "100000", "keep": "3", "cap": "300",
              "cap_read": "300"},
    "budget 0": {"budget": 0},
    "budget 1500": {"budget": 1500, "level": "safe", "sinks": "0"},
    "budget 9000": {"budget": 9000, "price": "openai"},
}
THINKING = ({"type": "enabled", "budget_tokens": 2048}, {"type": "adaptive"}, {"type": "disabled"})
MODELS = ("claude-opus-5-5", "claude-sonnet-4-5", "claude-fable-5-1")
# Thinking was made behind what was sent, which is not the body it came from: results were shortened at
# birth already. So its prefix is judged by what was sent before, and not by `before`.
SENT_ONLY = ("B-R15", "B-R16")
seen = collections.Counter()


def rules(breaks):
    return collections.Counter(rule for rule, _ in breaks or ())


def one(lib, label, turns, name):
    """The requests of a conversation, one after another."""
    options = dict(RUNS[name])
    budget = options.pop("budget", None)
    last = None
    for n in turns.boundaries():
        body = turns.body(n)
        code, out, st = lib.compact(body, None, budget, options, turns.format)
        if not expect(code == 0, name, label, "error", code):
            return
        seen["requests"] += 1
        seen["edited"] += st.edits > 0
        if out != body:
            had = rules(lib.breaks(body, turns.format))
            fresh = rules(lib.breaks(out, turns.format, before=body)) - had
            for rule in SENT_ONLY:
                del fresh[rule]
            expect(not fresh, name, label, f"request with {n} messages gains", dict(fresh))
        if last and (out != body or last[1] != last[0]):
            had = rules(lib.breaks(body, turns.format, sent=last[0]))
            fresh = rules(lib.breaks(out, turns.format, sent=last[1])) - had
            expect(not fresh, name, label, f"request with {n} messages breaks with the one before",
                   dict(fresh))
        last = (body, out)


# ---- bodies ------------------------------------------------------------------------------------


def examples():
    for path in sorted((SRC / "tests" / "formats").rglob("*.json")):
        if path.name[0] in FORMAT_OF:
            try:
                body = json.loads(path.read_bytes())
                yield path.name, Turns(body, FORMAT_OF[path.name[0]])
            except (KeyError, TypeError, ValueError, AttributeError):
                continue  # no list of messages to cut into requests


def bodies():
    """(name, Turns)"""
    yield from examples()
    rng = random.Random("valid")
    for i in range(1000 if LONG else 12):
        for format_, body in dialogues.bodies(rng).items():
            yield f"generated {i} ({format_})", Turns(json.loads(body), format_)
    for about, body in traces(1 if LONG else 100) if SHARED else ():
        parsed, name = json.loads(body), about["id"][-50:]
        yield name, Turns(parsed, about["format"])
        for format_ in dialogues.FORMATS:
            yield f"{name} as {format_}", Turns(convert.convert(parsed, about["format"], format_), format_)


def thinking(rng, turns):
    """The conversation with thinking in it."""
    head = dict(turns.head)
    setting = rng.choice(THINKING)
    if turns.format == "anthropic":
        head.update(model=rng.choice(MODELS), thinking=setting)
    else:
        head["additionalModelRequestFields"] = {"thinking": setting}
    made = Turns({**head, turns.key: turns.messages}, turns.format)
    return thinks(rng, made, rng.choice((0.4, 1.0)))


def main():
    if SANITIZED or not LIB.exists():
        skip("a sanitized library cannot be loaded into a Python that is not")
    lib = Library()
    for number, (name, turns) in enumerate(bodies()):
        rng = random.Random(name)
        kinds = list(RUNS)
        for run in kinds if LONG or name.startswith("generated") else {
                kinds[number % len(kinds)], kinds[(number + 4) % len(kinds)]}:
            if turns.format not in ("anthropic", "bedrock"):
                one(lib, name, turns, run)
                continue
            try:
                one(lib, f"{name} with thinking", thinking(rng, turns), run)
            except (AttributeError, KeyError, TypeError):
                one(lib, name, turns, run)  # an example too odd to put thinking into
    lib.close()
    expect(seen["edited"] > 500, "the runs do what they say", dict(seen))
    finish(f"{seen['requests']} requests, {seen['edited']} of them edited")


main()
