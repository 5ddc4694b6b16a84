"""The record: whose conversation a request is, by the chain of its messages. Requests that continue the same point at
the same time do not share a record, nothing is lost between them, and the file does not grow with every turn."""
import json
import sqlite3
import subprocess
import threading

from harness import PAUCIS, Serve, Upstream, chat_body, post, run_tests, until

up = Upstream(check=True)
p = up.provider
p.caching = False  # these strategies are not made for a cache, and would be stopped


def rows(serve, sql):
    db = sqlite3.connect(serve.record)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def convs(serve):
    return rows(serve, "SELECT count(*) FROM conv")[0][0]


def other_way(turns, words="no, the other way", more=0):
    """A session that goes on differently after so many turns."""
    doc = json.loads(chat_body(turns))
    doc["messages"].append({"role": "user", "content": words})
    later = json.loads(chat_body(more).replace(b'"call_', b'"later_'))
    doc["messages"] += later["messages"][2:]
    return json.dumps(doc).encode()


def under_way(serve, body):
    """Sends a request whose answer takes a while; gives a function that waits for its end."""
    before = len(p.seen)
    t = threading.Thread(target=post, args=(serve, body), kwargs={"x_pause": "0.4"})
    t.start()
    assert until(lambda: len(p.seen) > before)
    return t.join


def led_to(turns, *flags):
    s = Serve(up, "-q", *flags)
    for i in range(turns + 1):
        assert post(s, chat_body(i))[0] == 200
    assert until(lambda: rows(s, "SELECT max(n) FROM tip")[0][0] == 2 + 2 * turns)
    return s


def test_forks_at_the_same_time():
    s = led_to(12)
    wait = under_way(s, chat_body(13, stream=True))
    post(s, other_way(12))  # continues the same point
    assert convs(s) == 2
    post(s, other_way(12, "a third way"))
    assert convs(s) == 3
    post(s, chat_body(13))  # the same once more: a retry
    post(s, chat_body(14))  # and what follows it
    post(s, other_way(12, more=2))
    assert convs(s) == 3
    first = rows(s, "SELECT first_edit, render, begun, name FROM conv")
    assert first[0][0] > 0 and first == first[:1] * 3, first  # a copy of what there was
    wait()
    # what is decided for one is decided for it alone
    assert subprocess.run([PAUCIS, "off", "2", "--record", s.record]).returncode == 0
    post(s, other_way(12, more=3))
    assert p.seen[-1][3] == other_way(12, more=3)
    post(s, chat_body(15))
    assert len(p.seen[-1][3]) < len(chat_body(15))
    post(s, other_way(12, "a third way", more=3))
    assert len(p.seen[-1][3]) < len(other_way(12, "a third way", more=3))
    assert convs(s) == 3
    s.stop()


def test_many_forks_at_once():
    s = led_to(8)
    waits = [under_way(s, chat_body(9, stream=True))]
    threads = [threading.Thread(target=post, args=(s, other_way(8, f"way {i}"))) for i in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert convs(s) == 13, convs(s)
    for wait in waits:
        wait()
    for i in range(12):
        post(s, other_way(8, f"way {i}", more=1))
    assert convs(s) == 13
    s.stop()


def test_off_while_a_request_is_under_way():
    """The window is learnt in between, and that is written to the same record."""
    s = led_to(12)

    def off_and_refuse(body):
        p.refuse_next.remove(off_and_refuse)
        assert subprocess.run([PAUCIS, "off", "1", "--record", s.record]).returncode == 0
        return "prompt is too long: 20000 tokens > 18000 maximum"

    p.refuse_next.append(off_and_refuse)
    _, headers, _ = post(s, chat_body(13))
    assert "reason=window" in headers["x-paucis"] or "saved=" in headers["x-paucis"], headers
    assert rows(s, "SELECT budget>0 FROM conv") == [(1,)]
    _, headers, _ = post(s, chat_body(14))
    assert "reason=stopped" in headers["x-paucis"] and p.seen[-1][3] == chat_body(14), headers["x-paucis"]
    s.stop()


def anthropic(turns, words=None):
    messages = [{"role": "user", "content": "go"}]
    for m in json.loads(chat_body(turns))["messages"][2:]:
        if m["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": m["tool_call_id"], "content": m["content"]}
            messages.append({"role": "user", "content": [block]})
        else:
            block = {"type": "tool_use", "id": m["tool_calls"][0]["id"], "name": "bash", "input": {"command": m["tool_calls"][0]["id"]}}
            messages.append({"role": "assistant", "content": [block]})
    if words:
        messages[-1]["content"].append({"type": "text", "text": words})
    return json.dumps({"model": "claude-test", "max_tokens": 9, "system": "You are a test.", "messages": messages,
                       "tools": [{"name": "bash", "input_schema": {"type": "object"}}]}).encode()


def test_a_fork_of_what_was_stopped():
    """The system text is a message to the library, and none in the array."""
    p.caching = True
    s = Serve(up, "-q", decide=("-l", "deep"))
    for i in range(12):
        post(s, anthropic(i), "/v1/messages")
    assert len(p.seen[-1][3]) < len(anthropic(11))
    post(s, anthropic(12), "/v1/messages", x_paucis="off")
    post(s, anthropic(13), "/v1/messages")
    assert p.seen[-1][3] == anthropic(13)
    doc = json.loads(anthropic(12))  # back to where it was switched off, and on from there
    doc["messages"] += [{"role": "assistant", "content": "well"}, {"role": "user", "content": "the other way"}]
    fork = json.dumps(doc).encode()
    _, headers, _ = post(s, fork, "/v1/messages")
    assert convs(s) == 2 and p.seen[-1][3] == fork, headers["x-paucis"]
    s.stop()
    p.caching = False


run_tests(globals())
