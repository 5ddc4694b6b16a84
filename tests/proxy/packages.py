"""The npm and PyPI packages that tests use as clients, installed by name into a cache folder.

PAUCIS_CLIENTS names another folder. Where nothing can be installed, the tests that need it are skipped.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients")
CACHE = os.environ.get("PAUCIS_CLIENTS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "paucis-test-clients")


def install():
    os.makedirs(CACHE, exist_ok=True)
    have_node = False
    if shutil.which("npm"):
        modules = os.path.join(CACHE, "node_modules")
        if not os.path.isdir(os.path.join(modules, "@copilotkit")):
            shutil.copy(os.path.join(HERE, "package.json"), CACHE)
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=CACHE,
                           capture_output=True, timeout=240)
        have_node = os.path.isdir(os.path.join(modules, "openai"))
    env = os.path.join(CACHE, "python")
    ready = os.path.join(env, "ready-2")  # another number when the list below changes
    if not os.path.exists(ready):
        ok = subprocess.run([sys.executable, "-m", "venv", env], capture_output=True).returncode == 0
        ok = ok and subprocess.run([os.path.join(env, "bin", "pip"), "install", "-q", "openai", "anthropic",
                                    "google-genai"],
                                   capture_output=True, timeout=240).returncode == 0
        if ok:
            open(ready, "w").close()
    have_python = os.path.exists(ready)
    return have_node, have_python
