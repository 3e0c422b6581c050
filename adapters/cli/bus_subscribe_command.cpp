#include <weir/cli/bus_report.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/print.hpp>
#include <weir/cli/reader_watch.hpp>
#include <weir/spawn.hpp>

#include "bus_commands.hpp"
#include "buses.hpp"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>
#include <unistd.h>

namespace weir::cli {

namespace {

/// What the coroutine and its command share.
class hearing {
public:
  hearing(subscription heard, std::optional<std::uint64_t> count, bool json)
    : from{std::move(heard)},
      left_{count.value_or(std::numeric_limits<std::uint64_t>::max())},
      json_{json} {}

  subscription from;
  std::optional<error> failure;

  /// Nothing more is to be printed: there were as many as were wanted, or nobody can read it.
  bool is_over() const noexcept { return left_ == 0 || output_ != printed::all; }
  exit_code code() const noexcept { return output_ == printed::failed ? exit_code::failed : exit_code::done; }

  void print(const bus_record& one) {
    const auto* said = std::get_if<hint>(&one);
    if (said != nullptr)
      --left_;
    if (json_) {
      text_ += record_json(one);
    } else if (said != nullptr) {
      text_.append(said->payload()).append("\n");
    } else {
      flush(); // so that it stands where it happened
      write_all(STDERR_FILENO, "weir bus subscribe: " + loss_text(one));
    }
    if (text_.size() >= most_at_once)
      flush();
  }

  void flush() {
    if (!text_.empty() && output_ == printed::all)
      output_ = print_some(text_);
    text_.clear();
  }

private:
  static constexpr std::size_t most_at_once = 1U << 20U;

  std::uint64_t left_;
  bool json_;
  std::string text_;
  printed output_ = printed::all;
};

task<> print_records(self, std::shared_ptr<hearing> run) {
  auto& from = run->from;
  while (!run->is_over()) {
    auto waiting = from.next();
    auto record = co_await waiting;
    if (!record) {
      if (record.error() != errc::cancelled)
        run->failure = std::move(record).error();
      break;
    }
    run->print(record.value());
    while (!run->is_over()) {
      const auto more = from.try_next();
      if (!more)
        break;
      run->print(more.value());
    }
    run->flush();
  }
}

} // namespace

exit_code run_command(const bus_arguments& given, const bus_subscribe& asked, const std::shared_ptr<stop_switch>& stop) {
  if (!can_print())
    return exit_code::failed;
  command_system system;
  auto opened = open_bus(system.get(), given.where, false);
  if (!opened)
    return tell_failure(given, opened.error());
  auto subscribed = opened.value().subscribe(asked.topic, {.buffer = asked.buffer, .policy = asked.policy});
  if (!subscribed)
    return tell_failure(given, subscribed.error());
  const reader_watch reader{STDOUT_FILENO, [stop] { stop->request(); }};
  const trouble_teller trouble{given.command, opened.value()};
  write_all(STDERR_FILENO, fmt::format("weir bus subscribe: listening to {}\n", in_quotes(asked.topic)));
  const auto run = std::make_shared<hearing>(std::move(subscribed).value(), asked.count, given.json);
  const auto printing = spawn(system.get(), print_records, run);
  stop->attach([printing] { printing.request_stop(); });
  (void)printing.wait();
  stop->attach({});
  return run->failure ? tell_failure(given, *run->failure) : run->code();
}

} // namespace weir::cli
