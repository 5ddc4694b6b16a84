#!/usr/bin/env python3
"""paucis count against others, ids and all: tests/tools/token_peers.py PAUCIS COUNT [SEED] FILE...

FILE is a tokenizer.json (compared with PyPI tokenizers), a *.tiktoken called o200k_base or
cl100k_base (PyPI tiktoken), or npm:NODE_MODULES:ENCODING (npm tiktoken). PAUCIS_KERNELS names the kernels to try."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import token_texts  # noqa: E402


def npm(folder, encoding):
    script = pathlib.Path(__file__).resolve().parent / "token_npm.js"

    def encode(batch):
        lines = "".join(json.dumps(text) + "\n" for text in batch).encode()
        args = ["node", str(script), folder, encoding]
        out = subprocess.run(args, input=lines, stdout=subprocess.PIPE, check=True).stdout
        return [json.loads(line) for line in out.splitlines()]

    return encoding, encode


def reference(name):
    path = pathlib.Path(name)
    if name.startswith("npm:"):
        return npm(*name.split(":")[1:])
    if path.suffix == ".json":
        import tokenizers

        one = tokenizers.Tokenizer.from_str(bare(path))
        return str(path), lambda batch: [x.ids for x in one.encode_batch(batch, add_special_tokens=False)]
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe
    import tiktoken_ext.openai_public as known

    known.load_tiktoken_bpe = lambda *a, **k: load_tiktoken_bpe(str(path))
    one = tiktoken.Encoding(**getattr(known, path.stem)())
    return path.stem, lambda batch: one.encode_ordinary_batch(batch, num_threads=1)


def bare(path):
    """Without added tokens, whose names paucis counts as text."""
    data = json.loads(path.read_text(encoding="utf-8"))
    data["added_tokens"] = []
    data["post_processor"] = None
    return json.dumps(data)


def ours(command, tokenizer, kernel, lines, *more):
    args = [command, "count", "--text", "--jsonl", "--json", "-t", tokenizer, "-O", f"kernel={kernel}", *more]
    out = subprocess.run(args, input=lines, stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def main():
    command, count, rest = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    seed = int(rest.pop(0)) if rest[0].isdigit() else 1
    kernels = os.environ.get("PAUCIS_KERNELS", "").split()
    if not kernels:
        table = subprocess.run([command, "list", "kernels"], stdout=subprocess.PIPE, check=True).stdout
        kernels = [line.split()[0] for line in table.decode().splitlines()]
    wrong = 0
    for name in rest:
        name, encode = reference(name)
        done = 0
        while done < count:
            batch = list(token_texts.texts(min(50000, count - done), seed + done))
            lines = b"".join(json.dumps(text).encode() + b"\n" for text in batch)
            want = encode(batch)
            for kernel in kernels:
                got = [line["ids"] for line in ours(command, name, kernel, lines, "--ids")]
                counts = [line["tokens"] for line in ours(command, name, kernel, lines)]
                bad = [i for i, ids in enumerate(want) if got[i] != list(ids) or counts[i] != len(ids)]
                wrong += len(bad)
                for i in bad[:3]:
                    print(f"{name}, {kernel}: {batch[i]!r}\n  {counts[i]} {got[i]}\n  {list(want[i])}")
            done += len(batch)
        print(f"{name}: {done} texts, {len(kernels)} kernels, {wrong} differences so far", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
