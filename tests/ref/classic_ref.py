"""The classic strategies once more: slow, obvious, and written from their description alone.

A conversation is the parsed neutral form, a list of {"role", "content": [parts]}. Every function takes
one and gives a new one, and adds to a Counter of statistics. Lengths are bytes of UTF-8.
"""
import collections
import copy
import struct

# Unicode's White_Space; str.strip() without an argument would take U+001C to U+001F as well.
WHITE = ("\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
         "\u2028\u2029\u202f\u205f\u3000")
NOISE = set(".\u2026-_*=")
UNAVAILABLE = "[tool result unavailable: elided by context management]"


def size(text):
    return len(text.encode())


def older_than(messages, keep):
    """Those before the newest `keep`."""
    return messages[:max(0, len(messages) - keep)]


def parts(messages, kind):
    return [p for m in messages for p in m["content"] if p["type"] == kind]


# ---- texts -------------------------------------------------------------------------------------


def dedup(messages, stats, keep_last=0):
    first = {}
    looked_at = older_than(messages, keep_last) if keep_last else messages
    for result in parts(looked_at, "tool_result"):
        text = result["content"]
        if size(text) < 256:
            continue
        if text not in first:
            first[text] = result["tool_call_id"]
            continue
        marker = f"[DEDUP] identical to tool_call_id={first[text]} ({size(text)} bytes)"
        result["content"] = marker
        stats["dedup_hits"] += 1
        stats["total_bytes_saved"] += max(0, size(text) - size(marker))
    return messages


def is_boundary(data, at):
    return at in (0, len(data)) or data[at] & 0xc0 != 0x80


def snippet(messages, stats):
    for result in parts(older_than(messages, 8), "tool_result"):
        text = result["content"]
        data = text.encode()
        if len(data) < 4096 or "[...elided" in text or text.startswith("[DEDUP]"):
            continue
        head, tail = 1024, len(data) - 1024
        while not is_boundary(data, head):
            head -= 1
        while not is_boundary(data, tail):
            tail += 1
        cut = data[:head] + b"\n[...elided %d bytes...]\n" % (tail - head) + data[tail:]
        result["content"] = cut.decode()
        stats["snippet_hits"] += 1
        stats["total_bytes_saved"] += len(data) - len(cut)
    return messages


def pieces(text):
    """Lines with their LF; only LF ends a line."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def single_spaced(text):
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def squeeze(text):
    out, in_code, blank_run = "", False, 0
    for piece in pieces(text):
        body = piece[:-1] if piece.endswith("\n") else piece
        if body.lstrip(WHITE).startswith("```"):
            in_code, blank_run = not in_code, 0
            out += piece
        elif in_code:
            out += piece
        elif set(body.rstrip(WHITE)) <= NOISE:
            blank_run += 1
            out += "\n" if blank_run == 1 else ""
        else:
            blank_run = 0
            out += single_spaced(body.rstrip(WHITE)) + ("\n" if piece.endswith("\n") else "")
    return out


def lingua(messages, stats):
    old = [m for m in older_than(messages, 6) if m["role"] == "assistant"]
    for part in parts(old, "text"):
        shorter = squeeze(part["text"])
        if size(shorter) < size(part["text"]):
            stats["snippet_hits"] += 1
            stats["total_bytes_saved"] += size(part["text"]) - size(shorter)
            part["text"] = shorter
    return messages


def tool_call_dedup(messages, stats):
    first = {}
    for call in parts(older_than(messages, 8), "tool_call"):
        arguments = call["arguments"]
        if size(arguments) < 64 or arguments.startswith("[REPEAT"):
            continue
        key = call["name"] + "\0" + arguments
        if key not in first:
            first[key] = call["id"]
            continue
        marker = f"[REPEAT of call_id={first[key]}, {size(arguments)} bytes]"
        call["arguments"] = marker
        stats["dedup_hits"] += 1
        stats["total_bytes_saved"] += max(0, size(arguments) - size(marker))
    return messages


# ---- messages ----------------------------------------------------------------------------------


def thinking_prune(messages, stats):
    limit = len(older_than(messages, 4))
    kept = []
    for i, m in enumerate(messages):
        if i < limit and m["role"] == "assistant":
            gone = sum(size(p["text"]) for p in parts([m], "thinking"))
            if gone:
                stats["snippet_hits"] += 1
                stats["total_bytes_saved"] += gone
            m["content"] = [p for p in m["content"] if p["type"] != "thinking"]
            if not m["content"]:
                continue
        kept.append(m)
    return kept


def is_calling(m):
    return m["role"] == "assistant" and bool(parts([m], "tool_call"))


def streamed_size(part):
    return {"text": lambda: size(part["text"]),
            "tool_result": lambda: size(part["content"]),
            "tool_call": lambda: size(part["arguments"]) + size(part["name"]),
            "thinking": lambda: 0,
            "image": lambda: 1024,
            "file": lambda: 1024}[part["type"]]()


def streaming_llm(messages, stats):
    n = len(messages)
    if n < 22:
        return messages
    a, e = 2, n - 16
    while e < n and is_calling(messages[e - 1]):
        e += 1
    while e < n and messages[e]["role"] == "tool":
        e += 1
    while a < e and messages[a]["role"] == "tool":
        a += 1
    if e - a < 2:
        return messages
    gone = sum(streamed_size(p) for m in messages[a:e] for p in m["content"])
    marker = (f"[...streaming-llm trim: {e - a} messages ({gone} bytes) elided between sinks and "
              "recent window...]")
    stats["snippet_hits"] += 1
    stats["total_bytes_saved"] += max(0, gone - size(marker))
    said = {"role": "user", "content": [{"type": "text", "text": marker}]}
    return messages[:a] + [said] + messages[e:]


def pairing(messages, stats):
    results = parts([m for m in messages if m["role"] == "tool"], "tool_result")
    answered = {r["tool_call_id"] for r in results}
    filled = []
    for m in messages:
        filled.append(m)
        if m["role"] != "assistant":
            continue
        for call in parts([m], "tool_call"):
            if call["id"] not in answered:
                filled.append({"role": "tool", "content": [
                    {"type": "tool_result", "tool_call_id": call["id"], "content": UNAVAILABLE}]})
                stats["snippet_hits"] += 1
    known, kept = set(), []
    for m in filled:
        known |= {c["id"] for c in parts([m], "tool_call")}
        orphaned = m["role"] == "tool" and m["content"] and all(
            p["type"] == "tool_result" and p["tool_call_id"] not in known for p in m["content"])
        if orphaned:
            stats["snippet_hits"] += 1
        else:
            kept.append(m)
    return kept


# ---- the budget --------------------------------------------------------------------------------


def single(x):
    """Rounded to single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def budget_bytes(m):
    """What the description leaves open: a file counts like an image, thinking by its text."""
    total = 0
    for p in m["content"]:
        total += {"text": lambda: size(p["text"]),
                  "thinking": lambda: size(p["text"]),
                  "image": lambda: 1536,
                  "file": lambda: 1536,
                  "tool_call": lambda: size(p["name"]) + size(p["arguments"]) + size(p["id"]),
                  "tool_result": lambda: size(p["tool_call_id"]) + size(p["content"])}[p["type"]]()
    return total


