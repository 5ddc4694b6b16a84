#!/usr/bin/env python3
"""Level `whole` and the window of files that were read. At level `whole` a result is never shortened while it
is in the window, however long it is (balanced would); unless the same stands elsewhere, or was asked for again.
Once old it goes, later if it reads a file: `window_read`.
"""
import json
import pathlib
import random
import re
import sys

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import convert
import dialogues
from library import LIB, Library
from support import LONG, SANITIZED, SHARED, expect, finish, skip, traces

WINDOW = 8
AGAIN = re.compile(rb"\[identical to the earlier output of call |\[\d+ lines, superseded: ")
NOISE = re.compile(rb"[\x1b\x08\r]")
seen = {"young": 0, "long": 0, "old": 0, "read": 0}


def young_stays(lib, label, body, format_):
    """Every result of the window as it was, but for what is said twice and noise."""
    code, out, _ = lib.compact(body, None, None, {"level": "whole", "price": "none"}, format_)
    if not expect(code == 0, label, "error", code):
        return
    before, after = ([p for p in lib.read(b, format_) if p["kind"] == b"result"] for b in (body, out))
    if not expect(len(before) == len(after), label, "results came or went"):
        return
    last = max((p["message"] for p in lib.read(body, format_)), default=0)
    for was, now in zip(before, after):
        young = last - was["message"] < WINDOW
        same = was["text"] == now["text"]
        expect(same or not young or AGAIN.match(now["text"]) or NOISE.search(was["text"]), label, was["message"],
               "was shortened in the window")
        seen["young"] += young
        seen["long"] += young and len(was["text"]) > 30720
        seen["old"] += not same and not young


def session(tool, key, turns):
    """A long result of this tool, and then others that are short."""
    text = "".join(f"value_{i} = compute_{i * 7919 % 1000}(previous_{i})\n" for i in range(2000))
    messages = [{"role": "user", "content": "go on"}]
    for i in range(turns):
        name, said = (tool, {key: "a.py"}) if i == 0 else ("fetch", {"page": i})
        call = {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(said)}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"call_{i}", "content": text if i == 0 else f"page {i}"}]
    return json.dumps({"model": "gpt-5", "messages": messages}).encode()


def goes_at(lib, tool, key, **options):
    """Messages behind the result when it is first shortened; price none, so that age alone decides."""
    options = {"price": "none", "form": "snippet", "keep": "12", **options}
    for turns in range(1, 60):
        body = session(tool, key, turns)
        code, out, _ = lib.compact(body, None, None, options, "openai-chat")
        expect(code == 0, tool, options, "error", code)
        if json.loads(out)["messages"][2] != json.loads(body)["messages"][2]:
            return 2 * (turns - 1)
    return None


def check_ages(lib):
    for level, tool, key, options, least in (
            ("balanced", "fetch", "url", {}, 0), ("balanced", "Read", "file_path", {}, 0),
            ("whole", "fetch", "url", {}, 8), ("whole", "Read", "file_path", {}, 48),
            ("whole", "Read", "file_path", {"window_read": "20"}, 20),
            ("whole", "Read", "file_path", {"window_read": "4"}, 8),  # the window at least
            ("whole", "Read", "file_path", {"window_read": "20", "window": "30"}, 30),
            ("whole", "fetch", "url", {"cap": "20480"}, 0),
            ("balanced", "Read", "file_path", {"cap_read": "1000000", "window_read": "20"}, 20)):
        age = goes_at(lib, tool, key, level=level, **options)
        expect(age is not None and least <= age <= least + 2, level, tool, options, "goes at", age, "not", least)
        seen["read"] += tool == "Read"


def main():
    if SANITIZED or not LIB.exists():
        skip("a sanitized library cannot be loaded into a Python that is not")
    lib = Library()
    check_ages(lib)
    if (SHARED / "traces").is_dir():
        for about, request in traces(1 if LONG else 6):
            young_stays(lib, about["id"], request, about["format"])
    for number in range(2000 if LONG else 200):
        rng = random.Random(f"whole {number}")
        format_ = rng.choice(dialogues.FORMATS)
        conv = dialogues.dialogue(rng)
        convert.fit_ids(conv, format_)
        young_stays(lib, f"{format_} {number}", convert.encode(convert.WRITERS[format_](conv)), format_)
    lib.close()
    expect(seen["young"] and seen["read"] and seen["old"], "too little was seen", seen)
    finish(seen)


if __name__ == "__main__":
    main()
