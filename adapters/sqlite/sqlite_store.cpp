#include "sqlite_store.hpp"

#include <weir/batch_parts.hpp>

#include <algorithm>
#include <utility>

namespace weir {

namespace {

/// For the connection only; what the file remembers is the journal's mode, which is set once the database is known to be ours.
constexpr const char* settings = R"(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA cache_size = -8192;
PRAGMA journal_size_limit = 67108864;
)";

/// While another connection writes.
constexpr std::chrono::milliseconds try_again{250};

result<void> run(statement& prepared) {
  auto done = prepared.step();
  if (!done)
    return std::move(done).error();
  return success();
}

result<void> check_names(const sqlite_sink_options& options) {
  for (const auto& collection : options.collections)
    if (auto usable = check_collection_name(collection); !usable)
      return usable;
  return success();
}

} // namespace

result<sink_state> sqlite_store::open() {
  close();
  if (auto opened = open_database(); !opened) {
    close();
    return std::move(opened).error();
  }
  sink_state state;
  state.is_exact = true;
  state.committed = record_.committed;
  state.seeded_epoch = record_.seeded_epoch;
  // A backfill of an epoch that has passed is not worth ending: it would not say what is there now.
  const auto& backfill = record_.backfill;
  if (backfill && (!record_.committed || record_.committed->epoch <= backfill->epoch))
    state.unfinished = unfinished_backfill{backfill->request, backfill->walked};
  for (const auto& [collection, table] : tables_)
    state.collections.push_back(collection);
  return state;
}

result<void> sqlite_store::open_database() {
  if (auto usable = check_names(options_); !usable)
    return usable;
  auto opened = database::open(options_.path, database::access::read_write);
  if (!opened)
    return std::move(opened).error();
  database_ = std::move(opened).value();
  if (auto ours = check_owner(database_, owner(), options_.path); !ours)
    return ours;
  for (const auto& collection : options_.collections)
    if (auto usable = collection_table::check(database_, collection, options_.path); !usable)
      return usable;
  if (auto set = database_.run(settings); !set)
    return set;
  for (auto [prepared, sql] : {std::pair{&begin_, "BEGIN IMMEDIATE"}, std::pair{&commit_, "COMMIT"}}) {
    auto made = database_.prepare(sql);
    if (!made)
      return std::move(made).error();
    *prepared = std::move(made).value();
  }
  if (auto begun = run(begin_); !begun)
    return begun;
  if (auto made = make_tables(); !made)
    return made;
  return store_and_commit();
}

/// Makes all tables that are missing, and reads what the lane has reached.
result<void> sqlite_store::make_tables() {
  if (auto made = make_own_tables(database_, owner(), options_.path); !made)
    return made;
  auto record = read_record(database_);
  if (!record)
    return std::move(record).error();
  record_ = std::move(record).value();
  auto prepared = prepare_store(database_);
  if (!prepared)
    return std::move(prepared).error();
  store_ = std::move(prepared).value();

  auto known = list_collections(database_);
  if (!known)
    return std::move(known).error();
  for (const auto& collection : known.value()) {
    auto is_there = database_.look_up("SELECT name FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE", collection);
    if (!is_there)
      return std::move(is_there).error();
    if (!is_there.value()) { // dropped: its rows are missing until a backfill brings them
      record_.seeded_epoch.reset();
      record_.backfill.reset();
    }
    if (auto table = table_of(collection); !table)
      return std::move(table).error();
  }
  for (const auto& collection : options_.collections)
    if (auto table = table_of(collection); !table)
      return std::move(table).error();
  auto gone = database_.look_up("SELECT key FROM weir_gone LIMIT 1");
  if (!gone)
    return std::move(gone).error();
  some_are_gone_ = gone.value().has_value();
  return success();
}

result<void> sqlite_store::begin_backfill(const request& asked, std::uint64_t epoch) {
  if (!database_.is_open())
    return error{errc::closed, "the database is not open", {{"path", options_.path.string()}}};
  if (auto flushed = flush(); !flushed)
    return flushed;
  const auto* under_way = record_.backfill && record_.backfill->epoch == epoch ? &*record_.backfill : nullptr;
  const auto is_same = under_way != nullptr && under_way->request == asked.id;
  const auto goes_on = under_way != nullptr && asked.after && under_way->walked == asked.after;
  if (asked.after && !is_same && !goes_on)
    return error{errc::invalid_argument, "a backfill can't be resumed behind a key that this database has not walked to",
      {{"path", options_.path.string()}, {"request", to_string(asked.id)}}};
  auto begun = begin();
  if (begun && !begun.value())
    begun = error{errc::in_use, "another connection keeps the database locked for writing", {{"path", options_.path.string()}}};
  if (!begun)
    return std::move(begun).error();
  if (!is_same && !goes_on) {
    ++record_.generation;
    if (auto restarted = restart_gone(); !restarted) {
      close();
      return restarted;
    }
  }
  record_.backfill = backfill_record{asked.id, epoch, asked.after};
  return flush();
}

