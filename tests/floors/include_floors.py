#!/usr/bin/env python3
"""Says where an include breaks the floors: src/ < actors/ < adapters/<backend> < adapters/cli. What they
all need of the operating system is in adapters/posix, which knows src/ alone.

    include_floors.py [ROOT]

Prints one line per broken rule, "file:line: sentence", and exits 1 if there is any. tests/ and bench/ may include anything.
"""

import pathlib
import re
import sys

# Public headers that include <caf/…> on purpose. Those that only take an actor_system declare it. No other
# public header may reach <caf/…>, not even through another header; those of weir/detail/ matter only where a public one
# includes them.
INCLUDES_CAF = {"weir/caf.hpp"}

# What src/ may use besides its own headers and the standard library.
CORE_MAY_INCLUDE = re.compile(r"boost/outcome(/|\.hpp$)")

# What one file of src/ may use beyond that.
CORE_EXCEPTIONS = {
    "src/crc32c.cpp": "nmmintrin.h",  # the CPU's instruction
    "src/protobuf_fields.hpp": "google/protobuf/io/coded_stream.h",
    "src/record_codec.cpp": "google/protobuf/io/coded_stream.h",
}

# Threads, clocks and I/O have no place in src/; atomics have.
CORE_MUST_NOT_INCLUDE = {
    "thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore", "latch", "barrier", "stop_token",
    "fstream", "iostream", "filesystem", "cstdio", "stdio.h", "print", "syncstream", "ctime", "time.h", "csignal", "signal.h",
    "unistd.h", "pthread.h", "fcntl.h", "errno.h", "poll.h",
}
CORE_MUST_NOT_INCLUDE_UNDER = ("sys/", "linux/", "netinet/", "arpa/")
# <chrono> itself is welcome in src/ for its durations.
CORE_MUST_NOT_SAY = re.compile(r"\b(system_clock|steady_clock|high_resolution_clock|utc_clock|random_device|getenv)\b")

