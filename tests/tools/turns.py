"""The requests of a conversation: a body cut into its messages, and the bodies that an agent must have
sent before it.

A body is bytes; its messages are the elements of one array. Every message of an assistant was produced by
a request that had everything before it, so the boundaries are known. Bodies made here have their list
of messages last, so that "the same bytes at the same place" is a question of prefixes.
"""
import json

from support import members, skip_blank

LISTS = {"openai-chat": "messages", "anthropic": "messages", "openai-responses": "input",
         "gemini": "contents", "bedrock": "messages", "neutral": "messages"}
ASSISTANT_ITEMS = ("reasoning", "function_call", "custom_tool_call", "local_shell_call",
                   "web_search_call", "computer_call", "mcp_call", "code_interpreter_call")


def dump(value):
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def is_assistant(message):
    role = message.get("role")
    if role is None:
        return message.get("type") in ASSISTANT_ITEMS
    return role in ("assistant", "model")


class Turns:
    """A body (parsed) of a format, with its messages apart."""

    def __init__(self, body, format_):
        self.format, self.key = format_, LISTS[format_]
        self.head = {k: v for k, v in body.items() if k != self.key}
        given = body[self.key]
        self.messages = list(given) if isinstance(given, list) else [{"role": "user", "content": given}]
        self.bytes = [dump(m) for m in self.messages]

    def boundaries(self):
        """How many messages each request had, the last one too."""
        found = [i for i, m in enumerate(self.messages)
                 if i and is_assistant(m) and not is_assistant(self.messages[i - 1])]
        return found + [len(self.messages)]

    def open(self, **changes):
        """The body up to its first message."""
        head = dump({**self.head, **changes})[1:-1]
        return b"{" + head + (b"," if head else b"") + b'"' + self.key.encode() + b'":['

    def body(self, count, **changes):
        return self.open(**changes) + b",".join(self.bytes[:count]) + b"]}"


def elements(body, format_):
    """The messages of a body as bytes."""
    s = body.decode("latin-1")
    for key, at, _ in members(s, skip_blank(s, 0)):
        if key == LISTS[format_]:
            return [body[a:b] for _, a, b in members(s, at)]
    return []


def common(a, b):
    """How many bytes two bodies have in common at the front."""
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    low, high = 0, n  # a[:low] == b[:low], a[:high] != b[:high]
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


# ---- what clients do to a conversation ---------------------------------------------------------


def thinks(rng, turns, often=0.8):
    """Signed thinking, no two alike, in the assistant's messages instead of what they had; anthropic and
    bedrock."""
    for i, m in enumerate(turns.messages):
        if not is_assistant(m) or not isinstance(m["content"], list):
            continue
        content = [b for b in m["content"]
                   if "thinking" not in b.get("type", "") and "reasoningContent" not in b]
        if not content:
            content = m["content"]
        elif rng.random() < often:
            for place in sorted({0, rng.randrange(len(content))}, reverse=True):
                if place == 0 or rng.random() < 0.3:
                    content.insert(place, thought(rng, turns.format, f"{i}.{place}"))
        turns.messages[i] = {**m, "content": content}
        turns.bytes[i] = dump(turns.messages[i])
    return turns


def thought(rng, format_, number):
    words, seal = f"thought {number} " + "and so on " * rng.choice((1, 5, 80)), f"c2lnbmF0dXJl{number}"
    if format_ == "bedrock":
        return {"reasoningContent": {"reasoningText": {"text": words, "signature": seal}}}
    if rng.random() < 0.1:
        return {"type": "redacted_thinking", "data": seal}
    return {"type": "thinking", "thinking": words, "signature": seal}


def marked(turns, count, places):
    """The request with cache marks at these messages, as clients set them anew every turn."""
    copy = list(turns.bytes)
    for i in places:
        m = turns.messages[i]
        content = m.get("content")
        if isinstance(content, str) and turns.format == "anthropic":
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list) or not content:
            continue
        if turns.format == "bedrock":
            content = content + [{"cachePoint": {"type": "default"}}]
        elif "thinking" not in content[-1].get("type", ""):
            content = content[:-1] + [{**content[-1], "cache_control": {"type": "ephemeral"}}]
        copy[i] = dump({**m, "content": content})
    return turns.open() + b",".join(copy[:count]) + b"]}"


def unmarked(body):
    """A body without its cache marks, spelled as dump does; a text of one block stands alone."""
    def clean(v):
        if isinstance(v, list):
            return [clean(x) for x in v if not (isinstance(x, dict) and "cachePoint" in x)]
        if isinstance(v, dict):
            return {k: clean(x) for k, x in v.items() if k != "cache_control"}
        return v

    def alone(m):
        content = m.get("content")
        if isinstance(content, list) and len(content) == 1 and set(content[0]) == {"type", "text"}:
            return {**m, "content": content[0]["text"]}
        return m

    made = clean(json.loads(body))
    return dump({**made, "messages": [alone(m) for m in made["messages"]]})
