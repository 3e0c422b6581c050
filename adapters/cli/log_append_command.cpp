#include <weir/appender.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/log_report.hpp>
#include <weir/cli/print.hpp>
#include <weir/condition.hpp>
#include <weir/detail/stream_topics.hpp>
#include <weir/log_rules.hpp>
#include <weir/worker.hpp>

#include "append_input.hpp"
#include "ending_signals.hpp"
#include "log_commands.hpp"
#include "log_session.hpp"

#include <fmt/format.h>

#include <charconv>
#include <deque>
#include <unistd.h>

namespace weir::cli {

namespace {

/// A full disk or a lock may pass; a pipe that stands still for long helps nobody.
constexpr std::chrono::milliseconds give_up_after{1000};

/// The store knows the entries of one append by their places among them, and a user by their lines.
error told_by_lines(const error& why) {
  if (why == errc::dedupe_conflict && why.fact_of("first_offset") == "-1")
    return error{errc::dedupe_conflict, "a line above has the same dedupe key, and another key or payload"};
  std::vector<error::fact> facts;
  for (const auto& one : why.facts())
    if (one.first != "entry")
      facts.push_back(one);
  return error{why.code(), why.sentence(), std::move(facts)};
}

/// A batch in the appender's window.
struct batch_on_its_way {
  append_ticket ticket;
  std::vector<std::uint64_t> lines;
  std::vector<new_entry> copy; ///< where it may be refused for one entry's sake: those before that one are stored after all
};

/// One run of the command. Belongs to one actor.
struct append_run {
  append_run(std::shared_ptr<log_topic> topic, log_append asked, bool wants_json)
    : to{topic},
      how{std::move(asked)},
      json{wants_json},
      input{std::make_shared<append_input>(how, topic->description())},
      out{std::move(topic), {.give_up_after = give_up_after}} {}

  std::shared_ptr<log_topic> to;
  log_append how;
  bool json;
  std::shared_ptr<append_input> input;
  appender out;
  std::deque<batch_on_its_way> sent;
  std::vector<new_entry> to_store_after_all;
  std::vector<std::uint64_t> their_lines;
  condition changed;
  append_report report;
  printed output = printed::all;
  bool is_over = false;

  void fail(error why, std::uint64_t line) {
    if (report.failure && report.first_missing <= line)
      return;
    report.failure = std::move(why);
    report.first_missing = line;
    input->stop();
  }

  void tell_offsets(const std::vector<entry_place>& places, const std::vector<std::uint64_t>& lines) {
    std::string text;
    for (std::size_t one = 0; one < places.size(); ++one)
      text += json
                ? fmt::format("{{\"line\":{},\"shard\":{},\"offset\":{}}}\n", lines[one], places[one].shard, places[one].offset)
                : fmt::format("{}:{}\n", places[one].shard, places[one].offset);
    if (output == printed::all)
      output = print_some(text);
    if (output != printed::all)
      input->stop();
  }

  void on_stored(const std::vector<entry_place>& places) {
    for (const auto& one : places)
      ++(one.was_there ? report.known : report.stored);
    if (how.tells_offsets)
      tell_offsets(places, sent.front().lines);
  }

