#include <weir/appender.hpp>
#include <weir/change_text.hpp>
#include <weir/detail/stream_topics.hpp>
#include <weir/log_endpoints.hpp>
#include <weir/log_rules.hpp>
#include <weir/worker.hpp>

#include <utility>

namespace weir {

namespace {

constexpr std::size_t entries_per_append = 512;
constexpr std::size_t bytes_per_append = 512U << 10U;

/// Which change a line is, for the store: the same again is the same entry.
std::string dedupe_key(const std::string& pipeline, const change_place& at) {
  auto key = pipeline + "/" + std::to_string(at.epoch) + "." + std::to_string(at.seq) + ".";
  return key + (at.index ? std::to_string(*at.index) : "begin");
}

/// The last line that the topic holds. Absent: it is empty, or all of it was trimmed.
task<result<std::optional<log_line>>> read_last(self me, std::shared_ptr<log_topic> topic, std::string pipeline) {
  result<std::optional<log_line>> last = std::optional<log_line>{};
  auto asking = topic->bounds(me);
  auto bounds = co_await std::move(asking);
  if (!bounds) {
    last = std::move(bounds).error();
    co_return last;
  }
  const auto& there = bounds.value().front();
  if (there.earliest == there.head)
    co_return last;
  auto looking = topic->read(me, 0, there.head - 2, {.entries = 1, .bytes = 1});
  auto found = co_await std::move(looking);
  if (!found) {
    last = std::move(found).error();
    co_return last;
  }
  if (found.value().entries.empty()) // given up by a repair: nobody knows
    co_return last;
  const auto line = read_log_line(found.value().entries.front().payload);
  const auto& name = topic->description().name;
  if (!line)
    last = error{errc::wrong_owner, "the topic " + name + " holds entries that no pipeline wrote",
      {{"topic", name}, {"offset", std::to_string(there.head - 1)}, {"expected", "a topic of its own"}}};
  else if (line->pipeline != pipeline)
    last = error{errc::wrong_owner, "the topic " + name + " is the log of the pipeline " + line->pipeline,
      {{"topic", name}, {"pipeline", line->pipeline}, {"expected", pipeline}}};
  else
    last = line;
  co_return last;
}

sink_state state_of(const std::optional<log_line>& last) {
  sink_state known;
  known.is_exact = last.has_value(); // a log that has no line yet, or no more, begins with what comes next
  if (last)
    known.committed = last->at;
  return known;
}

result<void> check_layout(const log_topic& topic) {
  const auto& known = topic.description();
  if (known.shards == 1)
    return success();
  return error{errc::layout_mismatch, "a pipeline writes topics of one shard: only there do all entries have one order",
    {{"topic", known.name}, {"shards", std::to_string(known.shards)}}};
}

} // namespace

struct log_sink::state {
  state(std::shared_ptr<log_topic> opened, std::string pipeline)
    : topic{std::move(opened)},
      out{topic, {.give_up_after = std::chrono::seconds{5}}}, // the engine waits longer, and opens it again
      lines{change_lines::repeats::skip, std::move(pipeline)} {}

  std::shared_ptr<log_topic> topic;
  appender out;
  change_lines lines;
  std::vector<new_entry> gathered;
  std::size_t gathered_bytes = 0;

