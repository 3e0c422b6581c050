#include "../core/seeds.hpp"
#include "batches.hpp"
#include "jsonl_feed.hpp"
#include "jsonl_log.hpp"
#include "scratch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace adapter_tests;
using weir::bad_record_policy;
using weir::errc;
using weir::jsonl_feed;
using weir::jsonl_source_options;
using weir::pipe_restart;

namespace {

constexpr std::chrono::milliseconds no_patience{0};
constexpr std::chrono::milliseconds glance{5};
constexpr std::chrono::seconds patience{20}; // ends early, when something comes

std::string line(std::string_view key, std::string_view payload = "1") {
  return "{\"collection\":\"c\",\"key\":\"" + std::string{key} + "\",\"op\":\"upsert\",\"payload\":" + std::string{payload}
         + "}\n";
}

/// What a feed brought, flattened.
struct account {
  std::vector<std::string> keys;    ///< "epoch:seq key"
  std::vector<std::string> bad;     ///< the facts line and offset
  std::vector<std::string> epochs;  ///< positions of empty batches with seq 0
  std::optional<weir::position> at; ///< the last batch's position
  std::optional<weir::error> failure;
  bool has_ended = false;
};

/// Checks what must hold for every batch, and adds it.
void add(account& to, const weir::reading& brought) {
  const auto& live = brought.live;
  REQUIRE(live.at);
  REQUIRE(live.envelopes);
  REQUIRE(live.at->ends_transaction);
  if (to.at)
    REQUIRE(weir::may_follow(*to.at, *live.at));
  REQUIRE_FALSE(live.envelopes->parts().empty());
  REQUIRE(live.envelopes->parts().back().at == *live.at);
  REQUIRE(live.envelopes->parts().back().at.stamp == live.at->stamp);
  for (const auto& part : live.envelopes->parts()) {
    REQUIRE(part.count <= 1);
    REQUIRE(part.first_index == 0);
    if (part.count == 1)
      to.keys.push_back(to_string(part.at) + " " + live.envelopes->envelopes()[part.begin].key);
  }
  if (live.at->seq == 0)
    to.epochs.push_back(to_string(*live.at));
  for (const auto& one : brought.bad)
    to.bad.push_back(std::string{one.reason.fact_of("line")} + "@" + std::string{one.reason.fact_of("offset")});
  to.at = live.at;
}

/// Reads until the feed ends, fails, or has nothing at the moment.
account read_all(jsonl_feed& feed, weir::read_limit limit = {}, std::chrono::milliseconds wait = glance) {
  account all;
  for (;;) {
    auto turn = feed.next(limit, wait);
    if (!turn) {
      all.failure = turn.error();
      return all;
    }
    if (turn.value().brought)
      add(all, *turn.value().brought);
    else {
      all.has_ended = turn.value().has_ended;
      return all;
    }
  }
}

account read_file_from(
  const jsonl_source_options& options, std::optional<weir::position> confirmed = {}, std::optional<weir::position> held = {}) {
  jsonl_feed feed{options};
  const auto opened = feed.open({confirmed, held});
  REQUIRE(opened);
  return read_all(feed, {}, patience);
}

/// A pipe whose reading end stands for standard input.
class pipe_pair {
public:
  pipe_pair() { REQUIRE(::pipe2(ends_.data(), O_CLOEXEC) == 0); }
  ~pipe_pair() {
    ::close(ends_[0]);
    close_writer();
  }
  int reader() const noexcept { return ends_[0]; }
  void write(std::string_view bytes) const {
    REQUIRE(::write(ends_[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  void close_writer() {
    if (ends_[1] >= 0)
      ::close(std::exchange(ends_[1], -1));
  }

private:
  std::array<int, 2> ends_{};
};

using strings = std::vector<std::string>;

} // namespace

TEST_CASE("each line is a transaction, numbered by line") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  write_file(path, line("a") + "\n  \n" + line("b") + R"({"collection":"c","key":"a","op":"delete"})");
  const auto all = read_file_from({.path = path});
  CHECK(all.keys == strings{"1:1 a", "1:4 b", "1:5 a"}); // the last one needs no line feed
  CHECK(all.has_ended);
  CHECK(to_string(*all.at) == "1:5");

  write_file(path, "");
  const auto nothing = read_file_from({.path = path});
  CHECK(nothing.has_ended);
  CHECK_FALSE(nothing.at);

  write_file(path, "\n\n");
  const auto blank = read_file_from({.path = path});
  CHECK(blank.keys.empty());
  CHECK(to_string(*blank.at) == "1:2"); // the position moves over them
}

TEST_CASE("a read stops at its limit") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  std::string content;
  for (int number = 0; number < 100; ++number)
    content += line(std::to_string(number));
  write_file(path, content);
  jsonl_feed feed{{.path = path}};
  REQUIRE(feed.open({}));
  const auto three = feed.next({.changes = 3}, no_patience);
  REQUIRE(three);
  CHECK(three.value().brought->live.envelopes->envelopes().size() == 3);
  CHECK(three.value().brought->live.changes == 3);
  const auto one = feed.next({.changes = 100, .bytes = 1}, no_patience);
  REQUIRE(one);
  CHECK(one.value().brought->live.envelopes->envelopes().size() == 1); // never nothing because one is too large
  const auto few = feed.next({.changes = 100, .bytes = 2000}, no_patience);
  REQUIRE(few);
  const auto count = few.value().brought->live.envelopes->envelopes().size();
  CHECK(count > 1);
  CHECK(count < 30);
  CHECK(read_all(feed).keys.back() == "1:100 99");
}

TEST_CASE("a bad line stops the source, after everything before it") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  write_file(path, line("a") + "\n" + "{\"collection\":\"c\",\"key\":\"b\",\"op\":\"up\"}\n" + line("c"));
  jsonl_feed feed{{.path = path}};
  REQUIRE(feed.open({}));
  const auto all = read_all(feed);
  CHECK(all.keys == strings{"1:1 a"});
  CHECK(to_string(*all.at) == "1:2");
  REQUIRE(all.failure);
  CHECK(*all.failure == errc::bad_record);
  CHECK(all.failure->fact_of("line") == "3");
  CHECK(all.failure->fact_of("offset") == std::to_string(line("a").size() + 1));
  CHECK(all.failure->fact_of("expected") == "\"upsert\" or \"delete\"");
  CHECK(all.failure->fact_of("path") == path.string());
  CHECK(read_all(feed).failure); // and again

