#!/usr/bin/env python3
"""`paucis replay` on small sessions made for the purpose, with figures worked out by hand: tokens, cache, the
three bills, every kind of evidence, the policies' rules, session logs, the options and the page."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
from support import PAUCIS, expect, finish, paucis

WORK = pathlib.Path(tempfile.mkdtemp())


def replay(traces, *options, name="t.jsonl"):
    path = WORK / name
    path.write_text("".join(json.dumps(t) + "\n" for t in traces))
    code, out, err = paucis("replay", "--json", "-v", "--min-messages", "0", *options, path)
    expect(code == 0, "exit", code, err[:300], options)
    return json.loads(out) if code == 0 else None


def counters(traces, policy, *options, price="anthropic"):
    report = replay(traces, "--policy", policy, "--price", price, *options)
    return {p["policy"]: p["counters"] for p in report["prices"][0]["policies"]}


def same(what, got, **want):
    for key, value in want.items():
        expect(got[key] == value, f"{what}: {key} is {got[key]} instead of {value}")


def tokens(role, *parts):
    """A message as it is counted: its role and, for each part, a mark, the kind, a mark and the text."""
    return (len(role) + sum(2 + len(kind) + len(text) for kind, text in parts) + 3) // 4


def call(i, **arguments):
    function = {"name": "run", "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{i}", "type": "function",
                                                                  "function": function}]}


def result(i, text):
    return {"role": "tool", "tool_call_id": f"c{i}", "content": text}


def trace(messages, **about):
    return {"id": "t", "agent": "a", "format": "openai-chat", "request": {"model": "m", "messages": messages},
            **about}


# ---- tokens, cache and bills -------------------------------------------------------------------------

def check_bills():
    """Three requests; the history only grows, so each reads all of the one before."""
    texts = ["q" * 400, "r" * 1000, "s" * 2000]
    messages = [{"role": "user", "content": texts[0]}, call(1, x="1"), result(1, texts[1]), call(2, x="2"),
                result(2, texts[2]), {"role": "assistant", "content": "done"}]
    user = tokens("user", ("text", texts[0]))
    one = tokens("assistant", ("call", '{"x": "1"}'))
    results = [tokens("tool", ("result", t)) for t in texts[1:]]
    sizes = [user, user + one + results[0], user + 2 * one + sum(results)]
    same("tokens", {"list": [user, one] + results}, list=[103, 7, 253, 503])
    total, cached = sum(sizes), sizes[0] + sizes[1]
    got = counters([trace(messages)], "none")["none"]
    same("none", got, turns=3, tokens=total, cached=cached, peak=sizes[2], cuts=0, fixed=0,
         plain=100 * cached + 1250 * (total - cached), full=100 * cached + 1250 * (total - cached))
    # The row's minimum: prefixes under 1024 tokens are not cached at all and cost the base price.
    same("minimum", got, row=1000 * total, row_fresh=total, row_read=0)
    # What a log leaves out rides in front of every request, read after the first.
    fixed = 5000
    logged = fixed + sizes[2] + tokens("assistant", ("text", "done"))
    got = counters([trace(messages, logged_input_tokens=logged)], "none")["none"]
    full = 100 * (cached + 2 * fixed) + 1250 * (total - cached + fixed)
    same("fixed prefix", got, fixed=fixed, full=full, row=full, plain=100 * cached + 1250 * (total - cached))
    # Steps of 128 tokens, and the time to live: 600 s at the price openai.
    got = counters([trace(messages, logged_input_tokens=logged)], "none", price="openai")["none"]
    read = sum((fixed + s) // 128 * 128 for s in sizes[:2])
    same("step", got, row_read=read, row=100 * read + 1000 * (total + 3 * fixed - read))
    times = [1000, 1001, 1100, 1101, 1800, 1801]
    got = counters([trace(messages, logged_input_tokens=logged, when=times)], "none", price="openai")["none"]
    read = (fixed + sizes[0]) // 128 * 128
    same("time to live", got, row_read=read)


def check_cuts():
    """mask:1 cuts the first result when the second has come; what is behind it is written again."""
    messages = [{"role": "user", "content": "q"}, call(1, x="1"), result(1, "r" * 1000 + "\nend"), call(2, x="2"),
                result(2, "s" * 2000), {"role": "assistant", "content": "done"}]
    user, one = tokens("user", ("text", "q")), tokens("assistant", ("call", '{"x": "1"}'))
    marker = "Previous 2 lines omitted for brevity."
    before = user + one + tokens("tool", ("result", "r" * 1000 + "\nend"))
    after = user + one + tokens("tool", ("result", marker)) + one + tokens("tool", ("result", "s" * 2000))
    same_part = len("tool\x1eresult\x1f") // 4
    got = counters([trace(messages)], "mask:1")["mask:1"]
    same("mask:1", got, cuts=1, tokens=user + before + after, cached=user + user + one + same_part)


def check_lookback():
    """A change more than 20 messages back finds no entry but that of the fixed prefix."""
    messages = [{"role": "user", "content": "q"}]
    for i in range(12):
        messages += [call(i, x=str(i)), result(i, f"{i} " + "r" * 300)]
    for keep in (9, 10):
        t = trace(messages + [{"role": "assistant", "content": "done"}], logged_input_tokens=100000)
        got = counters([t], f"mask:{keep}")[f"mask:{keep}"]
        fixed, cuts = got["fixed"], 12 - keep
        writes = (got["full"] - 100 * (got["tokens"] + 13 * fixed)) / 1150
        plain = (got["plain"] - 100 * got["tokens"]) / 1150
        same(f"mask:{keep}", got, cuts=cuts)
        lost = writes - fixed - plain
        expect((lost > 0) == (keep == 10), "lookback: keep", keep, "writes", lost, "more")


# ---- evidence ----------------------------------------------------------------------------------------

SPAN = "def compute_total(values, start):"


def evidence_trace():
    """The reply names what stood in the first result, eight messages back, and something of the last."""
    listing = f"   12\u2192    {SPAN}\nplain_name_here = 4711 in src/module.py"
    messages = [{"role": "user", "content": "q"}, call(1, x="1"), result(1, listing)]
    for i in range(2, 5):
        messages += [call(i, x=str(i)), result(i, f"nothing {i}")]
    messages += [call(5, x="5"), result(5, "recent_name stands here")]
    messages += [call(6, old_string=SPAN, note="plain_name_here src/module.py recent_name")]
    return trace(messages)


def check_evidence():
    got = counters([evidence_trace()], "none,mask:3,mask:1")
    # compute_total and plain_name_here, src/module.py and the word values; recent_name is fresh
    none = got["none"]
    same("evidence", none, needed=4, cneeded=3, kept=4, ckept=3, xkept=3, sneeded=1, skept=1, nneeded=1, nkept=1,
         edits=1, edits_kept=1, reread=0)
    lost = got["mask:3"]
    size = tokens("tool", ("result", f"   12\u2192    {SPAN}\nplain_name_here = 4711 in src/module.py"))
    same("evidence lost", lost, needed=4, kept=0, ckept=0, xkept=0, skept=0, nkept=1, edits=1, edits_kept=0,
         reread=size)
    report = replay([evidence_trace()], "--policy", "mask:3")["prices"][0]["policies"][1]
    same("per cent", report["percent"], items=0, lines=0, spans=0, fresh=100, edits=0)


def check_lines():
    """A head and tail of 1024 characters keep an item at the cut, but not its line."""
    text = "x" * 1000 + "\nthe needle_item_name stands in this line of the log\n" + "y " * 3000
    messages = [{"role": "user", "content": "q"}, call(1, x="1"), result(1, text)]
    for i in range(2, 8):
        messages += [call(i, x=str(i)), result(i, f"nothing {i}")]
    messages += [{"role": "assistant", "content": "needle_item_name"}]
    got = counters([trace(messages)], "classic:snippet")["classic:snippet"]
    same("lines", got, cneeded=1, ckept=1, xkept=0)


# ---- policies ----------------------------------------------------------------------------------------

def long_trace(n=30, size=4000):
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    for i in range(n):
        messages += [call(i, path=f"file{i % 5}.txt"), result(i, (f"line {i} of the file\n" * size)[:size])]
    return trace(messages + [{"role": "assistant", "content": "done"}])


def check_policies():
    """Each rule cuts when it says so: 30 results of 1003 tokens each."""
    one = tokens("tool", ("result", "x" * 4000))
    same("a result", {"tokens": one}, tokens=1003)
    got = counters([long_trace()], "none,mask:10,polling:10:5,clear:20000:3,sticky:20000:3,sticky:20000:3:8000,"
                   "prune:5000:4000,gemini:5000:4000,stair:8:16,trim:10000,gajae:30000:5000,budget:20000")
    cuts = {name: c["cuts"] for name, c in got.items()}
    same("cuts", cuts, **{"none": 0, "mask:10": 20, "polling:10:5": 4, "stair:8:16": 3})
    expect(got["clear:20000:3"]["cuts"] == 30 - 20 + 1, "clear slides every turn", cuts)
    expect(cuts["sticky:20000:3"] == 1 and cuts["sticky:20000:3:8000"] == 1, "sticky", cuts)
    expect(cuts["prune:5000:4000"] in (5, 6), "prune", cuts)
    for name, c in got.items():
        expect(c["turns"] == 31, name, "turns", c["turns"])
        expect(name == "none" or c["tokens"] < got["none"]["tokens"], name, "saves nothing")
    expect(got["trim:10000"]["peak"] <= 10000, "trim", got["trim:10000"]["peak"])
    expect(got["budget:20000"]["peak"] <= 20000, "budget", got["budget:20000"]["peak"])
    # The settings of a family come from its name; an unknown one is refused.
    for bad in ("mask:x", "mask:1:2", "none:1", "frobnicate", "stable:frobnicate"):
        code, _, err = paucis("replay", "--policy", bad, WORK / "t.jsonl")
        expect(code == 2 and err, bad, "is taken")


def check_agreement():
    """The session and a plan of every body from scratch say the same."""
    report = counters([long_trace(40), long_trace(25, 9000), evidence_trace()], "stable,compact,stable:deep,"
                      "compact:level=deep,compact:none")
    expect(report["stable"] == report["compact"], "stable", report["stable"], report["compact"])
    expect(report["stable:deep"] == report["compact:level=deep"], "stable:deep")
    expect(report["none"] == report["compact:none"], "none")


# ---- formats -----------------------------------------------------------------------------------------

def check_formats():
    """The same conversation in two formats gives the same figures; bodies alone are traces too."""
    chat = [{"role": "user", "content": "q"}]
    anthropic = [{"role": "user", "content": "q"}]
    gemini = [{"role": "user", "parts": [{"text": "q"}]}]
    for i in range(8):
        text = f"some_result_{i} " + "r" * 500
        arguments = {"path": f"some_result_{max(0, i - 5)}"}
        chat += [call(i, **arguments), result(i, text)]
        anthropic += [{"role": "assistant", "content": [{"type": "tool_use", "id": f"c{i}", "name": "run",
                                                         "input": arguments}]},
                      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{i}", "content": text}]}]
        gemini += [{"role": "model", "parts": [{"functionCall": {"name": "run", "args": arguments}}]},
                   {"role": "user", "parts": [{"functionResponse": {"name": "run", "response": {"output": text}}}]}]
    chat, anthropic = chat + [{"role": "assistant", "content": "x"}], anthropic + [{"role": "assistant", "content": "x"}]
    one = counters([trace(chat)], "mask:2")
    two = counters([{"model": "claude-sonnet-4-5", "max_tokens": 1, "messages": anthropic}], "mask:2")
    expect(one == two, "chat and anthropic", one, two)
    expect(one["mask:2"]["cneeded"] > 0, "nothing is needed", one)
    three = counters([{"contents": gemini}], "mask:2,stable")
    same("gemini", three["none"], turns=8)
    expect(three["mask:2"]["cuts"] == one["mask:2"]["cuts"] - 1, "gemini cuts", three["mask:2"])


# ---- logs --------------------------------------------------------------------------------------------

def claude_log():
    """Blocks on lines of their own, a subagent between them, and a compaction."""
    lines = [{"type": "summary", "summary": "s", "leafUuid": "u"}]

    def add(kind, content, second, **more):
        message = {"role": kind, "content": content, **more}
        lines.append({"type": kind, "timestamp": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}.000Z",
                      "sessionId": "s", "isSidechain": False, "message": message})

    usage = {"input_tokens": 4, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 1000}
    for window in range(2):
        add("user", "please look", 0)
        for i in range(3):
            ident = {"id": f"m{window}{i}", "model": "claude-sonnet-4-5", "usage": usage}
            add("assistant", [{"type": "text", "text": "I look."}], 10 * i + 1, **ident)
            for k in "ab":
                add("assistant", [{"type": "tool_use", "id": f"t{i}{k}", "name": "run", "input": {"n": i}}],
                    10 * i + 2, **ident)
            lines.append({**lines[-1], "isSidechain": True})
            for k in "ab":
                add("user", [{"type": "tool_result", "tool_use_id": f"t{i}{k}", "content": "r" * 100}], 10 * i + 5)
        add("assistant", [{"type": "text", "text": "Done."}], 400 + window, id=f"m{window}9", usage=usage)
        if window == 0:
            lines.append({"type": "system", "subtype": "compact_boundary", "sessionId": "s"})
    return lines


def codex_log():
    lines = [{"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta",
              "payload": {"id": "x", "instructions": "be brief"}}]

    def add(payload, kind="response_item"):
        lines.append({"timestamp": f"2026-01-01T00:00:{len(lines):02d}.000Z", "type": kind, "payload": payload})

    add({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]})
    for i in range(3):
        add({"type": "reasoning", "summary": [], "encrypted_content": "x"})
        add({"type": "function_call", "name": "shell", "arguments": "{\"n\":1}", "call_id": f"c{i}"})
        add({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 100 + i,
                                                                  "cached_input_tokens": 50}}}, "event_msg")
        add({"type": "function_call_output", "call_id": f"c{i}", "output": "r" * 100})
    add({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]})
    return lines


def billed_log(turns, fixed, factor):
    """A session whose requests were billed by another count, behind a prefix that the log lacks."""
    lines, counted = [{"type": "summary", "summary": "s", "leafUuid": "u"}], tokens("user", ("text", "go"))

    def add(kind, content, **more):
        lines.append({"type": kind, "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": "s", "isSidechain": False,
                      "message": {"role": kind, "content": content, **more}})

    add("user", "go")
    for i in range(turns):
        usage = {"input_tokens": 1, "cache_creation_input_tokens": 2,
                 "cache_read_input_tokens": fixed + round(factor * counted) - 3}
        add("assistant", [{"type": "tool_use", "id": f"t{i}", "name": "run", "input": {"n": 1}}], id=f"m{i}",
            usage=usage)
        add("user", [{"type": "tool_result", "tool_use_id": f"t{i}", "content": "r" * (100 + 40 * i)}])
        counted += tokens("assistant", ("call", '{"n": 1}')) + tokens("tool", ("result", "r" * (100 + 40 * i)))
    return lines


def check_calibration():
    for turns, want in ((30, 1.25), (10, None)):
        file = WORK / "billed.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in billed_log(turns, 5000, 1.25)))
        run = subprocess.run([PAUCIS, "replay", "--json", "--min-messages", "0", "--policy", "none", file],
                             capture_output=True, check=False)
        expect(run.returncode == 0, "calibration: exit", run.returncode, run.stderr[:300])
        found = json.loads(run.stdout)["calibration"]
        expect(found["sessions"] == 1 and found["requests"] == turns, "calibration", found)
        expect(found["factor"] == want or abs(found["factor"] - want) < 0.002, "calibration: factor", found)
    table = subprocess.run([PAUCIS, "replay", "-t", "estimate", "--min-messages", "0", "--policy", "none", file],
                           capture_output=True, check=False)
    expect(b"Calibration" not in table.stdout, "too few requests for a factor", table.stdout)


def check_logs():
    home = WORK / "home"
    for path, lines in (("claude/projects/p/s.jsonl", claude_log()), ("codex/sessions/2026/r.jsonl", codex_log())):
        file = home / ("." + path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"half a li')
    env = {k: v for k, v in os.environ.items() if k not in ("CLAUDE_CONFIG_DIR", "CODEX_HOME")}
    run = subprocess.run([PAUCIS, "replay", "--json", "-v", "--min-messages", "0", "--policy", "none"],
                         capture_output=True, check=False, env={**env, "HOME": str(home)})
    expect(run.returncode == 0, "logs: exit", run.returncode, run.stderr[:300])
    report = json.loads(run.stdout)
    sessions = report["prices"][0]["sessions"]
    expect([s["agent"] for s in sessions] == ["Claude Code", "Claude Code", "Codex CLI"], "agents", sessions)
    expect([s["messages"] for s in sessions] == [8, 8, 9], "messages", [s["messages"] for s in sessions])
    expect([s["policies"]["none"]["turns"] for s in sessions] == [4, 4, 4], "turns", sessions)
    expect(report["billed"] == {"sessions": 3, "read": 8 * 1000 + 150, "written": 80 + 153, "uncached": 32},
           "billed", report["billed"])
    # 1014 tokens were billed for the last request; the rest of it stands in front of every request.
    none = sessions[0]["policies"]["none"]
    results = 2 * [("result", "r" * 100)]
    calls = [[("text", "I look.")] + 2 * [("call", '{"n": %d}' % i)] for i in range(3)]
    total = tokens("user", ("text", "please look")) + 3 * tokens("tool", *results) + tokens(
        "assistant", ("text", "Done.")) + sum(tokens("assistant", *c) for c in calls)
    same("log", none, fixed=1014 - total)
    run = subprocess.run([PAUCIS, "replay"], capture_output=True, check=False,
                         env={**env, "HOME": str(WORK / "nobody")})
    expect(run.returncode == 2 and b"no session logs" in run.stderr, "no logs", run.stderr)


# ---- options, reports --------------------------------------------------------------------------------

def check_options():
    traces = [long_trace(10 + i) for i in range(12)]
    for i, t in enumerate(traces):
        t["id"], t["agent"] = f"t{i}", "abc"[i % 3]
    one = replay(traces, "--policy", "none,stable,mask:5", "--price", "anthropic,openai", "-j", "1")
    two = replay(traces, "--policy", "none", "--policy", "stable", "--policy", "mask:5", "--price", "anthropic",
                 "--price", "openai", "-j", "4")
    expect(one == two, "threads or repeated options change the report")
    expect([p["price"] for p in one["prices"]] == ["anthropic", "openai"], "prices")
    cut = replay(traces, "--policy", "none", "--max", "5", "-j", "3")
    expect([s["id"] for s in cut["prices"][0]["sessions"]] == [f"t{i}" for i in range(5)], "--max")
    short = replay(traces, "--policy", "none", "--min-messages", "30")
    expect(short["sessions"] == 8 and short["too_short"] == 4, "--min-messages", short["sessions"])
    mask = one["prices"][0]["policies"][2]
    expect({a["agent"] for a in mask["agents"]} == {"a", "b", "c"}, "agents")
    total = sum(a["counters"]["tokens"] for a in mask["agents"])
    expect(total == mask["counters"]["tokens"], "agents do not add up")
    mean = sum(a["percent"]["cost"] for a in mask["agents"]) / 3
    expect(abs(mean - mask["mean_of_agents"]["cost"]) < 0.01, "mean of agents")
    expect(mask["low_95"]["cost"] <= mask["percent"]["cost"] <= mask["high_95"]["cost"], "interval")
    expect(mask["worst_session"]["cost"] >= mask["median_session"]["cost"], "worst")


def check_dial():
    """Every setting of the curve is one that the library takes."""
    report = replay([long_trace(12)], "--policy", "curve")["prices"][0]["policies"]
    names = [p["policy"] for p in report]
    expect(len(names) > 15 and "stable:whole" in names, "curve", names)
    expect(all(p["sessions"] == 1 for p in report), "a setting did not run", report)


def check_reports():
    path = WORK / "t.jsonl"
    code, out, _ = paucis("replay", "--min-messages", "0", "--policy", "none,stable,mask:5", path)
    expect(code == 0 and b"mask:5" in out and b"at the same evidence" in out, "table")
    page = WORK / "page.html"
    bad = long_trace(12)
    bad["id"] = "</script><b>"
    path.write_text(json.dumps(bad) + "\n")
    code, out, err = paucis("replay", "--min-messages", "0", "--policy", "default", "--html", page, path)
    expect(code == 0, "page: exit", code, err[:300])
    html = page.read_text()
    data = json.loads(html.split('id="data">', 1)[1].split("</script>", 1)[0])
    expect(data["course"]["id"] == "</script><b>", "the page's data")
    expect(len(data["course"]["policies"][0]["total"]) == 13, "the page's course")
    rest = html.replace("http://www.w3.org/2000/svg", "")
    expect("http" not in rest and "src=" not in rest and "@import" not in rest, "the page needs the network")
    path.write_text("[1]\n{}\nnot json\n")
    code, out, err = paucis("replay", "--policy", "none", path)
    expect(code == 3 and err.count(b"line") == 3, "bad lines: exit", code, err)
    code, out, err = paucis("replay", "--policy", "none", WORK / "missing")
    expect(code == 2, "missing file: exit", code)


for check in (check_bills, check_cuts, check_lookback, check_evidence, check_lines, check_policies, check_agreement,
              check_formats, check_logs, check_calibration, check_options, check_dial,
              check_reports):
    check()
finish("replay")
