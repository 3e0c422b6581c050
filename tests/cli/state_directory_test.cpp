#include <weir/cli/state_directory.hpp>

#include "temporary_directory.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::cli;
using weir::cli::test::content_of;
using weir::cli::test::put;
using weir::cli::test::temporary_directory;

state_owner owner(std::string pipeline = "p") {
  return {std::move(pipeline), {{"type", "jsonl"}, {"path", "/x"}}};
}

position place(std::uint64_t seq) {
  return {1, seq, stamp::from(std::to_string(seq)).value(), 0, true};
}

/// A process that has the state directory until it is killed; made to say so before the constructor returns.
class holder {
public:
  explicit holder(const std::filesystem::path& directory) {
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      const auto taken = state_directory::open(directory, owner());
      const char answer = taken ? 'y' : 'n';
      if (::write(ready[1], &answer, 1) == 1)
        ::pause();
      ::_exit(1);
    }
    char answer = 0;
    ::close(ready[1]);
    CHECK(::read(ready[0], &answer, 1) == 1);
    CHECK(answer == 'y');
    ::close(ready[0]);
  }
  ~holder() { kill(); }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;

  pid_t process() const { return process_; }

  void kill() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
      process_ = -1;
    }
  }

private:
  pid_t process_ = -1;
};

TEST_CASE("a new state directory is created, and confirms nothing") {
  const temporary_directory directory;
  const auto path = directory / "a/b/state";
  const auto state = state_directory::open(path, owner());
  REQUIRE(state.has_value());
  CHECK_FALSE(state.value().confirmed().has_value());
  CHECK(std::filesystem::is_directory(path));
  CHECK_FALSE(std::filesystem::exists(path / "position.json"));
  CHECK(state.value().dead_letters() == path / "dead-letters.jsonl");
}

TEST_CASE("what was saved is confirmed after the next opening") {
  const temporary_directory directory;
  {
    auto state = state_directory::open(directory.path(), owner());
    REQUIRE(state.has_value());
    CHECK(state.value().save(place(5)).has_value());
    CHECK(state.value().save(place(9)).has_value());
    CHECK(state.value().confirmed() == place(9));
  }
  const auto state = state_directory::open(directory.path(), owner());
  REQUIRE(state.has_value());
  REQUIRE(state.value().confirmed().has_value());
  CHECK(*state.value().confirmed() == place(9));
  CHECK(state.value().confirmed()->stamp == place(9).stamp);
  CHECK_FALSE(std::filesystem::exists(directory / "position.json.new"));
}

TEST_CASE("the confirmed position does not go back") {
  const temporary_directory directory;
  auto state = state_directory::open(directory.path(), owner());
  REQUIRE(state.has_value());
  REQUIRE(state.value().save(place(5)).has_value());
  CHECK(state.value().save(place(4)).error() == errc::position_not_above);
  CHECK(state.value().confirmed() == place(5));
  const auto before = content_of(directory / "position.json");
  CHECK(before.find("\"seq\":5") != std::string::npos);
  auto newer_epoch = place(1);
  newer_epoch.epoch = 2;
  CHECK(state.value().save(newer_epoch).has_value());
}

TEST_CASE("saving the same again writes nothing") {
  const temporary_directory directory;
  auto state = state_directory::open(directory.path(), owner());
  REQUIRE(state.has_value());
  REQUIRE(state.value().save(place(5)).has_value());
  std::filesystem::remove(directory / "position.json");
  CHECK(state.value().save(place(5)).has_value());
  CHECK_FALSE(std::filesystem::exists(directory / "position.json"));
}

TEST_CASE("a second opening in the same process is refused as well") {
  const temporary_directory directory;
  const auto first = state_directory::open(directory.path(), owner());
  REQUIRE(first.has_value());
  const auto second = state_directory::open(directory.path(), owner());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error() == errc::in_use);
  CHECK(second.error().fact_of("pid") == std::to_string(::getpid()));
}

TEST_CASE("while another process has it, it is refused; when that one is killed, it is free") {
  const temporary_directory directory;
  holder other{directory.path()};
  const auto refused = state_directory::open(directory.path(), owner());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == errc::in_use);
  CHECK(refused.error().fact_of("pid") == std::to_string(other.process()));
  CHECK(refused.error().sentence()
        == "the state directory \"" + directory.path().native() + "\" is in use by process " + std::to_string(other.process())
             + "; stop that one first, or give this pipeline a directory of its own");
  const auto seen = glance_at_state(directory.path(), owner());
  REQUIRE(seen.has_value());
  CHECK(seen.value().holder == other.process());
  other.kill();
  CHECK_FALSE(glance_at_state(directory.path(), owner()).value().holder.has_value());
  CHECK(state_directory::open(directory.path(), owner()).has_value());
}