  // Restarted where it stopped: the same line, the same number.
  const auto again = read_file_from({.path = path}, all.at);
  CHECK(again.keys.empty());
  CHECK(again.failure->fact_of("line") == "3");
  // Repaired: it goes on.
  auto repaired = read_file(path);
  repaired.replace(repaired.find("\"up\"}"), 5, "\"delete\"}");
  write_file(path, repaired);
  CHECK(read_file_from({.path = path}, all.at).keys == strings{"1:3 b", "1:4 c"});
}

TEST_CASE("a bad line is set aside, and the position goes on behind it") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  const auto huge = std::string(10'000, 'x');
  write_file(path, "bad\n" + line("a") + huge + "\n" + line("b") + "[");
  jsonl_feed feed{{.path = path, .on_bad = bad_record_policy::dead_letter}};
  REQUIRE(feed.open({}));
  const auto turn = feed.next({}, no_patience);
  REQUIRE(turn);
  const auto& brought = *turn.value().brought;
  REQUIRE(brought.bad.size() == 2);
  CHECK(brought.bad[0].bytes == "bad");
  CHECK(brought.bad[0].reason == errc::bad_record);
  CHECK(brought.bad[1].bytes == huge.substr(0, 4096));
  CHECK(brought.live.changes == 4);
  const auto rest = read_all(feed);
  CHECK(rest.bad == strings{"5@" + std::to_string(4 + line("a").size() + huge.size() + 1 + line("b").size())});
  CHECK(to_string(*rest.at) == "1:5");

  // Nothing but bad lines still makes progress, within the limit.
  std::string bad_lines;
  for (int number = 0; number < 100; ++number)
    bad_lines += "bad\n";
  write_file(path, bad_lines);
  jsonl_feed again{{.path = path, .on_bad = bad_record_policy::dead_letter}};
  REQUIRE(again.open({}));
  CHECK(again.next({.changes = 10}, no_patience).value().brought->bad.size() == 10);
  CHECK(read_all(again).bad.size() == 90);
}

TEST_CASE("a line that is too long is bad, and is never held as a whole") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  const auto long_line = line("long", "\"" + std::string(3'000'000, 'x') + "\"");
  write_file(path, line("a") + long_line + line("b"));
  const auto all = read_file_from({.path = path, .on_bad = bad_record_policy::dead_letter, .max_line = 1000});
  CHECK(all.keys == strings{"1:1 a", "1:3 b"});
  CHECK(all.bad == strings{"2@" + std::to_string(line("a").size())});
  // The limit is inclusive.
  const auto size = line("a").size() - 1;
  CHECK(read_file_from({.path = path, .on_bad = bad_record_policy::dead_letter, .max_line = size}).keys.size() == 2);
  CHECK(read_file_from({.path = path, .on_bad = bad_record_policy::dead_letter, .max_line = size - 1}).keys.empty());
  CHECK(jsonl_feed{{.path = path, .max_line = 0}}.open({}).error() == errc::invalid_argument);
}

