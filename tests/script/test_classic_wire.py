#!/usr/bin/env python3
"""Never invalid: every strategy, alone and in the pipelines, with the classic settings and with windows and
sizes so small that everything is touched, on every body there is, in every format. The rules that the
output breaks, compared with the body it came from as well, are among those the input breaks already.

Bodies: the examples (good and bad), generated conversations, and the traces, as they came and turned into
every format. Without PAUCIS_LONG=1 only some of the traces and runs.
"""
import collections
import json
import pathlib
import random
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import convert
import dialogues
from support import LONG, SANITIZED, SHARED, SRC, expect, finish, paucis, traces

STRATEGIES = ("thinking_prune", "dedup", "snippet", "lingua", "streaming_llm", "tool_call_dedup",
              "pairing", "apply_all")
SEVEN = "thinking_prune,tool_call_dedup,dedup,snippet,lingua,streaming_llm,pairing"
EAGER = ("thinking_prune.keep_last=0 dedup.min=1 snippet.min=9 snippet.keep_last=0 snippet.head=2 "
         "snippet.tail=2 lingua.keep_last=0 streaming_llm.sinks=1 streaming_llm.recent=2 "
         "streaming_llm.min_messages=0 tool_call_dedup.min=1 tool_call_dedup.keep_last=0 "
         "compact_to_budget.keep_last=0 compact_to_budget.min=1 compact_to_budget.arguments=yes").split()
EAGER = [x for option in EAGER for x in ("-O", option)]
CURES = ["-O", "mend=yes", "-O", "units=yes", "-O", "step=3", "-O", "grow=no", "-O", "pairing.strict=yes",
         "-O", "streaming_llm.alternate=yes", "-O", "dedup.whole=yes"]

FORMAT_OF = {"A": "openai-chat", "B": "anthropic", "C": "openai-responses", "D": "gemini", "E": "bedrock"}

RUNS = {f"{name}, {how}": ["-s", name, *more]
        for name in STRATEGIES for how, more in (("classic", []), ("eager", EAGER))}
for budget in ("0", "400", "5000", "50000"):
    RUNS[f"budget {budget}"] = ["-p", "budget", "-b", budget]
    RUNS[f"budget {budget}, eager"] = ["-p", "budget", "-b", budget, *EAGER]
RUNS["classic then budget"] = ["-p", "classic", "-b", "2000"]
RUNS["classic then budget, eager"] = ["-p", "classic", "-b", "100", *EAGER]
RUNS["seven stages"] = ["-s", SEVEN]
RUNS["seven stages, eager"] = ["-s", SEVEN, *EAGER]
RUNS["all, cured"] = ["-s", SEVEN + ",compact_to_budget", "-b", "300", *CURES]
RUNS["all, cured, eager"] = ["-s", SEVEN + ",compact_to_budget", "-b", "300", *EAGER, *CURES]

changed = collections.defaultdict(set)  # (format, run): names of the bodies it changed


def rules(line):
    return collections.Counter(b["rule"] for b in json.loads(line))


class Batch:
    """Bodies of one format, one a line."""

    def __init__(self, folder, format_, named):
        self.format, self.names = format_, [name for name, _ in named]
        self.lines = [body for _, body in named]
        self.file, self.out = folder / f"{format_}.in", folder / f"{format_}.out"
        self.file.write_bytes(b"\n".join(self.lines) + b"\n")
        code, out, err = paucis("check", "--json", "--jsonl", "-f", format_, self.file)
        expect(code in (0, 4), format_, "check: exit", code, err[:300])
        self.broken = [rules(line) for line in out.split(b"\n")[:-1]]

    def run(self, name, args):
        code, out, err = paucis("compact", "--jsonl", "-q", "-f", self.format, *args, self.file)
        lines = out.split(b"\n")[:-1]
        if not expect(code == 0 and len(lines) == len(self.lines), self.format, name, "exit", code,
                      err[:300]):
            return
        self.out.write_bytes(out)
        code, out, err = paucis("check", "--json", "--jsonl", "-f", self.format, "--before", self.file,
                                self.out)
        found = out.split(b"\n")[:-1]
        if not expect(code in (0, 4) and len(found) == len(lines), self.format, name, "check: exit",
                      code, err[:300]):
            return
        for body, line, which, had, has in zip(self.lines, lines, self.names, self.broken, found):
            fresh = rules(has) - had
            expect(not fresh, self.format, which, name, "adds", dict(fresh))
            if line != body:
                changed[self.format, name].add(which)


def compacted(body):
    return json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode()


def collect():
    """{format: [(name, body)]}"""
    found = collections.defaultdict(list)
    for path in sorted((SRC / "tests" / "formats").rglob("*.json")):
        if path.name[0] in FORMAT_OF:
            try:
                found[FORMAT_OF[path.name[0]]].append((path.name, compacted(path.read_bytes())))
            except UnicodeEncodeError:
                continue
    rng = random.Random("wire")
    for i in range(2000 if LONG else 20 if SANITIZED else 150):
        for format_, body in dialogues.bodies(rng).items():
            found[format_].append((f"generated {i}", body))
    for about, body in traces(1 if LONG else 150 if SANITIZED else 25) if SHARED else ():
        found[about["format"]].append((about["id"], body))
        parsed = json.loads(body)
        for format_ in dialogues.FORMATS:
            made = convert.convert(parsed, about["format"], format_)
            found[format_].append((f"{about['id']} as {format_}", convert.encode(made)))
            if format_ == "anthropic":
                bound = {**made, "model": "claude-opus-5-5"}
                found[format_].append((f"{about['id']} bound", convert.encode(bound)))
    return found


def main():
    wanted = sys.argv[1:] or list(RUNS)
    with tempfile.TemporaryDirectory() as folder:
        batches = [Batch(pathlib.Path(folder), format_, named) for format_, named in collect().items()]
        for batch in batches:
            for name in wanted:
                batch.run(name, RUNS[name])
    for name in wanted:
        print(f"{name:32}", *(f"{b.format} {len(changed[b.format, name])}" for b in batches))
        sure = "eager" in name and not name.startswith(("thinking_prune", "pairing", "budget 5000"))
        still = [b.format for b in batches if sure and not changed[b.format, name]]
        expect(not still, name, "never changes", still)
    for b in batches:  # what one stage cannot do must not keep the others from their work
        for one, all_ in (("dedup, classic", "seven stages"), ("dedup, eager", "seven stages, eager")):
            lost = changed[b.format, one] - changed[b.format, all_] if all_ in wanted else ()
            expect(not lost, b.format, all_, "leaves alone what dedup shortens:", sorted(lost)[:5])
    total = {b.format: len(b.lines) for b in batches}
    finish(f"{len(wanted)} runs over {total}")


main()