def tokens(m):
    # Dividing two singles in double precision and rounding once is the single-precision division.
    return int(single(single(budget_bytes(m)) / 3.5)) + 8


def total_tokens(messages):
    return sum(tokens(m) for m in messages)


def prose(m):
    """The text of a Text or Calls message; what has several texts, or media, is MultiPart."""
    texts = parts([m], "text")
    media = parts([m], "image") + parts([m], "file")
    return texts if len(texts) == 1 and not media else []


def candidates(messages):
    """(message, part, its text's key, what the marker calls it), in the order in which they go."""
    old = [m for m in older_than(messages, 4)[1:] if m["role"] != "user"]
    for m in old:
        for p in parts([m], "tool_result"):
            yield m, p, "content", "tool result"
    for m in old:
        for p in prose(m):
            yield m, p, "text", "assistant prose"


def compact_to_budget(messages, stats, budget):
    """Also gives, under "totals", the total after each elision (for making hard cases)."""
    stats["original_tokens"] = total = total_tokens(messages)
    totals = []
    for m, p, key, what in candidates(messages):
        if total <= budget:
            break
        if size(p[key]) < 256:
            continue
        total -= tokens(m)
        p[key] = f"(elided: {size(p[key])} bytes of {what})"
        total += tokens(m)
        totals.append(total)
        stats["elided_messages"] += 1
    stats["final_tokens"] = total
    return messages, totals


# ---- all of them -------------------------------------------------------------------------------

APPLY_ALL = ["thinking_prune", "dedup", "lingua", "pairing"]
KEYS = ("dedup_hits", "snippet_hits", "total_bytes_saved")
BUDGET_KEYS = ("original_tokens", "final_tokens", "elided_messages")
SIMPLE = {f.__name__: f for f in
          (thinking_prune, snippet, lingua, streaming_llm, pairing, tool_call_dedup)}


def run(messages, strategies, budget=None, keep_last=0):
    """(new messages, statistics) of a comma-joined sequence."""
    messages, stats = copy.deepcopy(messages), collections.Counter()
    for name in strategies.replace("apply_all", ",".join(APPLY_ALL)).split(","):
        if name == "compact_to_budget":
            messages, _ = compact_to_budget(messages, stats, budget)
        elif name == "dedup":
            messages = dedup(messages, stats, keep_last)
        else:
            messages = SIMPLE[name](messages, stats)
    keys = KEYS + (BUDGET_KEYS if "compact_to_budget" in strategies else ())
    return messages, {k: stats[k] for k in keys}