TEST_CASE("a restart from any line goes on behind it, whatever the batches") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int round = 0; round < 15; ++round) {
      std::string content;
      for (auto left = random.between(1, 40); left > 0; --left)
        content += random.chance(20) ? "\n" : random.chance(20) ? "bad\n" : line(std::string(random.below(300), 'k'));
      if (random.chance(50))
        content += line("last").substr(0, line("last").size() - 1);
      write_file(path, content);
      const jsonl_source_options options{.path = path, .on_bad = bad_record_policy::dead_letter};
      const auto whole = read_file_from(options);
      account pieces;
      while (!pieces.has_ended) {
        jsonl_feed feed{options};
        REQUIRE(feed.open({pieces.at}));
        for (auto reads = random.below(4); reads > 0; --reads) {
          const auto turn = feed.next({.changes = random.between(1, 5), .bytes = random.between(1, 2000)}, no_patience);
          REQUIRE(turn);
          if (turn.value().brought)
            add(pieces, *turn.value().brought);
          pieces.has_ended = turn.value().has_ended;
        }
      }
      REQUIRE(pieces.keys == whole.keys);
      REQUIRE(pieces.bad == whole.bad);
      REQUIRE(pieces.at == whole.at);
      REQUIRE(pieces.at->stamp == whole.at->stamp);
      REQUIRE(pieces.epochs.empty());
    }
  }
}

TEST_CASE("a file that is not what was confirmed is read from its start, in a new epoch") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  write_file(path, line("a") + line("b") + line("c"));
  const auto before = read_file_from({.path = path});
  const auto expect_new_epoch = [&](const strings& keys) {
    const auto all = read_file_from({.path = path}, before.at);
    CHECK(all.epochs == strings{"2:0"});
    CHECK(all.keys == keys);
    // And from there on, nothing special.
    const auto again = read_file_from({.path = path}, all.at);
    CHECK(again.epochs.empty());
    CHECK(again.keys.empty());
  };
  SUBCASE("shorter") {
    write_file(path, line("a") + line("b"));
    expect_new_epoch({"2:1 a", "2:2 b"});
  }
  SUBCASE("empty") {
    write_file(path, "");
    expect_new_epoch({});
  }
  SUBCASE("as long, with other lines") {
    write_file(path, line("a") + line("b") + line("x"));
    expect_new_epoch({"2:1 a", "2:2 b", "2:3 x"});
  }
  SUBCASE("longer, with lines that end where ours did") {
    write_file(path, line("x") + line("y") + line("z") + line("a"));
    expect_new_epoch({"2:1 x", "2:2 y", "2:3 z", "2:4 a"});
  }
  SUBCASE("the same, and more") {
    append_to_file(path, line("d"));
    const auto all = read_file_from({.path = path}, before.at);
    CHECK(all.epochs.empty());
    CHECK(all.keys == strings{"1:4 d"});
  }
}