result<void> sqlite_store::restart_gone() {
  if (auto emptied = database_.run("DELETE FROM weir_gone"); !emptied)
    return emptied;
  some_are_gone_ = false;
  return success();
}

result<write_outcome> sqlite_store::write(std::span<const lane_item> items) {
  if (!database_.is_open())
    return error{errc::closed, "the database is not open", {{"path", options_.path.string()}}};
  write_outcome outcome;
  for (std::size_t number = 0; number < items.size(); ++number) {
    if (!has_effect(items[number]))
      continue;
    auto begun = begin();
    if (begun && !begun.value()) { // only ever before the first effect: a transaction keeps the lock
      outcome.try_later = try_again;
      return outcome;
    }
    auto applied = begun ? apply(items[number], number, outcome) : result<void>{std::move(begun).error()};
    if (!applied) {
      close();
      return std::move(applied).error();
    }
  }
  return outcome;
}

/// Begins a transaction unless one is open. False while another connection writes.
result<bool> sqlite_store::begin() {
  if (database_.is_in_transaction())
    return true;
  auto begun = run(begin_);
  if (begun)
    return true;
  if (begun.error() == errc::in_use)
    return false;
  close();
  return std::move(begun).error();
}

result<void> sqlite_store::flush() {
  if (!database_.is_open())
    return error{errc::closed, "the database is not open", {{"path", options_.path.string()}}};
  if (!database_.is_in_transaction())
    return success();
  auto stored = store_and_commit();
  if (!stored)
    close();
  return stored;
}

result<void> sqlite_store::store_and_commit() {
  if (auto stored = store_record(store_, record_); !stored)
    return stored.error() == errc::fenced ? std::move(stored).error().with("path", options_.path.string()) : std::move(stored);
  return run(commit_);
}

/// Whether the item says anything that the database does not hold.
bool sqlite_store::has_effect(const lane_item& item) const {
  if (const auto* marker = std::get_if<snapshot_complete>(&item))
    return is_current(marker->request);
  const auto& carried = std::get<batch>(item);
  if (carried.is_snapshot())
    return is_current(*carried.request);
  return !carried.at || !record_.committed || !covers(*record_.committed, *carried.at) || !record_.committed->ends_transaction;
}

result<void> sqlite_store::apply(const lane_item& item, std::size_t number, write_outcome& outcome) {
  if (const auto* marker = std::get_if<snapshot_complete>(&item))
    return apply_marker(*marker);
  const auto& carried = std::get<batch>(item);
  return carried.is_snapshot() ? apply_snapshot(carried, number, outcome) : apply_live(carried, number, outcome);
}

result<void> sqlite_store::apply_live(const batch& live, std::size_t number, write_outcome& outcome) {
  if (!live.at)
    return error{errc::position_missing, "a live batch without a position"};
  if (auto sound = check_parts(live); !sound)
    return sound;
  result<void> applied = success();
  for_each_part(live, [&](const transaction_part& part, std::span<const envelope> changes) {
    // What is held of a transaction that was cut is written again: from its first part on, in order, it comes to the same.
    const auto& held = record_.committed;
    const auto end = position{part.at.epoch, part.at.seq, {}, 0, true};
    if (held && covers(*held, end))
      return true;
    const row_origin origin{part.at.seq, part.at.epoch, record_.mark_for(part.at.epoch)};
    for (std::size_t index = 0; index < changes.size() && applied; ++index)
      applied = note_rejected(apply_change(changes[index], origin), number, part.begin + index, outcome);
    if (applied && (!held || !covers(*held, part.at)))
      record_.committed = part.at;
    return applied.has_value();
  });
  return applied;
}

result<void> sqlite_store::apply_change(const envelope& change, const row_origin& origin) {
  if (!is_selected(change.collection))
    return success();
  auto table = table_of(change.collection);
  if (!table)
    return std::move(table).error();
  if (change.operation == operation::upsert)
    return table.value()->upsert(change, origin);
  if (!record_.backfill || origin.generation < record_.snapshot_mark())
    return table.value()->erase(change.key);
  some_are_gone_ = true;
  return table.value()->erase_for_good(change.key);
}

