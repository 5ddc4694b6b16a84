"""A conversation of about the given size: proxy_body.py BYTES [step|prefix] > FILE. Tool results of a few KB, as
coding agents have them. "@@@@@@@@" is the place of a number: in the newest message, and "prefix" leaves that
message out: sent once before, it makes every other request the next step of a known conversation. With
"step" it is in the first message, and "########" behind the last is where steps are added (proxy_load.c)."""
import json
import random
import sys

size = int(sys.argv[1])
kind = sys.argv[2] if len(sys.argv) > 2 else ""
rng = random.Random(7)
words = [w for w in "the of value error line file path return static const import class def self node".split()]
messages = [{"role": "system", "content": "You are a coding agent. " * 200},
            {"role": "user", "content": "Fix the bug" + (" @@@@@@@@" if kind == "step" else "") + "."}]
total, i = 6000, 0
while total < size:
    text = "\n".join(" ".join(rng.choices(words, k=9)) + f" = {rng.random():.6f}"
                     for _ in range(rng.randrange(5, 120)))
    call = {"id": f"call_{i}", "type": "function",
            "function": {"name": "read", "arguments": json.dumps({"path": f"src/file{i % 40}.c"})}}
    messages.append({"role": "assistant", "content": "Reading on.", "tool_calls": [call]})
    messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": text})
    total += len(json.dumps(messages[-2:]))
    i += 1
if not kind:
    messages.append({"role": "user", "content": "go on @@@@@@@@"})
tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
body = json.dumps({"model": "gpt-test", "stream": True, "messages": messages, "tools": tools})
print(body.replace('], "tools": [', '########], "tools": [') if kind == "step" else body, end="")
