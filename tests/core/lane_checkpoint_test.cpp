#include <weir/checkpoint.hpp>
#include <weir/lane_checkpoint.hpp>

#include "stream_items.hpp"
#include "stream_messages.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::string_literals;
using core_tests::is_same;
using weir::encode_lane_checkpoint;
using weir::errc;
using weir::lane_checkpoint;
using weir::result;

namespace messages = weir::stream::v1;

namespace {

constexpr auto largest = std::numeric_limits<std::int64_t>::max();

lane_checkpoint example_checkpoint() {
  return {{weir::position{1, 9, {}, 0, false}, weir::position{.epoch = 1, .seq = 7}}, {{3, 7}, {8, 8}}};
}

// That of stream_item.proto's runs, with a floor of 1:9 within a transaction, of which 1:7 can be confirmed.
const auto example = "\x08\x01\x12\x06\x08\x01\x10\x09\x28\x01\x1A\x04\x08\x01\x10\x07\x22\x04\x03\x05\x00\x01"s;

/// From bytes with nothing around them, so that the address sanitizer sees every read beside them.
result<lane_checkpoint> decode(std::string_view bytes) {
  const std::vector<char> alone{bytes.begin(), bytes.end()};
  return weir::decode_lane_checkpoint({alone.data(), alone.size()});
}

/// The sentence of the refusal; "read" if there is none.
std::string verdict(std::string_view bytes, errc expected = errc::corrupt) {
  const auto decoded = decode(bytes);
  if (decoded)
    return "read";
  CHECK(decoded.error() == expected);
  return decoded.error().sentence();
}

std::string with_runs(std::string numbers) {
  return "\x08\x01\x22"s + static_cast<char>(numbers.size()) + numbers;
}

/// A checkpoint comes back as it is, but for the furthest runs where they don't fit: how many are left.
std::size_t require_round_trip(const lane_checkpoint& given) {
  const auto bytes = encode_lane_checkpoint(given);
  REQUIRE(bytes.size() <= weir::max_checkpoint_metadata);
  const auto decoded = decode(bytes);
  REQUIRE(decoded);
  auto kept = given;
  kept.acknowledged.resize(std::min(given.acknowledged.size(), decoded.value().acknowledged.size()));
  REQUIRE(is_same(decoded.value(), kept));
  // No more would have fitted: with the next run it is larger.
  if (kept.acknowledged.size() < given.acknowledged.size()) {
    kept.acknowledged.push_back(given.acknowledged[kept.acknowledged.size()]);
    REQUIRE(core_tests::message_of(kept).SerializeAsString().size() > weir::max_checkpoint_metadata);
    kept.acknowledged.pop_back();
  }
  REQUIRE(bytes == core_tests::message_of(kept).SerializeAsString());
  const auto same = core_tests::checkpoint_of(bytes);
  REQUIRE(same);
  REQUIRE(is_same(*same, kept));
  return kept.acknowledged.size();
}

std::vector<std::pair<std::int64_t, std::int64_t>> single_offsets(std::size_t count, std::int64_t step) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (std::int64_t at = step; runs.size() < count; at += step)
    runs.emplace_back(at, at);
  return runs;
}

} // namespace

