#!/usr/bin/env python3
"""How fast another tokenizer is: peer.py tiktoken|gigatoken VOCABULARY.tiktoken ENCODING TEXT

One line of JSON. Cold is the first pass of a fresh tokenizer, warm a later one, the best of several; loading is
not counted. CPU time of the thread."""
import importlib.metadata
import json
import pathlib
import sys
import time

ROUNDS, WARM = 3, 2
DOCUMENT = 8192  # tiktoken is slower on one large text


def tiktoken_of(vocabulary, encoding, data):
    import tiktoken
    import tiktoken_ext.openai_public as known
    from tiktoken.load import load_tiktoken_bpe

    known.load_tiktoken_bpe = lambda *a, **k: load_tiktoken_bpe(vocabulary)
    text = data.decode()
    documents = [text[i : i + DOCUMENT] for i in range(0, len(text), DOCUMENT)]

    def fresh():
        one = tiktoken.Encoding(**getattr(known, encoding)())
        return lambda: sum(len(one.encode_ordinary(document)) for document in documents)

    return fresh


def gigatoken_of(vocabulary, encoding, data):
    import gigatoken

    def fresh():
        one = gigatoken.Tokenizer.from_tiktoken(vocabulary)
        source = gigatoken.BytesSource([data])
        return lambda: len(one.encode_batch(source, parallel=False)[0])

    return fresh


def seconds(run):
    start = time.thread_time()
    tokens = run()
    return time.thread_time() - start, tokens


def main():
    name, vocabulary, encoding, path = sys.argv[1:]
    fresh = {"tiktoken": tiktoken_of, "gigatoken": gigatoken_of}[name](
        vocabulary, encoding, pathlib.Path(path).read_bytes()
    )
    cold = warm = 1e9
    for _ in range(ROUNDS):
        run = fresh()
        time_taken, tokens = seconds(run)
        cold = min(cold, time_taken)
        for _ in range(WARM):
            warm = min(warm, seconds(run)[0])
    title = f"{name} {importlib.metadata.version(name)}, native core (PyPI)"
    print(json.dumps({"name": title, "cold_s": cold, "warm_s": warm, "tokens": tokens}))


main()
