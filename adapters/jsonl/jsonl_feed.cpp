#include "jsonl_feed.hpp"

#include <weir/change_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <utility>
#include <vector>

namespace weir {

namespace {

using std::chrono::steady_clock;

error bad_line(std::uint64_t number, const line_buffer::line& line, const json_fault& fault) {
  return error{errc::bad_record,
    fmt::format("line {} is no change: expected {} at its byte {}", number, fault.expected, fault.at),
    {{"line", std::to_string(number)}, {"offset", std::to_string(line.begin)}, {"column", std::to_string(fault.at)},
      {"expected", std::string{fault.expected}}}};
}

error long_line(std::uint64_t number, const line_buffer::line& line, std::size_t max_line) {
  return error{errc::bad_record, fmt::format("line {} is longer than {} bytes", number, max_line),
    {{"line", std::to_string(number)}, {"offset", std::to_string(line.begin)},
      {"expected", fmt::format("at most {} bytes", max_line)}, {"found", std::to_string(line.end - line.begin)}}};
}

} // namespace

/// A batch in the making.
struct jsonl_feed::gathering {
  std::vector<envelope> changes;
  std::vector<transaction_part> parts;
  std::vector<bad_record> bad;
  std::size_t bytes = 0;
  position at; ///< behind the last line that was taken

