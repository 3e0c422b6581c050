#include "append_input.hpp"

#include <weir/cli/entry_text.hpp>
#include <weir/cli/units.hpp>

#include <boost/outcome/try.hpp>
#include <fmt/format.h>

#include <unistd.h>
#include <utility>

namespace weir::cli {

namespace {

constexpr std::size_t most_entries = 1024;
constexpr std::size_t most_bytes = 1U << 20U;

/// No line that is an entry is longer: as JSON a byte takes six characters at most ("\u0000").
std::size_t longest_line(const log_append& how, const topic_description& to) {
  constexpr std::size_t for_names = 1U << 16U;
  return how.reads_jsonl ? 6 * to.largest_entry + for_names : to.largest_entry;
}

} // namespace

append_input::append_input(log_append how, topic_description to)
  : how_{std::move(how)},
    to_{std::move(to)},
    longest_line_{longest_line(how_, to_)},
    buffer_{longest_line_},
    input_{"-", false, STDIN_FILENO} {
  (void)input_.open(); // standard input is open
}

result<void> append_input::fill() {
  auto came = line_input::outcome::nothing_yet;
  while (came == line_input::outcome::nothing_yet && !is_stopped_) {
    BOOST_OUTCOME_TRY(came, input_.fill(buffer_, std::chrono::milliseconds{-1}));
  }
  is_at_end_ = came != line_input::outcome::filled;
  is_cut_ = came == line_input::outcome::nothing_yet;
  return success();
}

line_batch append_input::take() {
  line_batch batch;
  while (!fault_ && batch.entries.size() < most_entries && batch.bytes < most_bytes) {
    const auto line = next_line();
    if (!line)
      break;
    ++lines_;
    auto made = entry_of(*line);
    if (!made) {
      fault_ = std::move(made).error();
    } else if (auto& one = made.value()) {
      batch.bytes += one->size_in_bytes();
      batch.has_dedupe_key = batch.has_dedupe_key || !one->dedupe.empty();
      batch.lines.push_back(lines_);
      batch.entries.push_back(std::move(*one));
    }
  }
  return batch;
}

std::optional<line_buffer::line> append_input::next_line() {
  auto line = buffer_.next();
  if (line || !is_at_end_)
    return line;
  has_ended_ = true;
  return is_cut_ ? std::nullopt : buffer_.rest(); // what stop() has cut is no line
}

result<std::optional<new_entry>> append_input::entry_of(const line_buffer::line& one) const {
  if (one.is_too_long)
    return error{errc::entry_too_large, fmt::format("line {} has more than {}", lines_, exact_size(longest_line_))};
  std::optional<new_entry> made;
  if (how_.reads_jsonl) {
    auto read = read_entry(one.text);
    if (!read)
      return error{errc::bad_record, fmt::format("line {}: {}", lines_, read.error().sentence())};
    made = std::move(read).value();
  } else {
    made.emplace().payload = one.text;
  }
  if (made) {
    if (made->key.empty())
      made->key = how_.key;
    if (!made->shard)
      made->shard = how_.shard;
    BOOST_OUTCOME_TRY(check(*made));
  }
  return made;
}

result<void> append_input::check(const new_entry& one) const {
  if (one.shard && *one.shard >= to_.shards)
    return error{errc::bad_record,
      fmt::format("line {} is for shard {}, and the topic has {}", lines_, *one.shard, counted(to_.shards, "shard", "shards"))};
  if (one.size_in_bytes() > to_.largest_entry)
    return error{errc::entry_too_large, fmt::format("line {} is an entry of {} bytes, and the log takes {} at most", lines_,
                                          one.size_in_bytes(), to_.largest_entry)};
  return success();
}

void append_input::stop() noexcept {
  is_stopped_ = true;
  input_.stop();
}

} // namespace weir::cli
