"""Generated neutral conversations that are as awkward as the classic strategies' rules allow: lengths
around every constant, wide characters at every place where a text may be cut, texts that look like
markers, results in any role, empty messages, ids used twice, blanks that only some call blanks.

Everything comes from one seeded random.Random. A conversation draws its texts from small pools of its
own, so that equal and nearly equal texts are frequent.
"""
import json

ROLES = ("system", "user", "assistant", "tool")
WIDE = ("a", "é", "€", "😀", "à̀")  # 1, 2, 3 and 4 bytes, and combining marks
BLANKS = (" ", "  ", "   ", "\t", "\r", "\v", "\f", "\x1c", "\x1f", "\x85", "\xa0", "\u1680", "\u180e",
          "\u2003", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u2060", "\u3000", "\ufeff")
NOISE = ("-", "---", "===", "***", "___", "...", "…", "….-_*=", "- - -", "  ---", "-\t", "— —", "--\r")
FENCES = ("```", "``", "````", "```c", "  ```", "\u3000```", "```x```", "~~~", "`", "\t``` info ```")
WORDS = ("x", "the end", "a  b", "  two", "\ttab  s", "naïve", "1. item", "| a |  b |", "é  ", "",
         "hard  \t", "ends with \xa0", "🙂  🙂")
LOOKALIKES = ("[DEDUP] identical to tool_call_id=a (4200 bytes)", "[DEDUP]", " [DEDUP]", "[dedup]",
              "[...elided 5 bytes...]", "[...elided", "[...elide", "[... elided", "[REPEAT", "[REPEA",
              "[REPEAT of call_id=a, 70 bytes]", "(elided: 300 bytes of tool result)",
              "[...streaming-llm trim: 3 messages (9 bytes) elided between sinks and recent window...]",
              "[tool result unavailable: elided by context management]")
IDS = ("a", "b", "c", "d", "call_0", "call_1", "", " ", "a\n", "é€", '"q"', "\\", "a (256 bytes)", "\0")
NAMES = ("bash", "read_file", "a", "a\0b", "", "é")


def exactly(rng, n):
    """A text of exactly n bytes, its characters at any offset."""
    wide = rng.choice(WIDE)
    width = len(wide.encode())
    lead = rng.randrange(4) if n > 8 else 0
    text = "x" * lead + wide * ((n - lead) // width)
    if rng.random() < 0.2:
        text = rng.choice(LOOKALIKES) + text
        while len(text.encode()) > n:
            text = text[:-1]
    return text + "y" * (n - len(text.encode()))


def around(rng, *constants):
    return max(0, rng.choice(constants) + rng.choice((-1, -1, 0, 0, 1, 2, 3, rng.randrange(60))))


def prose(rng):
    """Lines for lingua."""
    out = []
    for _ in range(rng.randrange(1, 9)):
        kind = rng.random()
        pool = WORDS if kind < 0.4 else NOISE if kind < 0.6 else FENCES if kind < 0.75 else BLANKS
        out.append("".join(rng.choice(pool) for _ in range(rng.choice((1, 1, 1, 2)))))
        if rng.random() < 0.3:
            out.append(rng.choice(BLANKS) * rng.randrange(3))
        out.append(rng.choice(("\n", "\n", "\n", "\r\n", "\n\n", "\n\n\n", " \n", "\r", "\u2028", "")))
    return "".join(out)


def mutated(rng, text):
    """Nearly the same: one byte more, one less, or another in the middle."""
    at = len(text) // 2
    return rng.choice((text + "z", text[:-1], text[:at] + "Z" + text[at + 1:], text))


class Pools:
    """What one conversation is made of."""

    def __init__(self, rng, focus):
        self.rng = rng
        results = {"snippet": (4096, 4096, 2048, 5000), "budget": (256, 256, 300, 900)}
        lengths = results.get(focus, (256, 256, 256, 40))
        self.results = [exactly(rng, around(rng, *lengths)) for _ in range(rng.randrange(1, 5))]
        if focus == "snippet" and rng.random() < 0.5:  # equal heads and tails, other middles
            self.results.append(mutated(rng, self.results[0]))
        self.results += [mutated(rng, rng.choice(self.results)), rng.choice(LOOKALIKES), "", "short"]
        self.arguments = [exactly(rng, around(rng, 64, 64, 80)) for _ in range(rng.randrange(1, 4))]
        self.arguments += [mutated(rng, rng.choice(self.arguments)), rng.choice(LOOKALIKES), "{}", ""]
        if rng.random() < 0.1:  # name and arguments that meet in one key
            self.arguments += ["b\0" + self.arguments[0]]
        self.ids = list(rng.sample(IDS, rng.randrange(1, 7)))
        if rng.random() < 0.15:
            self.ids.append("i" * around(rng, 40, 209, 213, 256, 300))
        self.names = rng.sample(NAMES, rng.randrange(1, 4))
        self.texts = [prose(rng) for _ in range(2)] + ["", "hello", exactly(rng, around(rng, 256))]
        self.texts.append(rng.choice(LOOKALIKES))
        self.focus = focus

    def part(self, kind):
        rng = self.rng
        if kind == "tool_result":
            return {"type": kind, "tool_call_id": rng.choice(self.ids),
                    "content": rng.choice(self.results)}
        if kind == "tool_call":
            call = {"type": kind, "id": rng.choice(self.ids), "name": rng.choice(self.names),
                    "arguments": rng.choice(self.arguments[:rng.choice((2, 9))])}
            return {**call, "thought_signature": "sig"} if rng.random() < 0.1 else call
        if kind == "thinking":
            thought = {"type": kind, "text": rng.choice(("", "hm", "wide €", "long " * 20))}
            return {**thought, "signature": "s=="} if rng.random() < 0.3 else thought
        if kind == "text":
            return {"type": kind, "text": rng.choice(self.texts[:rng.choice((2, 9))])}
        media = {"type": kind, {"image": "url", "file": "path"}[kind]: "http://x/é.png"}
        return {**media, "mime_type": "image/png"} if rng.random() < 0.5 else media

    def content(self, role):
        rng = self.rng
        shape = rng.random()
        if shape < 0.04:
            return []
        if role == "tool" and shape < 0.8:
            return [self.part("tool_result") for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        if role == "assistant" and shape < 0.6:
            calls = [self.part("tool_call") for _ in range(rng.choice((0, 1, 1, 3)))]
            lead = ["thinking"] * (rng.random() < 0.4) + ["text"] * (rng.random() < 0.6)
            return [self.part(kind) for kind in lead] + calls
        if role in ("system", "user") and shape < 0.6:
            return [self.part("text")]
        kinds = ("text", "tool_result", "tool_call", "thinking", "image", "file")
        return [self.part(rng.choice(kinds)) for _ in range(rng.choice((1, 1, 2, 3)))]

    def roles(self, n):
        """Mostly what agents send; runs of one role; now and then pure chance."""
        rng, roles = self.rng, []
        style = rng.random()
        while len(roles) < n:
            if style < 0.6:
                roles += ["user"] + ["assistant", "tool"] * rng.randrange(4) + ["assistant"]
            elif style < 0.85:
                roles += [rng.choice(("assistant", "tool", "tool", "user"))] * rng.randrange(1, 9)
            else:
                roles.append(rng.choice(ROLES))
        if rng.random() < 0.5:
            roles.insert(0, "system")
        return roles[:n]


def length(rng, focus):
    """Around the windows (4, 6, 8 messages; 22 in all), mostly with something in front of them."""
    if focus == "stream":
        return rng.choice((20, 21, 22, 22, 23, 24, 25, 26, 30, 38, rng.randrange(22, 45)))
    return rng.choice((rng.randrange(12), rng.randrange(5, 14), rng.randrange(9, 20),
                       rng.randrange(12, 30)))


def conversation(rng, focus):
    """A list of messages; focus: "any", "snippet", "stream" or "budget"."""
    pools = Pools(rng, focus)
    return [{"role": role, "content": pools.content(role)} for role in pools.roles(length(rng, focus))]


def spelled(rng, messages):
    """The body as bytes, in one of several spellings of the same JSON."""
    layout = rng.choice(((",", ":"), (", ", ": "), (" ,\t", " : ")))
    text = json.dumps({"messages": messages}, ensure_ascii=rng.random() < 0.5, separators=layout)
    if rng.random() < 0.2:
        text = text.replace("/", "\\/").replace("[", "[ ", 1)
    return text.encode()
