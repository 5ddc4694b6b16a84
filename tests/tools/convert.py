"""Turns a conversation from one wire format into another: tests/tools/convert.py FORMAT [FILE]

Real traces exist in three formats only (openai-chat, anthropic, openai-responses); with this every
property can be tried on all six. A body is read into a small model that is always well formed: a list
of steps, where a step is

    {"role": "system" | "user", "parts": [...]}
    {"role": "assistant", "parts": [...], "results": {call id: {"parts": [...], "error": bool}}}

and a part is one of

    ("text", text)   ("thinking", text, signature)   ("redacted", data)
    ("media", mime type, base64 data or None, url or None)
    ("call", id, name, arguments text, is free text)

What no format demands is let go (cache marks, citations, ids of items); what would break a rule is
made regular: an unanswered call gets an answer, an orphaned answer becomes a user text, ids are cut to
the target's alphabet, length and uniqueness, blank texts go where they may not stand.
"""
import json
import re
import sys

FORMATS = ("openai-chat", "anthropic", "openai-responses", "gemini", "bedrock", "neutral")
READABLE = FORMATS[:3]
NO_OUTPUT = "(no output)"
PLACEHOLDER = "skip_thought_signature_validator"  # the documented one for foreign histories
SIGNATURE = "cGxhY2Vob2xkZXI="
ID_LIMIT = {"openai-chat": 40, "anthropic": 64, "openai-responses": 64, "gemini": 64, "bedrock": 64,
            "neutral": 64}


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encode(body):
    """The body as bytes. Lone surrogates have no UTF-8 form, so they force escapes."""
    try:
        return dumps(body).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


# ---- the model ---------------------------------------------------------------------------------


class Conversation:
    def __init__(self, model):
        self.model = model or "unknown"
        self.steps = []
        self.open = {}  # call id -> the step whose answer is still missing

    def say(self, role, parts):
        """System or user parts; neighbours of one role become one step."""
        parts = [p for p in parts if p]
        if not parts:
            return
        if self.steps and self.steps[-1]["role"] == role:
            self.steps[-1]["parts"] += parts
        else:
            self.steps.append({"role": role, "parts": parts})

    def act(self, *parts):
        """Parts of an assistant; a step ends with the first answer to one of its calls."""
        for part in parts:
            if not part:
                continue
            last = self.steps[-1] if self.steps else None
            if not last or last["role"] != "assistant" or last["results"]:
                last = {"role": "assistant", "parts": [], "results": {}}
                self.steps.append(last)
            last["parts"].append(part)
            if part[0] == "call":
                self.open[part[1]] = last

    def answer(self, call, parts, error=False):
        step = self.open.pop(call, None)
        if step is None:
            self.say("user", parts)
        else:
            step["results"][call] = {"parts": [p for p in parts if p], "error": error}

    def finish(self):
        for step in self.steps:
            for part in step["parts"]:
                if part[0] == "call":
                    missing = {"parts": [("text", NO_OUTPUT)], "error": False}
                    step["results"].setdefault(part[1], missing)
        for step in self.steps:  # thinking that led to nothing has no place in some formats
            while step["parts"] and step["parts"][-1][0] in ("thinking", "redacted"):
                step["parts"].pop()
        self.steps = [s for s in self.steps if s["parts"]]
        joined = []
        for step in self.steps:
            same = joined and joined[-1]["role"] == step["role"] and not joined[-1].get("results")
            if same:
                joined[-1]["parts"] += step["parts"]
                joined[-1].setdefault("results", {}).update(step.get("results", {}))
            else:
                joined.append(step)
        self.steps = joined
        return self


def text(value):
    return ("text", value) if isinstance(value, str) and value.strip() else None


def data_url(url):
    found = re.match(r"data:([^;,]+);base64,(.*)", url, re.S)
    return ("media", found[1], found[2], None) if found else ("media", "image/png", None, url)


def blocks(content, read):
    """Parts of a content that is a string, a list of blocks, or absent."""
    if isinstance(content, str):
        return [text(content)]
    return [read(b) for b in content or []]


def placeholder(block):
    """What has no equal elsewhere is named, so that its place is kept."""
    return ("text", f"[{block.get('type', 'part')}]")


# ---- reading -----------------------------------------------------------------------------------


