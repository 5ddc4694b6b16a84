#!/usr/bin/env python3
"""Append-stable: what was sent once is sent the same way again, up to the next cut, and cuts fall where the
plan says.

Every trace, as it came and in every format (without the traces: generated conversations), as the requests
that an agent sent one after another. Each message in the output of a request stands with the same bytes at
the same place in the output of the next one, unless a cut fell between, and then up to it. The same with
cache marks that move every turn, with messages put into the history, with another system text and other
tools. Where texts have handles, every text that a body lacks is named by a marker in it, or by an index that a
marker names. Where the history is what was sent, compacting again keeps it. A context that remembers the
request before, other processes and other thread counts give the same bytes. Without PAUCIS_LONG=1 only some of the traces.
"""
import json
import pathlib
import random
import re
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import convert
import dialogues
from library import LIB, NAME_NEW, REMEMBER, Library, Session
from support import LONG, SANITIZED, SHARED, expect, finish, paucis, skip, traces
from turns import Turns, common, dump, elements, marked, thinks, unmarked

RUNS = {
    "balanced": {},
    "deep, snippets": {"level": "deep", "form": "snippet"},
    "openai": {"price": "openai"},
    "whole": {"level": "whole", "window": "3", "window_read": "10"},
    "no cache": {"price": "none", "window": "3"},
    "safe": {"level": "safe"},
    "budget 2000": {"budget": 2000},
    "budget 20000": {"budget": 20000, "level": "safe"},
    "late and stopped": {"price": "none", "attach": "12", "stop": "40"},
    "cold turns": {"cold": ",".join(map(str, range(30, 2000, 45))), "still": "21,22,23,61,62,63"},
    "handles": {"handles": "", "level": "deep"},
    "handles, no cache": {"handles": "", "price": "none", "window": "3"},
    "handles, budget 2000": {"handles": "", "budget": 2000},
    "handles, budget 9000": {"handles": "", "budget": 9000, "price": "none"},
}
NAMES = re.compile(rb"\[(?:full text|left out so far): ([0-9a-f]{16})")
seen = {"requests": 0, "cuts": 0, "shorter": 0, "covered": 0}


class Run:
    """One way of compacting."""

    def __init__(self, lib, past, name, format_):
        self.lib, self.past, self.name, self.format = lib, past, name, format_
        self.options = dict(RUNS[name])
        self.budget = self.options.pop("budget", None)

    def compact(self, body, **more):
        options = {**self.options, **more}
        code, out, st = self.lib.compact(body, None, self.budget, options, self.format)
        expect(code == 0, self.name, self.format, "error", code)
        later = seen["requests"] % 2  # some texts are named by the call, some when they are asked for
        other = self.past.compact(body, None, self.budget, options, self.format, REMEMBER | NAME_NEW * later)
        if "handles" in options:
            expect(not later or self.past.name_again() == 0, self.name, self.format, "no names")
            covered(self, body, out)
        same = other[:2] == (code, out) and (other[2].cuts, other[2].cut_now) == (st.cuts, st.cut_now)
        expect(same, self.name, self.format, "another result from a context that remembers")
        expect(len(out) <= len(body), self.name, self.format, "the output is longer than the input")
        seen["requests"] += 1
        seen["cuts"] += st.cut_now
        seen["shorter"] += len(out) < len(body)
        return out, st

    def texts(self, body):
        return [p["text"] for p in self.lib.read(body, self.format)
                if p["text"] and p["kind"] not in (b"media", b"opaque")]

    def cuts(self, body):
        """(first message rewritten, messages in the request that did it) of every cut made"""
        self.lib.plan(body, None, self.budget, self.options, self.format)
        return [(c["message"], c["messages"]) for c in self.lib.cuts() if not c["planned"]]


def covered(run, body, out):
    """With what the handles in it name, the output has all texts of the body; also for a context that remembers."""
    for lib in (run.lib, run.past):
        found, todo = {}, set(NAMES.findall(out))
        while todo:
            name = todo.pop()
            text = found[name] = lib.named.get(name)
            if text is None:
                del found[name]  # a text that looks like a marker
            elif text.startswith(b"Left out of this conversation so far:\n"):
                todo.update(set(re.findall(rb"^([0-9a-f]{16}) ", text, re.M)) - found.keys())
        have = set(found.values()) if lib is run.lib else have & set(found.values())
    have.update(run.texts(out))
    lacks = [t for t in run.texts(body) if t not in have]
    seen["covered"] += len(found)
    expect(not lacks, run.name, run.format, len(lacks), "texts are not to be had, as", lacks[:1])