# The client library of each backend, and the one adapter whose .cpp files may include it; for the program its own headers too.
CLIENT_LIBRARIES = [
    (re.compile(r"sqlite3(ext)?\.h$"), "sqlite"),
    (re.compile(r"(postgresql/)?libpq(-fe|/.*)?\.h$"), "postgres"),
    (re.compile(r"nats(/.*)?\.h$"), "nats"),
    (re.compile(r"librdkafka/"), "kafka"),
    (re.compile(r"toml\+\+/|toml\.hpp$"), "cli"),
    (re.compile(r"CLI/"), "cli"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".hpp", ".cpp", ".h", ".cc", ".ipp"}


class source_file:
    """One file of the tree: which floor it stands on, and what it includes."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        parts = self.name.split("/")
        self.floor = parts[0]
        self.adapter = parts[1] if self.floor == "adapters" and len(parts) > 2 else None
        self.lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        self.includes = []  # (line number, "<" or '"', what)
        for number, line in enumerate(self.lines, 1):
            found = INCLUDE.match(line)
            if found:
                self.includes.append((number, found.group(1), found.group(2)))

    def public_name(self):
        """The name under which it is installed, "weir/NAME.hpp", or None."""
        at = self.name.find("/weir/")
        return self.name[at + 1:] if at >= 0 else None


def read_tree(root):
    files = []
    for floor in ("src", "actors", "adapters"):
        for path in sorted((root / floor).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                files.append(source_file(root, path))
    return files


def without_comments(line):
    return re.sub(r'"(\\.|[^"\\])*"', '""', line.split("//", 1)[0])


def resolve(files_by_path, public_headers, file, what):
    """The file of the tree that an include means, or None for everything from outside."""
    beside = files_by_path.get((file.path.parent / what).resolve())
    if beside is not None:
        return beside
    return public_headers.get(what)


def check_core(file, what, target):
    if target is not None:
        return None if target.floor == "src" else f"src/ includes <{what}> of {target.floor}/"
    if what in CORE_MUST_NOT_INCLUDE or what.startswith(CORE_MUST_NOT_INCLUDE_UNDER):
        return f"src/ includes <{what}>: no threads, clocks or I/O here"
    if what.startswith("weir/"):
        return f"<{what}> is no header of this tree"
    if CORE_EXCEPTIONS.get(file.name) == what:
        return None
    if ("/" in what or what.endswith((".h", ".hpp"))) and not CORE_MAY_INCLUDE.match(what):
        return f"src/ includes <{what}>: only the standard library and Boost.Outcome are welcome here"
    return None


def check_actors(file, what, target):
    if target is not None:
        return f"actors/ includes <{what}> of {target.name}" if target.floor == "adapters" else None
    if what.startswith("weir/"):
        return f"<{what}> is no header of this tree"
    return None


def check_adapter(file, what, target):
    if target is not None:
        if target.floor == "actors" and file.adapter == "posix":
            return f"adapters/posix includes <{what}> of actors/"
        if target.floor == "adapters" and target.adapter not in (file.adapter, "posix") and file.adapter != "cli":
            return f"the adapter {file.adapter} includes <{what}> of the adapter {target.adapter}"
        return None
    if what.startswith("weir/"):
        return f"<{what}> is no header of this tree"
    if what.startswith("caf/") and file.adapter != "cli":
        return f"the adapter {file.adapter} includes <{what}>: CAF lives in actors/"
    return None


def check_client_libraries(file, what):
    for pattern, adapter in CLIENT_LIBRARIES:
        inside = file.path.suffix == ".cpp" or (adapter == "cli" and not file.public_name())
        if pattern.match(what) and not (file.adapter == adapter and inside):
            return f"<{what}> is included by .cpp files of adapters/{adapter}/ only"
    return None


def way_to_caf(files_by_path, public_headers, file, seen):
    """The includes that lead from the file to <caf/…>, or None."""
    for _, _, what in file.includes:
        if what.startswith("caf/"):
            return [what]
        target = resolve(files_by_path, public_headers, file, what)
        if target is not None and target.name not in seen:
            seen.add(target.name)
            way = way_to_caf(files_by_path, public_headers, target, seen)
            if way is not None:
                return [what] + way
    return None


def broken_rules(root):
    """All broken rules of the tree under root as (file, line, sentence)."""
    root = pathlib.Path(root)
    files = read_tree(root)
    files_by_path = {file.path.resolve(): file for file in files}
    public_headers = {file.public_name(): file for file in files if file.public_name()}
    checks = {"src": check_core, "actors": check_actors, "adapters": check_adapter}
    broken = []
    for file in files:
        for number, _, what in file.includes:
            target = resolve(files_by_path, public_headers, file, what)
            for sentence in (checks[file.floor](file, what, target), check_client_libraries(file, what)):
                if sentence:
                    broken.append((file.name, number, sentence))
        if file.floor == "src":
            for number, line in enumerate(file.lines, 1):
                said = CORE_MUST_NOT_SAY.search(without_comments(line))
                if said:
                    broken.append((file.name, number, f"src/ says {said.group(1)}: values come in as arguments here"))
        public = file.public_name()
        if public and public not in INCLUDES_CAF and not public.startswith("weir/detail/"):
            way = way_to_caf(files_by_path, public_headers, file, {file.name})
            if way is not None:
                broken.append((file.name, 1, f"<{public}> brings CAF with it: it includes {' → '.join(way)}"))
    names = {file.public_name() for file in files}
    for public in sorted(INCLUDES_CAF - names) if (root / "actors").is_dir() else []:
        broken.append((f"actors/{public}", 1, "is listed as a header that includes CAF and does not exist"))
    return broken


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    broken = broken_rules(root)
    for name, line, sentence in broken:
        print(f"{name}:{line}: {sentence}")
    if not broken:
        print(f"include floors: {len(read_tree(root))} files keep them")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
