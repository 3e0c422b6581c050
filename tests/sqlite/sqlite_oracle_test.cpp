#include "../core/seeds.hpp"
#include "../jsonl/batches.hpp"
#include "../jsonl/scratch.hpp"
#include "sqlite_store.hpp"
#include "table_reader.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The sink between a source and an engine that behave as their contracts say, with crashes at any moment. The oracle is a map.

using namespace adapter_tests;
using core_tests::random_source;
using weir::envelope;
using weir::lane_item;
using weir::position;
using weir::request;
using weir::request_id;
using weir::snapshot_complete;
using weir::sqlite_store;

namespace {

/// Rows by "collection/key".
using table_state = std::map<std::string, std::string>;

const std::vector<std::string> collections{"c", "d"};

std::string name_of(const envelope& change) {
  return change.collection + "/" + change.key;
}

void apply(const envelope& change, table_state& state) {
  if (change.payload)
    state[name_of(change)] = *change.payload;
  else
    state.erase(name_of(change));
}

struct transaction {
  position at;
  std::vector<envelope> changes;
  std::optional<table_state> rewritten; ///< another epoch begins: this is its state

  void apply_to(table_state& state) const {
    if (rewritten)
      state = *rewritten;
    for (const auto& change : changes)
      apply(change, state);
  }
};

/// The source of truth and its history, and how far the ingest engine has offered it.
class source_model {
public:
  explicit source_model(random_source& random) : random_{&random} {}

  table_state state_after(std::size_t count) const {
    table_state state;
    for (std::size_t number = 0; number < count; ++number)
      history_[number].apply_to(state);
    return state;
  }

  std::size_t length() const noexcept { return history_.size(); }
  const std::vector<transaction>& history() const noexcept { return history_; }