def place_of(run, body, message, **more):
    """How many elements of the output's array stand before a message of the view."""
    if message == 0:
        return 0
    _, edits = run.lib.plan(body, None, run.budget, {**run.options, **more}, run.format)
    gone = [(e["pos"], e["pos"] + e["len"]) for e in edits if e["op"] == b"drop-message"]
    at = min(p["pos"] for p in run.lib.read(body, run.format) if p["message"] >= message)
    whole = elements(body, run.format)
    start, count = body.index(whole[0]), 0
    for e in whole:
        if start + len(e) > at:
            break
        count += not any(start < to and start + len(e) > from_ for from_, to in gone)
        start += len(e) + 1
    return count


def same_up_to(run, label, before, now, limit):
    """The first `limit` messages of two outputs are the same bytes, with what stands before them."""
    a, b = elements(before, run.format), elements(now, run.format)
    first = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return expect(first >= min(limit, len(a), len(b)), run.name, label, "message", first,
                  "changed, the cut is at", limit)


def append(run, label, turns, body_of=None):
    """The requests one after another; returns the last output."""
    body_of = body_of or turns.body
    before = None
    for n in turns.boundaries():
        body = body_of(n)
        out, st = run.compact(body)
        if before is None or out.startswith(before[:-2]):
            before = out
            continue
        if not expect(st.cut_now, run.name, label, f"request with {n} messages changed byte",
                      common(before, out), "without a cut"):
            return out
        message, _ = run.cuts(body)[-1]
        if not same_up_to(run, f"{label}, request with {n} messages", before, out,
                          place_of(run, body, message)):
            return out
        before = out
    return before


# ---- what clients do ---------------------------------------------------------------------------


def moving_marks(run, label, turns):
    """Marks that move change nothing but themselves."""
    for n in turns.boundaries():
        plain, _ = run.compact(turns.body(n))
        body = marked(turns, n, range(max(0, n - 3), n))
        out, _ = run.compact(body)
        if not expect(unmarked(out) == unmarked(plain), run.name, label,
                      f"marks change the request with {n} messages"):
            return


def inserted(run, label, turns, at):
    """A message put into the history alters nothing before it, but for later cuts."""
    body = turns.body(len(turns.messages))
    more = Turns({**turns.head, turns.key: turns.messages}, turns.format)
    more.messages.insert(at, {"role": "user", "content": "<system-reminder>be quick</system-reminder>"})
    more.bytes.insert(at, dump(more.messages[at]))
    other = more.body(len(more.messages))
    before, now = run.compact(body)[0], run.compact(other)[0]
    late = [place_of(run, b, m) for b in (body, other) for m, n in run.cuts(b) if n > at]
    same_up_to(run, f"{label}, inserted at {at}", before, now, min([at, *late]))


def other_head(run, label, turns, **changes):
    """Another system text or other tools: the messages are sent as before."""
    for n in turns.boundaries()[-2:]:
        before, now = run.compact(turns.body(n))[0], run.compact(turns.body(n, **changes))[0]
        same_up_to(run, f"{label}, other {' '.join(changes)}, request with {n} messages", before, now, n)


def head_changes(turns):
    tool = {"openai-chat": [{"type": "function", "function": {"name": "more", "parameters": {}}}],
            "anthropic": [{"name": "more", "input_schema": {"type": "object"}}]}
    if turns.format == "anthropic":
        yield {"system": [{"type": "text", "text": "It is Tuesday now. Be brief."}]}
    if turns.format == "openai-responses":
        yield {"instructions": "It is Tuesday now. Be brief."}
    if turns.format == "gemini":
        yield {"systemInstruction": {"parts": [{"text": "It is Tuesday now. Be brief."}]}}
    if turns.format in tool:
        yield {"tools": tool[turns.format]}


