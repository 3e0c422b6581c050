"""Follows a history that grows and is rewritten while `weir run` runs: what is committed is in the table soon after, across kills; a
signal drains it.

usage: follow_test.py WEIR MAKE_HISTORY [--durable]
"""
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import programs


def commit(repository, parent, tree, message):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    made = programs.git(repository, *identity, "commit-tree", tree, "-p", parent, "-m", message).decode().strip()
    programs.git(repository, "update-ref", "HEAD", made)


def tree_with(repository, base, name, content):
    """The commit's files and one more."""
    blob = programs.git(repository, "hash-object", "-w", "--stdin", stdin=content.encode()).decode().strip()
    entries = programs.git(repository, "ls-tree", "-z", base).rstrip(b"\0").split(b"\0")
    entries = [one for one in entries if not one.endswith(b"\t" + name.encode())] + [f"100644 blob {blob}\t{name}".encode()]
    return programs.git(repository, "mktree", "-z", stdin=b"\0".join(entries) + b"\0").decode().strip()


def id_of(repository, revision):
    return programs.git(repository, "rev-parse", revision).decode().strip()


def wait_until_equal(run, repository, table):
    """The test's time limit ends this; a run that ends by itself, too."""
    while True:
        if run.poll() is not None:
            sys.exit(f"weir run ended by itself with {run.returncode}")
        try:
            if not programs.differences(programs.tree_of(repository), programs.table_of(table)):
                return
        except sqlite3.OperationalError:
            pass  # it makes the table just now
        time.sleep(0.02)


def main():
    weir, make_history = sys.argv[1:3]
    seed = int(os.environ.get("WEIR_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"seed {seed}: replay with ./dev test --seed {seed} -k follow", flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="weir-follow-") as directory:
        repository = pathlib.Path(directory) / "repository"
        subprocess.run([make_history, str(repository), "--commits", "100", "--seed", "7"], check=True)
        config = programs.configuration(directory, repository, follow=True, stream=programs.stream_table(sys.argv))
        table = pathlib.Path(directory) / "files.db"

        def start():
            return subprocess.Popen([weir, "run", "--quiet", str(config)])

        run = start()
        wait_until_equal(run, repository, table)
        rewritten = 0
        for number in range(30):
            if chance.random() < 0.3:  # killed while it follows, with or without news
                run.send_signal(signal.SIGKILL)
                run.wait()
                run = start()
            if chance.random() < 0.2:
                base = id_of(repository, f"HEAD~{chance.randrange(1, 10)}")
                rewritten += 1
            else:
                base = id_of(repository, "HEAD")
            commit(repository, base, tree_with(repository, base, f"file-{number % 4}", str(number)), str(number))
            if chance.random() < 0.7:
                wait_until_equal(run, repository, table)
        wait_until_equal(run, repository, table)
        run.send_signal(signal.SIGTERM)
        code = run.wait()
        left = programs.differences(programs.tree_of(repository), programs.table_of(table))
        print(f"{rewritten} times rewritten; drained with {code}; {left or 'equal'}")
        sys.exit(0 if code == 0 and not left and rewritten else 1)


if __name__ == "__main__":
    main()
