#!/usr/bin/env python3
"""Old arguments in every format: what is shortened is an object of the same keys and order, its strings the
old ones or heads of them and a count that is right; only calls of finished loops outside the window that the
result calls made; and `never` keeps them whole. Bodies: traces and generated conversations.
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

EAGER = {"price": "none", "window": "4", "risk": "1000000"}
MARKER = re.compile(r"\[\.\.\. (\d+) lines, (\d+) bytes left out\]\Z")
FORMATS = [*dialogues.FORMATS, "neutral"]
seen = dict.fromkeys(FORMATS, 0)
plain = dict.fromkeys(FORMATS, 0)


def bytes_of(text):
    return text.encode(errors="surrogatepass")


def judge_string(was, now):
    """Is it the same, or a head of it with what is missing counted?"""
    found = MARKER.search(now)
    if was == now or not found:
        return was == now
    head = now[:found.start()]
    gone = was[len(head):]
    lines = gone.count("\n") + (not gone.endswith("\n"))
    return was.startswith(head) and (lines, len(bytes_of(gone))) == (int(found[1]), int(found[2]))


def judge(was, now):
    if type(was) is not type(now):
        return False
    if isinstance(was, dict):
        return list(was) == list(now) and all(judge(was[k], now[k]) for k in was)
    if isinstance(was, list):
        return len(was) == len(now) and all(map(judge, was, now))
    return judge_string(was, now) if isinstance(was, str) else was == now


def parts_of(lib, body, format_):
    return [p for p in lib.read(body, format_) if p["kind"] in (b"call", b"result", b"text")]


def one(lib, label, body, format_, options):
    code, out, _ = lib.compact(body, None, None, {**EAGER, **options}, format_)
    if not expect(code == 0, label, "error", code):
        return
    before, after = parts_of(lib, body, format_), parts_of(lib, out, format_)
    if not expect(len(before) == len(after), label, "parts came or went"):
        return
    users = [p["message"] for p in before if p["role"] == b"user" and p["kind"] == b"text"]
    answers = {p["id"]: p for p in before if p["kind"] == b"result"}
    for was, now in zip(before, after):
        if was["kind"] != b"call" or was["text"] == now["text"]:
            continue
        name = was["name"].decode()
        expect("never" not in options, label, "cut in spite of never:", name)
        expect(users and was["message"] < users[-1], label, "a call of the current loop was cut")
        expect(was["message"] <= before[-1]["message"] - 4, label, "a call in the window was cut")
        answer = answers[was["id"]]["text"] if was["id"] else b"updated"
        expect(re.search(rb"success|updated|created|edited|applied", answer, re.I), label,
               "cut, but the result says", answer[:60])
        if was["text"].lstrip().startswith(b"{"):
            seen[format_] += 1
            same = judge(json.loads(was["text"]), json.loads(now["text"]))
        else:
            plain[format_] += 1
            same = judge_string(was["text"].decode(), now["text"].decode())
        expect(same, label, name, "is no longer what it was:", now["text"][:200])


def bodies():
    rng = random.Random("arguments")
    for i in range(2000 if LONG else 60):
        state = rng.getstate()
        for format_ in FORMATS:
            rng.setstate(state)
            conv = dialogues.dialogue(rng)
            convert.fit_ids(conv, format_)
            yield f"generated {i} ({format_})", convert.encode(convert.WRITERS[format_](conv)), format_
    for about, body in traces(1 if LONG else 20) if SHARED else ():
        yield about["id"][-50:], body, about["format"]
        for format_ in FORMATS:
            made = convert.convert(json.loads(body), about["format"], format_)
            yield f"{about['id'][-50:]} as {format_}", convert.encode(made), format_


def main():
    if SANITIZED or not LIB.exists():
        skip("a sanitized library cannot be loaded into a Python that is not")
    lib = Library()
    for label, body, format_ in bodies():
        one(lib, label, body, format_, {})
        one(lib, label, body, format_, {"never": "edit"})
    lib.close()
    expect(all(seen.values()), "nothing was cut in", seen)
    expect(plain["openai-responses"] and plain["openai-chat"], "no plain text was cut", plain)
    finish(f"objects {seen}, plain text {plain}")


main()
