"""Redis servers for tests, on loopback, and ports that stay theirs: below those that the system hands to outgoing
connections, or a server that comes back might find its port taken by a client."""
import ctypes
import os
import random
import signal
import socket
import subprocess
import time

FIRST, LAST, BUS = 10000, 22000, 10000  # a cluster's nodes speak among themselves BUS above their ports
RNG = random.Random()
taken = set()


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port():
    while True:
        port = RNG.randrange(FIRST, LAST)
        if port not in taken and port + BUS not in taken and is_free(port) and is_free(port + BUS):
            taken.update((port, port + BUS))
            return port


def end_with_us():
    """A server must not outlive a test that was killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Redis:
    """A redis-server that writes every command to disk, so that a restart loses nothing."""

    def __init__(self, folder, *options):
        self.port, self.folder, self.options, self.job = free_port(), folder, options, None
        os.makedirs(folder, exist_ok=True)
        self.start()

    def start(self, *more):
        with open(f"{self.folder}/log", "ab") as log:
            self.job = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
                 "--appendonly", "yes", "--appendfsync", "always", "--save", "", *self.options, *more],
                stdout=log, stderr=log, preexec_fn=end_with_us)
        deadline = time.time() + 60
        while time.time() < deadline and self.job.poll() is None:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        with open(f"{self.folder}/log", errors="replace") as log:
            raise RuntimeError("redis-server does not start:\n" + log.read()[-2000:])

    def stop(self, how=signal.SIGTERM):
        if self.job:
            self.job.send_signal(how)
            self.job.wait()
        self.job = None

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True,
                              timeout=60, check=False).stdout


def make_cluster(folder):
    """Three masters and a replica of each, or a RuntimeError"""
    nodes = [Redis(f"{folder}/{i}", "--cluster-enabled", "yes", "--cluster-node-timeout", "1500") for i in range(6)]
    made = subprocess.run(["redis-cli", "--cluster", "create", *[f"127.0.0.1:{n.port}" for n in nodes],
                           "--cluster-replicas", "1", "--cluster-yes"], capture_output=True, text=True, timeout=120,
                          check=False)
    deadline = time.time() + 60
    while time.time() < deadline:
        if all("cluster_state:ok" in n.cli("cluster", "info") for n in nodes) and all(
                "master_link_status:up" in n.cli("info", "replication") for n in nodes[3:]):
            return nodes
        time.sleep(0.1)
    raise RuntimeError("no cluster:\n" + made.stdout[-2000:])
