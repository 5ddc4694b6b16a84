"""Real agents from npm, Claude Code and Codex CLI, on a scripted task, directly and through the proxy.

They are large: installed only for the long form of the tests, used whenever they are there.
"""
import json
import os
import shutil
import subprocess
import sys

from harness import LONG, PAUCIS, Serve, Upstream, folder, long_text, run_tests
from packages import CACHE

AGENTS = os.path.join(CACHE, "agents")
BIN = os.path.join(AGENTS, "node_modules", ".bin")
TURNS = 24
TASK = "Read the files, one after the other, please."


def install():
    if not os.path.isdir(BIN) and LONG and shutil.which("npm"):
        os.makedirs(AGENTS, exist_ok=True)
        with open(os.path.join(AGENTS, "package.json"), "w") as f:  # or npm takes the folder above
            f.write('{"private": true}')
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "@openai/codex",
                        "@anthropic-ai/claude-code"], cwd=AGENTS, capture_output=True, timeout=600)
        claude = os.path.join(AGENTS, "node_modules", "@anthropic-ai", "claude-code")
        if os.path.exists(os.path.join(claude, "install.cjs")):  # newer npm runs no scripts by itself
            subprocess.run(["node", "install.cjs"], cwd=claude, capture_output=True, timeout=600)
    return os.path.isdir(BIN)


class Desk:
    """A home of its own and some files to read."""

    def __init__(self):
        self.home = folder("agent")
        for i in range(5):
            with open(f"{self.home}/file{i}.txt", "w") as f:
                f.write(long_text(i))
        os.makedirs(f"{self.home}/.codex")
        with open(f"{self.home}/.codex/auth.json", "w") as f:
            json.dump({"OPENAI_API_KEY": "sk-test"}, f)
        self.env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        self.env.update(HOME=self.home, XDG_STATE_HOME=self.home, ANTHROPIC_API_KEY="sk-ant-test",
                        OPENAI_API_KEY="sk-test", DISABLE_TELEMETRY="1", DISABLE_AUTOUPDATER="1",
                        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", ENABLE_TOOL_SEARCH="true")

    def run(self, *command, **more):
        self.env.update(more)
        return subprocess.run(command, env=self.env, cwd=self.home, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=240)


def judge(direct, through, outputs):
    assert all(f"after {TURNS} calls" in out for out in outputs), [out[-500:] for out in outputs]
    assert not through.provider.refused, through.provider.refused[:2]
    counts = [sum(1 for m, *_ in u.provider.seen if m == "POST") for u in (direct, through)]
    assert counts[0] == counts[1], counts
    sizes = [sum(len(body) for *_, body in u.provider.seen) for u in (direct, through)]
    bills = [u.provider.bill_in_base_tokens() for u in (direct, through)]
    print(f"     {sizes[0]} -> {sizes[1]} bytes, bill {bills[0]:.0f} -> {bills[1]:.0f}")
    # Codex writes times and chunk names into every result: nothing repeats, and lengths vary by a few.
    assert sizes[1] <= sizes[0] * 1.001 and bills[1] <= bills[0] * 1.001


def test_claude_code():
    desk = Desk()
    direct, through = (Upstream(turns=TURNS, folder=desk.home) for _ in range(2))
    command = [f"{BIN}/claude", "-p", TASK, "--model", "claude-sonnet-4-5", "--allowedTools", "Read"]
    a = desk.run(*command, ANTHROPIC_BASE_URL=direct.url)
    del desk.env["ANTHROPIC_BASE_URL"]
    b = desk.run(PAUCIS, "run", "-u", through.url, "--", *command)
    assert a.returncode == b.returncode == 0, (a, b)
    assert "requests" in b.stderr, b.stderr
    judge(direct, through, [a.stdout, b.stdout])


def test_codex():
    desk = Desk()
    direct, through = (Upstream(turns=TURNS, folder=desk.home) for _ in range(2))
    s = Serve(through, "-q", decide=())
    outputs = []
    for base in (direct.url + "/v1", s.url + "/openai/v1"):
        r = desk.run(f"{BIN}/codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                     "-c", f'openai_base_url="{base}"', "-c", 'model="gpt-5"', TASK)
        assert r.returncode == 0, r
        outputs.append(r.stdout)
    judge(direct, through, outputs)
    s.stop()


if __name__ == "__main__":
    if not install():
        print("skipped: the agents are not there (the long form of the tests installs them)")
        sys.exit(77)
    run_tests(globals())
