#!/usr/bin/env python3
"""A broken floor is found, a kept one is not reported."""

import pathlib
import tempfile
import unittest

import include_floors

KEPT = {
    "src/weir/batch.hpp": "#include <weir/error.hpp>\n#include <atomic>\n#include <chrono>\n",
    "src/weir/error.hpp": "#include <boost/outcome/basic_result.hpp>\n#include <string>\n",
    "src/batch.cpp": "#include <weir/batch.hpp>\n// a steady_clock is what this never asks\n",
    "src/protobuf_fields.hpp": "#include <google/protobuf/io/coded_stream.h>\n",
    "src/record_codec.cpp": '#include "protobuf_fields.hpp"\n#include <google/protobuf/io/coded_stream.h>\n',
    "actors/weir/configure.hpp": "#include <caf/actor_system_config.hpp>\n",
    "actors/weir/detail/caf_actor.hpp": "#include <caf/actor.hpp>\n",
    "actors/weir/task.hpp": "#include <weir/batch.hpp>\n#include <coroutine>\n",
    "actors/lane.hpp": "#include <caf/all.hpp>\n#include <weir/task.hpp>\n",
    "actors/lane.cpp": '#include "lane.hpp"\n#include <thread>\n',
    "adapters/sqlite/weir/sqlite.hpp": "#include <weir/task.hpp>\n",
    "adapters/sqlite/sqlite.cpp": "#include <weir/sqlite.hpp>\n#include <sqlite3.h>\n",
    "adapters/posix/file_descriptor.hpp": "#include <weir/error.hpp>\n#include <unistd.h>\n",
    "adapters/git/weir/git.hpp": "#include <weir/task.hpp>\n",
    "adapters/git/reader.cpp": '#include "../posix/file_descriptor.hpp"\n',
    "adapters/cli/main.cpp": "#include <weir/git.hpp>\n#include <weir/sqlite.hpp>\n#include <weir/configure.hpp>\n#include <toml++/toml.h>\n",
}

BREAKS = {
    "CAF in src": ("src/weir/batch.hpp", "#include <caf/message.hpp>"),
    "a thread in src": ("src/batch.cpp", "#include <thread>"),
    "a mutex in src": ("src/batch.cpp", "#include <mutex>"),
    "a clock in src": ("src/batch.cpp", "auto now() { return std::chrono::steady_clock::now(); }"),
    "a file in src": ("src/batch.cpp", "#include <fstream>"),
    "a system call in src": ("src/batch.cpp", "#include <sys/socket.h>"),
    "another Boost library in src": ("src/batch.cpp", "#include <boost/asio.hpp>"),
    "protobuf in another file of src": ("src/batch.cpp", "#include <google/protobuf/io/coded_stream.h>"),
    "protobuf in a public header": ("src/weir/batch.hpp", "#include <google/protobuf/io/coded_stream.h>"),
    "more of protobuf than its streams": ("src/record_codec.cpp", "#include <google/protobuf/message_lite.h>"),
    "actors in src": ("src/batch.cpp", "#include <weir/task.hpp>"),
    "actors in src by a relative path": ("src/batch.cpp", '#include "../actors/lane.hpp"'),
    "an adapter in actors": ("actors/lane.cpp", "#include <weir/git.hpp>"),
    "an adapter in another": ("adapters/git/git.cpp", "#include <weir/sqlite.hpp>"),
    "an adapter in another by a relative path": ("adapters/git/git.cpp", '#include "../sqlite/weir/sqlite.hpp"'),
    "an adapter in what all share": ("adapters/posix/file_descriptor.hpp", "#include <weir/git.hpp>"),
    "actors in what all adapters share": ("adapters/posix/file_descriptor.hpp", "#include <weir/task.hpp>"),
    "CAF in an adapter": ("adapters/git/git.cpp", "#include <caf/all.hpp>"),
    "a client library in its own header": ("adapters/sqlite/weir/sqlite.hpp", "#include <sqlite3.h>"),
    "a client library elsewhere": ("adapters/git/git.cpp", "#include <sqlite3.h>"),
    "a client library in actors": ("actors/lane.cpp", "#include <sqlite3.h>"),
    "CAF in a public header": ("actors/weir/task.hpp", "#include <caf/actor.hpp>"),
    "CAF in a public header through one that may": ("actors/weir/task.hpp", "#include <weir/configure.hpp>"),
    "CAF in a public header through a detail": ("actors/weir/task.hpp", "#include <weir/detail/caf_actor.hpp>"),
    "the program's libraries in its public header": ("adapters/cli/weir/config.hpp", "#include <toml++/toml.h>"),
    "CAF in a public header through an inner one": ("actors/weir/task.hpp", '#include "../lane.hpp"'),
    "CAF in an adapter's public header": ("adapters/git/weir/git.hpp", "#include <weir/configure.hpp>"),
    "a header that is not there": ("actors/lane.cpp", "#include <weir/nowhere.hpp>"),
}


class floors(unittest.TestCase):
    def setUp(self):
        include_floors.INCLUDES_CAF = {"weir/configure.hpp"}

    def broken(self, change=None):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in KEPT.items():
                self.write(folder, name, text)
            if change:
                name, line = change
                self.write(folder, name, KEPT.get(name, "") + line + "\n")
            return include_floors.broken_rules(folder)

    @staticmethod
    def write(folder, name, text):
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_kept_floors_are_not_reported(self):
        self.assertEqual(self.broken(), [])

    def test_every_break_is_found_in_its_file(self):
        for what, change in BREAKS.items():
            with self.subTest(what):
                self.assertIn(change[0], [name for name, _, _ in self.broken(change)])

    def test_a_listed_header_that_is_gone_is_found(self):
        include_floors.INCLUDES_CAF = {"weir/configure.hpp", "weir/gone.hpp"}
        self.assertEqual([name for name, _, _ in self.broken()], ["actors/weir/gone.hpp"])

    def test_the_line_is_named(self):
        lines = len(KEPT["src/batch.cpp"].splitlines())
        broken = self.broken(("src/batch.cpp", "#include <thread>"))
        self.assertEqual([(name, line) for name, line, _ in broken], [("src/batch.cpp", lines + 1)])

    def test_the_way_to_caf_is_shown(self):
        broken = self.broken(("actors/weir/task.hpp", '#include "../lane.hpp"'))
        self.assertIn("../lane.hpp → caf/all.hpp", broken[-1][2])


if __name__ == "__main__":
    unittest.main()