  /// Takes lines of a batch; those that the store would never take are returned.
  std::vector<const envelope*> add(
    const std::string& pipeline, const std::string& text, const std::vector<change_lines::line_end>& ends) {
    std::vector<const envelope*> too_large;
    std::size_t begin = 0;
    for (const auto& one : ends) {
      new_entry made;
      made.payload = text.substr(begin, one.end - 1 - begin); // without its line feed
      made.dedupe = dedupe_key(pipeline, one.place);
      if (one.change != nullptr)
        made.key = one.change->collection + '\0' + one.change->key;
      made.shard = 0;
      begin = one.end;
      if (one.change != nullptr && made.size_in_bytes() > topic->description().largest_entry) {
        too_large.push_back(one.change);
        continue;
      }
      gathered_bytes += made.size_in_bytes();
      gathered.push_back(std::move(made));
    }
    return too_large;
  }
};

log_sink::log_sink(log_sink_options options) : options_{std::move(options)}, files_{std::make_unique<worker>("weir.log.out")} {}

log_sink::~log_sink() = default;

task<result<sink_state>> log_sink::open(self me) {
  auto opening = files_->run([store = options_.store] { return store(); });
  state_.reset();
  auto store = co_await opening;
  if (!store) {
    result<sink_state> failed = std::move(store).error();
    co_return failed;
  }
  auto opening_topic = store.value()->open_topic(me, options_.topic, {});
  auto topic = co_await std::move(opening_topic);
  if (!topic) {
    result<sink_state> failed = std::move(topic).error();
    co_return failed;
  }
  if (auto fits = check_layout(*topic.value()); !fits) {
    result<sink_state> failed = std::move(fits).error();
    co_return failed;
  }
  auto checking = detail::check_no_stream(me, topic.value());
  auto checked = co_await std::move(checking);
  if (!checked) {
    result<sink_state> failed = std::move(checked).error();
    co_return failed;
  }
  auto looking = read_last(me, topic.value(), options_.pipeline);
  auto last = co_await std::move(looking);
  if (!last) {
    result<sink_state> failed = std::move(last).error();
    co_return failed;
  }
  state_ = std::make_unique<state>(topic.value(), options_.pipeline);
  state_->lines.go_on(last.value());
  result<sink_state> known = state_of(last.value());
  co_return known;
}

task<result<write_outcome>> log_sink::write(self me, std::vector<lane_item> items) {
  write_outcome outcome;
  std::string text;
  std::vector<change_lines::line_end> ends;
  for (std::size_t index = 0; index < items.size(); ++index) {
    const auto* carried = std::get_if<batch>(&items[index]);
    if (carried == nullptr || carried->is_snapshot())
      continue;
    text.clear();
    ends.clear();
    if (auto appended = state_->lines.append(text, *carried, &ends); !appended) {
      result<write_outcome> failed = std::move(appended).error();
      co_return failed;
    }
    for (const auto* refused : state_->add(options_.pipeline, text, ends))
      outcome.rejected.push_back({index, static_cast<std::size_t>(refused - carried->envelopes->envelopes().data()),
        error{errc::rejected, "the change is larger than the log takes",
          {{"collection", refused->collection}, {"largest", std::to_string(state_->topic->description().largest_entry)}}}});
    if (state_->gathered.size() < entries_per_append && state_->gathered_bytes < bytes_per_append)
      continue;
    auto sending = send(me);
    auto sent = co_await std::move(sending);
    if (!sent) {
      result<write_outcome> failed = std::move(sent).error();
      co_return failed;
    }
  }
  result<write_outcome> written = std::move(outcome);
  co_return written;
}

/// Hands what was gathered to the window, as appends of a size that commits well.
task<result<void>> log_sink::send(self me) {
  auto gathered = std::exchange(state_->gathered, {});
  state_->gathered_bytes = 0;
  for (std::size_t next = 0; next < gathered.size();) {
    std::vector<new_entry> part;
    for (std::size_t bytes = 0; next < gathered.size() && part.size() < entries_per_append && bytes < bytes_per_append;
      ++next) {
      bytes += gathered[next].size_in_bytes();
      part.push_back(std::move(gathered[next]));
    }
    auto appending = state_->out.append(me, std::move(part));
    auto appended = co_await std::move(appending);
    if (!appended) {
      result<void> failed = std::move(appended).error();
      co_return failed;
    }
  }
  co_return success();
}

task<result<void>> log_sink::flush(self me) {
  std::string text;
  std::vector<change_lines::line_end> ends;
  state_->lines.append_position(text, &ends);
  (void)state_->add(options_.pipeline, text, ends);
  auto sending = send(me);
  auto sent = co_await std::move(sending);
  if (!sent)
    co_return sent;
  auto flushing = state_->out.flush(me);
  auto flushed = co_await std::move(flushing);
  co_return flushed;
}

task<result<void>> log_sink::close(self) {
  result<void> closed = success();
  state_.reset();
  co_return closed;
}

task<result<sink_state>> look_at_log_sink(self me, log_sink_options options) {
  result<sink_state> known = sink_state{};
  auto store = options.store();
  if (!store) {
    if (!log_rules::is_nothing_yet(store.error()))
      known = std::move(store).error();
    co_return known;
  }
  auto finding = store.value()->find_topic(me, options.topic);
  auto topic = co_await std::move(finding);
  if (!topic) {
    if (topic.error() != errc::unknown_topic)
      known = std::move(topic).error();
    co_return known;
  }
  if (auto fits = check_layout(*topic.value()); !fits) {
    known = std::move(fits).error();
    co_return known;
  }
  auto checking = detail::check_no_stream(me, topic.value());
  auto checked = co_await std::move(checking);
  if (!checked) {
    known = std::move(checked).error();
    co_return known;
  }
  auto looking = read_last(me, topic.value(), options.pipeline);
  auto last = co_await std::move(looking);
  known = last ? result<sink_state>{state_of(last.value())} : std::move(last).error();
  co_return known;
}

} // namespace weir
