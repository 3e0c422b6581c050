#pragma once

#include <weir/pipeline.hpp>

#include "actors/script.hpp"
#include "core/lane_items.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doctest {

template <>
struct StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& all) {
    std::string text = "{";
    for (const auto& one : all)
      text += (text.size() > 1 ? " | " : "") + one;
    return String{(text + "}").c_str()};
  }
};

template <>
struct StringMaker<std::vector<std::int64_t>> {
  static String convert(const std::vector<std::int64_t>& all) {
    std::string text = "{";
    for (const auto one : all)
      text += (text.size() > 1 ? ", " : "") + std::to_string(one);
    return String{(text + "}").c_str()};
  }
};

template <>
struct StringMaker<std::optional<weir::errc>> {
  static String convert(const std::optional<weir::errc>& code) {
    return String{code ? std::string{name_of(*code)}.c_str() : "none"};
  }
};

template <>
struct StringMaker<std::optional<weir::position>> {
  static String convert(const std::optional<weir::position>& at) { return String{at ? to_string(*at).c_str() : "none"}; }
};

} // namespace doctest

namespace actor_tests {

using lines = std::vector<std::string>;

inline std::string describe(const weir::lane_item& item) {
  if (std::holds_alternative<weir::snapshot_complete>(item))
    return "complete";
  if (const auto* at = position_of(item))
    return to_string(*at) + (at->ends_transaction ? "" : "+") + (std::get<weir::batch>(item).envelopes ? "" : " empty");
  return "rows-" + std::get<weir::batch>(item).walked.value_or("");
}

/// What the ends of one pipeline were asked, in order, each with the virtual time.
class call_log {
public:
  explicit call_log(const simulation& world) : world_{&world}, start_{world.now()} {}

  void add(std::string text) { calls_.push_back(call{std::move(text), now()}); }

  /// The calls that begin with one of these; with none, all.
  lines of(std::initializer_list<std::string_view> beginnings = {}) const {
    lines found;
    for (const auto& one : calls_)
      if (begins(one.text, beginnings))
        found.push_back(one.text);
    return found;
  }

  /// The last of them; nothing when there was none.
  std::string last(std::initializer_list<std::string_view> beginnings) const {
    auto found = of(beginnings);
    return found.empty() ? std::string{} : std::move(found.back());
  }
  std::string first(std::initializer_list<std::string_view> beginnings) const {
    auto found = of(beginnings);
    return found.empty() ? std::string{} : std::move(found.front());
  }

  /// When they were made, in milliseconds.
  std::vector<std::int64_t> times(std::initializer_list<std::string_view> beginnings) const {
    std::vector<std::int64_t> found;
    for (const auto& one : calls_)
      if (begins(one.text, beginnings))
        found.push_back(one.at);
    return found;
  }

  std::int64_t now() const { return std::chrono::duration_cast<std::chrono::milliseconds>(world_->now() - start_).count(); }

  void clear() { calls_.clear(); }

private:
  struct call {
    std::string text;
    std::int64_t at;
  };

  static bool begins(const std::string& text, std::initializer_list<std::string_view> beginnings) {
    return beginnings.size() == 0
           || std::ranges::any_of(beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
  }

  const simulation* world_;
  std::chrono::steady_clock::time_point start_;
  std::vector<call> calls_;
};

/// Wakes the coroutine that waits for it. Rung from outside of any actor.
class doorbell {
public:
  /// Awaits a ring. Cancellation point: false when the coroutine was asked to stop.
  class ring_operation final : public weir::detail::waiter {
  public:
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> frame) {
      auto& root = *frame.promise().root;
      end_.emplace(root.owner(), *this);
      bell_.waiting_.emplace_back(root.owner().ref(), end_->here());
      suspend(frame, root);
    }
    bool await_resume() const noexcept { return !stopped_; }

  private:
    friend class doorbell;
    class end final : public weir::detail::endpoint {
    public:
      end(weir::detail::host& owner, ring_operation& waiting) : endpoint{owner}, waiting_{waiting} {}
      void on_control(weir::detail::control&) override { waiting_.resume_soon(); }

    private:
      ring_operation& waiting_;
    };

    explicit ring_operation(doorbell& bell) noexcept : bell_{bell} {}
    void on_stop() noexcept override {
      stopped_ = true;
      resume_soon();
    }

    doorbell& bell_;
    std::optional<end> end_;
    bool stopped_ = false;
  };

  ring_operation rings() noexcept { return ring_operation{*this}; }

  void ring() {
    for (const auto& [actor, address] : std::exchange(waiting_, {}))
      wake_from_outside(actor, address);
  }

private:
  std::vector<std::pair<weir::actor_ref, weir::detail::endpoint_address>> waiting_;
};

/// What a scripted end answers, call by call: what the test said next, otherwise the usual; where there is neither, or while it
/// is held, the call waits. T is a result.
template <class T>
class answers {
public:
  answers() = default;
  explicit answers(T always) : usual{std::move(always)} {}

  std::optional<T> usual;

