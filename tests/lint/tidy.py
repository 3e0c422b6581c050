#!/usr/bin/env python3
"""Runs clang-tidy over the files named on standard input, with the compile commands of a build directory.

    tidy.py [--jobs N] BUILD < list

What passed is remembered in BUILD/tidy by the content of the file, of all headers of the tree and of .clang-tidy, and not run again.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIDY = "clang-tidy-19"
HEADING = re.compile(r"^(\S+?):\d+:\d+: (?:error|warning): ")
NOISE = re.compile(r"^(\d+ warnings? (generated|treated)|Suppressed |Use -header-filter|\[\d+/\d+\])")


def hash_of(paths):
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes() + b"\0")
    return total.hexdigest()


def findings(outputs, build):
    """What was said, each finding once though many files include its header."""
    blocks = {}
    for output in outputs:
        block = []
        for line in output.splitlines():
            found = HEADING.match(line)
            if found:
                blocks.setdefault("\n".join(block))
                block = []
                line = os.path.normpath(build / found.group(1)).removeprefix(f"{ROOT}/") + line[found.end(1):]
            if not NOISE.match(line):
                block.append(line)
        blocks.setdefault("\n".join(block))
    return [block for block in blocks if block]


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args(arguments)
    commands = json.loads((options.build / "compile_commands.json").read_text())
    compiled = {(pathlib.Path(one["directory"]) / one["file"]).resolve() for one in commands}
    wanted = [(ROOT / name.strip()).resolve() for name in sys.stdin if name.strip()]
    files = sorted((path for path in wanted if path in compiled), key=lambda path: -path.stat().st_size)
    headers = sorted(path for floor in ("src", "actors", "adapters") for path in (ROOT / floor).rglob("*.hpp"))
    common = hash_of([ROOT / ".clang-tidy", *headers])
    passed = options.build / "tidy"
    passed.mkdir(exist_ok=True)

    def run(path):
        mark = passed / hashlib.sha256((str(path.relative_to(ROOT)) + common + hash_of([path])).encode()).hexdigest()
        if mark.exists():
            return ""
        done = subprocess.run([TIDY, "--quiet", "-p", str(options.build), str(path)], capture_output=True, text=True, cwd=ROOT)
        if done.returncode == 0:
            mark.touch()
            return ""
        return done.stdout + done.stderr

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        failures = [failure for failure in pool.map(run, files) if failure]
    print("\n".join(findings(failures, options.build.resolve())) if failures else f"clang-tidy: {len(files)} files pass")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
