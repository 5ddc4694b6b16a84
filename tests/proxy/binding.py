"""A stand-in that binds thinking to its prefix, as FORMATS.md B-R13 to B-R17 say, and sessions that use it.

The server compares with what it received: every thought it gives out is remembered with a digest of the
system text, the tools and all messages before it (cache marks and thinking apart), and with the thoughts
that stood before it. A thought that comes back behind anything else is refused in the provider's words.
"""
import hashlib
import json
import random

from harness import Upstream, ask, long_text
from provider import strip

THINKING = ("thinking", "redacted_thinking")


class Binding:
    """As a rule of a Provider: refuses what is bound to another prefix."""

    def __init__(self):
        self.made = {}  # signature -> (digest of the prefix, signatures before it)

    def walk(self, doc):
        """Yields (place, assistant message or None, digest, signatures) before each message and at the end."""
        digest = hashlib.sha256(json.dumps(strip([doc.get("system"), doc.get("tools")])).encode())
        before = []
        for i, m in enumerate(doc["messages"]):
            yield i, m, digest.hexdigest(), before
            blocks = m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}]
            before = before + [b.get("signature") for b in blocks if b["type"] in THINKING]
            rest = [strip(b) for b in blocks if b["type"] not in THINKING]
            digest.update(json.dumps([m["role"], rest]).encode())
        yield len(doc["messages"]), None, digest.hexdigest(), before

    def refuse(self, body):
        doc = json.loads(body)
        for i, m, digest, before in self.walk(doc):
            if m is None or m["role"] != "assistant" or isinstance(m["content"], str):
                continue
            for k, block in enumerate(m["content"]):
                if block["type"] not in THINKING:
                    continue
                wanted, earlier = self.made.get(block.get("signature"), (None, ()))
                kept = before[-len(before):] if before else []
                run = list(earlier)[len(earlier) - len(kept):] == kept
                if wanted != digest or not run:
                    return (f"messages.{i}.content.{k}: Invalid `signature` in `thinking` block. The block is "
                            "bound to a different conversation. Remove the block.")
        return None

    def sign(self, body):
        """The signature of the thought in the answer to this body."""
        *_, (_, _, digest, before) = self.walk(json.loads(body))
        signature = "sig_" + hashlib.sha256(f"{digest} {before}".encode()).hexdigest()[:24]
        self.made[signature] = (digest, tuple(before))
        return signature


def upstream(**options):
    up = Upstream(turns=10**6, **options)
    up.binding = Binding()
    up.provider.refuse_next = [up.binding.refuse]
    return up


class Session:
    """An agent that keeps its whole history and answers every tool call; the same for the same seed."""

    def __init__(self, seed, port, key, up, talk=0.12):
        self.rng, self.port, self.up = random.Random(seed), port, up
        self.key = f"key-{seed}-{key}"
        self.talk = talk  # how often the user says something
        kind = self.rng.choice(("adaptive", "enabled"))
        self.head = {"model": self.rng.choice(("claude-opus-5-5", "claude-sonnet-5-5")), "max_tokens": 4096,
                     "system": f"You are agent {seed}.",
                     "tools": [{"name": "read", "input_schema": {"type": "object"}}],
                     "thinking": {"type": kind} if kind == "adaptive" else {"type": kind, "budget_tokens": 2048}}
        self.messages = [{"role": "user", "content": f"Task {seed}."}]
        self.texts = []
        self.turn = 0

    def body(self):
        return json.dumps({**self.head, "messages": self.messages}).encode()

    def send(self, **headers):
        """One request; on success the history is longer by the reply and what the tools returned."""
        head = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": self.key}
        head.update({k.replace("_", "-"): v for k, v in headers.items()})
        status, got, answer = ask(self.port, "POST", "/v1/messages", self.body(), head)
        if status == 200:
            self.go_on()
        return status, got, answer

    def result(self):
        """New output, now and then a file read again or a repeat."""
        if self.texts and self.rng.random() < 0.25:
            return self.rng.choice(self.texts)
        self.texts.append(long_text(self.rng.randrange(10**6), self.rng.choice((1, 4, 12))))
        return self.texts[-1]

    def go_on(self):
        signature = self.up.binding.sign(self.up.provider.seen[-1][3])
        thought = {"type": "thinking", "thinking": f"Thought {self.turn}.", "signature": signature}
        self.turn += 1
        if self.rng.random() < self.talk:
            text = {"type": "text", "text": f"That was step {self.turn}."}
            self.messages.append({"role": "assistant", "content": [thought, text]})
            self.messages.append({"role": "user", "content": f"And now part {self.turn}."})
            return
        calls = [{"type": "tool_use", "id": f"toolu_{self.turn}_{i}", "name": "read",
                  "input": {"path": f"f{self.rng.randrange(6)}"}} for i in range(self.rng.choice((1, 1, 2)))]
        self.messages.append({"role": "assistant", "content": [thought, *calls]})
        self.messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": c["id"], "content": self.result()} for c in calls]})
