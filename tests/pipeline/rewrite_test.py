"""Rewrites the history under a confirmed pipeline, also while it is being killed, and takes its state away: a new epoch, the table
follows, what is gone is deleted, and the audit file takes back what is no more and says what is new, each change once.

usage: rewrite_test.py WEIR MAKE_HISTORY [--durable]
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import programs


def rewrite(repository, forget, message, changed=None):
    """Forgets that many commits and goes another way: with the same files, and one that is another."""
    base = programs.git(repository, "rev-parse", f"HEAD~{forget}").decode().strip()
    tree = programs.git(repository, "rev-parse", f"{base}^{{tree}}").decode().strip()
    if changed:
        blob = programs.git(repository, "hash-object", "-w", "--stdin", stdin=changed.encode()).decode().strip()
        entries = programs.git(repository, "ls-tree", "-z", tree).rstrip(b"\0").split(b"\0")
        entries = [one for one in entries if not one.endswith(b"\tanother")] + [f"100644 blob {blob}\tanother".encode()]
        tree = programs.git(repository, "mktree", "-z", stdin=b"\0".join(entries) + b"\0").decode().strip()
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    other = programs.git(repository, *identity, "commit-tree", tree, "-p", base, "-m", message).decode().strip()
    programs.git(repository, "update-ref", "HEAD", other)


def main():
    weir, make_history = sys.argv[1:3]
    seed = int(os.environ.get("WEIR_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"seed {seed}: replay with ./dev test --seed {seed} -k rewrite", flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="weir-rewrite-") as directory:
        repository = pathlib.Path(directory) / "repository"
        subprocess.run([make_history, str(repository), "--commits", "300", "--seed", "11"], check=True)
        config = programs.configuration(directory, repository, stream=programs.stream_table(sys.argv))
        table = pathlib.Path(directory) / "files.db"
        audit = pathlib.Path(directory) / "audit.jsonl"
        faults = []

        def run_and_compare(what):
            subprocess.run([weir, "run", "--quiet", str(config)], check=True)
            wanted = programs.changes_of(repository)
            for name, difference in (
                ("table", programs.differences(programs.tree_of(repository), programs.table_of(table))),
                ("audit file", programs.differences(wanted, programs.audited(audit))),
            ):
                print(f"{what}: the {name}: {difference or 'equal'}", flush=True)
                if difference:
                    faults.append(what)

        run_and_compare("before")
        old = programs.tree_of(repository)
        rewrite(repository, 100, "another way")
        gone = set(old) - set(programs.tree_of(repository))
        run_and_compare("rewritten")

        # Rewritten again and again, before the epoch that the last one opened was confirmed, or even begun.
        kills = 0
        for number in range(12):
            rewrite(repository, chance.randrange(1, 8), f"way {number}", f"content {number}")
            run = subprocess.Popen([weir, "run", "--quiet", str(config)])
            time.sleep(chance.random() * 0.15)
            run.send_signal(signal.SIGKILL)
            kills += run.wait() == -signal.SIGKILL
        run_and_compare(f"rewritten 12 times, killed {kills} times")

        shutil.rmtree(pathlib.Path(directory) / "state")
        run_and_compare("without its state")
        rewrite(repository, 5, "without a state", "new")
        shutil.rmtree(pathlib.Path(directory) / "state")
        run_and_compare("without its state, and rewritten")

        # The state of before a rewrite, and that history again: the audit file has taken back what is confirmed there.
        tip = programs.git(repository, "rev-parse", "HEAD").decode().strip()
        shutil.copytree(pathlib.Path(directory) / "state", pathlib.Path(directory) / "older")
        rewrite(repository, 20, "and back", "gone again")
        run_and_compare("rewritten once more")
        shutil.rmtree(pathlib.Path(directory) / "state")
        (pathlib.Path(directory) / "older").rename(pathlib.Path(directory) / "state")
        programs.git(repository, "update-ref", "HEAD", tip)
        run_and_compare("back, with an older state")

        (pathlib.Path(directory) / "files.db").unlink()
        for left in pathlib.Path(directory).glob("files.db-*"):
            left.unlink()
        run_and_compare("without its table")
        sys.exit(1 if faults or not gone or not kills else 0)


if __name__ == "__main__":
    main()
