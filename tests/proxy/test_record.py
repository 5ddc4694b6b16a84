"""The record: whose conversation a request is, by the chain of its messages. Requests that continue the same point at
the same time do not share a record, nothing is lost between them, and the file does not grow with every turn."""
import http.client
import json
import sqlite3
import subprocess
import threading

from harness import PAUCIS, Serve, Upstream, chat_body, long_text, post, rows, run_tests, until

up = Upstream(check=True)
p = up.provider
p.caching = False  # these strategies are not made for a cache, and would be stopped


def convs(serve):
    return rows(serve, "SELECT count(*) FROM conv")[0][0]


def other_way(turns, words="no, the other way", more=0):
    """A session that goes on differently after so many turns."""
    doc = json.loads(chat_body(turns))
    doc["messages"].append({"role": "user", "content": words})
    later = json.loads(chat_body(more).replace(b'"call_', b'"later_'))
    doc["messages"] += later["messages"][2:]
    return json.dumps(doc).encode()


def under_way(serve, body, upstream=up, gone=False):
    """Sends a request whose answer takes a while; gives a function that waits for its end."""
    p = upstream.provider
    before = len(p.seen)

    def send():
        try:
            post(serve, body, x_pause="0.4")
        except (OSError, http.client.HTTPException):
            assert gone

    t = threading.Thread(target=send)
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


def test_off_while_all_is_refused():
    """The ladder ends where it began, and what was said meanwhile stands."""
    s = led_to(12)

    def off_and_refuse(body):
        if rows(s, "SELECT mode FROM conv") == [(0,)]:
            assert subprocess.run([PAUCIS, "off", "1", "--record", s.record]).returncode == 0
        return "not today"

    p.refuse_next.append(off_and_refuse)
    assert post(s, chat_body(13))[0] == 400
    p.refuse_next.remove(off_and_refuse)
    _, headers, _ = post(s, chat_body(13))
    assert "reason=stopped" in headers["x-paucis"] and p.seen[-1][3] == chat_body(13), headers["x-paucis"]
    s.stop()


def test_names_of_requests_are_used_once():
    """By a proxy that is killed and started again within a second as well."""
    record, names = None, []
    for _ in range(4):
        s = Serve(up, "-q", record=record)
        record = s.record
        names.append(post(s, chat_body(2))[1]["x-paucis"].split("id=")[1])
        assert until(lambda: rows(s, "SELECT count(*) FROM request") == [(len(set(names)),)])
        s.kill()
    assert len(set(names)) == 4, names


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


def session(turns, **more):
    messages = [{"role": "system", "content": "You are a test."}, {"role": "user", "content": "go"}]
    for i in range(turns):
        call = {"id": f"call_{i}", "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": f"make t{i}"})}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"call_{i}", "content": long_text(i, 2)}]
    return json.dumps({"model": "gpt-test", "messages": messages, **more}).encode()


def after_a_pause(far):
    """A proxy before `far` with a conversation of 60 messages that has been idle for a day."""
    s = Serve(far, "-q", decide=("-l", "deep"))
    for i in range(30):
        post(s, session(i))
    assert until(lambda: rows(s, "SELECT max(n) FROM tip") == [(60,)])
    db = sqlite3.connect(s.record, isolation_level=None)
    db.execute("UPDATE conv SET last = last - 100000")
    db.close()
    return s


def test_a_pause_is_one_pause():
    """The cache is cold for one request, and warm for the next, which may come before the turn is recorded."""
    far = Upstream(check=False)
    s = after_a_pause(far)
    wait = under_way(s, session(30, stream=True), far)
    post(s, session(31))
    wait()
    post(s, session(32))
    assert rows(s, "SELECT cold FROM conv") == [("62",)], rows(s, "SELECT cold FROM conv")
    s.stop()


def test_a_pause_is_over_whatever_is_answered():
    """The request after it told nothing, or its turn was not recorded; the cache is warm all the same."""
    for killed in (False, True):
        far = Upstream(check=False)
        s = after_a_pause(far)
        if killed:
            wait = under_way(s, session(30, stream=True), far, gone=True)
            s.kill()
            wait()
            s = Serve(far, "-q", "--store", s.store, decide=("-l", "deep"), record=s.record)
        else:
            post(s, session(30), x_fault="status-529")
        post(s, session(31))
        assert rows(s, "SELECT cold FROM conv") == [("62",)], rows(s, "SELECT cold FROM conv")
        s.stop()


def test_tips_are_few_and_all_turns_are_found():
    turns, cold = 120, 30
    far = Upstream(check=False)
    s = Serve(far, "-q", decide=("-l", "deep"))
    db = sqlite3.connect(s.record, isolation_level=None)
    noted = lambda n: until(lambda: db.execute("SELECT max(n) FROM tip").fetchone()[0] == 2 + 2 * n)
    sent = []
    for i in range(turns):
        if i == cold:  # a pause before this request
            assert noted(i - 1)
            db.execute("UPDATE conv SET last = last - 100000")
        post(s, session(i))
        sent.append(far.provider.seen[-1][3])
    assert noted(turns - 1)
    name, attach, at, first = db.execute("SELECT name, attach, cold, first_edit FROM conv").fetchone()
    assert at == str(2 + 2 * cold) and first and first < 60, (at, first)
    tips = db.execute("SELECT count(*) FROM tip").fetchone()[0]
    print(f"     {tips} tips after {turns} turns")
    # back to any turn: the same conversation, as it was then
    back = {turns - 1, turns - 5, 90, 60, cold + 1, cold, cold - 1, 20, first // 2, 2, 0}
    for i in sorted(back, reverse=True):
        post(s, session(i))
        assert far.provider.seen[-1][3] == sent[i], i
        branch = db.execute("SELECT name, attach, cold FROM conv ORDER BY id DESC").fetchone()
        assert branch == (name, attach, at if i >= cold else ""), (i, branch)
    post(s, session(turns))
    assert convs(s) == len(back), convs(s)  # the newest turn is a retry, the others are branches
    assert tips <= 40, tips
    db.close()
    s.stop()


run_tests(globals())
