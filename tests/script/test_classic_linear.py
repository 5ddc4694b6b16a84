#!/usr/bin/env python3
"""Linear time, counted instead of measured: instructions per message (valgrind --tool=callgrind), body in
to body out, at growing numbers of messages. They must stay within 1.2 times those at a thousand messages.
What an empty conversation costs is taken off.

1,000 and 10,000 messages; with PAUCIS_LONG=1 also 50,000 and 200,000. --write keeps the table in
docs/linear.md.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HOME / "tools"))
from support import LONG, PAUCIS, SANITIZED, SRC, expect, finish, skip

SIZES = (1000, 10000, 50000, 200000) if LONG or "--write" in sys.argv else (1000, 10000)
ALLOWED = 1.2
SEVEN = "thinking_prune,tool_call_dedup,dedup,snippet,lingua,streaming_llm,pairing"
RUNS = [(name, "neutral", ["-s", name]) for name in
        ("thinking_prune", "dedup", "snippet", "lingua", "streaming_llm", "tool_call_dedup", "pairing",
         "apply_all")]
RUNS += [("compact_to_budget", "neutral", ["-s", "compact_to_budget", "-b", "0"]),
         ("the same, half of it", "neutral", ["-s", "compact_to_budget", "-b", "HALF"]),
         ("the same, largest first", "neutral",
          ["-s", "compact_to_budget", "-b", "HALF", "-O", "compact_to_budget.largest_first=yes"]),
         ("seven stages, budget, mended", "neutral",
          ["-s", SEVEN + ",compact_to_budget", "-b", "HALF", "-O", "mend=yes", "-O",
           "dedup.clear_ids=yes", "-O", "streaming_llm.recent=900"]),
         ("classic, budget", "anthropic", ["-p", "classic", "-b", "HALF"]),
         ("classic, budget", "openai-chat", ["-p", "classic", "-b", "HALF"]),
         ("seven stages", "bedrock", ["-s", SEVEN])]
HALF = 40  # tokens a message: about half of what a conversation below has


def step(i):
    """Two messages of a tool loop: something for every strategy to do. (id, prose, arguments, result)"""
    result = "x" * 300 if i % 3 else f"{i} " + "y" * 300
    if i % 16 == 5:
        result = f"{i} " + "line of output\n" * 290
    arguments = json.dumps({"path": "p" * 70 if i % 2 else f"{i}" + "p" * 70})
    return f"call_{i}", f"Step  {i}:   looking\n\n\n\n----\n", arguments, result


def neutral(n):
    messages = []
    for i in range(n // 2):
        id_, prose, arguments, result = step(i)
        messages.append({"role": "assistant", "content": [
            {"type": "thinking", "text": "let me think"}, {"type": "text", "text": prose},
            {"type": "tool_call", "id": id_, "name": "read",
             "arguments": arguments}]})
        messages.append({"role": "tool", "content": [
            {"type": "tool_result", "tool_call_id": id_ if i % 10 else "nobody", "content": result}]})
    return {"messages": messages}


def anthropic(n):
    messages = [{"role": "user", "content": "go"}] if n else []
    for i in range(n // 2):
        id_, prose, arguments, result = step(i)
        messages.append({"role": "assistant", "content": [
            {"type": "text", "text": prose},
            {"type": "tool_use", "id": id_, "name": "read", "input": json.loads(arguments)}]})
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id_, "content": result}]})
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "system": "s", "messages": messages}


def chat(n):
    messages = [{"role": "user", "content": "go"}] if n else []
    for i in range(n // 2):
        id_, prose, arguments, result = step(i)
        messages.append({"role": "assistant", "content": prose, "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": "read", "arguments": arguments}}]})
        messages.append({"role": "tool", "tool_call_id": id_, "content": result})
    return {"model": "gpt-5", "messages": messages}


def bedrock(n):
    messages = [{"role": "user", "content": [{"text": "go"}]}] if n else []
    for i in range(n // 2):
        id_, prose, arguments, result = step(i)
        messages.append({"role": "assistant", "content": [
            {"text": prose},
            {"toolUse": {"toolUseId": id_, "name": "read", "input": json.loads(arguments)}}]})
        messages.append({"role": "user", "content": [
            {"toolResult": {"toolUseId": id_, "content": [{"text": result}]}}]})
    tool = {"toolSpec": {"name": "read", "inputSchema": {"json": {"type": "object"}}}}
    return {"messages": messages, "toolConfig": {"tools": [tool]}}


BODIES = {"neutral": neutral, "anthropic": anthropic, "openai-chat": chat, "bedrock": bedrock}


def instructions(folder, format_, n, args):
    body = folder / f"{format_}.{n}.json"
    if not body.exists():
        body.write_text(json.dumps(BODIES[format_](n), separators=(",", ":")))
    args = [str(HALF * n) if a == "HALF" else a for a in args]
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", PAUCIS, "compact", "-q",
         "-f", format_, "-o", "/dev/null", *args, body], capture_output=True, text=True, check=False)
    found = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if not expect(run.returncode == 0 and found, args, n, "exit", run.returncode, run.stderr[-300:]):
        return 0
    return int(found[1])


def row(folder, name, format_, args):
    start = instructions(folder, format_, 0, args)
    each = [(instructions(folder, format_, n, args) - start) / n for n in SIZES]
    worst = max(each) / each[0] if each[0] > 0 else 0
    expect(0 < worst <= ALLOWED, name, format_, "instructions per message:", [round(x) for x in each])
    return f"| {name} | {format_} | " + " | ".join(f"{x:.0f}" for x in each) + f" | {worst:.2f} |"


def main():
    if SANITIZED or not shutil.which("valgrind"):
        skip("needs valgrind and a plain build")
    table = ["| strategy | format | " + " | ".join(f"{n:,}" for n in SIZES) + " | most / first |",
             "|---|---|" + "---:|" * (len(SIZES) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        for name, format_, args in RUNS:
            table.append(row(pathlib.Path(folder), name, format_, args))
            print(table[-1], flush=True)
    if "--write" in sys.argv:
        page = ["# Linear time", "", "Instructions per message, body in to body out, for conversations of so "
                "many messages (about 500 bytes", "each; what an empty one costs is taken off). Counted by "
                "callgrind: `tests/script/test_classic_linear.py --write`.", "", *table, ""]
        (SRC / "docs" / "linear.md").write_text("\n".join(page))
    finish(f"{len(RUNS)} rows up to {SIZES[-1]} messages")


main()
