"""What the pipeline tests share: a history, the program, and an independent reading of the history by Git itself."""
import collections
import json
import os
import pathlib
import sqlite3
import subprocess

Change = collections.namedtuple("Change", "commit key mode blob")  # mode and blob are None where the key was deleted


def git(repository, *arguments, stdin=b""):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(repository), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], check=True, input=stdin, stdout=subprocess.PIPE, env=environment
    ).stdout


def tree_of(repository, commit="HEAD"):
    """{path bytes: (mode, blob)} as `git ls-tree` has it."""
    tree = {}
    for entry in git(repository, "ls-tree", "-r", "-z", commit).split(b"\0")[:-1]:
        facts, path = entry.split(b"\t", 1)
        mode, _, blob = facts.split(b" ")
        tree[path] = (mode.decode(), blob.decode())
    return tree


def changes_of(repository):
    """Every change of the first-parent history, oldest first, as `git log --raw` has it."""
    log = git(
        repository, "log", "--first-parent", "-m", "--raw", "-z", "--no-renames", "--no-abbrev", "--root", "--reverse",
        "--format=%H",
    )
    changes, commit, fields = [], None, iter(log.split(b"\0"))
    for field in fields:
        field = field.strip(b"\n")
        if field.startswith(b":"):
            _, mode, _, blob, status = field.decode().split(" ")
            gone = status == "D"
            changes.append(Change(commit, next(fields), None if gone else mode, None if gone else blob))
        elif field:
            commit = field.decode()
    return changes


def key_of(record):
    import base64

    if "key_base64" in record:
        return base64.b64decode(record["key_base64"])
    return record["key"].encode()


def audited(path):
    """The audit file's changes of the history that it ends with, in its own order; fails on a line that is not whole, or that
    stands in the wrong order."""
    changes, places, epoch = [], [], None
    for line in pathlib.Path(path).read_bytes().splitlines():
        record = json.loads(line)
        epoch = epoch or record["epoch"]
        if record.get("event") == "epoch":  # the history goes on behind that commit: what was said behind it is taken back
            assert record["epoch"] > epoch, record
            epoch = record["epoch"]
            while places and places[-1][0] > record["seq"]:
                places.pop()
                changes.pop()
        assert record["epoch"] == epoch, record
        if record.get("event"):
            continue
        place = (record["seq"], record["index"])
        assert not places or place > places[-1], (place, places[-1])
        places.append(place)
        payload = record.get("payload") or {}
        gone = record["op"] == "delete"
        changes.append(
            Change(record["stamp"], key_of(record), None if gone else payload["mode"], None if gone else payload["blob"])
        )
    return changes


def table_of(path, collection="files"):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = {}
    for key, payload in connection.execute(f'SELECT CAST(key AS BLOB), payload FROM "{collection}"'):
        entry = json.loads(payload)
        rows[bytes(key)] = (entry["mode"], entry["blob"])
    connection.close()
    return rows


def configuration(directory, repository, *, max_changes=512, follow=False, stream=""):
    path = pathlib.Path(directory) / "pipeline.toml"
    path.write_text(
        f"""name = "pipeline-test"
state = "state"

[source]
type = "git"
repository = {json.dumps(str(repository))}
follow = {str(follow).lower()}
max_changes = {max_changes}

{stream}
[[sink]]
name = "files"
type = "sqlite"
path = "files.db"

[[sink]]
name = "audit"
type = "jsonl"
path = "audit.jsonl"
"""
    )
    return path


def stream_table(arguments, floor="sink"):
    """The table [stream] for a test that is run with --durable; nothing otherwise."""
    if "--durable" not in arguments:
        return ""
    return f'[stream]\ntype = "durable"\nlog = {{type = "sqlite", path = "lanes.db"}}\nfloor = "{floor}"\n'


def differences(expected, actual):
    """Where two histories or tables differ, in a few words; empty where they are equal."""
    if expected == actual:
        return ""
    if isinstance(expected, dict):
        missing = sorted(key for key in expected if key not in actual)
        added = sorted(key for key in actual if key not in expected)
        other = sorted(key for key in expected if key in actual and actual[key] != expected[key])
        return f"{len(missing)} missing {missing[:3]}, {len(added)} too many {added[:3]}, {len(other)} different {other[:3]}"
    for index, (left, right) in enumerate(zip(expected, actual)):
        if left != right:
            return f"number {index} is {right}, not {left}; {len(actual)} of {len(expected)}"
    return f"{len(actual)} instead of {len(expected)}"
