#include <weir/cli/log_report.hpp>
#include <weir/cli/scrub_text.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <string>

namespace {

using namespace weir;
using namespace weir::cli;
using namespace std::chrono_literals;
namespace json = boost::json;

topic_description two_shards() {
  return {"orders", 0xab, 3, 2, 1024, 4096};
}

/// One line, and what it says.
json::value parsed(const std::string& line) {
  CHECK(line.find('\n') == line.size() - 1);
  return json::parse(line);
}

TEST_CASE("where a topic begins and ends") {
  const topic_standing one{two_shards(), {{10, 30}, {0, 0}}, {{20, 2048, 1s}, {}}};
  const auto at = to_text(cursor{0xab, "orders", 3, {29, -1}});
  CHECK(standing_text(one)
        == "orders shard 0: earliest 10, head 30, 20 entries, 2.0 KiB\n"
           "orders shard 1: earliest 0, head 0, 0 entries, 0 B\n"
           "orders cursor: "
             + at + "\n");
  const auto object = parsed(standing_json(one));
  CHECK(object.at("topic") == "orders");
  CHECK(object.at("epoch") == 3);
  CHECK(object.at("cursor") == json::value(at));
  CHECK(object.at("shards").as_array().size() == 2);
  CHECK(object.at("shards").at(0) == json::parse(R"({"shard":0,"earliest":10,"head":30,"entries":20,"bytes":2048})"));
  CHECK(created_text(two_shards(), "a.db")
        == "created the topic \"orders\" in a.db: 2 shards, cursor " + to_text(two_shards().origin()) + "\n");
  CHECK(parsed(created_json(two_shards(), "a.db")).at("shards") == 2);
}

TEST_CASE("what a trim did, for whose sake less, and at whose cost") {
  const std::vector<shard_bounds> before{{10, 30}, {0, 5}};
  const trim_outcome done{{{21, 30}, {0, 5}}, {"search", "pin 4"}, {"audit"}};
  CHECK(trimmed_text(two_shards(), before, done)
        == "orders shard 0: 11 entries went; earliest 21, head 30\n"
           "orders shard 1: nothing went; earliest 0, head 5\n"
           "orders less went than was asked for, for the sake of \"search\", \"pin 4\"\n"
           "orders expired, and lost entries: \"audit\"\n");
  CHECK(parsed(trimmed_json(two_shards(), before, done))
        == json::parse(R"({"topic":"orders","shards":[{"shard":0,"went":11,"earliest":21,"head":30},
             {"shard":1,"went":0,"earliest":0,"head":5}],"held_by":["search","pin 4"],"expired":["audit"]})"));
}

TEST_CASE("a snapshot, and a checkpoint with all of its lag") {
  snapshot_info stored;
  stored.id = 3;
  stored.offsets = {4, 5};
  stored.chunks = 2;
  stored.bytes = 1'200'000;
  const auto at = to_text(cursor{0xab, "orders", 3, {4, 5}});
  CHECK(snapshot_text(two_shards(), stored) == "3: 1.1 MiB in 2 chunks, 1970-01-01T00:00:00.000000000Z, cursor " + at + "\n");
  CHECK(parsed(snapshot_json(two_shards(), stored)).at("snapshot") == 3);

  checkpoint one{"search", {4, 5}, "", 7, 0, false};
  const std::vector<shard_lag> behind{{2, 100, 3s}, {1, 20, 5s}};
  CHECK(
    checkpoint_text(two_shards(), one, behind) == "search: 3 entries behind (120 B, 5.0 s), revision 7, cursor " + at + "\n");
  CHECK(checkpoint_text(two_shards(), one, {{}, {}}) == "search: up to date, revision 7, cursor " + at + "\n");
  one.expired = true;
  CHECK(checkpoint_text(two_shards(), one, behind).starts_with("search: expired, 3 entries behind"));
  const auto object = parsed(checkpoint_json(two_shards(), one, behind));
  CHECK(object.at("expired") == true);
  CHECK(object.at("lag") == json::parse(R"({"entries":3,"bytes":120,"seconds":5.0})"));
}

