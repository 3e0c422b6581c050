#!/usr/bin/env python3
"""The runner counts what passed, failed, crashed, hung and was skipped, on programs that do each of these."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import run

SUMMARY = "echo '[doctest] test cases:  {cases} |  {passed} passed | {failed} failed | {skipped} skipped'"


class runner(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.build = pathlib.Path(self.scratch.name)
        (self.build / "meson-info").mkdir()
        self.tests = []

    def program(self, name, script, timeout=30, suite="weir:core", parallel=True):
        path = self.build / name
        path.write_text("#!/bin/sh\n" + script + "\n")
        path.chmod(0o755)
        self.tests.append({"name": name, "cmd": [str(path)], "env": {}, "suite": [suite], "timeout": timeout, "workdir": None,
                           "is_parallel": parallel, "priority": 0})

    def doctest(self, name, passed, failed=0, skipped=0, before="", after="", **more):
        said = SUMMARY.format(cases=passed + failed, passed=passed, failed=failed, skipped=skipped)
        self.program(name, f"{before}\n{said}\n{after or f'exit {1 if failed else 0}'}", **more)

    def run_all(self, *arguments):
        (self.build / "meson-info" / "intro-tests.json").write_text(json.dumps(self.tests))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = run.main([str(self.build), *arguments])
        return code, output.getvalue().splitlines()

    def expect(self, last_line, code, *arguments):
        ended, lines = self.run_all(*arguments)
        self.assertEqual((lines[-1], ended), (last_line, code), "\n".join(lines))
        return lines

    def test_cases_and_programs_are_summed(self):
        self.doctest("cases", 12)
        self.program("program", "true")
        self.expect("13 passed, 0 failed, 0 skipped", 0)

    def test_failures_are_named_and_shown(self):
        self.doctest("cases", 3, failed=2, before="echo 'lane.cpp:7: ERROR'")
        self.program("program", "echo why; exit 3")
        lines = self.expect("3 passed, 3 failed, 0 skipped", 1)
        self.assertIn("  | lane.cpp:7: ERROR", lines)
        self.assertTrue(any(line.startswith("failed  program: exit code 3") for line in lines))
        self.assertTrue(any("./dev test --seed" in line for line in lines))

    def test_a_crash_fails(self):
        self.program("program", "kill -SEGV $$")
        self.program("cases", "echo '[doctest] test'; kill -SEGV $$")
        self.doctest("at-exit", 4, after="exit 23")
        lines = self.expect("4 passed, 3 failed, 0 skipped", 1)
        self.assertTrue(any("killed by SIGSEGV" in line for line in lines))

    def test_a_program_that_ends_early_without_a_summary_fails(self):
        self.program("cases", "echo '[doctest] doctest version'; exit 0")
        self.expect("0 passed, 1 failed, 0 skipped", 1)

    def test_a_hang_fails_with_its_name(self):
        self.program("hanging", "echo begun; sleep 1000", timeout=1)
        lines = self.expect("0 passed, 1 failed, 0 skipped", 1)
        self.assertTrue(any(line.startswith("failed  hanging: hung") for line in lines))

    def test_skipped_ones_are_counted_and_named_with_their_reason(self):
        self.doctest("cases", 5, before="echo 'SKIP full disk: needs root'")
        self.doctest("marked", 2, skipped=3)
        self.program("program", "echo 'SKIP program: no network namespaces'")
        self.program("by-code", "exit 77")
        self.program("partly", "echo 'SKIP find_package(weir): no CMake'")
        lines = self.expect("7 passed, 0 failed, 7 skipped", 0)
        self.assertIn("skipped full disk: needs root", lines)
        self.assertIn("skipped program: no network namespaces", lines)

    def test_nothing_run_is_a_failure(self):
        self.expect("0 passed, 0 failed, 0 skipped", 1)
        self.program("program", "exit 77")
        self.expect("0 passed, 0 failed, 1 skipped", 1)

    def test_the_seed_reaches_the_programs(self):
        self.program("program", 'test "$WEIR_SEED" = 4711')
        self.expect("1 passed, 0 failed, 0 skipped", 0, "--seed", "4711")

    def test_names_choose_programs_and_cases(self):
        self.doctest("lanes", 2, before='test -z "$1" || exit 9')
        self.doctest("other", 1, skipped=8, before='test "$1" = "--test-case=*lane*" || exit 9')
        self.program("program", "exit 1")
        self.expect("3 passed, 0 failed, 0 skipped", 0, "-k", "lane")

    def test_suites_choose_programs(self):
        self.program("core", "true")
        self.program("actors", "false", suite="weir:actors")
        self.expect("1 passed, 0 failed, 0 skipped", 0, "--suite", "core")

    def test_what_must_run_alone_does(self):
        lock = self.build / "lock"
        for name in ("first", "second"):
            self.program(name, f"mkdir {lock} || exit 1; sleep 0.2; rmdir {lock}", parallel=False)
        self.expect("2 passed, 0 failed, 0 skipped", 0)


if __name__ == "__main__":
    unittest.main()