  void add_transaction() {
    transaction next;
    next.at = history_.empty() ? at(1, 0) : history_.back().at;
    if (!history_.empty() && random_->chance(4)) {
      next.at = at(next.at.epoch + 1, random_->below(3));
      next.rewritten.emplace();
      for (auto left = random_->below(12); left > 0; --left)
        next.rewritten->emplace(random_->pick(collections) + "/" + std::string{key()}, payload());
    } else {
      next.at.seq += random_->between(1, 2);
      for (auto left = random_->below(5); left > 0; --left)
        next.changes.push_back(random_->chance(50) ? upsert(random_->pick(collections), key(), payload())
                                                   : erase(random_->pick(collections), key()));
    }
    history_.push_back(std::move(next));
  }

private:
  std::string key() { return std::string(1, static_cast<char>('a' + random_->below(5))); }
  std::string payload() { return std::to_string(random_->below(100'000)); }

  random_source* random_;
  std::vector<transaction> history_;
};

/// One pipeline with one lane, whose items outlive a crash or do not.
class pipeline_model {
public:
  pipeline_model(std::uint64_t seed, bool is_durable) : random_{seed}, is_durable_{is_durable}, source_{random_} {}

  /// Returns how often the table could be compared on the way.
  std::size_t run(std::size_t steps) {
    open_sink();
    reader_.emplace(path());
    for (std::size_t step = 0; step < steps; ++step)
      random_step();
    crashes_ = false;
    while (offered_ < source_.length() || part_ > 0 || !lane_.empty() || running_ || !requests_.empty()) {
      offer_live();
      serve(false);
      drain();
    }
    check(source_.history().back().at);
    CHECK(reader_->query("SELECT count(*) FROM weir_gone") == std::vector<std::string>{"0"});
    return checks_;
  }

private:
  struct served_request {
    request asked;
    std::optional<std::string> cursor;
  };

  std::filesystem::path path() const { return scratch_ / "out.db"; }

  void random_step() {
    switch (random_.below(12)) {
    case 0:
    case 1:
    case 2: source_.add_transaction(); break;
    case 3:
    case 4:
    case 5: offer_live(); break;
    case 6:
    case 7:
    case 8: serve(true); break;
    case 9:
    case 10: drain(); break;
    default:
      if (random_.chance(60))
        crash();
      else if (random_.chance(15))
        ask(epoch_of_lane(), std::nullopt); // a rebuild that somebody wants
    }
  }

  std::uint64_t epoch_of_lane() const { return committed_ ? committed_->epoch : 1; }

  // The ingest engine.

  /// Offers a batch: some transactions, or a piece of one.
  void offer_live() {
    std::vector<envelope> changes;
    std::vector<weir::transaction_part> parts;
    for (auto most = random_.between(1, 3); most > 0 && offered_ < source_.length(); --most) {
      const auto& next = source_.history()[offered_];
      const auto left = next.changes.size() - part_;
      const auto count = left > 1 && random_.chance(30) ? random_.between(1, left - 1) : left;
      const auto begin = next.changes.begin() + static_cast<std::ptrdiff_t>(part_);
      auto where = next.at;
      where.ends_transaction = count == left;
      parts.push_back({where, changes.size(), count, part_});
      changes.insert(changes.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
      part_ += count;
      if (!where.ends_transaction)
        break;
      part_ = 0;
      ++offered_;
    }
    if (parts.empty())
      return;
    weir::batch live_batch;
    live_batch.at = parts.back().at;
    live_batch.envelopes = weir::make_block(std::move(changes), std::move(parts));
    offered_at_ = live_batch.at;
    lane_.emplace_back(std::move(live_batch));
  }

  /// What a snapshot shows now. In the middle of a transaction that is its first changes, or all of it, as the source likes.
  table_state state_offered() {
    if (part_ > 0 && random_.chance(50))
      return source_.state_after(offered_ + 1);
    auto state = source_.state_after(offered_);
    for (std::size_t number = 0; number < part_; ++number)
      apply(source_.history()[offered_].changes[number], state);
    return state;
  }

  /// Publishes a chunk, or the marker, of one request that is due.
  void serve(bool may_repeat) {
    for (std::size_t number = 0; number < requests_.size(); ++number) {
      auto& one = requests_[number];
      const auto& not_before = one.asked.not_before;
      if (not_before && (!offered_at_ || !covers(*offered_at_, *not_before)))
        continue;
      if (may_repeat && is_durable_ && random_.chance(5))
        one.cursor = one.asked.after; // its server died: once more from where it was asked for
      const auto state = state_offered();
      std::vector<envelope> rows;
      auto next = one.cursor ? state.upper_bound(*one.cursor) : state.begin();
      for (auto most = random_.between(1, 4); most > 0 && next != state.end(); --most, ++next)
        rows.push_back(upsert(next->first.substr(0, 1), next->first.substr(2), next->second));
      if (!rows.empty())
        one.cursor = name_of(rows.back());
      lane_.emplace_back(snapshot(one.asked.id, std::move(rows), one.cursor.value_or("")));
      if (next == state.end()) {
        lane_.emplace_back(snapshot_complete{one.asked.id, collections});
        if (!may_repeat || random_.chance(80))
          requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(number));
        else
          one.cursor = one.asked.after; // marked, and died before the request was acknowledged
      }
      return;
    }
  }

  // The sink engine.

  void open_sink() {
    store_ = std::make_unique<sqlite_store>(
      weir::sqlite_sink_options{.path = path(), .pipeline = "p", .lane = "l", .collections = {}});
    const auto opened = store_->open();
    if (!opened)
      FAIL(opened.error().to_string());
    const auto& holds = opened.value();
    committed_ = holds.committed;
    seeded_ = holds.seeded_epoch;
    running_.reset();
    if (!holds.seeded_epoch || holds.unfinished)
      ask(epoch_of_lane(), holds.unfinished);
  }

  void ask(std::uint64_t epoch, const std::optional<weir::unfinished_backfill>& resumed) {
    request asked;
    asked.id = resumed ? resumed->request : request_id{1, ++last_request_};
    asked.collections = collections;
    asked.after = resumed ? resumed->walked : std::nullopt;
    asked.not_before = committed_;
    const auto begun = store_->begin_backfill(asked, epoch);
    if (!begun)
      FAIL(begun.error().to_string());
    running_ = asked.id;
    running_epoch_ = epoch;
    requests_.push_back({asked, asked.after});
  }

  void drain() {
    for (auto most = random_.between(1, 6); most > 0 && !lane_.empty(); --most) {
      const auto known = running_ ? running_epoch_ : seeded_.value_or(0);
      std::vector<lane_item> group;
      std::optional<std::uint64_t> new_epoch;
      for (const auto& item : lane_) {
        const auto* where = weir::position_of(item);
        if (where != nullptr && where->epoch > known) {
          new_epoch = where->epoch;
          break;
        }
        group.push_back(item);
        if (group.size() == 3)
          break;
      }
      if (group.empty()) {
        ask(*new_epoch, std::nullopt);
        continue;
      }
      if (!write(group))
        return;
    }
  }

  bool write(const std::vector<lane_item>& group) {
    if (crash_here())
      return false;
    const auto written = store_->write(group);
    if (!written)
      FAIL(written.error().to_string());
    REQUIRE(written.value().rejected.empty());
    if (crash_here())
      return false;
    const auto flushed = store_->flush();
    if (!flushed)
      FAIL(flushed.error().to_string());
    if (crash_here(15)) // what is there and not acknowledged is the hard case
      return false;
    for (const auto& item : group) {
      if (const auto* where = weir::position_of(item); where != nullptr && (!committed_ || covers(*where, *committed_)))
        committed_ = *where;
      if (const auto* marker = std::get_if<snapshot_complete>(&item); marker != nullptr && running_ == marker->request) {
        seeded_ = running_epoch_;
        running_.reset();
      }
      if (const auto* where = weir::position_of(item); where != nullptr && where->ends_transaction)
        floor_ = *where;
      lane_.pop_front();
    }
    if (!running_ && committed_ && committed_->ends_transaction && seeded_ == committed_->epoch)
      check(*committed_);
    return true;
  }

  bool crash_here(unsigned percent = 3) {
    if (!crashes_ || !random_.chance(percent))
      return false;
    crash();
    return true;
  }

  void crash() {
    store_.reset();
    if (!is_durable_) {
      // The lane is gone, and the requests; the source goes back to some place that was confirmed.
      lane_.clear();
      requests_.clear();
      part_ = 0;
      offered_ = 0;
      offered_at_.reset();
      while (floor_ && offered_ < source_.length() && source_.history()[offered_].at <= *floor_) {
        offered_at_ = source_.history()[offered_].at;
        ++offered_;
      }
      for (auto back = random_.below(4); back > 0 && offered_ > 0; --back) {
        --offered_;
        offered_at_ = offered_ > 0 ? std::optional{source_.history()[offered_ - 1].at} : std::nullopt;
      }
    }
    open_sink();
  }

  /// The table is the source's state right after a position.
  void check(const position& where) {
    std::size_t count = 0;
    while (count < source_.length() && source_.history()[count].at <= where)
      ++count;
    table_state found;
    for (const auto& collection : collections)
      for (const auto& [key, payload] : reader_->rows(collection))
        found.emplace(collection + "/" + key, payload);
    CAPTURE(to_string(where));
    REQUIRE(found == source_.state_after(count));
    ++checks_;
  }

  random_source random_;
  bool is_durable_;
  scratch_directory scratch_;
  source_model source_;
  bool crashes_ = true;

  std::size_t offered_ = 0; ///< transactions
  std::size_t part_ = 0;    ///< changes of the next one
  std::optional<position> offered_at_;
  std::deque<lane_item> lane_; ///< not acknowledged
  std::deque<served_request> requests_;
  std::optional<position> floor_;

  std::unique_ptr<sqlite_store> store_;
  std::optional<position> committed_;
  std::optional<std::uint64_t> seeded_;
  std::optional<request_id> running_;
  std::uint64_t running_epoch_ = 0;
  std::uint64_t last_request_ = 0;

  std::optional<table_reader> reader_;
  std::size_t checks_ = 0;
};

} // namespace

TEST_CASE("the table is what the source holds, through crashes and backfills, when the lane forgets") {
  for (const auto seed : core_tests::seeds(2)) {
    CAPTURE(core_tests::replay(seed));
    std::size_t checks = 0;
    for (std::uint64_t round = 0; round < 15; ++round)
      checks += pipeline_model{1000 * seed + round, false}.run(400);
    CHECK(checks > 150);
  }
}

TEST_CASE("the table is what the source holds, through crashes and backfills, when the lane is durable") {
  for (const auto seed : core_tests::seeds(2)) {
    CAPTURE(core_tests::replay(seed));
    std::size_t checks = 0;
    for (std::uint64_t round = 0; round < 15; ++round)
      checks += pipeline_model{1000 * seed + round, true}.run(400);
    CHECK(checks > 150);
  }
}