  bool has_reached(const read_limit& limit) const noexcept {
    return changes.size() + bad.size() >= limit.changes || bytes >= limit.bytes;
  }
};

jsonl_feed::jsonl_feed(jsonl_source_options options, int standard_input)
  : options_{std::move(options)},
    input_{options_.path, options_.follow, standard_input},
    buffer_{options_.max_line} {}

result<void> jsonl_feed::open(const resume_point& from) {
  if (options_.max_line == 0)
    return error{errc::invalid_argument, "a line must be allowed one byte at least", {{"max_line", "0"}}};
  if (auto opened = input_.open(); !opened)
    return opened;
  buffer_.restart(0, {});
  epoch_ = 1;
  seq_ = 0;
  epoch_to_begin_.reset();
  pass_until_.reset();
  finish_ = finish::none;
  failure_.reset();
  if (from.confirmed) {
    if (!line_stamp::from(from.confirmed->stamp))
      return error{errc::wrong_owner, "the confirmed position was made by another source than a file of lines",
        {{"position", to_string(*from.confirmed)}, {"path", options_.path.string()}}};
    epoch_ = from.confirmed->epoch;
  }
  return input_.is_file() ? open_file(from) : open_pipe(from);
}

/// The bytes before that place, if the file has it.
result<std::optional<std::string>> jsonl_feed::find(const position& at) const {
  const auto place = line_stamp::from(at.stamp);
  if (!place)
    return std::optional<std::string>{};
  return input_.find(place->offset, place->seam);
}

result<void> jsonl_feed::open_file(const resume_point& from) {
  const auto& [confirmed, held] = from;
  if (held && held->epoch > epoch_) { // that epoch began with the first line of a file: this one, or another
    auto before = find(*held);
    if (!before)
      return std::move(before).error();
    epoch_to_begin_ = held->epoch + (before.value() ? 0 : 1);
    return success();
  }
  std::optional<std::string> seam;
  for (const auto& wanted : {held, confirmed}) {
    if (!wanted || wanted->epoch != epoch_)
      continue;
    auto before = find(*wanted);
    if (!before)
      return std::move(before).error();
    if (!before.value()) {
      epoch_to_begin_ = epoch_ + 1;
      return success();
    }
    seam = std::move(before).value();
  }
  if (confirmed) {
    seq_ = confirmed->seq;
    buffer_.restart(line_stamp::from(confirmed->stamp)->offset, *seam);
  }
  return success();
}

result<void> jsonl_feed::open_pipe(const resume_point& from) {
  const auto& known = from.confirmed ? from.confirmed : from.held;
  const auto place = known ? line_stamp::from(known->stamp) : std::nullopt;
  if (!known || (place && place->offset == 0 && (!from.held || from.held->epoch == epoch_))) // nothing of it was taken
    return success();
  switch (options_.on_restart) {
  case pipe_restart::refuse: break;
  case pipe_restart::new_epoch: epoch_to_begin_ = from.next_epoch(); return success();
  case pipe_restart::skip_confirmed:
    pass_until_ = from.confirmed; // where nothing is confirmed, the sinks pass over what they hold
    return success();
  }
  return error{errc::unsupported,
    fmt::format("{} lines of a pipe were taken, and a pipe can't be read from there on", known->seq),
    {{"path", options_.path.string()}, {"position", to_string(*known)},
      {"expected", "a file, a new state, or a choice: on_restart = \"new-epoch\" or \"skip-confirmed\""}}};
}

result<jsonl_feed::turn> jsonl_feed::next(read_limit limit, std::chrono::milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  for (;;) {
    if (epoch_to_begin_)
      return turn{begin_epoch(*std::exchange(epoch_to_begin_, std::nullopt))};
    if (pass_until_)
      pass_confirmed();
    else if (auto brought = gather(limit))
      return turn{std::move(brought)};
    if (failure_)
      return *failure_;
    if (finish_ != finish::none)
      return finish_file();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    auto filled = input_.fill(buffer_, std::max(left, std::chrono::milliseconds{0}));
    if (!filled)
      return std::move(filled).error();
    switch (filled.value()) {
    case line_input::outcome::filled:
      if (left.count() < 0) // a line without end must not hold the thread for ever
        return turn{};
      break;
    case line_input::outcome::nothing_yet: return turn{};
    case line_input::outcome::ended: finish_ = finish::ended; break;
    case line_input::outcome::next_file: finish_ = finish::next_file; break;
    case line_input::outcome::rewritten: epoch_to_begin_ = epoch_ + 1; break;
    }
  }
}

jsonl_feed::turn jsonl_feed::finish_file() {
  if (finish_ == finish::ended)
    return turn{std::nullopt, true};
  finish_ = finish::none;
  input_.go_to_next_file();
  return turn{begin_epoch(epoch_ + 1)};
}

std::optional<line_buffer::line> jsonl_feed::next_line() {
  auto line = buffer_.next();
  if (!line && finish_ != finish::none)
    line = buffer_.rest();
  return line;
}

void jsonl_feed::pass_confirmed() {
  const auto place = line_stamp::from(pass_until_->stamp);
  while (buffer_.offset() < place->offset) {
    if (!next_line()) {
      if (finish_ == finish::none)
        return;
      break;
    }
    ++seq_;
  }
  if (seq_ != pass_until_->seq || line_stamp::of(buffer_.offset(), buffer_.before_offset()) != *place)
    failure_ = error{errc::source_failed, "these are not the lines that were confirmed: they can't be skipped",
      {{"path", options_.path.string()}, {"position", to_string(*pass_until_)}, {"offset", std::to_string(place->offset)}}};
  pass_until_.reset();
}

std::optional<reading> jsonl_feed::gather(read_limit limit) {
  gathering gathered;
  const auto begin = seq_;
  while (!failure_ && !gathered.has_reached(limit)) {
    const auto line = next_line();
    if (!line)
      break;
    take(*line, gathered);
  }
  if (seq_ == begin)
    return std::nullopt;
  if (gathered.parts.empty() || gathered.parts.back().at.seq != seq_)
    gathered.parts.push_back({gathered.at, gathered.changes.size(), 0, 0});
  reading brought;
  brought.live.at = gathered.at;
  brought.live.changes = gathered.changes.size() + gathered.bad.size();
  brought.live.envelopes = make_block(std::move(gathered.changes), std::move(gathered.parts));
  brought.bad = std::move(gathered.bad);
  return brought;
}

void jsonl_feed::take(const line_buffer::line& line, gathering& into) {
  const auto number = seq_ + 1;
  if (line.is_too_long)
    return set_aside(line, into, long_line(number, line, options_.max_line));
  auto read = read_change(line.text);
  if (read.fault)
    return set_aside(line, into, bad_line(number, line, *read.fault));
  seq_ = number;
  into.at = place();
  if (!read.change) {
    into.bytes += line.text.size();
    return;
  }
  into.bytes += read.change->size_in_bytes();
  into.parts.push_back({into.at, into.changes.size(), 1, 0});
  into.changes.push_back(std::move(*read.change));
}

void jsonl_feed::set_aside(const line_buffer::line& line, gathering& into, error fault) {
  auto reason = std::move(fault).with("path", options_.path.string());
  if (options_.on_bad == bad_record_policy::stop) {
    failure_ = std::move(reason);
    return;
  }
  ++seq_;
  into.at = place();
  const auto start = line.text.substr(0, line_buffer::start_size);
  into.bytes += start.size();
  into.bad.push_back({std::move(reason), std::string{start}});
}

reading jsonl_feed::begin_epoch(std::uint64_t epoch) {
  epoch_ = epoch;
  seq_ = 0;
  buffer_.restart(0, {});
  reading brought;
  brought.live.at = place();
  brought.live.envelopes = make_block({}, {{place(), 0, 0, 0}});
  return brought;
}

position jsonl_feed::place() const {
  return {epoch_, seq_, line_stamp::of(buffer_.offset(), buffer_.before_offset()).to_stamp(), 0, true};
}

result<void> jsonl_feed::check(const jsonl_source_options& options) {
  return line_input{options.path, options.follow, 0}.open();
}

} // namespace weir