TEST_CASE("a failed opening lets go of the lock") {
  const temporary_directory directory;
  put(directory / "position.json", "nonsense");
  CHECK(state_directory::open(directory.path(), owner()).error() == errc::corrupt);
  std::filesystem::remove(directory / "position.json");
  CHECK(state_directory::open(directory.path(), owner()).has_value());
}

TEST_CASE("a state that can't be used names its file and what to do, and is left as it is") {
  const temporary_directory directory;
  const auto file = directory / "position.json";
  const auto refusal = [&](errc code) {
    const auto before = content_of(file);
    const auto state = state_directory::open(directory.path(), owner());
    REQUIRE_FALSE(state.has_value());
    CHECK(state.error() == code);
    CHECK(state.error().fact_of("path") == file.native());
    CHECK(content_of(file) == before);
    CHECK(glance_at_state(directory.path(), owner()).error() == code);
    return state.error().sentence();
  };
  const auto start = "can't use the state in \"" + file.native() + "\": ";
  const std::string corrupt = "; restore it from a backup, or remove it to read the source from the beginning";

  put(file, "");
  CHECK(refusal(errc::corrupt) == start + "it is empty" + corrupt);
  put(file, to_json({owner(), place(3)}).substr(0, 80));
  CHECK(refusal(errc::corrupt) == start + "it is not JSON" + corrupt);
  put(file, std::string(2'000'000, ' '));
  CHECK(refusal(errc::corrupt).ends_with(corrupt));
  put(file, R"({"format":9})");
  CHECK(refusal(errc::unsupported)
        == start + "it has format 9, and this program reads up to 1; run the newer version of weir that wrote it");
  put(file, to_json({owner("other"), place(3)}));
  CHECK(refusal(errc::wrong_owner)
        == start + "it was kept for the pipeline \"other\", not for \"p\"; give this pipeline a state directory of its own");
}

TEST_CASE("a glance changes nothing") {
  const temporary_directory directory;
  const auto none = glance_at_state(directory / "none", owner());
  REQUIRE(none.has_value());
  CHECK_FALSE(none.value().there);
  CHECK_FALSE(std::filesystem::exists(directory / "none"));

  const auto empty = glance_at_state(directory.path(), owner());
  REQUIRE(empty.has_value());
  CHECK(empty.value().there);
  CHECK_FALSE(empty.value().confirmed.has_value());
  CHECK(std::filesystem::is_empty(directory.path()));

  put(directory / "position.json", to_json({owner(), place(3)}));
  CHECK(glance_at_state(directory.path(), owner()).value().confirmed == place(3));
  put(directory / "file", "");
  CHECK(glance_at_state(directory / "file", owner()).error() == errc::not_found);
}

TEST_CASE("where no directory can be made") {
  const temporary_directory directory;
  put(directory / "file", "");
  CHECK_FALSE(state_directory::open(directory / "file", owner()).has_value());
  CHECK_FALSE(state_directory::open(directory / "file/state", owner()).has_value());
  const auto refused = state_directory::open("/proc/weir/state", owner());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().fact_of("path") == "/proc/weir/state");
}

TEST_CASE("a full disk keeps the old position") {
  const temporary_directory directory;
  if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=16k") != 0) {
    std::puts("SKIP a full disk keeps the old position: no right to mount a tmpfs");
    return;
  }
  {
    auto state = state_directory::open(directory.path(), owner());
    REQUIRE(state.has_value());
    REQUIRE(state.value().save(place(5)).has_value());
    {
      const posix::file_descriptor filler{::open((directory / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
      while (::write(filler.number(), std::string(4096, 'x').data(), 4096) > 0) {
      }
    }
    const auto refused = state.value().save(place(6));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() == errc::storage_full);
    CHECK(state.value().confirmed() == place(5));
    CHECK_FALSE(std::filesystem::exists(directory / "position.json.new"));
    CHECK(parse_saved_state(content_of(directory / "position.json")).value().confirmed == place(5));
    std::filesystem::remove(directory / "filler");
    CHECK(state.value().save(place(6)).has_value());
  }
  CHECK(::umount2(directory.path().c_str(), MNT_DETACH) == 0);
}

TEST_CASE("a file is replaced whole or not at all") {
  const temporary_directory directory;
  const auto file = directory / "f";
  REQUIRE(replace_file(file, "one").has_value());
  REQUIRE(replace_file(file, "two").has_value());
  CHECK(content_of(file) == "two");
  CHECK(replace_file(directory / "none/f", "x").error() == errc::not_found);
  std::filesystem::create_directory(directory / "d");
  CHECK_FALSE(replace_file(directory / "d", "x").has_value());
  CHECK(std::filesystem::is_directory(directory / "d"));
  CHECK_FALSE(std::filesystem::exists(directory / "d.new"));
}

TEST_CASE("reading does not wait for a writer at a pipe") {
  const temporary_directory directory;
  const auto pipe = directory / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(read_file(pipe, 100).error() == errc::invalid_argument);
}

} // namespace
