"""Two processes that chain through a log, and a third behind another log, with nothing between them but files: all are killed over and
over while they run. In the end table and audit file are what Git says, each change once and in order.

usage: chain_test.py WEIR MAKE_HISTORY [--durable]

With --durable the streams of all three are kept in one log.
"""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import programs

FIRST = """name = "first"
state = "first-state"
[source]
type = "git"
repository = "repository"
max_changes = 7
[[sink]]
name = "log"
type = "log"
path = "first.log"
"""

SECOND = """name = "second"
state = "second-state"
[source]
type = "log"
path = "first.log"
follow = {follow}
max_changes = 50
[[sink]]
name = "files"
type = "sqlite"
path = "files.db"
[[sink]]
name = "audit"
type = "jsonl"
path = "audit.jsonl"
[[sink]]
name = "log"
type = "log"
path = "second.log"
topic = "passed on"
"""

THIRD = """name = "third"
state = "third-state"
[source]
type = "log"
path = "second.log"
topic = "passed on"
follow = {follow}
[[sink]]
name = "audit"
type = "jsonl"
path = "audit-behind.jsonl"
"""


def without_commits(changes):
    return [change._replace(commit=None) for change in changes]


def main():
    weir, make_history = sys.argv[1:3]
    seed = int(os.environ.get("WEIR_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"seed {seed}: replay with ./dev test --seed {seed} -k chain", flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="weir-chain-") as directory:
        directory = pathlib.Path(directory)
        repository = directory / "repository"
        subprocess.run([make_history, str(repository), "--commits", "400", "--seed", "5"], check=True)

        def write_configurations(follow):
            for name, text in (("first", FIRST), ("second", SECOND), ("third", THIRD)):
                whole = text.replace("{follow}", str(follow).lower()) + programs.stream_table(sys.argv)
                (directory / f"{name}.toml").write_text(whole)

        def command(name):
            return [weir, "run", "--quiet", str(directory / f"{name}.toml")]

        # The logs are there before those who read them.
        subprocess.run([weir, "log", "create", str(directory / "first.log")], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(
            [weir, "log", "create", str(directory / "second.log"), "--topic", "passed on"], check=True, stdout=subprocess.DEVNULL
        )
        kills = 0
        write_configurations(True)
        for _ in range(25):
            running = [subprocess.Popen(command(name), stderr=subprocess.DEVNULL) for name in ("first", "second", "third")]
            time.sleep(chance.random() * 0.25)
            for one in chance.sample(running, len(running)):
                one.send_signal(signal.SIGKILL)
            kills += sum(one.wait() == -signal.SIGKILL for one in running)
        write_configurations(False)
        for name in ("first", "second", "third"):
            subprocess.run(command(name), check=True)
        wanted = without_commits(programs.changes_of(repository))
        faults = 0
        for what, difference in (
            ("table", programs.differences(programs.tree_of(repository), programs.table_of(directory / "files.db", "files"))),
            ("audit file", programs.differences(wanted, without_commits(programs.audited(directory / "audit.jsonl")))),
            ("audit file behind the second log",
             programs.differences(wanted, without_commits(programs.audited(directory / "audit-behind.jsonl")))),
        ):
            print(f"killed {kills} times: the {what}: {difference or 'equal'}", flush=True)
            faults += bool(difference)
        sys.exit(1 if faults or kills < 30 else 0)


if __name__ == "__main__":
    main()
