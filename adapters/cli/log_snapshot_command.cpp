#include <weir/cli/entry_text.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/log_report.hpp>
#include <weir/cli/print.hpp>
#include <weir/worker.hpp>

#include "log_commands.hpp"
#include "log_session.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace weir::cli {

namespace {

constexpr std::size_t chunk_bytes = 1U << 20U;
static_assert(chunk_bytes <= max_snapshot_chunk);

/// The next chunk of standard input: a whole one unless the input ends; empty: it has ended.
result<std::string> read_input() {
  std::string chunk(chunk_bytes, '\0');
  std::size_t size = 0;
  while (size < chunk.size()) {
    const auto count = ::read(STDIN_FILENO, chunk.data() + size, chunk.size() - size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return system_failure(errno, "read", "standard input");
    if (count == 0)
      break;
    size += static_cast<std::size_t>(count);
  }
  chunk.resize(size);
  return chunk;
}

/// Where the state is: where the user says, or at the head.
task<result<std::vector<std::int64_t>>> place_of(self me, std::shared_ptr<log_topic> topic, std::optional<std::string> at) {
  const auto& known = topic->description();
  if (at) {
    auto place = place_in(known.origin(), *at);
    co_return place;
  }
  auto asking = topic->bounds(me);
  auto bounds = co_await std::move(asking);
  result<std::vector<std::int64_t>> place = std::vector<std::int64_t>{};
  if (bounds)
    place = head_of(known, bounds.value()).offsets;
  else
    place = std::move(bounds).error();
  co_return place;
}

/// The whole of standard input, chunk by chunk.
task<result<void>> add_chunks(self me, std::shared_ptr<log_topic> topic, std::uint64_t id) {
  worker reading{"weir-stdin"};
  for (;;) {
    auto asking = reading.run([] { return read_input(); });
    auto chunk = co_await asking;
    if (!chunk) {
      result<void> failed = std::move(chunk).error();
      co_return failed;
    }
    if (chunk.value().empty())
      break;
    auto adding = topic->add_chunk(me, id, std::move(chunk).value());
    auto added = co_await std::move(adding);
    if (!added)
      co_return added;
  }
  co_return success();
}

task<result<exit_code>> store_snapshot(self me, std::shared_ptr<log_topic> topic, log_snapshot asked, bool json) {
  auto placing = place_of(me, topic, asked.at);
  auto place = co_await std::move(placing);
  if (!place) {
    result<exit_code> refused = std::move(place).error();
    co_return refused;
  }
  auto beginning = topic->begin_snapshot(me, std::move(place).value());
  auto id = co_await std::move(beginning);
  if (!id) {
    result<exit_code> failed = std::move(id).error();
    co_return failed;
  }
  auto adding = add_chunks(me, topic, id.value());
  auto added = co_await std::move(adding);
  if (!added) {
    result<exit_code> failed = std::move(added).error();
    co_return failed;
  }
  auto finishing = topic->finish_snapshot(me, id.value());
  auto finished = co_await std::move(finishing);
  if (!finished) {
    result<exit_code> failed = std::move(finished).error();
    co_return failed;
  }
  const auto& known = topic->description();
  const auto text = json ? snapshot_json(known, finished.value()) : snapshot_text(known, finished.value());
  result<exit_code> done = print(text, exit_code::done);
  co_return done;
}

task<result<exit_code>> list_snapshots(self me, std::shared_ptr<log_topic> topic, bool json) {
  auto listing = topic->snapshots(me);
  auto all = co_await std::move(listing);
  if (!all) {
    result<exit_code> failed = std::move(all).error();
    co_return failed;
  }
  std::string text;
  for (const auto& one : all.value())
    text += json ? snapshot_json(topic->description(), one) : snapshot_text(topic->description(), one);
  result<exit_code> done = print(text, exit_code::done);
  co_return done;
}

task<result<exit_code>> print_snapshot(self me, std::shared_ptr<log_topic> topic, std::uint64_t id) {
  auto listing = topic->snapshots(me);
  auto all = co_await std::move(listing);
  if (!all) {
    result<exit_code> failed = std::move(all).error();
    co_return failed;
  }
  const auto found = std::ranges::find(all.value(), id, &snapshot_info::id);
  // One that is not listed is none, went, or is damaged: its first chunk says which.
  const auto chunks = found == all.value().end() ? 1 : found->chunks;
  for (std::uint64_t index = 0; index < chunks; ++index) {
    auto reading = topic->read_chunk(me, id, index);
    auto chunk = co_await std::move(reading);
    if (!chunk) {
      result<exit_code> failed = std::move(chunk).error();
      co_return failed;
    }
    if (const auto output = print_some(chunk.value()); output != printed::all) {
      result<exit_code> ended = output == printed::failed ? exit_code::failed : exit_code::done;
      co_return ended;
    }
  }
  result<exit_code> done = exit_code::done;
  co_return done;
}

} // namespace

exit_code run_command(const log_arguments& given, const log_snapshot& asked) {
  return run_on_topic(given, log_access::write, nullptr, &store_snapshot, asked, given.json);
}

exit_code run_command(const log_arguments& given, const log_snapshot_list&) {
  return run_on_topic(given, log_access::read, nullptr, &list_snapshots, given.json);
}

exit_code run_command(const log_arguments& given, const log_snapshot_read& asked) {
  return run_on_topic(given, log_access::read, nullptr, &print_snapshot, asked.id);
}

} // namespace weir::cli