TEST_CASE("what a destination holds is numbered alike again only where the file still has it") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  const auto other = scratch / "other.jsonl";
  write_file(path, line("a"));
  const auto first = read_file_from({.path = path});
  append_to_file(path, line("b") + line("c"));
  const auto held = read_file_from({.path = path}).at;
  write_file(other, line("a") + line("x") + line("y") + line("z"));
  const jsonl_source_options same{.path = path};
  const jsonl_source_options another{.path = other};
  // Held and not confirmed: it comes again, under the same numbers.
  CHECK(read_file_from(same, {}, held).keys == strings{"1:1 a", "1:2 b", "1:3 c"});
  CHECK(read_file_from(same, first.at, held).keys == strings{"1:2 b", "1:3 c"});
  // These lines are others, though what is confirmed is theirs, or nothing.
  for (const auto& confirmed : {std::optional<weir::position>{}, first.at}) {
    const auto all = read_file_from(another, confirmed, held);
    CHECK(all.epochs == strings{"2:0"});
    CHECK(all.keys == strings{"2:1 a", "2:2 x", "2:3 y", "2:4 z"});
  }
  // An epoch that was opened, and never confirmed: the same one again for the same file.
  auto later = *held;
  later.epoch = 5;
  const auto again = read_file_from(same, first.at, later);
  CHECK(again.epochs == strings{"5:0"});
  CHECK(again.keys == strings{"5:1 a", "5:2 b", "5:3 c"});
  CHECK(read_file_from(another, first.at, later).epochs == strings{"6:0"});
  later.stamp = {}; // made by who knows whom
  CHECK(read_file_from(same, {}, later).epochs == strings{"6:0"});
  // A destination that is behind does not matter here.
  auto confirmed = *first.at;
  confirmed.epoch = 3;
  CHECK(read_file_from(same, confirmed, held).keys == strings{"3:2 b", "3:3 c"});
}

TEST_CASE("a last line that was read without its line feed may get it later, and nothing else") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  const auto bare = line("b").substr(0, line("b").size() - 1);
  write_file(path, line("a") + bare);
  const auto before = read_file_from({.path = path});
  CHECK(before.keys == strings{"1:1 a", "1:2 b"});
  CHECK(read_file_from({.path = path}, before.at).has_ended);
  append_to_file(path, "\n" + line("c"));
  const auto more = read_file_from({.path = path}, before.at);
  CHECK(more.epochs.empty());
  CHECK(more.keys == strings{"1:3 c"});
  CHECK(read_file_from({.path = path}, more.at).keys.empty());
  write_file(path, line("a") + bare + "   \n");
  CHECK(read_file_from({.path = path}, before.at).epochs == strings{"2:0"});
}

TEST_CASE("a position of another source is refused") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  write_file(path, line("a"));
  jsonl_feed feed{{.path = path}};
  CHECK(
    feed.open({weir::position{1, 5, weir::stamp::from("0123456789abcdef0123").value(), 0, true}}).error() == errc::wrong_owner);
  CHECK(feed.open({at(1, 5)}).error() == errc::wrong_owner);
}

TEST_CASE("paths that can't be read are refused with their reason") {
  const scratch_directory scratch;
  for (const auto& path : {scratch / "absent", scratch / "no/such"}) {
    CHECK(jsonl_feed{{.path = path, .follow = true}}.open({}).error() == errc::not_found);
    CHECK(jsonl_feed::check({.path = path}).error() == errc::not_found);
  }
  CHECK(jsonl_feed{{.path = scratch.path()}}.open({}).error() == errc::invalid_argument);
  CHECK(jsonl_feed::check({.path = scratch.path()}).error() == errc::invalid_argument);
  CHECK(jsonl_feed::check({.path = "-"}));
  std::filesystem::permissions(scratch.path(), std::filesystem::perms{0755});
  write_file(scratch / "sealed", "");
  std::filesystem::permissions(scratch / "sealed", std::filesystem::perms{0});
  const without_rights dropped;
  if (dropped.is_on_for("a file that may not be read is refused"))
    CHECK(jsonl_feed{{.path = scratch / "sealed"}}.open({}).error() == errc::permission_denied);
}

TEST_CASE("a followed file is read on as it grows, line by whole line") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  write_file(path, line("a") + "{\"collection\":");
  jsonl_feed feed{{.path = path, .follow = true}};
  REQUIRE(feed.open({}));
  auto all = read_all(feed);
  CHECK(all.keys == strings{"1:1 a"});
  CHECK_FALSE(all.has_ended);
  append_to_file(path, "\"c\",\"key\":\"b\",");
  CHECK(read_all(feed).keys.empty());
  append_to_file(path, "\"op\":\"delete\"}\n" + line("c"));
  CHECK(read_all(feed).keys == strings{"1:2 b", "1:3 c"});

  // A reader that waits is given what comes.
  std::thread writer{[&] { append_to_file(path, line("d")); }};
  const auto turn = feed.next({}, patience);
  writer.join();
  REQUIRE(turn);
  REQUIRE(turn.value().brought);
  CHECK(turn.value().brought->live.envelopes->envelopes()[0].key == "d");
}