  /// The store decided on the oldest batch.
  void on_decided(result<std::vector<entry_place>> outcome) {
    if (outcome) {
      on_stored(outcome.value());
    } else {
      auto& batch = sent.front();
      std::size_t entry = 0; // the one that is to blame
      const auto text = outcome.error().fact_of("entry");
      std::from_chars(text.data(), text.data() + text.size(), entry);
      if (entry < batch.copy.size()) {
        batch.copy.resize(entry);
        to_store_after_all = std::move(batch.copy);
        their_lines = batch.lines;
      } else {
        entry = 0;
      }
      fail(told_by_lines(outcome.error()), batch.lines[entry]);
    }
    sent.pop_front();
    changed.notify_all();
  }
};

/// Takes in what the store decides, batch by batch, while the input is waited for.
task<> take_decisions(self me, std::shared_ptr<append_run> run) {
  auto& sent = run->sent;
  for (;;) {
    if (!sent.empty()) {
      auto deciding = sent.front().ticket.stored(me);
      auto decided = co_await std::move(deciding);
      run->on_decided(std::move(decided));
    } else if (run->is_over) {
      break;
    } else {
      auto waiting = run->changed.wait();
      auto woken = co_await waiting;
      (void)woken;
    }
  }
}

task<> wait_for_decisions(self, std::shared_ptr<append_run> run) {
  auto& sent = run->sent;
  while (!sent.empty()) {
    auto waiting = run->changed.wait();
    auto woken = co_await waiting;
    (void)woken;
  }
}

/// Hands a batch to the appender, waiting for room. What goes wrong is in the report.
task<> send(self me, std::shared_ptr<append_run> run, std::vector<new_entry> entries, std::vector<std::uint64_t> lines,
  std::vector<new_entry> copy) {
  const auto first = lines.front();
  auto appending = run->out.append(me, std::move(entries));
  auto taken = co_await std::move(appending);
  if (taken) {
    run->sent.push_back({std::move(taken).value(), std::move(lines), std::move(copy)});
    run->changed.notify_all();
  } else if (taken.error() != errc::append_aborted) { // the one that failed before tells why
    run->fail(std::move(taken).error(), first);
  }
}

/// Appends what the input brings, to its end or the first failure.
task<> copy_lines(self me, std::shared_ptr<append_run> run) {
  worker reading{"weir-stdin"};
  auto input = run->input;
  while (!run->report.failure) {
    auto batch = input->take();
    if (!batch.entries.empty()) {
      const bool may_be_refused = batch.has_dedupe_key;
      auto copy = may_be_refused ? batch.entries : std::vector<new_entry>{};
      auto sending = send(me, run, std::move(batch.entries), std::move(batch.lines), std::move(copy));
      co_await std::move(sending);
      if (may_be_refused) { // then nothing behind it may be stored
        auto deciding = wait_for_decisions(me, run);
        co_await std::move(deciding);
      }
    } else if (input->fault() || input->has_ended()) {
      break;
    } else {
      auto filling = reading.run([input] { return input->fill(); });
      auto filled = co_await filling;
      if (!filled)
        run->fail(error{filled.error().code(), "standard input: " + filled.error().sentence()}, input->lines() + 1);
    }
  }
}

/// Everything that was read is stored, or it is known what was not.
task<> finish(self me, std::shared_ptr<append_run> run) {
  auto first = wait_for_decisions(me, run);
  co_await std::move(first);
  if (!run->to_store_after_all.empty()) {
    run->their_lines.resize(run->to_store_after_all.size());
    auto sending = send(me, run, std::move(run->to_store_after_all), std::move(run->their_lines), {});
    co_await std::move(sending);
    auto deciding = wait_for_decisions(me, run);
    co_await std::move(deciding);
  }
  if (run->input->fault())
    run->fail(*run->input->fault(), run->input->lines());
  run->is_over = true;
  run->changed.notify_all();
  auto asking = run->to->bounds(me);
  auto bounds = co_await std::move(asking);
  if (bounds)
    run->report.head = head_of(run->to->description(), bounds.value());
}

exit_code tell(const append_run& run) {
  auto code = exit_code::done;
  if (run.report.failure) {
    write_all(STDERR_FILENO, not_appended_text(run.report));
    code = exit_code::failed;
  } else if (run.input->has_cut_line()) {
    write_all(
      STDERR_FILENO, fmt::format("weir log append: line {} was not read to its end, and not stored\n", run.input->lines() + 1));
  }
  if (run.report.failure && !run.json && run.output != printed::failed)
    return code;
  const auto told = run.output == printed::failed
                      ? exit_code::failed
                      : print(run.json ? appended_json(run.report) : appended_text(run.report), code);
  if (told != code) // what is stored must be known
    write_all(STDERR_FILENO, "weir log append: " + appended_text(run.report));
  return told;
}

task<result<exit_code>> append_lines(
  self me, std::shared_ptr<log_topic> topic, log_append how, bool json, std::shared_ptr<stop_switch> stop) {
  const auto shards = topic->description().shards;
  if (how.shard) {
    auto there = log_rules::check_shard(*how.shard, shards);
    if (!there) {
      result<exit_code> refused = std::move(there).error();
      co_return refused;
    }
  }
  auto checking = detail::check_no_stream(me, topic);
  auto checked = co_await std::move(checking);
  if (!checked) {
    result<exit_code> refused = std::move(checked).error();
    co_return refused;
  }
  auto run = std::make_shared<append_run>(topic, std::move(how), json);
  stop->attach([input = run->input] { input->stop(); });
  me.spawn(&take_decisions, run);
  auto copying = copy_lines(me, run);
  co_await std::move(copying);
  auto finishing = finish(me, run);
  co_await std::move(finishing);
  stop->attach({});
  result<exit_code> told = tell(*run);
  co_return told;
}

} // namespace

exit_code run_command(const log_arguments& given, const log_append& asked) {
  if (asked.tells_offsets && !can_print()) // nothing is stored of which nobody would know where
    return exit_code::failed;
  const auto stop = std::make_shared<stop_switch>();
  const ending_signals signals{stop};
  return run_on_topic(given, log_access::write, nullptr, &append_lines, asked, given.json, stop);
}

} // namespace weir::cli
