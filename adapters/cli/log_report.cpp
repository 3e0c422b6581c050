#include <weir/cli/entry_text.hpp>
#include <weir/cli/log.hpp>
#include <weir/cli/log_report.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/units.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace weir::cli {

namespace {

namespace json = boost::json;

std::string counted_entries(std::uint64_t number) {
  return counted(number, "entry", "entries");
}

std::uint64_t count_of(const shard_bounds& bounds) noexcept {
  return static_cast<std::uint64_t>(bounds.head - bounds.earliest);
}

json::array names_of(const std::vector<std::string>& names) {
  json::array all;
  for (const auto& one : names)
    all.emplace_back(valid_utf8(one));
  return all;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& one : names)
    text += (text.empty() ? "" : ", ") + in_quotes(one);
  return text;
}

/// All of a consumer's lag: the oldest entry's age counts.
shard_lag sum_of(const std::vector<shard_lag>& behind) {
  shard_lag all;
  for (const auto& one : behind) {
    all.entries += one.entries;
    all.bytes += one.bytes;
    all.age = std::max(all.age, one.age);
  }
  return all;
}

json::object object_of(const error& why) {
  json::object facts;
  for (const auto& [name, value] : why.facts())
    facts[name] = valid_utf8(value);
  return {{"code", weir::name_of(why.code())}, {"sentence", valid_utf8(why.sentence())}, {"facts", std::move(facts)}};
}

std::string line_of(const json::object& made) {
  return json::serialize(made) + "\n";
}

/// Facts that most sentences tell; they are not told twice.
constexpr std::array<std::string_view, 4> told_by_sentences{"path", "reason", "option", "table"};

/// What can be done about it, where the program has a command for that.
std::string_view advice_on(const error& why) noexcept {
  switch (why.code()) {
  case errc::not_found: return why.fact_of("sqlite").empty() ? "; \"weir log create\" makes a log" : "";
  case errc::corrupt_entry: return "; \"weir log repair\" gives it up, and reads pass over it";
  case errc::not_covered: return "; \"weir log snapshot\" makes one, --force does without";
  default: return "";
  }
}

} // namespace

cursor head_of(const topic_description& topic, const std::vector<shard_bounds>& bounds) {
  std::vector<std::int64_t> offsets;
  for (const auto& one : bounds)
    offsets.push_back(one.head - 1);
  return topic.cursor_at(std::move(offsets));
}

std::string created_text(const topic_description& topic, std::string_view file) {
  return fmt::format("created the topic {} in {}: {}, cursor {}\n", in_quotes(topic.name), printable(file),
    counted(topic.shards, "shard", "shards"), to_text(topic.origin()));
}

std::string created_json(const topic_description& topic, std::string_view file) {
  return line_of({{"file", valid_utf8(file)}, {"topic", topic.name}, {"epoch", topic.epoch}, {"shards", topic.shards},
    {"dedupe_horizon", topic.dedupe_horizon}, {"cursor", to_text(topic.origin())}});
}

std::string standing_text(const topic_standing& one) {
  std::string text;
  for (std::size_t shard = 0; shard < one.bounds.size(); ++shard)
    text +=
      fmt::format("{} shard {}: earliest {}, head {}, {}, {}\n", printable(one.topic.name), shard, one.bounds[shard].earliest,
        one.bounds[shard].head, counted_entries(count_of(one.bounds[shard])), rounded_size(one.retained[shard].bytes));
  return text + fmt::format("{} cursor: {}\n", printable(one.topic.name), to_text(head_of(one.topic, one.bounds)));
}

std::string standing_json(const topic_standing& one) {
  json::array shards;
  for (std::size_t shard = 0; shard < one.bounds.size(); ++shard)
    shards.push_back(json::object{{"shard", shard}, {"earliest", one.bounds[shard].earliest}, {"head", one.bounds[shard].head},
      {"entries", count_of(one.bounds[shard])}, {"bytes", one.retained[shard].bytes}});
  return line_of({{"topic", one.topic.name}, {"epoch", one.topic.epoch}, {"dedupe_horizon", one.topic.dedupe_horizon},
    {"largest_entry", one.topic.largest_entry}, {"shards", std::move(shards)},
    {"cursor", to_text(head_of(one.topic, one.bounds))}});
}

std::string trimmed_text(const topic_description& topic, const std::vector<shard_bounds>& before, const trim_outcome& done) {
  std::string text;
  for (std::size_t shard = 0; shard < done.bounds.size(); ++shard) {
    const auto& now = done.bounds[shard];
    const auto gone = now.earliest - before[shard].earliest;
    text += fmt::format("{} shard {}: {} went; earliest {}, head {}\n", printable(topic.name), shard,
      gone > 0 ? counted_entries(static_cast<std::uint64_t>(gone)) : "nothing", now.earliest, now.head);
  }
  if (!done.held_by.empty())
    text += fmt::format("{} less went than was asked for, for the sake of {}\n", printable(topic.name), list_of(done.held_by));
  if (!done.expired.empty())
    text += fmt::format("{} expired, and lost entries: {}\n", printable(topic.name), list_of(done.expired));
  return text;
}

