"""Kills `weir run` at seeded moments and checks that nothing is lost and nothing is there twice.

usage: crash_test.py WEIR MAKE_HISTORY [--durable]
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import programs

KILLS = 50  # of runs that had work left
COMMITS = 2200


class faulty(Exception):
    pass


def run_and_kill(weir, config, audit, all_changes, chance):
    """One run that is killed somewhere. True when that interrupted it."""
    at = chance.random()
    run = subprocess.Popen([weir, "run", "--quiet", str(config)])
    if at < 0.25:
        time.sleep(at / 4)  # in its beginnings
    else:
        # When the audit file has grown: somewhere in the middle of the work.
        size = audit.stat().st_size if audit.exists() else 0
        more = chance.randrange(1, all_changes // 10) * 150
        while run.poll() is None and (not audit.exists() or audit.stat().st_size < size + more):
            time.sleep(0.0005)
    run.send_signal(signal.SIGKILL)
    code = run.wait()
    if code not in (0, -signal.SIGKILL):
        raise faulty(f"weir run ended by itself with {code}")
    return code == -signal.SIGKILL and (not audit.exists() or audit.read_bytes().count(b'"op":') < all_changes)


def check_confirmed(place):
    """Nothing is confirmed to the source that the audit file does not have."""
    if not (place / "state/position.json").exists():
        return
    confirmed = json.loads((place / "state/position.json").read_text())["state"].get("confirmed")
    # The last line may be cut: then what stands before it is what there is.
    lines = (place / "audit.jsonl").read_bytes().split(b"\n")[:-1] if (place / "audit.jsonl").exists() else []
    held = max(((line["epoch"], line["seq"]) for line in map(json.loads, lines[-1:])), default=(0, 0))
    if confirmed and (confirmed["epoch"], confirmed["seq"]) > held:
        raise faulty(f"confirmed {confirmed}, and the audit file ends at {held}")


def run_to_the_end(weir, config, repository, expected):
    subprocess.run([weir, "run", "--quiet", str(config)], check=True)
    table = programs.differences(programs.tree_of(repository), programs.table_of(config.parent / "files.db"))
    if table:
        raise faulty(f"the table against git ls-tree: {table}")
    audit = programs.differences(expected, programs.audited(config.parent / "audit.jsonl"))
    if audit:
        raise faulty(f"the audit file against git log: {audit}")


def main():
    weir, make_history = sys.argv[1:3]
    seed = int(os.environ.get("WEIR_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"seed {seed}: replay with ./dev test --seed {seed} -k crash", flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="weir-crash-") as directory:
        repository = pathlib.Path(directory) / "repository"
        subprocess.run([make_history, str(repository), "--commits", str(COMMITS), "--seed", str(seed % 1000)], check=True)
        expected = programs.changes_of(repository)
        kills, rounds = 0, 0
        # However fast it is: when the work is done before it was interrupted often enough, it is done once more from nothing.
        while kills < KILLS:
            rounds += 1
            place = pathlib.Path(directory) / f"round-{rounds}"
            place.mkdir()
            floor = chance.choice(["sink", "log"])
            stream = programs.stream_table(sys.argv, floor=floor)
            config = programs.configuration(place, repository, max_changes=chance.choice([1, 7, 64, 512]), stream=stream)
            try:
                before = kills
                while kills < KILLS and run_and_kill(weir, config, place / "audit.jsonl", len(expected), chance):
                    kills += 1
                    if not stream or floor == "sink":
                        check_confirmed(place)
                run_to_the_end(weir, config, repository, expected)
            except faulty as fault:
                sys.exit(f"round {rounds}, after kill {kills}: {fault}")
            print(f"round {rounds}: {kills - before} kills, table and audit file equal", flush=True)
        print(f"{kills} kills, {len(expected)} changes")


if __name__ == "__main__":
    main()
