#!/usr/bin/env python3
"""Identity: without edits the output is the input, byte for byte, for every body there is: the examples
(good and bad), the real traces, the traces turned into all six formats, and every valid file of the JSON
suite as an unknown field of a body. One by one and by --jsonl, with one thread and with two.

The converted traces are valid by construction, so check must find nothing in them; what it finds in the
traces as they came is listed in docs/irregularities.md, which must be up to date.
"""
import json
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
import convert
import irregularities
from support import LONG, SANITIZED, SHARED, SRC, expect, finish, paucis, skip, traces

EVERY = 1 if LONG or not SANITIZED else 12  # a sanitized build is slow


def same_alone(name, body, *options):
    code, out, err = paucis("compact", "-p", "none", *options, stdin=body)
    expect(code == 0 and out == body, name, *options, "is not kept: exit", code, err[:200])


def same_lines(name, bodies, *options):
    """All bodies as lines, ending in LF, CRLF and (the last) nothing."""
    ends = [b"\r\n" if i % 7 == 3 else b"\n" for i in range(len(bodies))]
    text = b"".join(b + end for b, end in zip(bodies, ends))[:-len(ends[-1])]
    for jobs in ("1", "2"):
        code, out, err = paucis("compact", "-p", "none", "--jsonl", "-j", jobs, *options, stdin=text)
        expect(code == 0 and out == text, name, "as lines, -j", jobs, *options, "are not kept: exit",
               code, err[:200])


def check_examples():
    bodies = []
    for path in sorted((SRC / "tests" / "formats").rglob("*.json")):
        body = path.read_bytes()
        same_alone(path.name, body)
        bodies.append(json.dumps(json.loads(body)).encode())
    same_lines("examples", bodies)
    return len(bodies)


def check_suite():
    bodies = []
    for path in sorted((SHARED / "json-suite").glob("y_*.json")):
        value = path.read_bytes()
        body = b'{"model":"m","extra": ' + value + b' ,"messages":[{"role":"user","content":"x"}]}'
        same_alone(path.name, body)
        same_alone(path.name + " alone", value)
        if b"\n" not in value and b"\r" not in value:
            bodies.append(body)
    same_lines("json-suite", bodies)
    return len(bodies)


def check_traces(found):
    for about, body in found:
        same_alone(about["id"], body)
    same_lines("traces", [body for _, body in found])


def check_converted(found):
    parsed = [(about, json.loads(body)) for about, body in found]
    for target in convert.FORMATS:
        bodies = [convert.encode(convert.convert(body, about["format"], target))
                  for about, body in parsed]
        same_lines(f"traces as {target}", bodies)
        same_lines(f"traces as {target}", bodies, "-f", target)
        code, out, err = paucis("check", "--jsonl", "-f", target, stdin=b"\n".join(bodies))
        expect(code == 0, f"traces as {target}: exit", code, out[:400], err[:200])
        named = [] if target != "neutral" else ["-f", target]  # text alone shows no format
        code, out, err = paucis("check", "--jsonl", *named, stdin=b"\n".join(bodies))
        expect(code == 0, f"traces as {target}, detected: exit", code, out[:400], err[:200])


def main():
    count = check_examples()
    if not SHARED:
        if not count:
            skip("no bodies")
        finish(f"{count} examples (no traces here)")
    suite = check_suite()
    found = list(traces(EVERY))
    check_traces(found)
    check_converted(found)
    if EVERY == 1:
        page = SRC / "docs" / "irregularities.md"
        expect(page.exists() and page.read_text(encoding="utf-8") == irregularities.page(found),
               "docs/irregularities.md is out of date: run tests/tools/irregularities.py")
    finish(f"{count} examples, {suite} of the suite, {len(found)} traces in 6 formats")


main()