  void next(T one) {
    give([one = std::move(one)] { return one; });
  }
  void next_throws(std::string text) {
    give([text = std::move(text)]() -> T { throw std::runtime_error{text}; });
  }
  void hold() { held_ = true; }
  void let_go() {
    held_ = false;
    bell_.ring();
  }

  static weir::task<T> answer(weir::self, std::shared_ptr<answers> from) {
    auto& mine = *from;
    while (mine.held_ || (mine.given_.empty() && !mine.usual)) {
      auto waiting = mine.bell_.rings();
      const bool go_on = co_await waiting;
      if (!go_on)
        co_return weir::error{weir::errc::cancelled, "the coroutine was asked to stop"};
    }
    co_return mine.take();
  }

private:
  void give(std::function<T()> one) {
    given_.push_back(std::move(one));
    bell_.ring();
  }

  T take() {
    if (given_.empty())
      return *usual;
    const auto first = std::move(given_.front());
    given_.pop_front();
    return first();
  }

  std::deque<std::function<T()>> given_;
  bool held_ = false;
  doorbell bell_;
};

template <class T>
using shared_answers = std::shared_ptr<answers<weir::result<T>>>;

template <class T, class... Usual>
shared_answers<T> new_answers(Usual... usual) {
  return std::make_shared<answers<weir::result<T>>>(std::move(usual)...);
}

inline shared_answers<void> agreeing() {
  return new_answers<void>(weir::result<void>{weir::success()});
}

/// What a test tells a sink, and what the sink was given.
struct sink_script {
  shared_answers<weir::sink_state> opens = new_answers<weir::sink_state>(weir::result<weir::sink_state>{weir::sink_state{}});
  shared_answers<void> begins = agreeing();
  shared_answers<weir::write_outcome> writes =
    new_answers<weir::write_outcome>(weir::result<weir::write_outcome>{weir::write_outcome{}});
  shared_answers<void> flushes = agreeing();
  shared_answers<void> closes = agreeing();
  bool holds_state = false;
  std::string poison = {}; ///< a write that contains this item fails

  std::vector<weir::lane_item> accepted; ///< written and not flushed
  std::vector<weir::lane_item> durable;  ///< in the order in which they were flushed
  std::vector<weir::request> begun;

  lines held() const {
    lines found;
    for (const auto& one : durable)
      found.push_back(describe(one));
    return found;
  }
};

class scripted_sink final : public weir::sink {
public:
  scripted_sink(std::string name, std::shared_ptr<call_log> log, std::shared_ptr<sink_script> script)
    : name_{std::move(name)},
      log_{std::move(log)},
      script_{std::move(script)} {}

  weir::task<weir::result<weir::sink_state>> open(weir::self me) override {
    log_->add(name_ + ".open");
    return script_->opens->answer(me, script_->opens);
  }

  bool wants_backfill() const noexcept override { return script_->holds_state; }

  weir::task<weir::result<void>> begin_backfill(weir::self me, weir::request asked, std::uint64_t epoch) override {
    log_->add(name_ + ".backfill " + std::to_string(epoch) + (asked.after ? " after " + *asked.after : ""));
    script_->begun.push_back(std::move(asked));
    return script_->begins->answer(me, script_->begins);
  }

  weir::task<weir::result<weir::write_outcome>> write(weir::self me, std::vector<weir::lane_item> items) override {
    std::string text = name_ + ".write";
    for (const auto& one : items)
      text += " " + describe(one);
    log_->add(std::move(text));
    return accept(me, script_, std::move(items));
  }

  weir::task<weir::result<void>> flush(weir::self me) override {
    log_->add(name_ + ".flush");
    return keep(me, script_);
  }

  weir::task<weir::result<void>> close(weir::self me) override {
    log_->add(name_ + ".close");
    script_->accepted.clear();
    return script_->closes->answer(me, script_->closes);
  }

private:
  static weir::task<weir::result<weir::write_outcome>> accept(
    weir::self me, std::shared_ptr<sink_script> script, std::vector<weir::lane_item> items) {
    auto asking = script->writes->answer(me, script->writes);
    auto outcome = co_await std::move(asking);
    for (const auto& one : items)
      if (describe(one) == script->poison)
        co_return weir::error{weir::errc::sink_failed, "it can't take that"};
    if (outcome && !outcome.value().try_later)
      script->accepted.insert(script->accepted.end(), items.begin(), items.end());
    co_return outcome;
  }

  static weir::task<weir::result<void>> keep(weir::self me, std::shared_ptr<sink_script> script) {
    auto asking = script->flushes->answer(me, script->flushes);
    auto flushed = co_await std::move(asking);
    auto accepted = std::exchange(script->accepted, {});
    if (flushed)
      script->durable.insert(script->durable.end(), accepted.begin(), accepted.end());
    co_return flushed;
  }