def history_sent(run, label, turns):
    """The agent keeps what was sent as its history."""
    kept, done = [], 0
    for n in turns.boundaries():
        body = turns.open() + b",".join(kept + turns.bytes[done:n]) + b"]}"
        out, st = run.compact(body, history="sent")
        now = elements(out, run.format)
        same = len(kept) if not st.cut_now else 0
        if st.cut_now:
            run.lib.plan(body, None, run.budget, {**run.options, "history": "sent"}, run.format)
            made = [c for c in run.lib.cuts() if not c["planned"]]
            expect(len(made) == 1, run.name, label, "only the last request may cut", len(made))
            same = place_of(run, body, made[-1]["message"], history="sent")
        if not expect(now[:same] == kept[:same], run.name, label, f"sent, request with {n} messages",
                      "changed before message", same):
            return
        again, _ = run.compact(out, history="sent")
        cached = run.options.get("price") != "none"
        if cached and not expect(again == out, run.name, label, f"sent, request with {n} messages, once more"):
            return
        kept, done = now, n


# ---- all of it ---------------------------------------------------------------------------------


def conversations():
    """(name, format, body parsed)"""
    if SHARED:
        for about, body in traces(1 if LONG else 100):
            parsed = json.loads(body)
            yield about["id"][-50:], about["format"], parsed
            for format_ in convert.FORMATS:
                yield f"{about['id'][-50:]} as {format_}", format_, convert.convert(
                    parsed, about["format"], format_)
    rng = random.Random("append")
    for i in range(300 if LONG else 6):
        for format_, body in dialogues.bodies(rng).items():
            yield f"generated {i}", format_, json.loads(body)


def bound(turns, rng):
    """The same with thinking that is bound to what stands before it."""
    head = {**turns.head, "thinking": rng.choice(({"type": "adaptive"},
                                                  {"type": "enabled", "budget_tokens": 2048}))}
    if turns.format == "anthropic":
        head["model"] = "claude-opus-5-5"
    return thinks(rng, Turns({**head, turns.key: list(turns.messages)}, turns.format))


def one(lib, past, number, name, format_, body):
    turns, rng = Turns(body, format_), random.Random(name)
    names = list(RUNS)
    for which in names if LONG else (names[0], names[1 + number % 7], names[8 + number % 6]):
        run = Run(lib, past, which, format_)
        append(run, f"{name} ({format_})", turns)
        if format_ in ("anthropic", "bedrock"):
            append(run, f"{name} ({format_}, bound)", bound(turns, rng))
    history_sent(Run(lib, past, "balanced", format_), name, turns)
    run = Run(lib, past, "no cache", format_)
    history_sent(run, name, turns)
    if format_ in ("anthropic", "bedrock"):
        moving_marks(run, name, turns)
    if format_ in ("openai-chat", "anthropic", "openai-responses") and len(turns.messages) > 9:
        for at in rng.choices(turns.boundaries()[1:] or [1], k=2):
            inserted(run, name, turns, at)
    for changes in head_changes(turns):
        other_head(Run(lib, past, "balanced", format_), name, turns, **changes)