TEST_CASE("a followed file that is moved away is read to its end, then the one that took its place in a new epoch") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  write_file(path, line("a"));
  jsonl_feed feed{{.path = path, .follow = true}};
  REQUIRE(feed.open({}));
  CHECK(read_all(feed).keys == strings{"1:1 a"});
  append_to_file(path, line("b"));
  std::filesystem::rename(path, scratch / "changes.jsonl.1");
  CHECK(read_all(feed).keys == strings{"1:2 b"});
  append_to_file(scratch / "changes.jsonl.1", line("c") + line("d").substr(0, line("d").size() - 1));
  CHECK(read_all(feed).keys == strings{"1:3 c"}); // nothing has its path yet; the last line may still grow
  write_file(path, line("x") + line("y"));
  const auto all = read_all(feed);
  CHECK(all.keys == strings{"1:4 d", "2:1 x", "2:2 y"}); // now it can't
  CHECK(all.epochs == strings{"2:0"});
  append_to_file(path, line("z"));
  CHECK(read_all(feed).keys == strings{"2:3 z"});
}

TEST_CASE("a followed file that is cut or rewritten is read from its start in a new epoch") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  write_file(path, line("a") + line("b") + "half");
  jsonl_feed feed{{.path = path, .follow = true}};
  REQUIRE(feed.open({}));
  CHECK(read_all(feed).keys.size() == 2);
  std::filesystem::resize_file(path, 0);
  auto all = read_all(feed);
  CHECK(all.epochs == strings{"2:0"});
  append_to_file(path, line("c"));
  CHECK(read_all(feed).keys == strings{"2:1 c"});
  // Cut and written again to more than it was, between two looks.
  std::filesystem::resize_file(path, 0);
  append_to_file(path, line("d") + line("e"));
  all = read_all(feed);
  CHECK(all.epochs == strings{"3:0"});
  CHECK(all.keys == strings{"3:1 d", "3:2 e"});
}

TEST_CASE("standard input is read as it comes, and ends") {
  pipe_pair input;
  jsonl_feed feed{{.path = "-", .follow = true}, input.reader()};
  REQUIRE(feed.open({}));
  CHECK_FALSE(read_all(feed).at);
  input.write(line("a") + "{\"collection\":\"c\",");
  const auto first = feed.next({}, patience);
  REQUIRE(first);
  CHECK(first.value().brought->live.envelopes->envelopes().size() == 1);
  input.write("\"key\":\"b\",\"op\":\"delete\"}");
  CHECK_FALSE(read_all(feed).at);
  input.close_writer();
  const auto rest = read_all(feed, {}, patience);
  CHECK(rest.keys == strings{"1:2 b"});
  CHECK(rest.has_ended);
  CHECK(read_all(feed).has_ended);
}

TEST_CASE("a waiting read is ended by stop()") {
  const scratch_directory scratch;
  const auto path = scratch / "changes.jsonl";
  write_file(path, "");
  pipe_pair input;
  for (const auto& options : {jsonl_source_options{.path = "-"}, jsonl_source_options{.path = path, .follow = true}}) {
    jsonl_feed feed{options, input.reader()};
    REQUIRE(feed.open({}));
    std::thread stopper{[&] { feed.stop(); }};
    const auto begin = std::chrono::steady_clock::now();
    const auto turn = feed.next({}, std::chrono::hours{1});
    stopper.join();
    REQUIRE(turn);
    CHECK_FALSE(turn.value().brought);
    CHECK_FALSE(turn.value().has_ended);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::minutes{30});
  }
}