std::string trimmed_json(const topic_description& topic, const std::vector<shard_bounds>& before, const trim_outcome& done) {
  json::array shards;
  for (std::size_t shard = 0; shard < done.bounds.size(); ++shard) {
    const auto& now = done.bounds[shard];
    shards.push_back(json::object{{"shard", shard}, {"went", std::max<std::int64_t>(0, now.earliest - before[shard].earliest)},
      {"earliest", now.earliest}, {"head", now.head}});
  }
  return line_of({{"topic", topic.name}, {"shards", std::move(shards)}, {"held_by", names_of(done.held_by)},
    {"expired", names_of(done.expired)}});
}

std::string snapshot_text(const topic_description& topic, const snapshot_info& one) {
  return fmt::format("{}: {} in {}, {}, cursor {}\n", one.id, rounded_size(one.bytes), counted(one.chunks, "chunk", "chunks"),
    nanosecond_time(one.time), to_text(topic.cursor_at(one.offsets)));
}

std::string snapshot_json(const topic_description& topic, const snapshot_info& one) {
  return line_of({{"snapshot", one.id}, {"topic", topic.name}, {"bytes", one.bytes}, {"chunks", one.chunks},
    {"time", nanosecond_time(one.time)}, {"cursor", to_text(topic.cursor_at(one.offsets))}});
}

std::string checkpoint_text(const topic_description& topic, const checkpoint& one, const std::vector<shard_lag>& behind) {
  const auto all = sum_of(behind);
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(all.age);
  const auto lag = all.entries == 0 ? std::string{"up to date"}
                                    : fmt::format("{} behind ({}, {})", counted_entries(all.entries), rounded_size(all.bytes),
                                        rounded_duration(age));
  return fmt::format("{}: {}{}, revision {}, cursor {}\n", printable(one.consumer), one.expired ? "expired, " : "", lag,
    one.revision, to_text(topic.cursor_at(one.offsets)));
}

std::string checkpoint_json(const topic_description& topic, const checkpoint& one, const std::vector<shard_lag>& behind) {
  const auto all = sum_of(behind);
  return line_of({{"consumer", valid_utf8(one.consumer)}, {"topic", topic.name}, {"revision", one.revision},
    {"time", nanosecond_time(one.time)}, {"expired", one.expired},
    {"lag", json::object{{"entries", all.entries}, {"bytes", all.bytes},
              {"seconds", std::chrono::duration<double>(all.age).count()}}},
    {"cursor", to_text(topic.cursor_at(one.offsets))}});
}

std::string appended_text(const append_report& done) {
  const auto known = done.known == 0
                       ? std::string{}
                       : fmt::format(", {} more {} there already", grouped(done.known), done.known == 1 ? "was" : "were");
  return fmt::format(
    "stored {}{}, cursor {}\n", counted_entries(done.stored), known, done.head ? to_text(*done.head) : "unknown");
}

std::string appended_json(const append_report& done) {
  json::object made{{"stored", done.stored}, {"known", done.known}};
  if (done.head)
    made["cursor"] = to_text(*done.head);
  if (done.failure) {
    made["first_missing_line"] = done.first_missing;
    made["error"] = object_of(*done.failure);
  }
  return line_of(made);
}

std::string not_appended_text(const append_report& done) {
  const auto total = done.stored + done.known;
  const auto up_to = total == 0
                       ? std::string{"stored nothing"}
                       : fmt::format("stored {}, up to and with line {}", counted_entries(total), done.first_missing - 1);
  return failure_text("append", error{done.failure->code(),
                                  fmt::format("{}; line {} and what follows it were not stored, because: {}", up_to,
                                    done.first_missing, done.failure->sentence()),
                                  done.failure->facts()});
}

std::string failure_text(std::string_view command, const error& why) {
  const auto sentence = why.sentence().empty() ? std::string{weir::name_of(why.code())} : why.sentence();
  std::vector<error::fact> facts{{"code", std::string{weir::name_of(why.code())}}};
  for (const auto& one : why.facts()) {
    const bool is_told =
      std::ranges::find(told_by_sentences, one.first) != told_by_sentences.end() && sentence.find(one.second) != sentence.npos;
    if (one.first != "errno" && !is_told)
      facts.push_back(one);
  }
  return fmt::format("weir log {}: {}{}\n", command, with_facts(sentence, facts), advice_on(why));
}

exit_code code_of(const error& why) noexcept {
  switch (why.code()) {
  case errc::invalid_argument:
  case errc::unsupported:
  case errc::not_found:
  case errc::permission_denied:
  case errc::not_a_log:
  case errc::newer_format:
  case errc::read_only:
  case errc::layout_mismatch:
  case errc::unknown_topic:
  case errc::cursor_expired:
  case errc::ahead_of_head:
  case errc::no_snapshot:
  case errc::snapshot_trimmed:
  case errc::invalid_cursor:
  case errc::wrong_source:
  case errc::stale_epoch: return exit_code::usage;
  default: return exit_code::failed;
  }
}

} // namespace weir::cli