def processes(bodies):
    """The command gives the library's bytes, whatever the number of threads."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "bodies"
        file.write_bytes(b"".join(body + b"\n" for _, body, _ in bodies))
        want = b"".join(out + b"\n" for _, _, out in bodies)
        for jobs in ("1", "3"):
            code, out, err = paucis("compact", "-q", "--jsonl", "-j", jobs, file)
            expect(code == 0 and out == want, "command with", jobs, "threads: exit", code, err[:200])


def empty_messages(lib, past):
    """Whose a message without content is decides where requests were; a context that remembers must see it."""
    def body(role):
        messages = [{"role": "user", "content": "go"}]
        for i in range(40):
            text = "".join(f"  line {k} of file_{i}: call_{(i * 7 + k) % 1000}(value_{i + k});\n" for k in range(60))
            call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": f'{{"path":"f{i}"}}'}}
            messages += [{"role": "assistant", "content": "so"}, {"role": role, "content": []},
                         {"role": "assistant", "content": None, "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": f"c{i}", "content": text}]
        return json.dumps({"model": "gpt-5", "messages": messages}).encode()
    bodies = [body("user"), body("assistant")]
    want = [lib.compact(b, None, fmt=None)[1] for b in bodies]
    got = [past.compact(bodies[i], None, fmt=None, flags=REMEMBER)[1] for i in (0, 1, 0)]
    expect(want[0] != want[1], "the roles make no difference")
    expect(got == [want[0], want[1], want[0]], "empty messages: another result from a context that remembers")


def met_late(lib, past):
    """How many messages came along is told only with the second request; a context that remembers goes on or begins anew."""
    def body(steps):
        messages = [{"role": "user", "content": "go"}]
        for i in range(steps):
            text = "".join(f"  line {k} of file_{i}: call_{(i * 7 + k) % 1000}(value_{i + k});\n" for k in range(90))
            call = {"id": f"c{i}", "type": "function", "function": {"name": "bash", "arguments": f'{{"command":"make f{i}"}}'}}
            messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": f"c{i}", "content": text}]
        return json.dumps({"model": "gpt-5", "messages": messages}).encode()
    requests = [(20, 4294967295), (20, 41), (24, 41), (26, 41), (26, 12), (28, 12), (30, 61), (32, 61), (33, 4294967295)]
    outs = []
    for steps, attach in requests:
        options = {"attach": str(attach)}
        one = [x.compact(body(steps), None, None, options, None, flags)[1] for x, flags in ((lib, 0), (past, REMEMBER))]
        expect(one[0] == one[1], steps, "steps, attached at", attach, ": another result from a context that remembers")
        outs.append(one[0])
    expect(outs[0] == outs[1] == body(20) and outs[2] != body(24) and outs[3] != outs[4], "it makes a difference")


def late_answers(lib, past):
    """A call that is answered many steps later, where no rule forbids that: its step stays, before as after the answer has
    come, and whether the context remembers or not."""
    def part(kind, **more):
        return {"type": kind, **more}
    messages, waiting, outs = [{"role": "user", "content": [part("text", text="go")]}], None, []
    rng, options = random.Random("late"), {"window": "1", "price": "none"}
    for i in range(40):
        text = "".join(f"line {k} of file_{i}: call_{(i * 7 + k) % 1000}(value_{i + k});\n" for k in range(30))
        calls = [part("tool_call", id=f"c{i}{x}", name="bash", arguments="{}") for x in "ab"]
        late = rng.random() < 0.5 and waiting is None
        answers = [f"c{i}a"] + ([] if late else [f"c{i}b"])
        if late:
            waiting = f"c{i}b"
        elif waiting and rng.random() < 0.3:
            answers, waiting = answers + [waiting], None
        messages += [{"role": "assistant", "content": calls}]
        messages += [{"role": "tool", "content": [part("tool_result", tool_call_id=a, content=f"{a} {text}")]} for a in answers]
        body = json.dumps({"messages": messages}).encode()
        one, other = [x.compact(body, None, 3000, options, "neutral", flags)[1] for x, flags in ((lib, 0), (past, REMEMBER))]
        expect(one == other, i, "steps, an answer comes late: another result from a context that remembers")
        outs.append({p["id"] for m in json.loads(one)["messages"] for p in m["content"] if p["type"] == "tool_call"})
        if i:
            back = outs[-1] - outs[-2] - {f"c{i}a", f"c{i}b"}
            expect(not back, i, "steps, an answer comes late: calls that were dropped are back", back)
    expect(len(outs[-1]) < 60, "steps are dropped", len(outs[-1]))


def steps_are_counted(lib):
    """A marker says how many steps the budget has dropped, for as long as they are: also in a result that reads a file
    and grows old only after that."""
    rng, requests = random.Random("steps"), 0
    lines = [f"    call_{i}(value_{i * 7 % 31}, other_{i % 5}); // {i}\n" for i in range(40)]
    for _ in range(12):
        window_read, budget, messages = rng.choice(("12", "24", "48")), rng.choice((1500, 2500, 4000)), []
        options = {"level": "whole", "window": "2", "window_read": window_read, "price": "none"}
        messages.append({"role": "user", "content": "go"})
        for i in range(60):
            name, key = ("read_file", "path") if rng.random() < 0.7 else ("bash", "command")
            call = {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": f'{{"{key}":"f{i}"}}'}}
            text = "".join(rng.sample(lines, rng.choice((40, 40, rng.randrange(1, 40)))))
            messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": f"c{i}", "content": text}]
            body = json.dumps({"model": "gpt-5", "messages": messages}).encode()
            sent = json.loads(lib.compact(body, None, budget, options, None)[1])["messages"]
            said = [int(n) for m in sent for n in re.findall(r"^\[(\d+) earlier steps", m["content"] or "")]
            gone = (len(messages) - len(sent)) // 2
            requests += gone > 0
            expect(max(said, default=0) == gone, options, budget, i, "steps,", gone, "dropped, told:", said)
    expect(requests > 100, "steps are dropped", requests)


def odd_steps_are_counted(lib):
    """The same where a message without any content leads the step, and where results come after the next call."""
    for late in (False, True):
        items = [{"role": "user", "content": "go"}]
        for i in range(60):
            calls = [{"type": "function_call", "call_id": f"{x}{i}", "name": "exec", "arguments": "{}"} for x in "ab"]
            answers = [{"type": "function_call_output", "call_id": c["call_id"], "output": f"text {i} " * 30} for c in calls]
            if late and i % 2:  # the answer to the last call of the step before
                items += [*calls, items.pop(-1), *answers]
            else:
                items += [{"type": "message", "role": "assistant", "content": []}, *calls, *answers]
        body = json.dumps({"model": "gpt-5", "input": items}).encode()
        text = lib.compact(body, None, 2500, {}, None)[1].decode()
        said, gone = max(map(int, re.findall(r"\[(\d+) earlier steps", text)), default=0), 60 - text.count('"call_id": "a') // 2
        expect(said == gone and (late or gone > 10), "late" if late else "led", gone, "steps dropped, told:", said)


def short_steps_are_named(lib, past):
    """Steps of a few bytes, and results of none: what the budget drops is named all the same."""
    run, dropped = Run(lib, past, "handles, budget 2000", "openai-chat"), 0
    for results in (["ok"], [""], ["", "", "ok"], ["", "", "", "x" * 300]):
        for said in (None, "I look at the next one of these files. " * 6):
            messages = [{"role": "user", "content": "go"}]
            for i in range(120):
                call = {"id": f"c{i}", "type": "function", "function": {"name": "sh", "arguments": f'{{"n":{i}}}'}}
                messages += [{"role": "assistant", "content": said and f"{i}: {said}", "tool_calls": [call]},
                             {"role": "tool", "tool_call_id": f"c{i}", "content": results[i % len(results)]}]
                if i % 7 == 0:
                    _, st = run.compact(json.dumps({"model": "gpt-5", "messages": messages}).encode())
                    dropped += st.messages_out < st.messages_in
    expect(dropped > 40, "steps are dropped", dropped)


def told_within_budget(lib):
    """How to read a shortened text is told again after a cut, but not above the budget."""
    rng, again = random.Random("told"), 0
    for _ in range(40):
        budget, texts = rng.randrange(2000, 6000), {}
        session = Session(lib, {"level": "deep", "price": "none", "window": "6"}, 0, budget)
        session.add(dict(message=0, role=b"user", kind=b"text", id=b"", name=b"", text=b"go " * rng.randrange(budget // 3, budget), flags=0))
        for i in range(40):
            text = "".join(f"name_{rng.randrange(300)} is {rng.randrange(9999)}\n" for _ in range(rng.randrange(5, 120)))
            call = dict(id=b"c%d" % i, name=b"bash", flags=0)
            session.add({**call, "message": 2 * i + 1, "role": b"assistant", "kind": b"call", "text": b'{"command":"make %d"}' % i})
            session.add({**call, "message": 2 * i + 2, "role": b"tool", "kind": b"result", "text": text.encode()})
            step, changes = session.request()
            for part, (_, new) in changes.items():
                old, texts[part] = texts.get(part), new
                if old and new and new.startswith(b"[Output is shortened") and new.endswith(b"\n" + old):
                    again += 1
                    expect(step.budget_met, "budget", budget, "told again above it, step", i)
        session.close()
    expect(again > 20, "told again", again)


def main():
    if SANITIZED or not LIB.exists():
        skip("a sanitized library cannot be loaded into a Python that is not")
    lib, past, bodies = Library(), Library(), []
    for number, (name, format_, body) in enumerate(conversations()):
        one(lib, past, number, name, format_, body)
        whole = Turns(body, format_).body(10 ** 9)
        if number % 5 == 0 and format_ != "neutral":
            code, out, _ = lib.compact(whole, None, fmt=None)
            bodies += [(name, whole, out)] if code == 0 else []
    processes(bodies)
    empty_messages(lib, past)
    met_late(lib, past)
    late_answers(lib, past)
    steps_are_counted(lib)
    odd_steps_are_counted(lib)
    short_steps_are_named(lib, past)
    told_within_budget(lib)
    lib.close()
    past.close()
    expect(seen["cuts"] > 100 and seen["shorter"] > 1000, "the runs do what they say", seen)
    finish(f"{seen['requests']} requests, {seen['shorter']} of them shortened, {seen['cuts']} cuts")


main()
