#!/usr/bin/env python3
"""What the strategies and the stable policy make of a fixed corpus, as a table: results.py [--write]

Corpus: the example bodies of every format, the demo's conversation in all formats, and the inputs of the
golden pipelines; for the stable policy, which needs longer ones, sessions of tests/ref/shapes.py in all
formats. One row for each way of running and each format: bodies, bytes, tokens, messages, edits and the
first changed bytes, summed. The table is committed, so that any change of behaviour shows up in the
review; `--write` brings it up to date."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = HERE / "results.csv"
sys.path.insert(0, str(ROOT / "tests/ref"))
import shapes

PAUCIS = os.environ.get("PAUCIS", str(ROOT / "build/paucis"))
FORMATS = ("openai-chat", "anthropic", "openai-responses", "gemini", "bedrock", "neutral")
SEVEN = "thinking_prune,tool_call_dedup,dedup,snippet,lingua,streaming_llm,pairing"
RUNS = (
    ["-p", "none"],
    ["-p", "classic"],
    ["-p", "classic", "-O", "grow=no", "-O", "mend=yes"],
    ["-p", "budget", "-b", "500"],
    ["-p", "classic", "-b", "500"],
    *(["-s", name] for name in SEVEN.split(",")),
    ["-s", SEVEN],
)
STABLE = [["-p", "stable", "-l", level, "-O", f"form={form}", "--price", price]
          for level in ("safe", "balanced", "deep", "whole") for form in ("novelty", "snippet")
          for price in ("anthropic", "openai")]
STABLE += [["-p", "stable", "-b", "9000"], ["-p", "stable", "--price", "none", "-O", "window=2"]]
SESSIONS = (("ordinary", 500), ("bound", 80), ("users", 80), ("same_call", 80), ("identical", 80),
            ("edits", 80))
SUMS = ("bytes_in", "bytes_out", "tokens_in", "tokens_out", "messages_in", "messages_out", "edits",
        "breaks")


def converted(body):
    for name in FORMATS:
        command = [sys.executable, str(ROOT / "tests/tools/convert.py"), name]
        yield subprocess.run(command, input=body, stdout=subprocess.PIPE, check=True).stdout


def corpus():
    for path in sorted((ROOT / "tests/formats/examples").glob("[A-E][0-9]*.json")):
        yield path.read_bytes()
    yield from converted((ROOT / "examples/agent.json").read_bytes())
    with open(ROOT / "tests/golden/pipelines.jsonl", "rb") as lines:
        for line in lines:
            yield json.dumps(json.loads(line)["input"]).encode()


def sessions():
    for name, messages in SESSIONS:
        yield from converted(shapes.write(name, messages))


def one_line(body):
    return json.dumps(json.loads(body), ensure_ascii=False).encode()


def run(arguments, lines):
    with tempfile.TemporaryDirectory() as folder:
        stats = pathlib.Path(folder) / "stats"
        command = [PAUCIS, "compact", "--jsonl", "-q", "--pass-through", f"--stats={stats}"]
        subprocess.run(command + arguments, input=lines, stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in stats.read_bytes().splitlines()]


def table():
    short = b"\n".join(map(one_line, corpus())) + b"\n"
    long = b"\n".join(map(one_line, sessions())) + b"\n"
    yield ",".join(("run", "format", "bodies", *SUMS, "first_changed_bytes"))
    for arguments in (*RUNS, *STABLE):
        rows = run(arguments, long if arguments in STABLE else short)
        for name in FORMATS:
            mine = [row for row in rows if row["format"] == name]
            sums = [sum(row[key] for row in mine) for key in SUMS]
            first = sum(row["first_changed_byte"] or 0 for row in mine)
            label = " ".join(arguments).replace(",", "+")
            yield ",".join(map(str, (label, name, len(mine), *sums, first)))


def main():
    text = "\n".join(table()) + "\n"
    if sys.argv[1:] == ["--write"]:
        TABLE.write_text(text)
        return 0
    if TABLE.read_text() == text:
        return 0
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as now:
        now.write(text)
        now.flush()
        subprocess.run(["diff", "-u", str(TABLE), now.name])
    print("the results differ from tests/regression/results.csv; results.py --write accepts them")
    return 1


sys.exit(main())
