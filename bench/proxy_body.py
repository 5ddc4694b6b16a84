"""A conversation of about the given size: proxy_body.py BYTES > FILE, in the three pieces that proxy_load.c
reads: the body up to the end of its messages, one more step, the rest. Tool results of a few KB, as coding
agents have them."""
import json
import random
import sys

size = int(sys.argv[1])
rng = random.Random(7)
words = [w for w in "the of value error line file path return static const import class def self node".split()]
messages = [{"role": "system", "content": "You are a coding agent. " * 200},
            {"role": "user", "content": "Fix bug @@@@@@@@."}]
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
step = [{"role": "assistant", "content": None, "tool_calls": [
            {"id": "step_@@@@@@@@", "type": "function", "function": {"name": "run", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "step_@@@@@@@@", "content": "@@@@@@@@ tests passed"}]
tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
head = json.dumps({"model": "gpt-test", "stream": True, "tools": tools, "messages": messages})
sys.stdout.write(head[:-2] + "\x1e," + json.dumps(step)[1:-1] + "\x1e]}")
