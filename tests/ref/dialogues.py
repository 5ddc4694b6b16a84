"""Generated conversations that are valid in every wire format, made with the model of convert.py: tool
loops with parallel calls, thinking, media, failed calls, repeated results and arguments."""
import json

from convert import WRITERS, Conversation, encode, fit_ids

FORMATS = [name for name in WRITERS if name != "neutral"]  # neutral has no rules to break
MODELS = ("claude-sonnet-4-5", "claude-opus-5-5", "claude-fable-5-1", "gpt-5")
PIXEL = "iVBORw0KGgo="
LONG = "line of output\n" * 400


def text(rng, topic):
    """No two alike: a comparison of two bodies could take one for the other."""
    more = rng.choice((" short", "  with   spaces\n\n\n\n---\nand rules\n", " € " * 50, " long\n" * 200))
    return f"{topic} {rng.randrange(10 ** 9)}{more}"


def result(rng, pool):
    parts = [("text", rng.choice(pool))]
    if rng.random() < 0.1:
        parts.append(("text", "second block"))
    if rng.random() < 0.1:
        parts.append(("media", "image/png", PIXEL, None))
    return parts


WRITES = ("edit", "apply_patch")
MADE = ("The file src/a.c has been updated.", "Success. Updated the following files:\nM src/a.c\n",
        "String to replace not found in file.")


def written(rng, name):
    """The arguments of a call that writes."""
    line = rng.choice(("+int depth = 0;\n", '+"quoted" \\ €uro \U0001f600\n', "+no line end at all "))
    if name == "apply_patch":
        return "*** Begin Patch\n*** Update File: src/a.c\n" + line * rng.choice((3, 40, 400))
    return json.dumps({"path": "src/a.c", "old_string": line * rng.choice((1, 12, 60)),
                       "new_string": line * rng.choice((1, 30, 300)), "all": False},
                      ensure_ascii=rng.random() < 0.5)


def dialogue(rng):
    conv = Conversation(rng.choice(MODELS))
    pool = [LONG, LONG.replace("line", "Zeile"), "x" * 300, "ok", text(rng, "found")]
    arguments = ['{"path":"%s"}' % ("p" * 80), '{"cmd":"ls"}', "{}"]
    thinks, number = rng.random() < 0.6, 0
    if rng.random() < 0.7:
        conv.say("system", [("text", "You are careful.")])
    for _ in range(rng.randrange(1, 5)):
        conv.say("user", [("text", text(rng, "question"))])
        for _ in range(rng.choice((0, 1, 3, 12))):
            if thinks and rng.random() < 0.8:
                conv.act(("thinking", "let me think " * rng.randrange(1, 20), "c2ln"))
            if rng.random() < 0.5:
                conv.act(("text", text(rng, "I look")))
            ids, edits = [], []
            for _ in range(rng.choice((1, 1, 1, 2, 4))):
                number += 1
                ids.append(f"call_{number}")
                name = rng.choice(("read", "bash", "read", "bash", "edit", "apply_patch"))
                said = written(rng, name) if name in WRITES else rng.choice(arguments)
                edits += ids[-1:] if name in WRITES else []
                conv.act(("call", ids[-1], name, said, name == "apply_patch"))
            for i in rng.sample(ids, len(ids)):
                made = [("text", rng.choice(MADE))] if i in edits else result(rng, pool)
                conv.answer(i, made, error=rng.random() < 0.1)
        if rng.random() < 0.7:
            if thinks and rng.random() < 0.5:
                conv.act(("thinking", "done", "c2ln"))
            conv.act(("text", text(rng, "answer")))
    if conv.steps[-1]["role"] == "assistant" and not conv.steps[-1]["results"]:
        conv.say("user", [("text", "and now?")])
    return conv.finish()


def bodies(rng):
    """{format: bytes}; the same conversation in each."""
    state = rng.getstate()
    made = {}
    for name in FORMATS:
        rng.setstate(state)
        conv = dialogue(rng)
        fit_ids(conv, name)
        made[name] = encode(WRITERS[name](conv))
    return made
