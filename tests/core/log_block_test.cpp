#include <weir/log_block.hpp>
#include <weir/record_codec.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

using weir::chain_digest;
using weir::errc;
using weir::log_block_builder;
using weir::log_block_view;
using weir::log_verifier;

namespace {

const auto begin = weir::chain_begin(1, "topic", 1, 0);

/// Entries 100, 101, … behind `begin`.
log_block_builder block_of(std::size_t entries, core_tests::random_source& random) {
  log_block_builder block{100, begin};
  for (std::size_t one = 0; one < entries; ++one)
    block.add({.key = std::to_string(one), .payload = std::string(random.below(60), static_cast<char>('a' + one))},
      1000 + static_cast<std::int64_t>(one));
  return block;
}

} // namespace

TEST_CASE("log block: what was added is read, each behind the other") {
  core_tests::random_source random{1};
  log_block_builder block{100, begin};
  CHECK(block.empty());
  CHECK(block.add({.key = "k", .dedupe = "d", .payload = "p"}, 5) == 100);
  CHECK(block.add({.payload = "q"}, 6) == 101);
  const log_block_view view{100, block.heads(), block.records()};
  CHECK(view.end() == 102);
  log_verifier verifier{begin};
  const auto first = verifier.read(view, 100);
  REQUIRE(first);
  CHECK(first.value().key == "k");
  CHECK(first.value().dedupe == "d");
  CHECK(first.value().payload == "p");
  CHECK(first.value().time == 5);
  const auto second = verifier.read(view, 101);
  REQUIRE(second);
  CHECK(second.value().digest == block.last());
}

TEST_CASE("log block: behind another digest nothing fits, and an entry at another offset does not either") {
  core_tests::random_source random{1};
  const auto block = block_of(2, random);
  const log_block_view view{100, block.heads(), block.records()};
  log_verifier foreign{weir::chain_begin(1, "topic", 1, 1)};
  CHECK(foreign.read(view, 100).error() == errc::corrupt_entry);
  const log_block_view moved{101, block.heads(), block.records()};
  log_verifier verifier{begin};
  CHECK(verifier.read(moved, 101).error() == errc::corrupt_entry);
}

TEST_CASE("log block: two records that changed places are both noticed") {
  log_block_builder block{0, begin};
  block.add({.payload = "first!"}, 1);
  block.add({.payload = "second"}, 1);
  auto heads = block.heads();
  std::swap_ranges(heads.begin(), heads.begin() + 8, heads.begin() + static_cast<std::ptrdiff_t>(weir::log_head_size));
  const log_block_view view{0, heads, block.records()};
  log_verifier verifier{begin};
  CHECK_FALSE(verifier.read(view, 0));
  CHECK_FALSE(verifier.read(view, 1));
}

TEST_CASE("log block: whichever bit is another, exactly the entry that it belongs to is corrupt") {
  for (const auto seed : core_tests::seeds(3)) {
    core_tests::random_source random{seed};
    const auto whole = block_of(4, random);
    const auto size = whole.heads().size() + whole.records().size();
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      auto heads = whole.heads();
      auto records = whole.records();
      const auto at = bit / 8;
      auto& byte = at < heads.size() ? heads[at] : records[at - heads.size()];
      byte = static_cast<char>(byte ^ (1 << bit % 8));
      const log_block_view before{100, whole.heads(), whole.records()};
      const log_block_view view{100, heads, records};
      log_verifier verifier{begin};
      log_verifier sound{begin};
      for (std::int64_t offset = 100; offset < 104; ++offset) {
        const auto where = before.head_of(offset);
        const auto in_head = static_cast<std::size_t>(offset - 100) * weir::log_head_size;
        const bool is_hit = at < heads.size()
                              ? at >= in_head && at < in_head + weir::log_head_size
                              : at - heads.size() >= where.begin && at - heads.size() < where.begin + where.length;
        const auto expected = sound.read(before, offset);
        const auto found = verifier.read(view, offset);
        REQUIRE(expected);
        CAPTURE(bit);
        CAPTURE(offset);
        REQUIRE(found.has_value() == !is_hit);
        if (found)
          CHECK(found.value().payload == expected.value().payload);
      }
    }
  }
}

TEST_CASE("log block: heads that are cut, and records that are not there, are no reason to look elsewhere") {
  core_tests::random_source random{1};
  const auto block = block_of(3, random);
  const log_block_view cut{100, std::string_view{block.heads()}.substr(0, 50), block.records()};
  CHECK(cut.end() == 101);
  const log_block_view bare{100, block.heads(), {}};
  log_verifier verifier{begin};
  CHECK(verifier.read(bare, 100).error() == errc::corrupt_entry);
}
