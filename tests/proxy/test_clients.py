"""The official SDKs, through the proxy and directly: the same answers, no rule broken, fewer bytes."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness import LONG, PAUCIS, SANITIZED, Serve, Upstream, run_tests
from packages import CACHE, HERE, install

TURNS = 60 if LONG else 20
STABLE = b"stable" in subprocess.run([PAUCIS, "list", "policies"], capture_output=True).stdout
DECIDE = ("-p", "stable") if STABLE else ("-s", "snippet", "-O", "step=12")
NODE = ("openai-chat", "openai-responses", "anthropic", "gemini", "ai-openai", "ai-anthropic")
PYTHON = ("py-openai", "py-anthropic", "py-gemini")


def talk(client, base, mode):
    if client in NODE:
        shutil.copy(os.path.join(HERE, "sdk.mjs"), CACHE)  # it finds its packages from where it lies
        command = ["node", os.path.join(CACHE, "sdk.mjs")]
    else:
        command = [os.path.join(CACHE, "python", "bin", "python"), os.path.join(HERE, "sdk.py")]
    environment = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    r = subprocess.run([*command, client, base, mode], capture_output=True, timeout=240, env=environment)
    assert r.returncode == 0, r.stderr.decode()[-2000:]
    return r.stdout


def replay(body, price):
    """The bill that `paucis replay` foretells, as a part of the bill without paucis."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as f:
        f.write(body + b"\n")
        f.flush()
        r = subprocess.run([PAUCIS, "replay", "--price", price, "--policy", "none,stable:safe", "--min-messages",
                            "2", "--json", f.name], capture_output=True)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)["prices"][0]["policies"][1]["percent"]["cost"] / 100


def compare(client, mode):
    direct, through = Upstream(turns=TURNS), Upstream(turns=TURNS)
    s = Serve(through, "-q", decide=DECIDE)
    wanted, got = talk(client, direct.url, mode), talk(client, s.url, mode)
    assert wanted.count(b"\n") == TURNS + 1, wanted[-500:]
    assert got == wanted, (client, mode)
    assert not through.provider.refused, through.provider.refused[:3]
    sizes = [sum(len(body) for _, _, _, body in u.provider.seen) for u in (direct, through)]
    assert sizes[1] < sizes[0], sizes
    bills = [u.provider.bill_in_base_tokens() for u in (direct, through)]
    assert bills[1] < bills[0], bills
    print(f"     {client} {mode}: {sizes[0]} -> {sizes[1]} bytes, bill {bills[0]:.0f} -> {bills[1]:.0f}")
    if LONG and STABLE and client in ("anthropic", "openai-chat"):
        foretold = replay(direct.provider.seen[-1][3], client.split("-")[0])
        print(f"     replay foretold {foretold * 100:.1f} % of the bill, it was {bills[1] / bills[0] * 100:.1f} %")
        assert abs(bills[1] / bills[0] - foretold) < 0.02
    s.stop()


def make(client, mode):
    return lambda: compare(client, mode)


if __name__ == "__main__":
    node, python = install()
    if not node:
        print("the npm packages cannot be had: node clients are skipped")
    if not python:
        print("the PyPI packages cannot be had: Python clients are skipped")
    tests = {}
    for name in (NODE if node else ()) + (PYTHON if python else ()):
        for how in ("whole", "stream"):
            if LONG or not SANITIZED or how == "stream":
                tests[f"test_{name}_{how}"] = make(name, how)
    if not tests:
        sys.exit(77)
    run_tests(tests)
