#!/usr/bin/env python3
"""Installs Weir into a temporary prefix and builds an application outside the tree against it, with pkg-config and with CMake.

    install_test.py BUILD SOURCE COMPILER…

Prints a line `SKIP name: reason` for CMake where it is not installed.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

RECORD_PROGRAM = """
#include <weir/record_codec.hpp>
int main() {
  std::string record;
  weir::encode_record(record, {.key = "k", .payload = "p"});
  weir::entry read;
  return weir::decode_record(record, read) && read.payload == "p" ? 0 : 1;
}
"""
EXPECTED = sorted(["search: 3 delivered", "audit: 3 delivered", "3 published and acknowledged by both"])


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def check(condition, sentence):
    if not condition:
        sys.exit(sentence)


def install(build, folder):
    """Installs below the folder and moves the tree somewhere else: nothing in it may name the place it was installed to."""
    environment = {**os.environ, "DESTDIR": str(folder / "staged")}
    run(["meson", "install", "--no-rebuild", "-C", build], env=environment)
    include = next(folder.glob("staged/**/include/weir/error.hpp"))
    prefix = folder / "prefix"
    include.parents[2].rename(prefix)
    return prefix


def packages_of(prefix):
    return {path.stem: path for path in prefix.glob("lib*/**/pkgconfig/weir-*.pc")}


def library_path(prefix):
    return ":".join({str(path.parent) for path in prefix.glob("lib*/**/libweir-core.*")})


def check_application(application, prefix):
    said = run([application], env={**os.environ, "LD_LIBRARY_PATH": library_path(prefix)}, timeout=60)
    check(sorted(said.splitlines()) == EXPECTED, f"{application} says:\n{said}")


def check_record(prefix, folder, compiler):
    """weir-core brings what its record codec needs, and what other languages read a record and a stream's item by."""
    pkgconfig = str(packages_of(prefix)["weir-core"].parent)
    flags = run(["pkg-config", "--cflags", "--libs", "weir-core"], env={**os.environ, "PKG_CONFIG_PATH": pkgconfig}).split()
    program = folder / "record"
    run([*compiler, "-std=c++20", "-x", "c++", "-", "-o", program, *flags], input=RECORD_PROGRAM)
    run([program], env={**os.environ, "LD_LIBRARY_PATH": library_path(prefix)}, timeout=60)
    for name, message in [("record.proto", "Record"), ("stream_item.proto", "Item")]:
        schema = prefix / "share" / "weir" / name
        check(f"message {message}" in schema.read_text(), f"{schema} is not the schema of {message}")


def check_program(prefix):
    """The program comes with its completion, where bash-completion looks."""
    if (prefix / "bin" / "weir").exists():
        completion = prefix / "share" / "bash-completion" / "completions" / "weir"
        check("complete -F _weir weir" in completion.read_text(), f"{completion} completes nothing")


def build_with_pkg_config(prefix, source, folder, compiler):
    paths = ":".join({str(path.parent) for path in packages_of(prefix).values()})
    environment = {**os.environ, "PKG_CONFIG_PATH": paths}
    flags = run(["pkg-config", "--cflags", "--libs", "weir-channel"], env=environment).split()
    check("-lcaf_core" in flags, f"weir-channel does not bring CAF's library: {flags}")
    application = folder / "with-pkg-config"
    run([*compiler, "-std=c++20", source / "main.cpp", "-o", application, *flags])
    check_application(application, prefix)


def build_with_cmake(prefix, source, folder, compiler):
    build = folder / "with-cmake"
    *launcher, driver = compiler[:2] if compiler[0].endswith("ccache") else compiler[:1]
    flags = [part for part in compiler if part.startswith("-")]
    run(["cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={driver}",
         f"-DCMAKE_CXX_FLAGS={' '.join(flags)}"])
    run(["cmake", "--build", build])
    check_application(build / "application", prefix)


def check_every_package_and_header(prefix, compiler):
    """Each package's flags are enough for an empty program to link, and all of them for every public header to compile."""
    packages = packages_of(prefix)
    check({"weir-core", "weir-actors", "weir-channel", "weir-git", "weir-jsonl", "weir-stdout"} <= set(packages),
          f"pkg-config files that are there: {sorted(packages)}")
    environment = {**os.environ, "PKG_CONFIG_PATH": ":".join({str(path.parent) for path in packages.values()})}
    for package in packages:
        flags = run(["pkg-config", "--cflags", "--libs", package], env=environment).split()
        run([*compiler, "-std=c++20", "-x", "c++", "-", "-o", "/dev/null", *flags], input="int main() {}\n")
    headers = sorted(path.name for path in (prefix / "include" / "weir").glob("*.hpp"))
    check(len(headers) > 30, f"public headers that are there: {headers}")
    flags = run(["pkg-config", "--cflags", *packages], env=environment).split()
    text = "".join(f"#include <weir/{header}>\n" for header in headers)
    run([*compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", "-", *flags], input=text)


def main(arguments):
    build, source, *compiler = arguments
    source = pathlib.Path(source)
    with tempfile.TemporaryDirectory(prefix="weir-install-") as name:
        folder = pathlib.Path(name)
        prefix = install(build, folder)
        check_every_package_and_header(prefix, compiler)
        check_record(prefix, folder, compiler)
        check_program(prefix)
        build_with_pkg_config(prefix, source, folder, compiler)
        if shutil.which("cmake"):
            build_with_cmake(prefix, source, folder, compiler)
        else:
            print("SKIP find_package(weir): CMake is not installed")


if __name__ == "__main__":
    main(sys.argv[1:])
