"""Kills `weir run` at seeded moments and checks that nothing is lost and nothing is there twice.

usage: crash_test.py WEIR MAKE_HISTORY
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

KILLS = 50
COMMITS = 2200


def main():
    weir, make_history = sys.argv[1:3]
    seed = int(os.environ.get("WEIR_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"seed {seed}: replay with ./dev test --seed {seed} -k crash", flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="weir-crash-") as directory:
        repository = pathlib.Path(directory) / "repository"
        subprocess.run([make_history, str(repository), "--commits", str(COMMITS), "--seed", str(seed % 1000)], check=True)
        expected = programs.changes_of(repository)
        config = programs.configuration(directory, repository, max_changes=chance.choice([1, 7, 64, 512]))
        audit = pathlib.Path(directory) / "audit.jsonl"
        step = max(1, len(expected) // KILLS)
        for kill in range(KILLS):
            killed_at = chance.random()
            run = subprocess.Popen([weir, "run", "--quiet", str(config)])
            if killed_at < 0.25:
                time.sleep(killed_at / 4)  # in its beginnings
            else:
                # When the audit file has grown: somewhere in the middle of the work.
                size = audit.stat().st_size if audit.exists() else 0
                more = chance.randrange(1, 2 * step) * 150
                while run.poll() is None and (not audit.exists() or audit.stat().st_size < size + more):
                    time.sleep(0.0005)
            run.send_signal(signal.SIGKILL)
            code = run.wait()
            if code not in (0, -signal.SIGKILL):
                sys.exit(f"after kill {kill}: weir run ended by itself with {code}")
        subprocess.run([weir, "run", "--quiet", str(config)], check=True)

        faults = {
            "the table against git ls-tree": programs.differences(
                programs.tree_of(repository), programs.table_of(pathlib.Path(directory) / "files.db")
            ),
            "the audit file against git log": programs.differences(expected, programs.audited(audit)),
        }
        for what, difference in faults.items():
            print(f"{what}: {difference or 'equal'}")
        print(f"{KILLS} kills, {len(expected)} changes")
        sys.exit(1 if any(faults.values()) else 0)


if __name__ == "__main__":
    main()