result<void> sqlite_store::apply_snapshot(const batch& carried, std::size_t number, write_outcome& outcome) {
  const auto rows = carried.envelopes ? std::span{carried.envelopes->envelopes()} : std::span<const envelope>{};
  row_origin origin{0, record_.backfill->epoch, record_.snapshot_mark()};
  if (record_.committed) {
    origin.seq = record_.committed->seq;
    origin.epoch = record_.committed->epoch;
  }
  for (std::size_t index = 0; index < rows.size(); ++index) {
    if (!is_selected(rows[index].collection))
      continue;
    auto table = table_of(rows[index].collection);
    auto applied =
      table ? table.value()->upsert_from_snapshot(rows[index], origin, some_are_gone_) : result<void>{std::move(table).error()};
    if (auto noted = note_rejected(std::move(applied), number, index, outcome); !noted)
      return noted;
  }
  if (carried.walked)
    record_.backfill->walked = carried.walked;
  return success();
}

result<void> sqlite_store::apply_marker(const snapshot_complete& marker) {
  for (const auto& collection : marker.collections) {
    if (!is_selected(collection))
      continue;
    auto table = table_of(collection);
    if (!table && table.error() == errc::rejected) // its rows were rejected, too
      continue;
    if (!table)
      return std::move(table).error();
    if (auto swept = table.value()->sweep(record_.snapshot_mark()); !swept)
      return swept;
  }
  record_.seeded_epoch = record_.backfill->epoch;
  record_.backfill.reset();
  return restart_gone();
}

/// Passes a failure on, unless it is about this record alone: that is noted, and the others go on.
result<void> sqlite_store::note_rejected(
  result<void> applied, std::size_t item, std::size_t envelope, write_outcome& outcome) const {
  if (applied || applied.error() != errc::rejected || !database_.is_in_transaction())
    return applied;
  outcome.rejected.push_back({item, envelope, std::move(applied).error()});
  return success();
}

bool sqlite_store::is_current(const request_id& request) const noexcept {
  return record_.backfill && record_.backfill->request == request;
}

bool sqlite_store::is_selected(std::string_view collection) const {
  return options_.collections.empty() || std::ranges::find(options_.collections, collection) != options_.collections.end();
}

result<collection_table*> sqlite_store::table_of(std::string_view collection) {
  if (last_table_ != nullptr && last_table_->name() == collection)
    return last_table_;
  auto found = tables_.find(collection);
  if (found == tables_.end()) {
    if (auto usable = check_collection_name(collection); !usable)
      return error{errc::rejected, usable.error().sentence(), usable.error().facts()};
    auto opened = collection_table::open(database_, collection, options_.path);
    if (!opened && opened.error() == errc::invalid_argument) // another name that differs only in case
      return error{errc::rejected, opened.error().sentence(), opened.error().facts()};
    if (!opened)
      return std::move(opened).error();
    found = tables_.emplace(collection, std::move(opened).value()).first;
  }
  last_table_ = &found->second;
  return last_table_;
}

void sqlite_store::close() noexcept {
  last_table_ = nullptr;
  tables_.clear();
  begin_ = {};
  commit_ = {};
  store_ = {};
  record_ = {};
  database_.close();
}

result<sink_state> sqlite_store::check(const sqlite_sink_options& options) {
  sink_state state;
  state.is_exact = true;
  if (auto usable = check_names(options); !usable)
    return std::move(usable).error();
  auto opened = database::open(options.path, database::access::look);
  if (!opened)
    return std::move(opened).error();
  auto& looked = opened.value();
  if (!looked.is_open())
    return state;
  if (auto ours = check_owner(looked, {options.pipeline, options.lane}, options.path); !ours)
    return std::move(ours).error();
  for (const auto& collection : options.collections)
    if (auto usable = collection_table::check(looked, collection, options.path); !usable)
      return std::move(usable).error();
  auto is_there = looked.look_up("SELECT name FROM sqlite_schema WHERE name = 'weir_lane'");
  if (!is_there)
    return std::move(is_there).error();
  if (!is_there.value())
    return state;
  auto record = read_record(looked);
  if (!record)
    return std::move(record).error();
  state.committed = record.value().committed;
  return state;
}

} // namespace weir