def chat_part(b):
    kind = b.get("type")
    if kind == "text":
        return text(b.get("text"))
    if kind == "refusal":
        return text(b.get("refusal"))
    if kind == "image_url":
        return data_url(b["image_url"]["url"])
    return placeholder(b)


def chat_call(call):
    if "custom" in call:
        return ("call", call["id"], call["custom"]["name"], call["custom"]["input"], True)
    function = call["function"]
    return ("call", call["id"], function["name"], function.get("arguments") or "{}", False)


def read_chat(body, conv):
    legacy = 0
    for m in body["messages"]:
        role, parts = m["role"], blocks(m.get("content"), chat_part)
        if role in ("system", "developer"):
            conv.say("system", parts)
        elif role == "user":
            conv.say("user", parts)
        elif role == "assistant":
            thought = m.get("reasoning_content") or m.get("reasoning")
            conv.act(("thinking", thought, None) if thought else None, *parts,
                     *[chat_call(c) for c in m.get("tool_calls") or []])
            if m.get("function_call"):
                call = m["function_call"]
                conv.act(("call", f"legacy_{legacy}", call["name"], call["arguments"], False))
        elif role == "function":
            conv.answer(f"legacy_{legacy}", parts)
            legacy += 1
        else:
            conv.answer(m.get("tool_call_id"), parts)


def anthropic_part(b):
    kind = b.get("type")
    if kind == "text":
        return text(b.get("text"))
    if kind == "image":
        s = b["source"]
        return ("media", s.get("media_type", "image/png"), s.get("data"), s.get("url"))
    if kind == "thinking":
        return ("thinking", b.get("thinking", ""), b.get("signature"))
    if kind == "redacted_thinking":
        return ("redacted", b.get("data"))
    if kind == "tool_use":
        return ("call", b["id"], b["name"], dumps(b["input"]), False)
    return placeholder(b)


def read_anthropic(body, conv):
    conv.say("system", blocks(body.get("system"), anthropic_part))
    for m in body["messages"]:
        if m["role"] != "user":
            say = conv.act if m["role"] == "assistant" else lambda *p: conv.say("system", list(p))
            say(*blocks(m["content"], anthropic_part))
            continue
        rest = []
        for b in m["content"] if isinstance(m["content"], list) else [m["content"]]:
            if isinstance(b, str):
                rest.append(text(b))
            elif b.get("type") == "tool_result":
                conv.answer(b["tool_use_id"], blocks(b.get("content"), anthropic_part),
                            bool(b.get("is_error")))
            else:
                rest.append(anthropic_part(b))
        conv.say("user", rest)


def responses_part(b):
    kind = b.get("type")
    if kind in ("input_text", "output_text"):
        return text(b.get("text"))
    if kind == "input_image" and b.get("image_url"):
        return data_url(b["image_url"])
    return placeholder(b)


def responses_item(item, conv):
    kind, role = item.get("type", "message"), item.get("role")
    call = item.get("call_id")
    if kind == "message":
        parts = blocks(item.get("content"), responses_part)
        if role == "assistant":
            conv.act(*parts)
        else:
            conv.say("user" if role == "user" else "system", parts)
    elif kind == "reasoning":
        summary = "\n".join(s.get("text", "") for s in item.get("summary") or [])
        conv.act(("thinking", summary, item.get("encrypted_content")))
    elif kind.endswith("_output") and (call or item.get("id")):
        output = item.get("output", "")
        if isinstance(output, list) and all(b.get("type", "").startswith("input_") for b in output):
            parts = blocks(output, responses_part)
        else:
            parts = [text(output if isinstance(output, str) else dumps(output))]
        conv.answer(call or item["id"], parts)
    elif kind == "custom_tool_call":
        conv.act(("call", call, item["name"], item["input"], True))
    elif kind.endswith("_call") and call:
        arguments = item.get("arguments")
        if not isinstance(arguments, str):
            arguments = dumps(arguments or item.get("action") or item.get("operation") or {})
        conv.act(("call", call, item.get("name", kind[:-5]), arguments, False))
    else:
        conv.act(placeholder(item))


def read_responses(body, conv):
    conv.say("system", [text(body.get("instructions"))])
    if isinstance(body["input"], str):
        conv.say("user", [text(body["input"])])
        return
    for item in body["input"]:
        responses_item(item, conv)


