#!/usr/bin/env python3
"""A corpus where there are no traces: make_corpus.py [--sessions N] > traces.jsonl

Made-up coding sessions in three formats, one trace a line as extract.py and join.py read them. The model
reads pieces of this project's own files, edits them and runs commands, so tool results look like real
ones: code, line ends, quotes, now and then another script. The same files and arguments give the same
bytes. Sizes follow real traces: 10 KB to 1.4 MB, half of them below 150 KB."""
import argparse
import json
import math
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "lib", "cli", "docs", "scripts", "tests", "bench")
ENDINGS = {".c", ".h", ".md", ".py", ".sh", ".def", ""}
REMARKS = (
    "Let me look at the file first.",
    "The test still fails; the reason must be in the caller.",
    "Das hängt am Zeichensatz: ü, ß und € sind mehr als ein Byte.",
    "文字列の長さはバイトで数えます。",
    "Done. I will run the tests again → then clean up.",
)
SYSTEM = "You are a careful engineer. " + "Say what you do and why; change as little as needed. " * 20


def source_files():
    files = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in ENDINGS and 4_000 < path.stat().st_size < 200_000:
                text = path.read_bytes().decode("utf-8", "replace")
                files.append((path.relative_to(ROOT).as_posix(), text))
    return files


def steps(rng, files, size):
    """Pairs of a call and its result until the results and arguments have about the size."""
    total = 0
    while total < size:
        name, text = rng.choice(files)
        start = rng.randrange(max(1, len(text) - 500))
        piece = text[start : start + int(rng.lognormvariate(7.3, 1.2))]
        tool = rng.choice(("read_file", "run", "edit_file"))
        arguments = {"path": name, "line": text.count("\n", 0, start) + 1}
        if tool == "edit_file":
            arguments["new_text"] = piece
            piece = "ok"
        elif tool == "run":
            arguments = {"command": f"grep -n '{name}' -r . | head -50", "timeout": 60}
        total += len(piece) + len(arguments.get("new_text", "")) + 300
        yield rng.choice(REMARKS), tool, arguments, piece


def dump(value):
    return json.dumps(value, ensure_ascii=False)


TOOLS = [
    {"name": name, "description": f"{name}: " + "what it does, when to use it. " * 10}
    for name in ("read_file", "run", "edit_file")
]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}}


def openai_chat(task, turns):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    for i, (remark, tool, arguments, result) in enumerate(turns):
        call = {"name": tool, "arguments": dump(arguments)}
        calls = [{"id": f"call_{i}", "type": "function", "function": call}]
        messages.append({"role": "assistant", "content": remark, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": result})
    tools = [{"type": "function", "function": {**tool, "parameters": SCHEMA}} for tool in TOOLS]
    return {"model": "gpt-4.1", "messages": messages, "tools": tools}


def anthropic(task, turns):
    messages = [{"role": "user", "content": task}]
    for i, (remark, tool, arguments, result) in enumerate(turns):
        use = {"type": "tool_use", "id": f"toolu_{i}", "name": tool, "input": arguments}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": remark}, use]})
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": result}
        messages.append({"role": "user", "content": [answer]})
    tools = [{**tool, "input_schema": SCHEMA} for tool in TOOLS]
    head = {"model": "claude-sonnet-4-5", "max_tokens": 8192, "system": SYSTEM}
    return {**head, "messages": messages, "tools": tools}


def openai_responses(task, turns):
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": task}]}]
    for i, (remark, tool, arguments, result) in enumerate(turns):
        said = [{"type": "output_text", "text": remark}]
        items.append({"type": "message", "role": "assistant", "content": said})
        call = {"type": "function_call", "call_id": f"call_{i}", "name": tool}
        items.append({**call, "arguments": dump(arguments)})
        items.append({"type": "function_call_output", "call_id": f"call_{i}", "output": result})
    tools = [{"type": "function", **tool, "parameters": SCHEMA} for tool in TOOLS]
    return {"model": "gpt-5", "instructions": SYSTEM, "input": items, "tools": tools}


FORMATS = {
    "openai-chat": openai_chat,
    "anthropic": anthropic,
    "openai-responses": openai_responses,
}


def main():
    args = argparse.ArgumentParser(description="makes up traces")
    args.add_argument("--sessions", type=int, default=150)
    args = args.parse_args()
    files = source_files()
    for n in range(args.sessions):
        rng = random.Random(n)
        name = list(FORMATS)[n % len(FORMATS)]
        size = min(1_400_000, max(10_000, rng.lognormvariate(math.log(150_000), 0.9)))
        turns = list(steps(rng, files, size))
        task = f"Session {n}: find out why {turns[0][2].get('path', 'it')} is slow and mend it."
        trace = {"format": name, "request": FORMATS[name](task, turns)}
        text = json.dumps(trace, ensure_ascii=False, separators=(",", ":"))
        sys.stdout.buffer.write(text.encode("utf-8") + b"\n")


if __name__ == "__main__":
    main()