  std::string name_;
  std::shared_ptr<call_log> log_;
  std::shared_ptr<sink_script> script_;
};

/// What a test tells a source. What it reads, and its chunks, are what the test gives; a call without one waits.
struct source_script {
  shared_answers<void> opens = agreeing();
  shared_answers<std::optional<weir::reading>> reads = new_answers<std::optional<weir::reading>>();
  shared_answers<void> confirms = agreeing();
  shared_answers<weir::snapshot_chunk> chunks = new_answers<weir::snapshot_chunk>();
  bool has_snapshots = true;
};

class scripted_source final : public weir::source {
public:
  scripted_source(std::shared_ptr<call_log> log, std::shared_ptr<source_script> script)
    : log_{std::move(log)},
      script_{std::move(script)} {}

  weir::task<weir::result<void>> open(weir::self me, weir::resume_point from) override {
    log_->add("source.open" + (from.confirmed ? " " + to_string(*from.confirmed) : ""));
    return script_->opens->answer(me, script_->opens);
  }
  weir::task<weir::result<std::optional<weir::reading>>> read(weir::self me, weir::read_limit) override {
    log_->add("source.read");
    return script_->reads->answer(me, script_->reads);
  }
  weir::task<weir::result<void>> confirm(weir::self me, weir::position at) override {
    log_->add("source.confirm " + to_string(at));
    return script_->confirms->answer(me, script_->confirms);
  }
  weir::task<weir::result<weir::snapshot_chunk>> snapshot(weir::self me, weir::snapshot_query query) override {
    log_->add("source.snapshot " + to_string(query.as_of) + (query.after ? " after " + *query.after : ""));
    if (!script_->has_snapshots)
      return source::snapshot(me, std::move(query));
    return script_->chunks->answer(me, script_->chunks);
  }

private:
  std::shared_ptr<call_log> log_;
  std::shared_ptr<source_script> script_;
};

class scripted_store final : public weir::position_store {
public:
  scripted_store(std::shared_ptr<call_log> log, shared_answers<void> saves) : log_{std::move(log)}, saves_{std::move(saves)} {}

  weir::task<weir::result<void>> save(weir::self me, weir::position at) override {
    log_->add("store.save " + to_string(at));
    return saves_->answer(me, saves_);
  }

private:
  std::shared_ptr<call_log> log_;
  shared_answers<void> saves_;
};

class scripted_letters final : public weir::dead_letter_store {
public:
  explicit scripted_letters(std::shared_ptr<call_log> log) : log_{std::move(log)} {}

  weir::task<weir::result<void>> add(weir::self me, std::vector<weir::dead_letter> letters) override {
    for (auto& one : letters) {
      log_->add(
        "letters.add " + one.lane + " " + std::string{name_of(one.reason.code())} + (one.at ? " " + to_string(*one.at) : ""));
      added.push_back(std::move(one));
    }
    return adds->answer(me, adds);
  }

  shared_answers<void> adds = agreeing();
  std::vector<weir::dead_letter> added;

private:
  std::shared_ptr<call_log> log_;
};

class logging_observer final : public weir::pipeline_observer {
public:
  explicit logging_observer(std::shared_ptr<call_log> log) : log_{std::move(log)} {}

  void on_confirmed(const weir::position& at) override { log_->add("seen.confirmed " + to_string(at)); }
  void on_source_ended() override { log_->add("seen.end"); }
  void on_overload(const std::string& sink, std::chrono::milliseconds wait) override {
    log_->add("seen.overload " + sink + " " + std::to_string(wait.count()));
  }
  void on_failure(const std::string& sink, const weir::error& why, std::chrono::milliseconds next_try) override {
    log_->add("seen.failure " + sink + " " + std::string{name_of(why.code())} + " " + std::to_string(next_try.count()));
  }
  void on_recovery(const std::string& sink) override { log_->add("seen.recovery " + sink); }
  void on_dead_letters(const std::string& lane, std::size_t count, const weir::error&) override {
    log_->add("seen.letters " + lane + " " + std::to_string(count));
  }
  void on_backfill(const std::string& sink, bool complete) override {
    log_->add("seen.backfill " + sink + (complete ? " complete" : " begun"));
  }
  void on_unannounced(const std::string& sink, const weir::error& why) override {
    log_->add("seen.unannounced " + sink + " " + std::string{name_of(why.code())});
  }

private:
  std::shared_ptr<call_log> log_;
};

/// One live batch as a source brings it, with one change.
inline weir::reading read_of(std::uint64_t epoch, std::uint64_t seq, bool ends_transaction = true) {
  const auto at = core_tests::position_at(epoch, seq, ends_transaction);
  return weir::reading{std::get<weir::batch>(core_tests::live_with(at, 10)), {}};
}

inline weir::reading with_bad_records(weir::reading one, std::size_t count) {
  for (std::size_t index = 0; index < count; ++index)
    one.bad.push_back(weir::bad_record{weir::error{weir::errc::bad_record, "it can't be read"}, "{" + std::to_string(index)});
  return one;
}

/// How an end fails that has broken.
inline weir::error broken() {
  return weir::error{weir::errc::io_failed, "it broke"};
}

inline weir::snapshot_chunk chunk_of(std::string walked, bool last = false) {
  weir::envelope row;
  row.collection = "files";
  row.key = walked;
  row.payload = "row";
  return weir::snapshot_chunk{{std::move(row)}, std::move(walked), last};
}

} // namespace actor_tests