def read(body, source):
    conv = Conversation(body.get("model"))
    {"openai-chat": read_chat, "anthropic": read_anthropic,
     "openai-responses": read_responses}[source](body, conv)
    return conv.finish()


# ---- writing -----------------------------------------------------------------------------------


def plain(parts, sep="\n"):
    """The texts of parts as one; media are named."""
    return sep.join(p[1] if p[0] == "text" else f"[{p[1]}]" for p in parts
                    if p[0] in ("text", "media"))


def as_object(arguments, free):
    if not free:
        try:
            value = json.loads(arguments)
            if isinstance(value, dict):
                return value
        except ValueError:
            pass
    return {"input": arguments}


def of_kind(step, *kinds):
    return [p for p in step["parts"] if p[0] in kinds]


def answers(step):
    """(call, its result) for every call of a step, in order."""
    return [(c, step["results"][c[1]]) for c in of_kind(step, "call")]


def leading_system(conv):
    """The system text in front, and the steps after it with later system texts as the user's."""
    steps, front = [], []
    for i, step in enumerate(conv.steps):
        if step["role"] == "system" and i == 0:
            front = step["parts"]
        elif step["role"] == "system":
            steps.append({"role": "user", "parts": step["parts"]})
        else:
            steps.append(step)
    return front, steps


def to_chat(conv):
    messages = []
    for step in conv.steps:
        media = any(p[0] == "media" for p in step["parts"])
        if step["role"] != "assistant":
            content = plain(step["parts"], "\n\n")
            if media and step["role"] == "user":
                content = [chat_block(p) for p in step["parts"]]
            messages.append({"role": step["role"], "content": content})
            continue
        calls = of_kind(step, "call")
        m = {"role": "assistant", "content": plain(step["parts"]) or (None if calls else NO_OUTPUT)}
        thought = "\n".join(p[1] for p in of_kind(step, "thinking"))
        if thought:
            m["reasoning_content"] = thought
        if calls:
            m["tool_calls"] = [chat_tool_call(c) for c in calls]
        messages.append(m)
        for c, r in answers(step):
            messages.append({"role": "tool", "tool_call_id": c[1],
                             "content": plain(r["parts"]) or NO_OUTPUT})
    return {"model": conv.model, "messages": messages or [{"role": "user", "content": "(start)"}]}


def chat_block(p):
    if p[0] == "media":
        url = p[3] or f"data:{p[1]};base64,{p[2] or ''}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": p[1]}


def chat_tool_call(c):
    if c[4]:
        return {"id": c[1], "type": "custom", "custom": {"name": c[2], "input": c[3]}}
    return {"id": c[1], "type": "function",
            "function": {"name": c[2], "arguments": dumps(as_object(c[3], False))}}


def to_responses(conv):
    items = []
    for step in conv.steps:
        if step["role"] != "assistant":
            items.append({"type": "message",
                          "role": "developer" if step["role"] == "system" else "user",
                          "content": [responses_block(p) for p in step["parts"]]})
            continue
        for p in step["parts"]:
            items.append(responses_out(p))
        for c, r in answers(step):
            output = plain(r["parts"]) or NO_OUTPUT
            if any(p[0] == "media" for p in r["parts"]):
                output = [responses_block(p) for p in r["parts"]]
            kind = "custom_tool_call_output" if c[4] else "function_call_output"
            items.append({"type": kind, "call_id": c[1], "output": output})
    instructions = ""
    if items and items[0].get("role") == "developer":
        instructions = plain(conv.steps[0]["parts"], "\n\n")
        items = items[1:]
    return {"model": conv.model, "instructions": instructions, "input": items}


def responses_block(p):
    if p[0] == "media":
        return {"type": "input_image", "image_url": p[3] or f"data:{p[1]};base64,{p[2] or ''}"}
    return {"type": "input_text", "text": p[1]}


def responses_out(p):
    if p[0] == "thinking":
        summary = [{"type": "summary_text", "text": p[1]}] if p[1] else []
        return {"type": "reasoning", "summary": summary, "encrypted_content": p[2] or SIGNATURE}
    if p[0] == "redacted":
        return {"type": "reasoning", "summary": [], "encrypted_content": p[1]}
    if p[0] == "call" and p[4]:
        return {"type": "custom_tool_call", "call_id": p[1], "name": p[2], "input": p[3]}
    if p[0] == "call":
        return {"type": "function_call", "call_id": p[1], "name": p[2],
                "arguments": dumps(as_object(p[3], False))}
    return {"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": plain([p])}]}


