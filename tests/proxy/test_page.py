"""The live page in Debian's chromium, light, dark and on a phone. PAUCIS_SHOTS=PREFIX keeps pictures."""
import json
import os
import shutil
import subprocess
import sys

from harness import PATIENCE, Serve, Upstream, ask, chat_body, post, run_tests
from packages import CACHE, HERE, install


def test_page():
    up = Upstream(check=False)
    s = Serve(up, "-q", decide=("-s", "snippet", "-O", "step=10"))
    for name in ("fix the parser", "write the manual"):
        for i in range(24):
            post(s, chat_body(i, name=name))
    post(s, chat_body(3), x_fault="status-500")
    ask(s.port, "GET", "/v1/models")
    shutil.copy(os.path.join(HERE, "page.mjs"), CACHE)
    r = subprocess.run(["node", os.path.join(CACHE, "page.mjs"), s.url + "/paucis/", shutil.which("chromium"),
                        os.environ.get("PAUCIS_SHOTS", "")], capture_output=True, timeout=PATIENCE * 6)
    assert r.returncode == 0, r.stderr.decode()[-2000:]
    looks = {o["name"]: o for o in map(json.loads, r.stdout.splitlines())}
    for look in looks.values():
        assert not look["errors"] and set(look["asked"]) == {"/paucis/", "/paucis/data"}, look
        assert look["overflow"] <= 0 and look["bars"] > 50 and look["rows"] > 20, look
        assert "saved net" in look["cards"]
    assert looks["light"]["background"] != looks["dark"]["background"]
    s.stop()


if __name__ == "__main__":
    if not shutil.which("chromium") or not install()[0]:
        print("skipped: chromium or the npm package playwright-core is not there")
        sys.exit(77)
    run_tests(globals())
