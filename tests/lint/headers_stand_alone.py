#!/usr/bin/env python3
"""Compiles every header of src/, actors/ and adapters/ alone, with each compiler named: a header includes what it uses.

    headers_stand_alone.py [--jobs N] COMPILER…
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++20", "-fsyntax-only", "-x", "c++", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def compile_alone(compiler, header, folders):
    # Included rather than compiled, so that #pragma once is not reported.
    text = f'#include "{header}"\n#include "{header}"\n'
    command = [compiler, *FLAGS, *(f"-I{folder}" for folder in folders), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
    return "" if done.returncode == 0 else f"{header.relative_to(ROOT)} does not compile alone with {compiler}:\n{done.stderr}"


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args(arguments)
    folders = ["src", "actors", *sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob("adapters/*/weir"))]
    headers = sorted(path for floor in ("src", "actors", "adapters") for path in (ROOT / floor).rglob("*.hpp"))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(compile_alone, compiler, header, folders) for header in headers for compiler in options.compilers]
        failures = [failure for failure in (run.result() for run in runs) if failure]
    print("\n".join(failures) if failures else f"{len(headers)} headers compile alone with {', '.join(options.compilers)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