TEST_CASE("how an append went, and from which line on it did not") {
  append_report report{3, 0, cursor{1, "t", 1, {2}}, {}, 0};
  const auto at = to_text(*report.head);
  CHECK(appended_text(report) == "stored 3 entries, cursor " + at + "\n");
  CHECK(parsed(appended_json(report)) == json::value({{"stored", 3}, {"known", 0}, {"cursor", at}}));
  report.known = 1;
  CHECK(appended_text(report) == "stored 3 entries, 1 more was there already, cursor " + at + "\n");
  report.failure = error{errc::storage_full, "the disk is full", {{"path", "a.db"}}};
  report.first_missing = 6;
  CHECK(not_appended_text(report)
        == "weir log append: stored 4 entries, up to and with line 5; line 6 and what follows it were not stored, because: "
           "the disk is full (code=storage_full, path=a.db)\n");
  CHECK(parsed(appended_json(report)).at("first_missing_line") == 6);
  CHECK(parsed(appended_json(report)).at("error").at("code") == "storage_full");
  report = {0, 0, {}, error{errc::bad_record, "line 1: it has no payload"}, 1};
  CHECK(not_appended_text(report)
        == "weir log append: stored nothing; line 1 and what follows it were not stored, because: line 1: it has no payload "
           "(code=bad_record)\n");
}

TEST_CASE("a failure is one line, which says nothing twice, and what can be done about it") {
  CHECK(failure_text("read", error{errc::corrupt_entry, "the entry is not what was appended", {{"offset", "7"}}})
        == "weir log read: the entry is not what was appended (code=corrupt_entry, offset=7); \"weir log repair\" gives it up, "
           "and reads pass over it\n");
  CHECK(failure_text("read", error{errc::not_found, "there is no file a.db", {{"path", "a.db"}, {"errno", "2"}}})
        == "weir log read: there is no file a.db (code=not_found); \"weir log create\" makes a log\n");
  CHECK(failure_text("tail", error{errc::cancelled}) == "weir log tail: cancelled (code=cancelled)\n");
  const auto text = failure_text("read", error{errc::not_found, "no \x1b[2J\n", {{"path", "\x1b[2J"}}});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\n') == text.size() - 1);
}

TEST_CASE("what the command line names wrongly ends with 2, what fails with 1") {
  for (const auto code : {errc::not_found, errc::not_a_log, errc::newer_format, errc::unknown_topic, errc::wrong_source,
         errc::stale_epoch, errc::invalid_cursor, errc::cursor_expired, errc::ahead_of_head, errc::permission_denied})
    CHECK(code_of(error{code}) == exit_code::usage);
  for (const auto code : {errc::storage_full, errc::corrupt, errc::corrupt_entry, errc::io_failed, errc::in_use,
         errc::not_covered, errc::dedupe_conflict, errc::snapshot_corrupt, errc::checkpoint_conflict})
    CHECK(code_of(error{code}) == exit_code::failed);
}

TEST_CASE("what a scrub found") {
  sqlite::scrub_report found{1234, 3'565'158, 2, {}, {}};
  CHECK(scrub_text(found, "a.db", true) == "a.db is sound: 1,234 entries (3.4 MiB) and 2 snapshots\n");
  found.damaged = {{"main", 1, 17, 19, "its digest is another", true}, {"main", 0, 3, 3, "it is not there", false}};
  found.others = {"a row of its table weir_checkpoint is not what was written"};
  CHECK(scrub_text(found, "a.db", false)
        == "main shard 1: entries 17 to 19 are given up: its digest is another\n"
           "main shard 0: entry 3 is damaged: it is not there\n"
           "a row of its table weir_checkpoint is not what was written\n"
           "a.db is damaged: 1,234 entries (3.4 MiB) and 2 snapshots\n");
  const auto object = parsed(scrub_json(found, "a.db", false));
  CHECK(object.at("sound") == false);
  CHECK(object.at("damaged").at(1)
        == json::parse(R"({"topic":"main","shard":0,"first":3,"last":3,"why":"it is not there","given_up":false})"));
  CHECK(object.at("others").as_array().size() == 1);
}

TEST_CASE("the progress bar fits, and says less where there is less room") {
  CHECK(progress_bar(0, 1 << 20, 80) == "[----------------------------------------] 0%  0 B of 1.0 MiB");
  CHECK(progress_bar(1 << 19, 1 << 20, 80) == "[####################--------------------] 50%  512 KiB of 1.0 MiB");
  CHECK(progress_bar(1 << 20, 1 << 20, 80) == "[########################################] 100%  1.0 MiB of 1.0 MiB");
  CHECK(progress_bar(0, 0, 80).ends_with("] 100%  0 B of 0 B"));
  CHECK(progress_bar(9, 4, 80).ends_with("] 100%  4 B of 4 B"));
  CHECK(progress_bar(1, 2, 24) == "[###---] 50%  1 B of 2 B");
  CHECK(progress_bar(1, 2, 15) == "50%  1 B of 2 B");
  CHECK(progress_bar(1, 2, 5) == "50%");
  for (std::size_t width = 0; width < 100; ++width)
    for (const std::uint64_t done : {0U, 1U, 700U, 1000U})
      CHECK(progress_bar(done, 1000, width).size() <= width);
}

} // namespace