TEST_SUITE("lane checkpoint") {
  TEST_CASE("an example") {
    CHECK(encode_lane_checkpoint(example_checkpoint()) == example);
    const auto decoded = decode(example);
    REQUIRE(decoded);
    CHECK(is_same(decoded.value(), example_checkpoint()));
  }

  TEST_CASE("a lane that has acknowledged nothing") {
    CHECK(encode_lane_checkpoint({}) == "\x08\x01"s);
    require_round_trip({});
    require_round_trip({{weir::position{1, 9, {}, 0, false}, {}}, {}});
    require_round_trip({{weir::position{}, weir::position{}}, {}});
  }

  TEST_CASE("stamps, times and the largest numbers come back") {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const weir::position at{most, most, weir::stamp::from(std::string(64, '\xFF')).value(), -1, true};
    require_round_trip({{at, at}, {{0, largest}}});
    require_round_trip({{at, at}, {{largest, largest}}});
    require_round_trip({{at, at}, {{0, 0}, {largest, largest}}});
    require_round_trip({{at, at}, {{1, 1}, {2, 2}, {3, largest - 1}, {largest, largest}}});
  }

  TEST_CASE("how far positions are settled comes back, and is no offset beyond the largest") {
    require_round_trip({{}, {}, 1});
    require_round_trip({{}, {{3, 7}}, largest});
    require_round_trip({{}, {}, 4, true});
    CHECK(verdict("\x08\x01\x30\x02"s) == "a number is larger than any that may be there");
    CHECK(verdict("\x08\x01\x28"s + std::string(9, '\xFF') + "\x01"s) == "a number is larger than any that may be there");
    CHECK(verdict("\x08\x01\x28\x00"s) == "a field is there and says no more than if it were not");
  }

  TEST_CASE("what is written is what protobuf's own class writes, and comes back in both") {
    for (const auto seed : core_tests::seeds(2'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto given = core_tests::any_checkpoint(random, random.chance(10) ? 3'000 : 20);
      const auto kept = require_round_trip(given);
      REQUIRE((given.acknowledged.size() > 190 || kept == given.acknowledged.size()));
    }
  }

  TEST_CASE("where the runs don't fit, the furthest ones are left out") {
    CHECK(require_round_trip({{}, single_offsets(5'000, 2)}) == 2'045);
    CHECK(require_round_trip({{}, single_offsets(5'000, 1'000)}) == 1'363);
    CHECK(require_round_trip({{}, single_offsets(5'000, std::int64_t{1} << 50)}) == 454);
    // One after the other, over the sizes where the length takes one byte more and where the next one does not fit.
    auto runs = single_offsets(2'100, 2);
    while (!runs.empty()) {
      CHECK(require_round_trip({{}, runs}) == std::min<std::size_t>(runs.size(), 2'045));
      runs.resize(runs.size() - (runs.size() > 2'030 || runs.size() < 80 ? 1 : 50));
    }
    // The largest floor leaves room for most of them.
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const weir::position at{most, most, weir::stamp::from(std::string(64, 's')).value(), -1, true};
    CHECK(require_round_trip({{at, at}, single_offsets(5'000, 2)}) > 1'900);
  }

  TEST_CASE("another version is refused: a newer one as that, none as corrupt") {
    CHECK(verdict("\x08\x02\x7A\x00"s, errc::newer_format) == "the lane's checkpoint is of a newer version");
    CHECK(decode("\x08\x02"s).error().fact_of("version") == "2");
    CHECK(decode("\x08\x02"s).error().fact_of("known") == "1");
    CHECK(verdict("") == "the lane's checkpoint does not say its version");
    CHECK(verdict(example.substr(2)) == "the lane's checkpoint does not say its version");
  }

  TEST_CASE("a floor that no lane has is refused") {
    const auto sentence = "a lane confirms no more than it has reached, and only what ends a transaction";
    const auto floor = [](weir::lane_floor of) { return core_tests::message_of(lane_checkpoint{of, {}}).SerializeAsString(); };
    const weir::position at{.epoch = 1, .seq = 7};
    auto open = at;
    open.ends_transaction = false;
    CHECK(verdict(floor({at, at})) == "read");
    CHECK(verdict(floor({{}, at})) == sentence);
    CHECK(verdict(floor({open, at})) == sentence);
    CHECK(verdict(floor({at, open})) == sentence);
    CHECK(verdict(floor({at, weir::position{.epoch = 1, .seq = 8}})) == sentence);
    CHECK(verdict(floor({at, weir::position{.epoch = 2}})) == sentence);
    auto given = core_tests::message_of(example_checkpoint());
    given.mutable_reached()->set_stamp(std::string(65, 's'));
    CHECK(verdict(given.SerializeAsString()) == "a position's stamp holds at most 64 bytes");
  }

  TEST_CASE("runs that are none, or that are written in another way, are refused") {
    const auto sentence = "a run of offsets has none, or goes beyond the largest one";
    const auto most = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"s; // 2^63-1
    CHECK(verdict(with_runs("\x00\x01"s)) == "read");
    CHECK(verdict(with_runs("\x00\x00"s)) == sentence);
    CHECK(verdict(with_runs(most + "\x01"s)) == "read");
    CHECK(verdict(with_runs(most + "\x02"s)) == sentence);
    CHECK(verdict(with_runs("\x01"s + most)) == "read");
    CHECK(verdict(with_runs("\x02"s + most)) == sentence);
    CHECK(verdict(with_runs("\x01"s + most + "\x00\x01"s)) == sentence);
    CHECK(verdict(with_runs("\x00"s + std::string(9, '\xFF') + "\x01"s)) == sentence);
    CHECK(verdict(with_runs(std::string(9, '\xFF') + "\x01\x01"s)) == sentence);
    CHECK(verdict(with_runs("\x00\x01\x05"s)) == "a field is cut short");
    CHECK(verdict(with_runs("\x00"s)) == "a field is cut short");
    CHECK(verdict(with_runs("\x80\x00\x01"s)) != "read");
    CHECK(verdict(with_runs("\x00\x81\x00"s)) != "read");
    CHECK(verdict(with_runs("")) == "a lane's checkpoint leaves out runs where there are none");
    const auto misplaced = "a field is not known, or not where it belongs";
    CHECK(verdict("\x08\x01\x20\x00\x20\x01"s) == misplaced);                  // not packed
    CHECK(verdict(with_runs("\x00\x01"s) + "\x22\x02\x00\x01"s) == misplaced); // in two pieces
    CHECK(verdict(example + "\x2A\x00"s) == misplaced);
    CHECK(decode(example + "\x2A\x00"s).error().fact_of("at") == std::to_string(example.size()));
  }

  TEST_CASE("more than fits into a checkpoint is refused") {
    CHECK(verdict(example + std::string(weir::max_checkpoint_metadata, 'x')) == "a lane's checkpoint has at most 4096 bytes");
    lane_checkpoint wide{{}, single_offsets(2'046, 2)};
    CHECK(verdict(core_tests::message_of(wide).SerializeAsString()) == "a lane's checkpoint has at most 4096 bytes");
    wide.acknowledged.pop_back();
    CHECK(verdict(core_tests::message_of(wide).SerializeAsString()) == "read");
  }

  TEST_CASE("a checkpoint that is cut, or has one bit turned, is refused or gives the same bytes again") {
    std::vector<std::string> all{example, "\x08\x01"s};
    for (const auto seed : core_tests::seeds(50)) {
      core_tests::random_source random{seed};
      all.push_back(encode_lane_checkpoint(core_tests::any_checkpoint(random, 30)));
    }
    const auto check = [](const std::string& bytes) {
      const auto decoded = decode(bytes);
      const auto expected = core_tests::checkpoint_of(bytes);
      REQUIRE(decoded.has_value() == expected.has_value());
      if (!decoded) {
        REQUIRE((decoded.error() == errc::corrupt || decoded.error() == errc::newer_format));
        return;
      }
      REQUIRE(is_same(decoded.value(), *expected));
      REQUIRE(encode_lane_checkpoint(decoded.value()) == bytes);
    };
    for (auto bytes : all) {
      for (std::size_t size = 0; size < bytes.size(); ++size)
        check(bytes.substr(0, size));
      for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        CAPTURE(bit);
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
        check(bytes);
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      }
    }
  }
}
