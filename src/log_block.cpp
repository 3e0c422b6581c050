#include <weir/log_block.hpp>
#include <weir/record_codec.hpp>

#include "little_endian.hpp"

#include <algorithm>
#include <cstring>

namespace weir {

namespace {

template <class Number>
void append_number(std::string& out, Number number) {
  char bytes[sizeof number];
  detail::store_little(bytes, number);
  out.append(bytes, sizeof number);
}

} // namespace

std::int64_t log_block_builder::add(const new_entry& given, std::int64_t time) {
  const auto begin = records_.size();
  encode_record(records_, given);
  const auto record = std::string_view{records_}.substr(begin);
  const auto offset = first_ + count();
  last_ = chain_next(last_, offset, time, record);
  append_number(heads_, static_cast<std::uint32_t>(begin));
  append_number(heads_, static_cast<std::uint32_t>(record.size()));
  append_number(heads_, static_cast<std::uint64_t>(time));
  heads_.append(reinterpret_cast<const char*>(last_.bytes.data()), last_.bytes.size());
  return offset;
}

log_block_view::head log_block_view::head_of(std::int64_t offset) const noexcept {
  const auto* from = heads_.data() + static_cast<std::size_t>(offset - first_) * log_head_size;
  head found{detail::load_little<std::uint32_t>(from), detail::load_little<std::uint32_t>(from + 4),
    static_cast<std::int64_t>(detail::load_little<std::uint64_t>(from + 8)), {}};
  std::memcpy(found.digest.bytes.data(), from + 16, found.digest.bytes.size());
  return found;
}

std::string_view log_block_view::record_of(std::int64_t offset) const noexcept {
  const auto where = head_of(offset);
  if (where.begin > records_.size() || where.length > records_.size() - where.begin)
    return {};
  return records_.substr(where.begin, where.length);
}

chain_digest log_block_view::digest_after(const chain_digest& before, std::int64_t offset) const noexcept {
  return chain_next(before, offset, head_of(offset).time, record_of(offset));
}

void log_verifier::resume_after(const chain_digest& stored) noexcept {
  before_[0] = stored;
  count_ = 1;
}

std::optional<chain_digest> log_verifier::before(const log_block_view& block, std::int64_t offset) const noexcept {
  const auto stored = block.head_of(offset).digest;
  for (std::size_t one = 0; one < count_; ++one)
    if (block.digest_after(before_[one], offset) == stored)
      return before_[one];
  return std::nullopt;
}

bool log_verifier::is_next(const log_block_view& block, std::int64_t offset) noexcept {
  const auto stored = block.head_of(offset).digest;
  const bool fits = before(block, offset).has_value();
  if (!fits) {
    const auto were = before_;
    for (std::size_t one = 0; one < count_ && one + 1 < most; ++one)
      before_[one + 1] = block.digest_after(were[one], offset);
    count_ = std::min(count_ + 1, most);
    before_[0] = stored;
    return false;
  }
  resume_after(stored);
  return true;
}

result<entry> log_verifier::read(const log_block_view& block, std::int64_t offset) {
  const auto where = block.head_of(offset);
  const auto record = block.record_of(offset);
  if (!is_next(block, offset))
    return error{errc::corrupt_entry, "its digest is not the one that was stored"};
  entry found{offset, {}, {}, {}, where.time, where.digest};
  if (auto decoded = decode_record(record, found); !decoded)
    return decoded.error() == errc::newer_format ? std::move(decoded).error()
                                                 : error{errc::corrupt_entry, decoded.error().sentence()};
  return found;
}

} // namespace weir
