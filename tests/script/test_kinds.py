#!/usr/bin/env python3
"""Kinds of content on the real traces: what was JSON is JSON still, a line of a patch stands below its
file, and level safe takes nothing from a result but noise and exact repeats.
"""
import json
import re
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
from support import LONG, SANITIZED, SHARED, expect, finish, paucis, skip, traces

if not SHARED:
    skip("no traces")
EVERY = 1 if LONG or not SANITIZED else 12

# A result may be told in one line of ours instead.
MARKER = re.compile(r"\[(identical to the earlier output of call|\d+ lines, superseded:) [^\n]*\]\Z")


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(b.get("text", "") for b in content or [] if isinstance(b, dict))


def results(body):
    """The texts of all results of calls, in order."""
    for message in body.get("messages", []):
        content = message.get("content")
        if message.get("role") == "tool":
            yield text_of(content)
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                yield text_of(block.get("content"))
    items = body.get("input")
    for item in items if isinstance(items, list) else []:
        if item.get("type", "").endswith("call_output"):
            yield text_of(item.get("output"))


def is_json(text):
    text = text.strip()
    if text[:1] not in ("[", "{"):
        return False
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def screen(text):
    """What a terminal shows of a text, line by line; blanks at the ends cannot be seen."""
    shown = []
    for line in text.split("\n"):
        cells, at = [], 0
        for bit in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\a\n]*\a|\x1b\(B|\x1b[=>]|.", line, re.S):
            if bit in ("\x1b[K", "\x1b[0K"):
                del cells[at:]
            elif bit == "\x1b[2K":
                cells = [" "] * at
            elif bit == "\r":
                at = 0
            elif bit == "\b":
                at = max(at - 1, 0)
            elif not bit.startswith("\x1b"):
                cells[at:at + 1] = [bit]
                at += 1
        shown.append("".join(cells).rstrip())
    return shown


def judge_safe(name, before, after):
    if MARKER.match(after):
        return
    expect(screen(before) == screen(after), name, "safe: more than noise went from", repr(before[:80]))


def judge_patch(name, before, after):
    """Lines of a patch that are left have their file above them."""
    if not before.startswith("diff --git ") or MARKER.match(after):
        return False
    known = set(before.split("\n"))
    file = None
    for line in after.split("\n"):
        if line.startswith("diff --git "):
            file = line
        elif line[:1] in "+-@" and line in known and line:
            inside = before.split("\n")
            owner = None
            for other in inside:
                if other.startswith("diff --git "):
                    owner = other
                if other == line and owner == file:
                    break
            else:
                expect(False, name, "a line without its file:", repr(line[:80]))
    return True


def main():
    names, bodies = [], []
    for about, request in traces(EVERY):
        names.append(about["id"])
        bodies.append(json.loads(request))
    lines = b"".join(json.dumps(b).encode() + b"\n" for b in bodies)
    cut = {"json": 0, "patch": 0, "noise": 0}
    for level in ("safe", "balanced", "deep"):
        code, out, err = paucis("compact", "-q", "--jsonl", "--price", "anthropic", "-l", level, stdin=lines)
        expect(code == 0, level, "exit", code, err[:200])
        for name, body, line in zip(names, bodies, out.splitlines()):
            for before, after in zip(results(body), results(json.loads(line))):
                if before == after:
                    continue
                if level == "safe":
                    judge_safe(name, before, after)
                    cut["noise"] += not MARKER.match(after)
                if is_json(before) and not MARKER.match(after):
                    cut["json"] += 1
                    expect(is_json(after), name, level, "JSON no more:", repr(after[:120]))
                cut["patch"] += judge_patch(name, before, after)
    expect(SANITIZED or all(cut.values()), "nothing to judge:", cut)
    finish(f"{len(bodies)} traces, {cut}")


main()
