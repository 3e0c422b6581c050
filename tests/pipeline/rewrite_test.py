"""Rewrites the history under a confirmed pipeline: a new epoch, the table follows, what is gone is deleted.

usage: rewrite_test.py WEIR MAKE_HISTORY
"""
import pathlib
import subprocess
import sys
import tempfile

import programs


def main():
    weir, make_history = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="weir-rewrite-") as directory:
        repository = pathlib.Path(directory) / "repository"
        subprocess.run([make_history, str(repository), "--commits", "300", "--seed", "11"], check=True)
        config = programs.configuration(directory, repository)
        table = pathlib.Path(directory) / "files.db"
        subprocess.run([weir, "run", "--quiet", str(config)], check=True)
        before = programs.differences(programs.tree_of(repository), programs.table_of(table))

        # Forget the last hundred commits and go another way.
        old = programs.tree_of(repository)
        base = programs.git(repository, "rev-parse", "HEAD~100").decode().strip()
        tree = programs.git(repository, "rev-parse", f"{base}^{{tree}}").decode().strip()
        other = programs.git(
            repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-p", base, "-m", "another way"
        ).decode().strip()
        programs.git(repository, "update-ref", "HEAD", other)
        gone = set(old) - set(programs.tree_of(repository))
        subprocess.run([weir, "run", "--quiet", str(config)], check=True)
        after = programs.differences(programs.tree_of(repository), programs.table_of(table))
        print(f"before: {before or 'equal'}; after: {after or 'equal'}; {len(gone)} keys gone")
        sys.exit(1 if before or after or not gone else 0)


if __name__ == "__main__":
    main()
