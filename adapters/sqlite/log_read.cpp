#include "log_read.hpp"

#include <weir/log_rules.hpp>

#include <boost/outcome/try.hpp>

#include <algorithm>

namespace weir::sqlite_log {

namespace {

std::int64_t offset_in(const shard_row& of, std::int64_t place) noexcept {
  return place - place_of(of.at, 0);
}

/// What the entry at `offset` is verified against, where nothing is known of the one before it: that one, if it can be read;
/// otherwise what its block says was before it.
result<log_verifier> verifier_at(block_walk& blocks, const shard_row& of, std::int64_t offset) {
  if (offset == of.bounds.earliest)
    return log_verifier{of.before};
  BOOST_OUTCOME_TRY(const auto own, blocks.at(offset));
  if (!own)
    return log_verifier{of.before}; // nothing will fit
  const auto said = blocks.before();
  if (offset > own->first()) {
    // The one before it is verified by what its own bytes amount to: its stored digest may be damaged, and that must do no harm
    // here.
    log_verifier verifier{offset - 1 > own->first() ? own->head_of(offset - 2).digest : said.value_or(chain_digest{})};
    verifier.pass(*own, offset - 1);
    return verifier;
  }
  const auto stored = blocks.last_digest_before(offset);
  if (said && (!stored || stored.value() == said))
    return log_verifier{*said};
  const auto earlier = blocks.at(offset - 1);
  if (!earlier || !earlier.value())
    return log_verifier{said.value_or(chain_digest{})};
  const auto& block = *earlier.value();
  log_verifier verifier{
    offset - 1 > block.first() ? block.head_of(offset - 2).digest : blocks.before().value_or(chain_digest{})};
  verifier.pass(block, offset - 1);
  return verifier;
}

/// The same where the entry does not fit to that: more than the one before it may be damaged, and what stands at the begin of
/// the block tells.
result<log_verifier> thorough_verifier_at(block_walk& blocks, std::int64_t offset) {
  BOOST_OUTCOME_TRY(const auto own, blocks.at(offset));
  const auto said = blocks.before();
  if (!own || !said)
    return error{errc::not_found, "no block tells"};
  log_verifier verifier{*said};
  for (auto one = own->first(); one < offset; ++one)
    verifier.pass(*own, one);
  return verifier;
}

result<entry> read_entry(block_walk& blocks, log_verifier& verifier, std::int64_t offset) {
  BOOST_OUTCOME_TRY(const auto block, blocks.at(offset));
  if (!block)
    return error{errc::corrupt_entry, "it is not there"};
  return verifier.read(*block, offset);
}

} // namespace

result<std::optional<repair_row>> find_repair(log_file& in, const shard_row& of, std::int64_t offset) {
  BOOST_OUTCOME_TRY(auto* query, in.connection.kept("SELECT place, count, why, time, \"check\" FROM weir_repair "
                                                    "WHERE place + count > ?1 AND place < ?2 ORDER BY place LIMIT 1"));
  query->bind(1, place_of(of.at, offset));
  query->bind(2, place_of(of.at + 1, 0));
  BOOST_OUTCOME_TRY(const auto has_row, query->step());
  if (!has_row)
    return std::optional<repair_row>{};
  repair_row found{offset_in(of, query->number(0)), query->number(1), query->bytes(2), query->number(3)};
  const auto check =
    row_check{}.add(query->number(0)).add(found.count).add(std::string_view{found.why}).add(found.time).value();
  const bool is_sound = query->number(4) == check;
  query->reset();
  if (!is_sound)
    return damaged_row(in.path, "weir_repair", std::to_string(of.at) + "/" + std::to_string(found.first));
  return std::optional{std::move(found)};
}

block_walk::~block_walk() {
  leave();
}

void block_walk::leave() noexcept {
  if (row_ != nullptr)
    row_->reset();
  row_ = nullptr;
  current_.reset();
}

result<bool> block_walk::step() {
  auto has_row = row_->step();
  if (has_row && has_row.value()) {
    current_.emplace(offset_in(of_, row_->number(0)), row_->view(3), row_->view(4));
    current_bytes_ = row_->whole_number(1);
    return true;
  }
  leave();
  return has_row;
}

result<std::optional<log_block_view>> block_walk::at(std::int64_t offset) {
  const bool is_next = current_ && offset == current_->end();
  if (current_ && !is_next && (offset < current_->first() || offset > current_->end()))
    leave();
  if (is_next) {
    BOOST_OUTCOME_TRY(step());
  } else if (!current_) {
    BOOST_OUTCOME_TRY(row_,
      in_.connection.kept("SELECT place, bytes, before, heads, records FROM weir_block WHERE place >= "
                          "COALESCE((SELECT MAX(place) FROM weir_block WHERE place BETWEEN ?1 AND ?2), ?2) AND place < ?3 "
                          "ORDER BY place"));
    row_->bind(1, place_of(of_.at, 0));
    row_->bind(2, place_of(of_.at, offset));
    row_->bind(3, place_of(of_.at + 1, 0));
    BOOST_OUTCOME_TRY(step());
  }
  const bool is_in = current_ && offset >= current_->first() && offset < current_->end();
  return is_in ? current_ : std::optional<log_block_view>{};
}

std::optional<chain_digest> block_walk::before() const noexcept {
  return row_ == nullptr ? std::nullopt : digest_from(row_->view(2));
}

result<chain_digest> block_walk::last_digest_before(std::int64_t offset) {
  BOOST_OUTCOME_TRY(auto* query, in_.connection.kept("SELECT place, heads FROM weir_block WHERE place = "
                                                     "(SELECT MAX(place) FROM weir_block WHERE place BETWEEN ?1 AND ?2)"));
  query->bind(1, place_of(of_.at, 0));
  query->bind(2, place_of(of_.at, offset - 1));
  BOOST_OUTCOME_TRY(const auto has_row, query->step());
  if (has_row) {
    const log_block_view heads{offset_in(of_, query->number(0)), query->view(1), {}};
    const auto found = heads.end() == offset ? std::optional{heads.head_of(offset - 1).digest} : std::nullopt;
    query->reset();
    if (found)
      return *found;
  }
  return error{errc::not_found, "no block ends there"};
}

result<std::int64_t> block_walk::next_begin(std::int64_t offset) {
  BOOST_OUTCOME_TRY(auto* query, in_.connection.kept("SELECT MIN(place) FROM weir_block WHERE place > ?1 AND place < ?2"));
  query->bind(1, place_of(of_.at, offset));
  query->bind(2, place_of(of_.at + 1, 0));
  BOOST_OUTCOME_TRY(query->step());
  const auto found = query->is_null(0) ? of_.bounds.head : offset_in(of_, query->number(0));
  query->reset();
  return found;
}

result<std::uint64_t> block_walk::bytes_before(std::int64_t offset) {
  if (offset >= of_.bounds.head)
    return of_.bytes;
  BOOST_OUTCOME_TRY(const auto block, at(offset));
  if (!block)
    return of_.bytes;
  auto bytes = current_bytes_;
  for (auto one = block->first(); one < offset; ++one)
    bytes += block->head_of(one).length;
  return bytes;
}

result<log_reading> read_entries(
  log_file& in, const topic_row& topic, const shard_row& of, std::int64_t after, entry_limits limits) {
  log_reading reading{of.bounds, {}};
  block_walk blocks{in, of};
  std::optional<log_verifier> verifier; // absent: made anew behind a gap
  std::size_t bytes = 0;
  BOOST_OUTCOME_TRY(auto given_up, find_repair(in, of, after + 1));
  for (auto offset = after + 1; offset < of.bounds.head; ++offset) {
    if (given_up && offset >= given_up->first) {
      offset = given_up->first + given_up->count - 1;
      verifier.reset();
      BOOST_OUTCOME_TRY(given_up, find_repair(in, of, offset + 1));
      continue;
    }
    const bool begins = !verifier;
    if (begins) {
      const auto made = verifier_at(blocks, of, offset);
      verifier = made ? made.value() : log_verifier{of.before}; // what can't be read shows below
    }
    auto found = read_entry(blocks, *verifier, offset);
    if (!found && begins) {
      if (const auto made = thorough_verifier_at(blocks, offset)) {
        verifier = made.value();
        found = read_entry(blocks, *verifier, offset);
      }
    }
    if (!found && !reading.entries.empty())
      break; // the next read tells
    if (!found && (found.error() == errc::corrupt_entry || found.error() == errc::corrupt))
      return log_rules::corrupt_entry(topic.name, of.shard, offset, found.error().sentence());
    if (!found)
      return std::move(found).error();
    bytes += found.value().size_in_bytes();
    if (!reading.entries.empty() && (reading.entries.size() >= limits.entries || bytes > limits.bytes))
      break;
    if (reading.entries.empty())
      reading.entries.reserve(std::min<std::size_t>(limits.entries, 512));
    reading.entries.push_back(std::move(found).value());
  }
  return reading;
}

result<shard_lag> lag_behind(log_file& in, const shard_row& of, std::int64_t after, std::int64_t now) {
  if (after >= of.bounds.head - 1)
    return shard_lag{};
  const auto next = std::max(after + 1, of.bounds.earliest);
  block_walk blocks{in, of};
  BOOST_OUTCOME_TRY(const auto before, blocks.bytes_before(next));
  BOOST_OUTCOME_TRY(const auto block, blocks.at(next));
  const auto since = block ? block->head_of(next).time : now;
  return shard_lag{static_cast<std::uint64_t>(of.bounds.head - next), of.bytes > before ? of.bytes - before : 0,
    std::chrono::nanoseconds{std::max<std::int64_t>(0, now - since)}};
}

result<std::int64_t> find_time(log_file& in, const shard_row& of, std::int64_t time) {
  block_walk blocks{in, of};
  auto low = of.bounds.earliest;
  for (auto high = of.bounds.head; low < high;) {
    const auto middle = low + (high - low) / 2;
    BOOST_OUTCOME_TRY(const auto block, blocks.at(middle));
    if (block && block->head_of(middle).time < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

chain_digest digest_before(log_file& in, const topic_row& topic, const shard_row& of, std::int64_t offset) {
  const auto stored = digest_at(in, topic, of, offset - 1);
  block_walk blocks{in, of};
  const auto found = blocks.at(offset);
  if (!found || !found.value())
    return stored ? stored.value() : chain_digest{};
  const auto& block = *found.value();
  const auto said = block.first() == offset ? blocks.before() : std::nullopt;
  if (stored && log_verifier{stored.value()}.before(block, offset))
    return stored.value();
  const auto made = thorough_verifier_at(blocks, offset);
  const auto fits = made ? made.value().before(block, offset) : std::nullopt;
  if (fits)
    return *fits;
  return stored ? stored.value() : said.value_or(chain_digest{});
}

result<chain_digest> digest_at(log_file& in, const topic_row& topic, const shard_row& of, std::int64_t offset) {
  if (offset == of.bounds.head - 1)
    return of.last;
  if (offset < of.bounds.earliest)
    return of.before;
  block_walk blocks{in, of};
  BOOST_OUTCOME_TRY(const auto block, blocks.at(offset));
  if (!block)
    return log_rules::corrupt_entry(topic.name, of.shard, offset, "it is not there");
  return block->head_of(offset).digest;
}

} // namespace weir::sqlite_log
