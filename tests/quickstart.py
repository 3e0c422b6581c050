#!/usr/bin/env python3
"""Says what the quickstart (./dev run) has made, and compares it with Git.

    quickstart.py FOLDER REPOSITORY

FOLDER holds files.db and audit.jsonl. Exits 1 when files.db is not what `git ls-tree -r HEAD` says.
"""

import json
import pathlib
import sqlite3
import subprocess
import sys

QUERY = """SELECT json_extract(payload, '$.time') AS changed, CAST(key AS TEXT) AS file
  FROM files ORDER BY changed DESC, file LIMIT 5"""


def git(repository, *arguments):
    return subprocess.run(["git", "-C", repository, *arguments], check=True, stdout=subprocess.PIPE).stdout


def entries_of_git(repository):
    """Path bytes → (mode, object) of everything that HEAD holds."""
    entries = {}
    for line in git(repository, "ls-tree", "-r", "-z", "HEAD").split(b"\0"):
        if line:
            about, path = line.split(b"\t", 1)
            mode, _, name = about.split(b" ")
            entries[path] = (mode.decode(), name.decode())
    return entries


def entries_of_table(database):
    entries = {}
    for key, payload in database.execute("SELECT CAST(key AS BLOB), CAST(payload AS BLOB) FROM files"):
        fields = json.loads(payload)
        entries[bytes(key)] = (fields["mode"], fields["blob"])
    return entries


def print_differences(table, tree):
    for path in sorted(table.keys() | tree.keys()):
        if table.get(path) != tree.get(path):
            print(f"  {path.decode(errors='replace')}: files.db has {table.get(path)}, Git has {tree.get(path)}")


def main(arguments):
    folder, repository = pathlib.Path(arguments[0]), arguments[1]
    database = sqlite3.connect(folder / "files.db")
    with open(folder / "audit.jsonl", "rb") as audit:
        changes = sum("op" in json.loads(line) for line in audit)
    commits = int(git(repository, "rev-list", "--count", "--first-parent", "HEAD"))
    table, tree = entries_of_table(database), entries_of_git(repository)

    print(f"\n{commits} commits on the first-parent history")
    print(f"{changes} changes in audit.jsonl ({(folder / 'audit.jsonl').stat().st_size} bytes)")
    print(f"{len(table)} files in files.db ({(folder / 'files.db').stat().st_size} bytes)")
    print(f"\nThe five files that were changed last, asked of files.db:\n\n  {QUERY}\n")
    for changed, file in database.execute(QUERY):
        print(f"  {changed}  {file}")
    print()
    if table != tree:
        print("files.db is NOT what `git ls-tree -r HEAD` says:")
        print_differences(table, tree)
        return 1
    print(f"files.db equals `git ls-tree -r HEAD`: {len(tree)} of {len(tree)} entries, byte for byte.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
