#!/usr/bin/env python3
"""Bodies with a known verdict: the given examples, and the project's own for rules without one.

All are detected as what they are, the valid ones pass, and each invalid one is reported under its own
rule, at a place that exists. Every rule that the library can report must be reported here.
"""
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
from support import SRC, expect, finish, locate, paucis, resolve

HOME = SRC / "tests" / "formats"
FORMAT_OF = {"A": "openai-chat", "B": "anthropic", "C": "openai-responses", "D": "gemini",
             "E": "bedrock"}
# Broken only by an edit: messages that come or go where the server holds part of the history. Seen in
# tests/fuzz/fuzz_edits.c.
ONLY_EDITS = {"C-R13"}
TEXT_LINE = re.compile(r'(\S+) (\S*|"") byte (\d+): \S.*')
reported = set()


def check_detected(path):
    if path.name[0] not in FORMAT_OF:
        return
    with tempfile.TemporaryDirectory() as folder:
        stats = pathlib.Path(folder) / "stats"
        code, out, err = paucis("compact", "-p", "none", f"--stats={stats}", path)
        expect(code == 0 and out == path.read_bytes(), path.name, "is not kept:", code, err)
        said = json.loads(stats.read_bytes() or b"{}").get("format")
    expect(said == FORMAT_OF[path.name[0]], path.name, "detected as", said)


def check_places(path, breaks, text):
    """Rule, pointer and position, in both outputs."""
    body = path.read_bytes()
    lines = [TEXT_LINE.fullmatch(line) for line in text.decode().splitlines()]
    expect(len(lines) == len(breaks) and all(lines), path.name, "text output:", text)
    for b, line in zip(breaks, lines):
        try:
            resolve(json.loads(body), b["pointer"])
            at, _ = locate(body, b["pointer"])
            expect(at == b["position"], path.name, b, "but the value begins at", at)
        except (KeyError, IndexError, ValueError) as e:
            expect(False, path.name, b, "leads nowhere:", repr(e))
        same = line and (line[1], int(line[3])) == (b["rule"], b["position"])
        expect(same and line[2].replace('""', "") == b["pointer"], path.name, "outputs differ:", b)
        expect(b["text"], path.name, "no text", b)


def check_breaks(path, *options):
    """The rules reported, after a look at the form of the report."""
    code, out, err = paucis("check", "--json", *options, path)
    if not expect(code in (0, 4), path.name, "exit", code, err):
        return set()
    breaks = json.loads(out)
    code_text, text, _ = paucis("check", *options, path)
    expect(code == code_text == (4 if breaks else 0), path.name, "exit", code, code_text)
    check_places(path, breaks, text)
    return {b["rule"] for b in breaks}


def check_valid(path, *options):
    rules = check_breaks(path, *options)
    expect(not rules, path.name, "is valid, but check says", sorted(rules))


def check_invalid(folder, exactly):
    """Every body of a manifest; `exactly`: under its own rule and no other (but for the
    manifest's "also")."""
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    for name, about in manifest.items():
        path = folder / name
        check_detected(path)
        with_ = []
        for key, option in (("compare_with", "--before"), ("sent", "--sent")):
            with_ += [option, folder / about[key]] if key in about else []
        rules = check_breaks(path, *with_)
        expect(about["rule"] in rules, name, "is reported as", sorted(rules))
        alone = rules == {about["rule"], *about.get("also", [])}
        expect(not exactly or alone, name, "is reported as", sorted(rules))
        reported.update({about["rule"]} & rules)
        if "valid" in about:
            check_detected(folder / about["valid"])
            check_valid(folder / about["valid"], *with_)
    listed = set(manifest) | {a[key] for a in manifest.values() for key in ("valid", "sent")
                              if key in a}
    others = {p.name for p in folder.glob("*.json")} - listed - {"MANIFEST.json"}
    expect(not others, folder.name, "holds bodies without a verdict:", sorted(others))


# ---- too large to be kept as files -------------------------------------------------------------


def large_bodies():
    """(rule, body that breaks it, body just within)"""
    call = {"type": "function_call", "call_id": "c", "name": "f"}

    def arguments(n):
        text = '{"a":"' + "x" * (n - 8) + '"}'
        return {"instructions": "", "input": [{**call, "arguments": text}, {
            "type": "function_call_output", "call_id": "c", "output": "ok"}]}

    def claude(messages):
        return {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": "s", "messages": messages}

    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    user = {"role": "user", "content": "x"}
    yield "C-R9", arguments((1 << 20) + 1), arguments(1 << 20)
    yield "B-R27", *(claude([{"role": "user", "content": [image] * n}]) for n in (601, 600))
    yield "B-R34", *(claude([user] * n) for n in (100001, 100000))
    yield "B-R34", *(claude([{"role": "user", "content": "x" * n}]) for n in (32 << 20, 31 << 20))


def check_large():
    for rule, bad, good in large_bodies():
        for body, expected in ((bad, {rule}), (good, set())):
            code, out, err = paucis("check", "--json", stdin=json.dumps(body).encode())
            rules = {b["rule"] for b in json.loads(out or b"[]")}
            expect(rules == expected, rule, "large body:", code, sorted(rules), err)
            reported.update(rules)


# ---- every rule --------------------------------------------------------------------------------


def check_all_rules_seen():
    """What the sources can report is listed, and is seen at least once."""
    code, out, _ = paucis("list", "rules", "--json")
    listed = [row["name"] for row in json.loads(out)["rules"]]
    expect(code == 0 and len(listed) == len(set(listed)), "list rules:", code, listed)
    sources = [p for p in (SRC / "lib").rglob("*.[ch]")]
    can = {rule for p in sources
           for rule in re.findall(r'"([A-E]-R\d+|G\d+)"', p.read_text(encoding="utf-8"))}
    expect(can <= set(listed), "reported but not listed:", sorted(can - set(listed)))
    missing = can - reported - ONLY_EDITS
    expect(not missing, "no body here breaks:", sorted(missing))
    expect(reported <= can, "reported, but in no source:", sorted(reported - can))


def main():
    examples = HOME / "examples"
    valid = [p for p in sorted(examples.glob("*.json")) if p.name != "VALID_PAIRS.json"]
    for path in valid:
        check_detected(path)
        check_valid(path)
        check_valid(path, "--before", path)
        check_valid(path, "--sent", path)
    for name, before in json.loads((examples / "VALID_PAIRS.json").read_text()).items():
        check_valid(examples / name, "--before", examples / before)
    check_invalid(examples / "invalid", exactly=False)
    check_invalid(HOME / "own", exactly=True)
    if (HOME / "compare" / "MANIFEST.json").exists():
        check_invalid(HOME / "compare", exactly=False)
    check_large()
    check_all_rules_seen()
    finish(f"{len(valid)} valid bodies, {len(reported)} rules seen")


main()