def alternate(conv, block, result):
    """Messages that alternate user, assistant: answers and the user's next words share one."""
    front, steps = leading_system(conv)
    messages = []

    def add(role, content):
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        elif content:
            messages.append({"role": role, "content": content})

    for step in steps:
        if step["role"] == "assistant" and not messages:
            add("user", [block(("text", "(start)"))])
        add(step["role"], [block(p) for p in step["parts"]])
        if step["role"] == "assistant":
            add("user", [result(c, r) for c, r in answers(step)])
    if not messages or messages[-1]["role"] != "user":
        add("user", [block(("text", "(continue)"))])
    return front, messages


def anthropic_block(p):
    if p[0] == "media":
        source = {"type": "base64", "media_type": p[1], "data": p[2]} if p[2] else \
                 {"type": "url", "url": p[3] or ""}
        return {"type": "image", "source": source}
    if p[0] == "thinking":
        return {"type": "thinking", "thinking": p[1], "signature": p[2] or SIGNATURE}
    if p[0] == "redacted":
        return {"type": "redacted_thinking", "data": p[1]}
    if p[0] == "call":
        return {"type": "tool_use", "id": p[1], "name": p[2], "input": as_object(p[3], p[4])}
    return {"type": "text", "text": p[1]}


def anthropic_result(c, r):
    b = {"type": "tool_result", "tool_use_id": c[1]}
    if any(p[0] == "media" for p in r["parts"]):
        b["content"] = [anthropic_block(p) for p in r["parts"]]
    else:
        b["content"] = plain(r["parts"]) or NO_OUTPUT
    if r["error"]:
        b["is_error"] = True
    return b


def to_anthropic(conv):
    front, messages = alternate(conv, anthropic_block, anthropic_result)
    body = {"model": conv.model, "max_tokens": 4096, "messages": messages}
    if front:
        body["system"] = [{"type": "text", "text": plain(front, "\n\n")}]
    return body


def bedrock_block(p):
    if p[0] == "media" and p[2] and p[1].startswith("image/"):
        return {"image": {"format": p[1][6:], "source": {"bytes": p[2]}}}
    if p[0] == "thinking":
        return {"reasoningContent": {"reasoningText": {"text": p[1] or "...",
                                                       "signature": p[2] or SIGNATURE}}}
    if p[0] == "redacted":
        return {"reasoningContent": {"redactedContent": p[1]}}
    if p[0] == "call":
        return {"toolUse": {"toolUseId": p[1], "name": p[2], "input": as_object(p[3], p[4])}}
    return {"text": plain([p])}


def bedrock_result(c, r):
    content = [bedrock_block(p) for p in r["parts"]] or [{"text": NO_OUTPUT}]
    return {"toolResult": {"toolUseId": c[1], "content": content,
                           "status": "error" if r["error"] else "success"}}


def tool_names(conv):
    return sorted({c[2] for step in conv.steps for c in of_kind(step, "call")})


def to_bedrock(conv):
    front, messages = alternate(conv, bedrock_block, bedrock_result)
    body = {"messages": messages, "inferenceConfig": {"maxTokens": 4096}}
    if front:
        body["system"] = [{"text": plain(front, "\n\n")}]
    names = tool_names(conv)
    if names:
        body["toolConfig"] = {"tools": [
            {"toolSpec": {"name": n, "inputSchema": {"json": {"type": "object"}}}} for n in names]}
    return body


def gemini_part(p):
    if p[0] == "media":
        if p[2]:
            return {"inlineData": {"mimeType": p[1], "data": p[2]}}
        return {"fileData": {"mimeType": p[1], "fileUri": p[3] or ""}}
    if p[0] == "thinking":
        return {"text": p[1], "thought": True} if p[1] else None
    if p[0] == "redacted":
        return None
    if p[0] == "call":
        return {"functionCall": {"id": p[1], "name": p[2], "args": as_object(p[3], p[4])}}
    return {"text": p[1]}


