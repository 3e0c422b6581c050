#!/usr/bin/env python3
"""Runs the test programs of a build directory and counts what they tested.

    run.py BUILD [--seed N] [-k NAME] [--suite NAME]… [--jobs N] [--time-factor N]

A doctest program counts with its test cases, any other program as one test. A program that crashes, hangs past its time limit
(test(timeout: …), seconds) or exits with a failure counts as failed. A line `SKIP name: reason` counts that test as skipped; a
program that is no doctest program may also exit with 77. The seed is handed to the programs as WEIR_SEED. The last line is
`N passed, N failed, N skipped`; exits 1 when something failed or nothing ran.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

SUMMARY = re.compile(r"^\[doctest\] test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed \|\s*(\d+) skipped", re.MULTILINE)
SKIP = re.compile(r"^SKIP ([^\n]*?): ([^\n]+)$", re.MULTILINE)
SHOWN_LINES = 200  # of a failed program's output; all of it stands in its log
TO_SAY_WHERE = 10  # seconds that a hanging program gets, after SIGABRT, to name its test case


class outcome:
    def __init__(self, name):
        self.name = name
        self.passed = self.failed = 0
        self.skipped = []  # (how many, name, reason)
        self.why = ""
        self.seconds = 0.0
        self.output = ""
        self.log = None

    def skip_count(self):
        return sum(count for count, _, _ in self.skipped)


def uses_doctest(program):
    try:
        return b"[doctest] " in pathlib.Path(program).read_bytes()
    except OSError:
        return False


class runner:
    def __init__(self, options):
        self.options = options
        self.build = pathlib.Path(options.build).resolve()
        self.logs = self.build / "test-logs"
        self.logs.mkdir(exist_ok=True)
        self.printing = threading.Lock()
        self.durations = self.read_durations()

    def read_durations(self):
        try:
            return json.loads((self.logs / "durations.json").read_text())
        except (OSError, ValueError):
            return {}

    def tests(self):
        """The registered tests that were asked for, those that took longest first."""
        registered = json.loads((self.build / "meson-info" / "intro-tests.json").read_text())
        chosen = []
        for test in registered:
            suites = {suite.split(":", 1)[-1] for suite in test["suite"]}
            if self.options.suite and not suites & set(self.options.suite):
                continue
            test["doctest"] = uses_doctest(test["cmd"][0])
            test["whole"] = not self.options.k or self.options.k.lower() in test["name"].lower()
            if test["whole"] or test["doctest"]:
                chosen.append(test)
        return sorted(chosen, key=lambda test: (-test["priority"], -self.durations.get(test["name"], 0)))

    def run(self, test):
        command = list(test["cmd"])
        if not test["whole"]:
            command.append(f"--test-case=*{self.options.k}*")
        environment = {**os.environ, **test["env"], "PYTHONDONTWRITEBYTECODE": "1"}
        limit = (test["timeout"] or 30) * self.options.time_factor
        result = outcome(test["name"])
        result.log = self.logs / (re.sub(r"[^\w.-]", "_", test["name"]) + ".txt")
        begun = time.monotonic()
        with open(result.log, "wb") as log:
            process = subprocess.Popen(
                command,
                cwd=test["workdir"] or self.build,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            hung = self.wait(process, limit)
        result.seconds = time.monotonic() - begun
        result.output = result.log.read_text(errors="replace")
        self.judge(test, result, process.returncode, f"hung: no end after {limit} s" if hung else "")
        self.report(result)
        return result

    @staticmethod
    def wait(process, limit):
        """Whether it had to be ended because the limit passed. doctest answers SIGABRT with the name of its test case."""
        hung = False
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            hung = True
            process.send_signal(signal.SIGABRT)
            try:
                process.wait(TO_SAY_WHERE)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(process.pid, signal.SIGKILL)  # also what the program has left running
        except ProcessLookupError:
            pass
        process.wait()
        return hung

    def judge(self, test, result, code, hung):
        ended = hung or (f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}" if code else "")
        said = dict(SKIP.findall(result.output))
        summary = SUMMARY.search(result.output)
        if test["doctest"] and summary:
            cases, passed, result.failed, left_out = map(int, summary.groups())
            result.passed = max(passed - len(said), 0)
            result.skipped = [(1, name, reason) for name, reason in said.items()]
            if test["whole"] and left_out:
                result.skipped.append((left_out, f"{left_out} test cases of {result.name}", "marked with doctest::skip"))
            if result.failed:
                result.why = hung or f"{result.failed} of {cases} test cases failed"
            elif ended:
                result.failed, result.why = 1, ended
        elif test["doctest"] or (ended and code != 77):
            result.failed, result.why = 1, ended or "doctest printed no summary"
        else:
            result.skipped = [(1, name, reason) for name, reason in said.items()]
            if code == 77 and not said:
                result.skipped = [(1, result.name, "exit code 77")]
            result.passed = 0 if code == 77 or result.name in said else 1

    def report(self, result):
        skipped = f", {result.skip_count()} skipped" if result.skipped else ""
        with self.printing:
            if result.failed:
                print(f"FAILED {result.name}: {result.why} ({result.seconds:.1f} s)")
                lines = result.output.splitlines()
                if len(lines) > SHOWN_LINES:
                    print(f"  … the last {SHOWN_LINES} of {len(lines)} lines; all of them: {result.log}")
                print("\n".join("  | " + line for line in lines[-SHOWN_LINES:]), flush=True)
            elif result.passed or result.skipped:
                print(f"ok     {result.name}: {result.passed} passed{skipped} ({result.seconds:.1f} s)", flush=True)

    def run_all(self):
        tests = self.tests()
        together = [test for test in tests if test["is_parallel"]]
        alone = [test for test in tests if not test["is_parallel"]]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            results = list(pool.map(self.run, together))
        results += [self.run(test) for test in alone]
        if not self.options.k:
            self.durations.update({result.name: round(result.seconds, 2) for result in results})
            (self.logs / "durations.json").write_text(json.dumps(self.durations, indent=1))
        return results


def main(arguments):
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # whoever runs us may ignore some, as nohup does, and every test would
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description="Runs the test programs of a build directory.")
    parser.add_argument("build")
    parser.add_argument("--seed", default="1")
    parser.add_argument("-k", metavar="NAME", default="")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-factor", type=float, default=1)
    options = parser.parse_args(arguments)
    os.environ["WEIR_SEED"] = options.seed
    results = runner(options).run_all()
    for result in results:
        for _, name, reason in result.skipped:
            print(f"skipped {name}: {reason}")
    failed = [result for result in results if result.failed]
    for result in failed:
        print(f"failed  {result.name}: {result.why}; its output: {result.log}")
    if failed:
        print(f"the same again: ./dev test --seed {options.seed} -k '{failed[0].name}'")
    passes, fails = sum(result.passed for result in results), sum(result.failed for result in results)
    print(f"{passes} passed, {fails} failed, {sum(result.skip_count() for result in results)} skipped")
    return 1 if fails or not passes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
