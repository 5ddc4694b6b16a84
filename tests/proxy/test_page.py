"""The live page in Debian's chromium, light, dark and on a phone. PAUCIS_SHOTS=PREFIX keeps pictures."""
import json
import os
import re
import shutil
import subprocess
import sys

from harness import PATIENCE, Serve, Upstream, ask, chat_body, post, run_tests
from packages import CACHE, HERE, install


def token(serve):
    return re.search(r"token=([0-9a-f]{32})", serve.text())[1]


def test_page():
    up = Upstream(check=False)
    s = Serve(up, "-q", "--inspect", decide=())  # as users see it: the default policy
    for name in ("fix the parser", "write the manual"):
        for i in range(60):
            post(s, chat_body(i, name=name).replace(b'"read"', b'"bash"'))
    post(s, chat_body(3), x_fault="status-500")
    ask(s.port, "GET", "/v1/models")
    shutil.copy(os.path.join(HERE, "page.mjs"), CACHE)
    r = subprocess.run(["node", os.path.join(CACHE, "page.mjs"), f"{s.url}/paucis/?token={token(s)}", shutil.which("chromium"),
                        os.environ.get("PAUCIS_SHOTS", "")], capture_output=True, timeout=PATIENCE * 6)
    assert r.returncode == 0, r.stderr.decode()[-2000:]
    looks = {o["name"]: o for o in map(json.loads, r.stdout.splitlines())}
    for look in looks.values():
        assert not look["errors"] and set(look["asked"]) == {"/paucis/", "/paucis/data", "/paucis/texts"}, look
        assert look["overflow"] <= 0 and look["bars"] > 50 and look["rows"] > 20 and look["texts"] > 3, look
        assert "saved net" in look["cards"]
    assert looks["light"]["background"] != looks["dark"]["background"]
    s.stop()


def test_texts_need_the_token():
    up = Upstream(check=False)
    s = Serve(up, "-q", "--inspect")
    id = post(s, chat_body(24))[1]["x-paucis"].split("id=")[1]
    secret = token(s)
    assert ask(s.port, "GET", f"/paucis/texts?id={id}")[0] == 403
    assert ask(s.port, "GET", f"/paucis/texts?id={id}&token={secret[:-1]}")[0] == 403
    assert ask(s.port, "GET", f"/paucis/texts?id=77&token={secret}")[0] == 404
    status, _, body = ask(s.port, "GET", f"/paucis/texts?id={id}&token={secret}")
    edits = json.loads(body)["edits"]
    assert status == 200 and len(edits) > 5 and all(len(e["was"]) <= 2100 for e in edits)
    assert "of some output" in edits[0]["was"]
    s.stop()
    s = Serve(up, "-q")
    assert ask(s.port, "GET", f"/paucis/texts?id={id}&token={secret}")[0] == 403
    s.stop()


if __name__ == "__main__":
    if not shutil.which("chromium") or not install()[0]:
        print("skipped: chromium or the npm package playwright-core is not there")
        sys.exit(77)
    run_tests(globals())