TEST_CASE("a pipe with confirmed lines: refused, new, or skipped") {
  const auto content = line("a") + "\nbad\n" + line("b");
  const auto run = [&](std::string_view bytes, pipe_restart on_restart, std::optional<weir::position> confirmed,
                     std::optional<weir::position> held = {}) {
    pipe_pair input;
    jsonl_feed feed{{.path = "-", .on_bad = bad_record_policy::dead_letter, .on_restart = on_restart}, input.reader()};
    account all;
    if (auto opened = feed.open({confirmed, held}); !opened) {
      all.failure = opened.error();
      return all;
    }
    input.write(bytes);
    input.close_writer();
    return read_all(feed, {}, patience);
  };
  const auto before = run(content, pipe_restart::refuse, {});
  CHECK(before.keys == strings{"1:1 a", "1:4 b"});

  const auto refused = run(content, pipe_restart::refuse, before.at);
  REQUIRE(refused.failure);
  CHECK(*refused.failure == errc::unsupported);

  const auto fresh = run(line("c"), pipe_restart::new_epoch, before.at);
  CHECK(fresh.epochs == strings{"2:0"});
  CHECK(fresh.keys == strings{"2:1 c"});
  // A pipeline that was stopped before the first line of it came: nothing is confirmed of that pipe.
  CHECK(run(line("c"), pipe_restart::refuse, weir::position{2, 0, weir::line_stamp::of(0, "").to_stamp(), 0, true}).keys
        == strings{"2:1 c"});

  // Nothing is confirmed, but a destination holds lines of a pipe: of this one, or another.
  CHECK(run(content, pipe_restart::refuse, {}, before.at).failure.value() == errc::unsupported);
  CHECK(run(line("c"), pipe_restart::new_epoch, {}, before.at).keys == strings{"2:1 c"});
  CHECK(run(content, pipe_restart::skip_confirmed, {}, before.at).keys == before.keys);
  auto later = *before.at;
  later.epoch = 4;
  CHECK(run(line("c"), pipe_restart::new_epoch, before.at, later).epochs == strings{"5:0"});

  const auto skipped = run(content + line("c"), pipe_restart::skip_confirmed, before.at);
  CHECK(skipped.keys == strings{"1:5 c"});
  CHECK(skipped.bad.empty());
  const auto none_left = run(content, pipe_restart::skip_confirmed, before.at);
  CHECK(none_left.has_ended);
  CHECK(none_left.keys.empty());
  for (const auto& other : {line("a") + "\nbad\n" + line("x") + line("c"), line("a"), std::string{},
         content.substr(1) + line("c"), line("a") + "\n\n\n\n" + line("b") + line("c")}) {
    CAPTURE(other);
    const auto failed = run(other, pipe_restart::skip_confirmed, before.at);
    REQUIRE(failed.failure);
    CHECK(*failed.failure == errc::source_failed);
    CHECK(failed.keys.empty());
  }
}

TEST_CASE("a named pipe is a pipe") {
  const scratch_directory scratch;
  const auto path = scratch / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  jsonl_feed feed{{.path = path}};
  REQUIRE(feed.open({}));
  const auto writer = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(writer >= 0);
  CHECK_FALSE(read_all(feed).has_ended);
  const auto bytes = line("a");
  REQUIRE(::write(writer, bytes.data(), bytes.size()) > 0);
  CHECK(read_all(feed).keys == strings{"1:1 a"});
  ::close(writer);
  CHECK(read_all(feed, {}, patience).has_ended);
}

TEST_CASE("what the sink wrote, the source reads, byte for byte") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int round = 0; round < 15; ++round) {
      const auto bytes = [&] {
        std::string made;
        for (auto left = random.below(20); left > 0; --left)
          made += random.chance(50) ? static_cast<char>(random.below(256)) : "\n\0\"\\{}[],: \xC3\xA9"[random.below(13)];
        return made;
      };
      std::vector<weir::envelope> changes;
      std::vector<weir::lane_item> items;
      for (std::uint64_t seq = 1; seq < 40; ++seq) {
        if (seq == 20)
          items.emplace_back(live(at(2, 0), {}));
        auto change =
          random.chance(20) ? erase("c" + bytes(), bytes()) : upsert("c", bytes(), random.chance(50) ? bytes() : R"({"n": 1})");
        changes.push_back(change);
        items.emplace_back(live(at(seq < 20 ? 1 : 2, seq), {std::move(change)}));
      }
      std::filesystem::remove(path);
      weir::jsonl_log log{{path}};
      REQUIRE(log.open());
      REQUIRE(log.write(items));
      REQUIRE(log.flush());
      jsonl_feed feed{{.path = path}};
      REQUIRE(feed.open({}));
      std::vector<weir::envelope> read;
      for (auto turn = feed.next({}, no_patience); turn && turn.value().brought; turn = feed.next({}, no_patience)) {
        const auto& part = turn.value().brought->live.envelopes->envelopes();
        read.insert(read.end(), part.begin(), part.end());
      }
      REQUIRE(read.size() == changes.size());
      for (std::size_t index = 0; index < read.size(); ++index) {
        REQUIRE(read[index].collection == changes[index].collection);
        REQUIRE(read[index].key == changes[index].key);
        REQUIRE(read[index].operation == changes[index].operation);
        REQUIRE(read[index].payload == changes[index].payload);
      }
    }
  }
}
