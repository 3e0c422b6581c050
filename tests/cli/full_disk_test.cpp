#include <weir/cli/files.hpp>

#include "pipeline_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/mount.h>
#include <unistd.h>

namespace {

using namespace weir::cli::test;
using weir::posix::file_descriptor;

/// A file system of a given size in a directory, where we may make one.
class small_disk {
public:
  small_disk(std::filesystem::path directory, const char* size) : directory_{std::move(directory)} {
    std::filesystem::create_directory(directory_);
    is_mounted_ = ::mount("tmpfs", directory_.c_str(), "tmpfs", 0, (std::string{"size="} + size).c_str()) == 0;
  }
  ~small_disk() {
    if (is_mounted_)
      ::umount2(directory_.c_str(), MNT_DETACH);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;

  bool is_mounted() const { return is_mounted_; }
  bool resize(const char* size) const {
    return ::mount("tmpfs", directory_.c_str(), "tmpfs", MS_REMOUNT, (std::string{"size="} + size).c_str()) == 0;
  }
  bool make_read_only() const { return ::mount("tmpfs", directory_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0; }
  void fill() const {
    const file_descriptor file{::open((directory_ / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    const std::string page(4096, 'x');
    while (::write(file.number(), page.data(), page.size()) > 0) {
    }
  }
  void empty() const { std::filesystem::remove(directory_ / "filler"); }

private:
  std::filesystem::path directory_;
  bool is_mounted_;
};

bool skipped(const small_disk& disk, const char* name) {
  if (!disk.is_mounted())
    std::printf("SKIP %s: no right to mount a tmpfs\n", name);
  return !disk.is_mounted();
}

TEST_CASE("a sink's disk that is full is waited for, and nothing is lost") {
  const pipeline_fixture here;
  for (const auto* type : {"jsonl", "sqlite"}) {
    CAPTURE(type);
    const small_disk disk{here / "disk", "160k"};
    if (skipped(disk, "a sink's disk that is full is waited for, and nothing is lost"))
      return;
    std::filesystem::remove_all(here / "state");
    here.put_changes(5'000);
    here.configure(
      "name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n[[sink]]\nname = \"s\"\n"
      "type = \""
      + std::string{type} + "\"\npath = \"disk/out\"\nbackoff_min = \"5ms\"\nbackoff_max = \"20ms\"\n");
    const auto run = here.run();
    REQUIRE(comes_true([&] { return run->errors().find("storage_full") != std::string::npos || run->wait_for({}); }));
    CHECK_MESSAGE(run->errors().find("the sink s failed, next try in 5ms") != std::string::npos, run->errors());
    REQUIRE(disk.resize("64m"));
    CHECK(run->wait() == exited(0));
    CHECK(run->errors().find("the sink s is open again") != std::string::npos);
    CHECK_MESSAGE(run->errors().find("written.s=5000") != std::string::npos, run->errors());
    if (std::string_view{type} == "jsonl")
      CHECK(here.lines_in("disk/out") == 5'000);
  }
}

TEST_CASE("a stream's log on a disk that is full is waited for, and nothing is lost") {
  const pipeline_fixture here;
  const small_disk disk{here / "disk", "512k"};
  if (skipped(disk, "a stream's log on a disk that is full is waited for, and nothing is lost"))
    return;
  here.put_changes(20'000);
  here.configure(
    "name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n[stream]\ntype = \"durable\"\n"
    "log = {type = \"sqlite\", path = \"disk/lanes.db\"}\n[[sink]]\nname = \"s\"\ntype = \"jsonl\"\npath = \"out\"\n");
  const auto run = here.run();
  REQUIRE(comes_true([&] {
    return run->errors().find("the stream's log fails, and is tried again: ") != std::string::npos || run->wait_for({});
  }));
  CHECK(here.lines_in("out") < 20'000);
  REQUIRE(disk.resize("64m"));
  CHECK_MESSAGE(run->wait() == exited(0), run->errors());
  CHECK(here.lines_in("out") == 20'000);
}

TEST_CASE("check tells that a log can't be written to, as run would") {
  const pipeline_fixture here;
  const small_disk disk{here / "disk", "1m"};
  if (skipped(disk, "check tells that a log can't be written to, as run would"))
    return;
  here.put_changes(10);
  const std::string begin = "name = \"p\"\nstate = \"state\"\n";
  const std::string changes = "[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n";
  const std::string sink = "[[sink]]\nname = \"s\"\ntype = \"jsonl\"\npath = \"out\"\n";
  CHECK(here.start({"log", "create", "disk/there.db"})->wait() == exited(0));
  REQUIRE(disk.make_read_only());
  for (const auto* name : {"there", "new"}) {
    const auto path = "path = \"disk/" + std::string{name} + ".db\"";
    const auto refused = [&](const std::string& rest, std::string_view key) {
      CAPTURE(rest);
      here.configure(begin + rest);
      const auto told = here.start({"check", "pipeline.toml"});
      CHECK(told->wait() == exited(2));
      CHECK_MESSAGE(told->errors().find(key) != std::string::npos, told->errors());
      CHECK(here.run()->wait() == exited(2));
    };
    refused(changes + "[stream]\ntype = \"durable\"\nlog = {type = \"sqlite\", " + path + "}\n" + sink, "stream.log.path: ");
    refused(changes + "[[sink]]\nname = \"s\"\ntype = \"log\"\n" + path + "\n", "sink[0].path: ");
    refused("[source]\ntype = \"log\"\n" + path + "\n" + sink, "source.path: ");
  }
}

TEST_CASE("a source that fails ends the run, however long a sink would still wait for its next try") {
  const pipeline_fixture here;
  const small_disk disk{here / "disk", "4k"};
  if (skipped(disk, "a source that fails ends the run, however long a sink would still wait for its next try"))
    return;
  disk.fill();
  here.put_changes(100);
  here.configure(
    "name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\nfollow = true\n[[sink]]\n"
    "name = \"s\"\ntype = \"jsonl\"\npath = \"disk/out\"\nbackoff_min = \"1h\"\nbackoff_max = \"1h\"\n");
  const auto run = here.run();
  REQUIRE(comes_true([&] { return run->errors().find("the sink s failed, next try in 1h") != std::string::npos; }));
  put(here / "changes.jsonl", content_of(here / "changes.jsonl") + "{broken\n");
  CHECK(run->wait_for(std::chrono::minutes{1}) == exited(1));
  CHECK_MESSAGE(run->errors().find("line 101") != std::string::npos, run->errors());
}

TEST_CASE("a full disk under the state ends the run, and the next one goes on") {
  const pipeline_fixture here;
  const small_disk disk{here / "state", "16k"};
  if (skipped(disk, "a full disk under the state ends the run, and the next one goes on"))
    return;
  here.put_changes(100);
  here.configure_lines();
  disk.fill();
  const auto run = here.run();
  CHECK(run->wait() == exited(3));
  CHECK_MESSAGE(run->errors().find("No space left on device") != std::string::npos, run->errors());
  CHECK_FALSE(std::filesystem::exists(here / "state/position.json"));
  disk.empty();
  CHECK(here.run()->wait() == exited(0));
  CHECK(here.lines_in("audit.jsonl") == 100);
}

TEST_CASE("a full disk under the dead letters ends the run before anything is passed over") {
  const pipeline_fixture here;
  const small_disk disk{here / "state", "16k"};
  if (skipped(disk, "a full disk under the dead letters ends the run before anything is passed over"))
    return;
  put(here / "changes.jsonl", "{broken\n{\"collection\":\"c\",\"key\":\"k\",\"op\":\"delete\"}\n");
  here.configure_lines("on_bad_record = \"dead-letter\"\n");
  disk.fill();
  const auto run = here.run();
  CHECK(run->wait() == exited(1));
  CHECK_MESSAGE(run->errors().find("dead-letters.jsonl") != std::string::npos, run->errors());
  CHECK(here.lines_in("audit.jsonl") == 0);
  disk.empty();
  CHECK(here.run()->wait() == exited(0));
  CHECK(here.lines_in("audit.jsonl") == 1);
  CHECK(here.lines_in("state/dead-letters.jsonl") == 1);
}

} // namespace