def gemini_result(c, r):
    key = "error" if r["error"] else "output"
    response = {"id": c[1], "name": c[2], "response": {key: plain(r["parts"]) or NO_OUTPUT}}
    media = [gemini_part(p) for p in r["parts"] if p[0] == "media"]
    if media:
        response["parts"] = media
    return {"functionResponse": response}


def to_gemini(conv):
    front, steps = leading_system(conv)
    contents = []
    for step in steps:
        model = step["role"] == "assistant"
        if model and not contents:
            contents.append({"role": "user", "parts": [{"text": "(start)"}]})
        parts = [g for g in map(gemini_part, step["parts"]) if g]
        calls = [g for g in parts if "functionCall" in g]
        if calls:  # the first call of a step carries the signature of the whole batch
            calls[0]["thoughtSignature"] = PLACEHOLDER
        contents.append({"role": "model" if model else "user", "parts": parts})
        if calls:
            contents.append({"role": "user", "parts": [gemini_result(*a) for a in answers(step)]})
    if not contents or contents[-1]["role"] == "model":
        contents.append({"role": "user", "parts": [{"text": "(continue)"}]})
    body = {"contents": contents}
    if front:
        body["systemInstruction"] = {"parts": [{"text": plain(front, "\n\n")}]}
    names = tool_names(conv)
    if names:
        body["tools"] = [{"functionDeclarations": [{"name": n} for n in names]}]
    return body


def neutral_part(p):
    if p[0] == "media":
        return {"type": "image", "media_type": p[1], "data": p[2] or p[3]}
    if p[0] == "thinking":
        b = {"type": "thinking", "text": p[1]}
        return {**b, "signature": p[2]} if p[2] else b
    if p[0] == "redacted":
        return {"type": "thinking", "text": "", "signature": p[1]}
    if p[0] == "call":
        return {"type": "tool_call", "id": p[1], "name": p[2], "arguments": p[3]}
    return {"type": "text", "text": p[1]}


def to_neutral(conv):
    messages = []
    for step in conv.steps:
        messages.append({"role": step["role"], "content": [neutral_part(p) for p in step["parts"]]})
        for c, r in answers(step) if step["role"] == "assistant" else []:
            messages.append({"role": "tool", "content": [
                {"type": "tool_result", "tool_call_id": c[1], "content": plain(r["parts"])}]})
    return {"messages": messages}


WRITERS = {"openai-chat": to_chat, "anthropic": to_anthropic, "openai-responses": to_responses,
           "gemini": to_gemini, "bedrock": to_bedrock, "neutral": to_neutral}


def fit_ids(conv, target):
    """Ids within the target's alphabet and length, each used once."""
    legal = re.compile(r"[A-Za-z0-9_-]{1,%d}" % ID_LIMIT[target])
    taken, number = set(), 0
    for step in conv.steps:
        if step["role"] != "assistant":
            continue
        parts, results = [], {}
        for p in step["parts"]:
            if p[0] == "call":
                new = p[1]
                while not legal.fullmatch(new) or new in taken:
                    number += 1
                    new = f"call_{number}"
                taken.add(new)
                results[new] = step["results"][p[1]]
                p = (p[0], new, *p[2:])
            parts.append(p)
        step["parts"], step["results"] = parts, results


def convert(body, source, target):
    """A body of format `source` (parsed) as one of format `target`."""
    conv = read(body, source)
    fit_ids(conv, target)
    return WRITERS[target](conv)


def guess(body):
    """Enough to tell the three readable formats of well-formed bodies apart."""
    if "input" in body:
        return "openai-responses"
    shapes = dumps(body.get("messages", []))
    marks = ('"type":"tool_use"', '"type":"tool_result"', '"type":"thinking"')
    is_anthropic = "max_tokens" in body and '"tool_calls"' not in shapes
    return "anthropic" if is_anthropic or any(m in shapes for m in marks) else "openai-chat"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in FORMATS:
        sys.exit(f"usage: convert.py {'|'.join(FORMATS)} [FILE]")
    source = open(sys.argv[2], "rb") if len(sys.argv) == 3 else sys.stdin.buffer
    body = json.loads(source.read())
    sys.stdout.buffer.write(encode(convert(body, guess(body), sys.argv[1])) + b"\n")


if __name__ == "__main__":
    main()
