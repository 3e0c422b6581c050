#include <weir/change_lines.hpp>

#include "../jsonl/batches.hpp"
#include "../jsonl/scratch.hpp"
#include "descriptor_log.hpp"

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace adapter_tests;
using weir::descriptor_log;
using weir::errc;
using weir::lane_item;

namespace {

class pipe_pair {
public:
  pipe_pair() { REQUIRE(::pipe2(ends_.data(), O_CLOEXEC) == 0); }
  ~pipe_pair() {
    close_reader();
    close_writer();
  }
  int reader() const noexcept { return ends_[0]; }
  int writer() const noexcept { return ends_[1]; }
  void close_reader() { ::close(std::exchange(ends_[0], -1)); }
  void close_writer() { ::close(std::exchange(ends_[1], -1)); }

private:
  std::array<int, 2> ends_{};
};

std::string read_to_end(int descriptor) {
  std::string all;
  std::array<char, 4096> some{};
  for (;;) {
    const auto got = ::read(descriptor, some.data(), some.size());
    if (got <= 0)
      return all;
    all.append(some.data(), static_cast<std::size_t>(got));
  }
}

std::string lines_of(const std::vector<lane_item>& items) {
  weir::change_lines lines{weir::change_lines::repeats::write};
  std::string out;
  for (const auto& item : items)
    REQUIRE(lines.append(out, std::get<weir::batch>(item)));
  return out;
}

/// More than a pipe holds.
std::vector<lane_item> many_items() {
  std::vector<lane_item> items;
  for (std::uint64_t seq = 1; seq <= 5000; ++seq)
    items.emplace_back(live(at(1, seq), {upsert("c", std::to_string(seq), std::string(100, '7'))}));
  return items;
}

} // namespace

TEST_CASE("changes come out as lines, every time they come") {
  pipe_pair output;
  descriptor_log log{output.writer()};
  REQUIRE(log.open());
  const std::vector<lane_item> items{live(at(1, 1), {upsert("c", "a\n", "{}"), erase("c", "\xFF")}), live(at(2, 0), {})};
  const weir::request_id request{1, 2};
  REQUIRE(log.write(
    std::vector<lane_item>{snapshot(request, {upsert("c", "x", "1")}, "x"), weir::snapshot_complete{request, {"c"}}}));
  REQUIRE(log.write(items));
  REQUIRE(log.flush());
  output.close_writer();
  CHECK(read_to_end(output.reader()) == lines_of(items));

  pipe_pair again;
  descriptor_log second{again.writer()};
  REQUIRE(second.write(std::vector<lane_item>{items[0]}));
  REQUIRE(second.write(std::vector<lane_item>{items[0]}));
  REQUIRE(second.flush());
  again.close_writer();
  const auto once = lines_of({items[0]});
  CHECK(read_to_end(again.reader()) == once + once);
}

TEST_CASE("a slow reader gets everything") {
  pipe_pair output;
  const auto items = many_items();
  std::string read;
  std::thread reader{[&] { read = read_to_end(output.reader()); }};
  {
    descriptor_log log{output.writer()};
    CHECK(log.write(items));
    CHECK(log.flush());
  }
  output.close_writer();
  reader.join();
  CHECK(read == lines_of(items));
}

TEST_CASE("a descriptor that does not block is waited for all the same") {
  pipe_pair output;
  REQUIRE(::fcntl(output.writer(), F_SETFL, O_NONBLOCK) == 0);
  const auto items = many_items();
  std::string read;
  std::thread reader{[&] { read = read_to_end(output.reader()); }};
  {
    descriptor_log log{output.writer()};
    CHECK(log.write(items));
    CHECK(log.flush());
  }
  output.close_writer();
  reader.join();
  CHECK(read == lines_of(items));
}

TEST_CASE("a reader that has gone is a typed failure and no signal") {
  static volatile std::sig_atomic_t signals = 0;
  signals = 0;
  struct sigaction counting{};
  struct sigaction before{};
  counting.sa_handler = [](int) { signals = signals + 1; };
  REQUIRE(::sigaction(SIGPIPE, &counting, &before) == 0);
  pipe_pair output;
  output.close_reader();
  descriptor_log log{output.writer()};
  REQUIRE(log.write(std::vector<lane_item>{live(at(1, 1), {upsert("c", "a", "1")})}));
  const auto flushed = log.flush();
  REQUIRE_FALSE(flushed);
  CHECK(flushed.error() == errc::sink_failed);
  CHECK(signals == 0);
  // The process's own handling is as it was.
  ::raise(SIGPIPE);
  CHECK(signals == 1);
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST_CASE("waiting for a reader that does not read is ended by stop()") {
  pipe_pair output;
  descriptor_log log{output.writer()};
  std::thread stopper{[&] { log.stop(); }};
  auto written = log.write(many_items());
  if (written)
    written = log.flush();
  stopper.join();
  REQUIRE_FALSE(written);
  CHECK(written.error() == errc::cancelled);
}

TEST_CASE("a descriptor that is not open is refused") {
  CHECK(descriptor_log{12345}.open().error() == errc::io_failed);
  const pipe_pair output;
  CHECK(descriptor_log{output.reader()}.open().error() == errc::io_failed); // open, but not to be written
  CHECK(descriptor_log{output.writer()}.open());
}

TEST_CASE("a full disk is reported, and the line that it broke ends before the next one begins") {
  const small_disk disk{256U << 10U};
  if (!disk.is_there_for("a full disk is reported, and the line that it broke ends before the next one begins"))
    return;
  const auto path = disk / "out";
  const auto file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  disk.fill(8192);
  descriptor_log log{file};
  REQUIRE(log.open());
  auto written = log.write(many_items());
  if (written)
    written = log.flush();
  REQUIRE_FALSE(written);
  CHECK(written.error() == errc::storage_full);
  disk.empty();
  REQUIRE(log.open());
  const std::vector<lane_item> more{live(at(1, 9999), {upsert("c", "more", "1")})};
  REQUIRE(log.write(more));
  REQUIRE(log.flush());
  ::close(file);
  const auto content = read_file(path);
  CHECK(content.ends_with("\n" + lines_of(more)));
}
