"""Law 7: leaving is safe. A stand-in binds thinking to its prefix and refuses any other (binding.py); a
conversation that was shortened goes on in every way of leaving it, at every turn."""
import sqlite3
import subprocess

from binding import Session, upstream
from harness import LONG, PAUCIS, SANITIZED, Serve, run_tests

SESSIONS = 50 if LONG else 3 if SANITIZED else 6
TURNS = 14
DECIDE = (("-l", "balanced"), ("-l", "deep"), ("-l", "deep", "-b", "24K"))


def at_every_turn(leave, step=1, sessions=SESSIONS):
    """Each session is led to each of its turns, left there, and goes on for three more. `leave` gives the
    server to go on with."""
    up = upstream()
    ways = edited = 0
    for seed in range(sessions):
        s = Serve(up, "-q", decide=DECIDE[seed % len(DECIDE)])
        for turn in range(1 + seed % step, TURNS, step):
            session = Session(seed, s.port, turn, up)
            for _ in range(turn):
                status, headers, answer = session.send()
                assert status == 200, (seed, turn, session.turn, answer)
            ways += 1
            edited += headers["x-paucis"].startswith("saved=")
            now = leave(s, session)
            session.port = now.port
            for _ in range(3):
                status, headers, answer = session.send()
                assert status == 200, (seed, turn, session.turn, headers, answer)
                assert not up.provider.refused, (seed, turn, session.turn, up.provider.refused)
            if now is not s:
                now.stop()
                s = Serve(up, "-q", decide=DECIDE[seed % len(DECIDE)], record=s.record)
        s.stop()
    print(f"     {ways} ways out, {edited} of them from a shortened conversation")
    assert edited > ways // 2


def test_off_by_the_client():
    def leave(serve, session):
        status, headers, answer = session.send(x_paucis="off")
        assert status == 200 and "off" in headers["x-paucis"], (headers, answer)
        return serve
    at_every_turn(leave)


def test_off_by_hand():
    def leave(serve, session):
        db = sqlite3.connect(serve.record)
        number = db.execute("SELECT max(id) FROM conv").fetchone()[0]
        db.close()
        r = subprocess.run([PAUCIS, "off", str(number), "--record", serve.record], capture_output=True)
        assert r.returncode == 0, r.stderr
        return serve
    at_every_turn(leave, 2, max(3, SESSIONS // 5))


def started_again(*flags):
    def leave(serve, session):
        serve.stop()
        return Serve(session.up, "-q", decide=flags, record=serve.record)
    at_every_turn(leave, 4, max(3, SESSIONS // 5))


def test_only_observed():
    started_again("-l", "balanced", "--observe")


def test_other_level():
    started_again("-l", "safe")


def test_no_policy():
    started_again("-p", "none")


def test_classic_strategies():
    started_again("-s", "thinking_prune")


def test_killed():
    """Not a way of leaving: it goes on as if nothing had been."""
    def leave(serve, session):
        serve.kill()
        return Serve(session.up, "-q", decide=DECIDE[int(session.key.split("-")[1]) % len(DECIDE)],
                     record=serve.record)
    at_every_turn(leave, 4, max(3, SESSIONS // 5))


if __name__ == "__main__":
    run_tests(globals())
