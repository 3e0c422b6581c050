#include "log_append.hpp"

#include <weir/log_rules.hpp>

#include <boost/outcome/try.hpp>

#include <algorithm>

namespace weir::sqlite_log {

namespace {

/// A block is written when it has so many bytes: a reader that wants one entry of it reads all.
constexpr std::size_t block_bytes = 24U << 10U;

} // namespace

result<append_transaction::open_shard*> append_transaction::shard_of(std::uint32_t shard) {
  if (const auto found = shards_.find(shard); found != shards_.end())
    return &found->second;
  BOOST_OUTCOME_TRY(auto row, read_shard(in_, topic_id_, shard));
  log_block_builder block{row.bounds.head, row.last};
  return &shards_.emplace(shard, open_shard{row, std::move(block)}).first->second;
}

result<std::optional<append_transaction::known_key>> append_transaction::find_key(const std::string& key) {
  BOOST_OUTCOME_TRY(auto* query,
    in_.connection.kept("SELECT number, shard, first, print, \"check\" FROM weir_dedupe WHERE topic = ?1 AND key = ?2"));
  query->bind(1, topic_id_);
  query->bind_blob(2, key);
  BOOST_OUTCOME_TRY(const auto has_row, query->step());
  if (!has_row)
    return std::optional<known_key>{};
  const auto print = digest_from(query->view(3));
  const known_key found{{static_cast<std::uint32_t>(query->number(1)), query->number(2), true}, print.value_or(chain_digest{})};
  const auto check = row_check{}
                       .add(topic_id_)
                       .add(query->number(0))
                       .add(std::string_view{key})
                       .add(std::int64_t{found.first.shard})
                       .add(found.first.offset)
                       .add(bytes_of(found.print));
  const bool is_sound = print && query->number(4) == check.value();
  query->reset();
  if (!is_sound)
    return damaged_row(in_.path, "weir_dedupe", std::to_string(topic_id_));
  return std::optional{found};
}

result<void> append_transaction::check(
  const append_call& call, std::vector<std::optional<entry_place>>& known, std::optional<error>& refusal) {
  auto sound = log_rules::check_append(call.entries, call.expected_head.has_value(), topic_.shards, topic_.largest_entry);
  if (!sound) {
    refusal = std::move(sound).error();
    return success();
  }
  if (call.expected_head) {
    BOOST_OUTCOME_TRY(auto* there, shard_of(*call.entries.front().shard));
    const auto head = there->block.first() + there->block.count();
    if (head != *call.expected_head) {
      refusal = log_rules::head_moved(*call.entries.front().shard, *call.expected_head, head);
      return success();
    }
  }
  std::map<std::string_view, std::size_t> own; // the append's own entries may name one key twice, too
  for (std::size_t index = 0; index < call.entries.size(); ++index) {
    const auto& one = call.entries[index];
    if (one.dedupe.empty())
      continue;
    const auto print = log_rules::fingerprint(one.key, one.payload);
    BOOST_OUTCOME_TRY(const auto found, find_key(one.dedupe));
    if (found)
      known[index] = found->first;
    const auto [earlier, is_first] = own.emplace(one.dedupe, index);
    const auto& first = call.entries[earlier->second];
    const bool differs_from_twin = !is_first && log_rules::fingerprint(first.key, first.payload) != print;
    if ((found && found->print != print) || differs_from_twin) {
      refusal = log_rules::dedupe_conflict(index, found ? found->first : entry_place{*first.shard, -1});
      return success();
    }
  }
  return success();
}

result<void> append_transaction::add(const append_call& call, std::vector<result<std::vector<entry_place>>>& decided) {
  std::vector<std::optional<entry_place>> known(call.entries.size());
  std::optional<error> refusal;
  BOOST_OUTCOME_TRY(check(call, known, refusal));
  if (refusal) {
    decided.emplace_back(std::move(*refusal));
    return success();
  }
  std::vector<entry_place> places;
  places.reserve(call.entries.size());
  for (std::size_t index = 0; index < call.entries.size(); ++index) {
    if (known[index]) {
      places.push_back(*known[index]);
      continue;
    }
    BOOST_OUTCOME_TRY(const auto place, store(call.entries[index]));
    places.push_back(place);
  }
  decided.emplace_back(std::move(places));
  return success();
}

result<entry_place> append_transaction::store(const new_entry& given) {
  if (!given.dedupe.empty()) {
    BOOST_OUTCOME_TRY(const auto twin, find_key(given.dedupe)); // of the same append
    if (twin)
      return twin->first;
  }
  BOOST_OUTCOME_TRY(auto* to, shard_of(*given.shard));
  if (to->block.first() + to->block.count() > last_offset)
    return error{errc::storage_full, "the shard has as many entries as it can number"};
  to->row.time = std::max(to->row.time, now_);
  const entry_place place{*given.shard, to->block.add(given, to->row.time)};
  if (!given.dedupe.empty()) {
    BOOST_OUTCOME_TRY(remember(given.dedupe, place, log_rules::fingerprint(given.key, given.payload)));
  }
  if (to->block.size_in_bytes() >= block_bytes) {
    BOOST_OUTCOME_TRY(write_block(*to));
  }
  return place;
}

result<void> append_transaction::remember(const std::string& key, const entry_place& first, const chain_digest& print) {
  if (next_key_ == 0) {
    BOOST_OUTCOME_TRY(auto* query, in_.connection.kept("SELECT COALESCE(MAX(number), 0) FROM weir_dedupe WHERE topic = ?1"));
    query->bind(1, topic_id_);
    BOOST_OUTCOME_TRY(query->step());
    next_key_ = query->whole_number(0) + 1;
    query->reset();
  }
  BOOST_OUTCOME_TRY(auto* insert, in_.connection.kept("INSERT INTO weir_dedupe VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  insert->bind(1, topic_id_);
  insert->bind(2, next_key_);
  insert->bind_blob(3, key);
  insert->bind(4, std::int64_t{first.shard});
  insert->bind(5, first.offset);
  insert->bind_blob(6, bytes_of(print));
  insert->bind(7, row_check{}
                    .add(topic_id_)
                    .add(next_key_)
                    .add(std::string_view{key})
                    .add(std::int64_t{first.shard})
                    .add(first.offset)
                    .add(bytes_of(print))
                    .value());
  ++next_key_;
  BOOST_OUTCOME_TRY(insert->step());
  return success();
}

result<void> append_transaction::write_block(open_shard& of) {
  BOOST_OUTCOME_TRY(auto* insert, in_.connection.kept("INSERT INTO weir_block VALUES(?1, ?2, ?3, ?4, ?5)"));
  insert->bind(1, place_of(of.row.at, of.block.first()));
  insert->bind(2, of.row.bytes);
  insert->bind_blob(3, bytes_of(of.row.last));
  insert->bind_blob(4, of.block.heads());
  insert->bind_blob(5, of.block.records());
  BOOST_OUTCOME_TRY(insert->step());
  of.row.bounds.head = of.block.first() + of.block.count();
  of.row.last = of.block.last();
  of.row.bytes += of.block.records().size();
  of.block = log_block_builder{of.row.bounds.head, of.row.last};
  return success();
}

result<void> append_transaction::forget_oldest_keys() {
  if (next_key_ <= topic_.dedupe_horizon)
    return success();
  BOOST_OUTCOME_TRY(auto* erase, in_.connection.kept("DELETE FROM weir_dedupe WHERE topic = ?1 AND number < ?2"));
  erase->bind(1, topic_id_);
  erase->bind(2, next_key_ - topic_.dedupe_horizon);
  BOOST_OUTCOME_TRY(erase->step());
  return success();
}

result<void> append_transaction::finish() {
  for (auto& [number, one] : shards_) {
    if (!one.block.empty()) {
      BOOST_OUTCOME_TRY(write_block(one));
    }
    BOOST_OUTCOME_TRY(write_shard(in_, one.row));
  }
  return forget_oldest_keys();
}

std::vector<std::pair<std::uint32_t, std::int64_t>> append_transaction::heads() const {
  std::vector<std::pair<std::uint32_t, std::int64_t>> all;
  for (const auto& [number, one] : shards_)
    all.emplace_back(number, one.row.bounds.head);
  return all;
}

} // namespace weir::sqlite_log
