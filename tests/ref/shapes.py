"""Conversations of any length for tests of growth: an ordinary tool loop and shapes made to hurt the stable
policy. Each takes the number of messages and gives a body of the anthropic format."""
import json


def body(messages, model="claude-sonnet-4-5", **more):
    return {"model": model, "max_tokens": 100, "system": "s", **more, "messages": messages}


def loop(n, result, call=lambda i: {"path": f"src/file_{i}.c"}, name="Read", thinking=None, user=None):
    """A question, then n / 2 calls and their results; user(i) may add a text of the user."""
    messages = [{"role": "user", "content": "go"}] if n else []
    for i in range(n // 2):
        said = [{"type": "thinking", "thinking": thinking, "signature": f"c2ln{i}"}] if thinking else []
        messages.append({"role": "assistant", "content": said + [
            {"type": "tool_use", "id": f"t{i}", "name": name, "input": call(i)}]})
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": f"t{i}", "content": result(i)}]})
        if user and user(i):
            messages[-1]["content"].append({"type": "text", "text": user(i)})
    return messages


def lines(i, n=12):
    return "".join(f"  line {k} of file_{i}: call_{(i * 7 + k) % 1000}(value_{i + k});\n" for k in range(n))


def ordinary(n):
    return body(loop(n, lambda i: lines(i, 100 if i % 16 == 5 else 10), user=lambda i: i % 40 == 39 and "go on"))


def identical(n):
    return body(loop(n, lambda i: lines(0)))


def same_call(n):
    return body(loop(n, lines, lambda i: {"path": "x.c"}))


def same_lines(n):
    return body(loop(n, lambda i: f"{i}\n" + "the same line again and again\n" * 20))


def tiny(n):
    return body(loop(n, lambda i: "ok"))


def pairs(n):
    """Every text comes twice, the second time much later."""
    return body(loop(n, lambda i: lines(i % (n // 4 + 1))))


def users(n):
    return body(loop(n, lines, user=lambda i: "go on"))


def bound(n):
    return body(loop(n, lines, thinking="let me think about this for a while"), "claude-opus-5-5",
                thinking={"type": "adaptive"})


def bound_users(n):
    return body(loop(n, lines, thinking="let me think about this for a while", user=lambda i: "go on"),
                "claude-opus-5-5", thinking={"type": "adaptive"})


def thinking(n):
    return body(loop(n, lines, thinking="let me think about this " * 9, user=lambda i: i % 3 == 2 and "go on"))


def edits(n):
    """Every call writes, and a user speaks now and then."""
    return body(loop(n, lambda i: f"The file src/file_{i}.c has been updated.",
                     lambda i: {"path": f"src/file_{i}.c", "old_string": lines(i, 8), "new_string": lines(i, 80)},
                     "Edit", user=lambda i: i % 6 == 5 and "go on"))


def one_message(n):
    """n results in one message."""
    calls = [{"type": "tool_use", "id": f"t{i}", "name": "Read", "input": {"path": f"f{i}"}} for i in range(n)]
    results = [{"type": "tool_result", "tool_use_id": f"t{i}", "content": lines(i, 8)} for i in range(n)]
    messages = [{"role": "user", "content": "go"}]
    if n:
        messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    return body(messages + loop(40, lines)[1:] if not n else messages + [
        {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}] * 20)


def one_message_same(n):
    made = one_message(n)
    for m in made["messages"]:
        for b in m["content"] if isinstance(m["content"], list) else []:
            if b["type"] == "tool_result":
                b["content"] = lines(0, 8)
    return made


def huge_line(n):
    """One result with one line, 400 bytes for each message."""
    front = loop(2, lambda i: " ".join(f"word_{k}" for k in range(50 * n)) if n else "")
    return body(front + [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}] * 10)


def huge_word(n):
    front = loop(2, lambda i: "x" * (400 * n) or "x")
    return body(front + [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}] * 10)


def titles(n):
    """One result that begins window titles and ends none."""
    front = loop(2, lambda i: "\x1b]0;x" * (80 * n) or "x", name="Bash")
    return body(front + [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}] * 10)


def wide_step(n):
    """A step of many calls, in front of users who are told no result that could say that it is gone."""
    calls = [{"type": "tool_use", "id": f"w{i}", "name": "ask", "input": {}} for i in range(n // 2)]
    results = [{"type": "tool_result", "tool_use_id": c["id"], "content": "yes"} for c in calls]
    step = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}] if calls else []
    talk = [{"role": "assistant", "content": "a" * 60}, {"role": "user", "content": "b" * 60}]
    return body(loop(1, lambda i: "x") + step + talk * (n // 2))


def many_lines(n):
    front = loop(2, lambda i: lines(i, 8 * n) or "x")
    return body(front + [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}] * 10)


SHAPES = {f.__name__: f for f in (
    ordinary, identical, same_call, same_lines, tiny, pairs, users, bound, bound_users, thinking, edits,
    one_message, one_message_same, huge_line, huge_word, many_lines, titles,
    wide_step)}


def write(name, n):
    return json.dumps(SHAPES[name](n), separators=(",", ":")).encode()
