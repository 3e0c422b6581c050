#include <weir/stream_item.hpp>

#include "stream_items.hpp"
#include "stream_messages.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using namespace std::string_literals;
using core_tests::encoded;
using core_tests::is_same;
using weir::batch;
using weir::encode_item;
using weir::errc;
using weir::is_for;
using weir::lane_id;
using weir::request_id;
using weir::result;
using weir::snapshot_complete;
using weir::stored_item;

namespace messages = weir::stream::v1;

namespace {

// The example of stream_item.proto: for all lanes, a live batch at position 1:7 with one change, "hi" under key "a" of "files".
const auto example = "\x08\x01\x1A\x1A\x0A\x04\x08\x01\x10\x07\x10\x01\x1A\x10\x0A\x0E\x0A\x05"s + "files" + "\x12\x01"s + "a"
                     + "\x22\x02"s + "hi";

batch example_batch() {
  batch made;
  made.at = weir::position{.epoch = 1, .seq = 7};
  made.changes = 1;
  made.envelopes = weir::make_block({{.collection = "files", .key = "a", .payload = "hi"}});
  return made;
}

snapshot_complete example_marker() {
  return {{0x0123456789ABCDEF, 0xFEDCBA9876543210}, {"files", "", "users"}};
}

/// Everything in it that can be.
stored_item full_item() {
  batch made;
  made.at = weir::position{1, 300, weir::stamp::from("commit").value(), 1'700'000'000'000'000'000, false};
  made.changes = 5;
  made.envelopes = weir::make_block({{.collection = "files", .key = "a", .payload = "hi", .headers = {{"h", "1"}, {"", ""}}},
                                      {.key = "b", .operation = weir::operation::erase}},
    {{{.epoch = 1, .seq = 299}, 0, 1, 3}, {*made.at, 1, 1, 0}});
  return {{"search", {"audit", "files"}}, made};
}

stored_item snapshot_item() {
  batch made;
  made.changes = 200;
  made.envelopes = weir::make_block({});
  made.request = request_id{1, 2};
  made.walked = "k";
  return {{{"search", ""}}, made};
}

std::vector<stored_item> examples() {
  return {{{}, example_batch()}, full_item(), snapshot_item(), {{"search"}, example_marker()}};
}

/// From bytes with nothing around them, so that the address sanitizer sees every read beside them.
result<stored_item> decode(std::string_view bytes) {
  const std::vector<char> alone{bytes.begin(), bytes.end()};
  return weir::decode_item({alone.data(), alone.size()});
}

/// The sentence of the refusal; "read" if there is none.
std::string verdict(std::string_view bytes, errc expected = errc::corrupt) {
  const auto decoded = decode(bytes);
  if (decoded)
    return "read";
  CHECK(decoded.error() == expected);
  return decoded.error().sentence();
}

std::string verdict(const messages::Item& item, errc expected = errc::corrupt) {
  return verdict(item.SerializeAsString(), expected);
}

messages::Item message(const stored_item& given = {{}, example_batch()}) {
  return core_tests::message_of(given);
}

/// A live batch with nothing but a position of these fields.
std::string live_at(const std::string& fields) {
  const auto size = static_cast<char>(fields.size());
  return "\x08\x01\x1A"s + static_cast<char>(size + 2) + "\x0A" + size + fields;
}

void require_round_trip(const stored_item& given) {
  const auto bytes = encoded(given);
  const auto decoded = decode(bytes);
  REQUIRE_MESSAGE(decoded, bytes);
  REQUIRE(is_same(decoded.value(), given));
}

/// What is read from damaged bytes is what they say, and there is one way to write it.
void require_refused_or_faithful(const std::string& bytes) {
  const auto decoded = decode(bytes);
  if (decoded)
    REQUIRE(encoded(decoded.value()) == bytes);
  else
    REQUIRE((decoded.error() == errc::corrupt || decoded.error() == errc::newer_format));
}

constexpr auto misplaced = "a field is not known, or not where it belongs";
constexpr auto says_nothing = "a field is there and says no more than if it were not";
constexpr auto cut_short = "a field is cut short";
constexpr auto too_long = "a number is not written in as few bytes as it needs, or has more than 64 bits";
constexpr auto too_large = "a number is larger than any that may be there";

} // namespace

TEST_SUITE("stream item") {
  TEST_CASE("the example of stream_item.proto") {
    CHECK(encoded({{}, example_batch()}) == example);
    const auto decoded = decode(example);
    REQUIRE(decoded);
    CHECK(is_same(decoded.value(), {{}, example_batch()}));
  }

  TEST_CASE("an item is appended to what is there") {
    std::string out = "before";
    encode_item(out, {}, example_batch());
    encode_item(out, {"search"}, example_marker());
    CHECK(out == "before" + example + encoded({{"search"}, example_marker()}));
  }

  TEST_CASE("absent and empty are not the same") {
    batch live;
    live.at = weir::position{};
    require_round_trip({{}, live});
    live.envelopes = weir::make_block({});
    require_round_trip({{}, live});
    live.envelopes = weir::make_block({{}, {.payload = ""}, {.headers = {{}}}});
    require_round_trip({{}, live});
    live.envelopes = weir::make_block({}, {{}, {{.seq = 1}, 0, 0, 0}});
    require_round_trip({{}, live});
    batch snapshot;
    snapshot.request = request_id{};
    require_round_trip({{}, snapshot});
    snapshot.walked = "";
    require_round_trip({{}, snapshot});
    require_round_trip({{}, snapshot_complete{}});
    require_round_trip({{}, snapshot_complete{{}, {""}}});
    require_round_trip({{"", {"", ""}, "a", {"a", ""}, {"", "a"}}, live});
  }

  TEST_CASE("lanes, envelopes, headers, parts and collections keep their order, also where some are there twice") {
    require_round_trip(full_item());
    require_round_trip({{"b", "a", "b"}, example_marker()});
    batch live;
    live.at = weir::position{};
    live.envelopes =
      weir::make_block({{.key = "2", .headers = {{"b", "1"}, {"a", "2"}, {"b", "1"}}}, {.key = "1"}, {.key = "2"}});
    require_round_trip({{}, live});
  }

  TEST_CASE("a position at the ends of its numbers, and any bytes") {
    constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
    std::string all(256, '\0');
    for (std::size_t byte = 0; byte < all.size(); ++byte)
      all[byte] = static_cast<char>(byte);
    for (const auto time :
      {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
      batch live;
      live.at = weir::position{largest, largest, weir::stamp::from(all.substr(192)).value(), time, false};
      live.changes = largest;
      live.envelopes = weir::make_block({{.collection = all, .key = all, .payload = all, .headers = {{all, all}}}});
      require_round_trip({{{all, all}}, live});
    }
  }

  TEST_CASE("what is written is what protobuf's own class writes, and comes back in both") {
    for (const auto seed : core_tests::seeds(3'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto given = core_tests::any_item(random);
      REQUIRE(weir::check_item(given.item));
      const auto bytes = encoded(given);
      REQUIRE(bytes == message(given).SerializeAsString());
      const auto same = core_tests::item_of(bytes);
      REQUIRE(same);
      REQUIRE(is_same(*same, given));
      require_round_trip(given);
    }
  }

  TEST_CASE("sizes around those where a length takes one byte more") {
    for (const std::size_t size : {100u, 116u, 117u, 118u, 119u, 120u, 121u, 122u, 123u, 124u, 125u, 126u, 127u, 128u, 129u,
           16'360u, 16'366u, 16'372u, 16'378u, 16'383u, 16'384u, 2'097'151u, 2'097'152u}) {
      auto live = example_batch();
      live.envelopes = weir::make_block({{.payload = std::string(size, 'p')}});
      const stored_item given{{lane_id{std::string(size, 's')}}, live};
      CHECK(encoded(given) == message(given).SerializeAsString());
      require_round_trip(given);
    }
  }

  TEST_CASE("an item is for the lanes that it names, and for all where it names none") {
    for (const auto& lane : {lane_id{"search"}, lane_id{"search", "files"}, lane_id{""}})
      CHECK(is_for(example, lane));
    const auto some = encoded({{"search", {"audit", "files"}, {"audit", ""}}, example_marker()});
    CHECK(is_for(some, "search"));
    CHECK(is_for(some, {"audit", "files"}));
    CHECK(is_for(some, {"audit", ""}));
    CHECK_FALSE(is_for(some, "audit"));
    CHECK_FALSE(is_for(some, {"search", ""}));
    CHECK_FALSE(is_for(some, {"search", "files"}));
    CHECK_FALSE(is_for(some, "searc"));
    CHECK_FALSE(is_for(some, ""));
  }

  TEST_CASE("what can't be read is for every lane, so that nobody passes over it") {
    for (const auto& bytes :
      {""s, "\x08"s, "\x08\x00"s, "\x08\x02"s, "\x12\x00"s, "\x08\x01\x12\x05\x0A\x03"s + "abc"s.substr(1),
        "\x08\x01\x12\x02\x0A\x00"s, "\x08\x01\x12\x06\x0A\x01"s + "a" + "\x1A\x01"s + "b"})
      CHECK(is_for(bytes, "search"));
    // What comes behind the lanes is not looked at.
    CHECK_FALSE(is_for("\x08\x01\x12\x03\x0A\x01"s + "a" + "\xFF\xFF"s, "search"));
  }

  TEST_CASE("which lanes an item is for is seen as it is decoded") {
    for (const auto seed : core_tests::seeds(500)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto given = core_tests::any_item(random);
      const auto bytes = encoded(given);
      auto asked = given.lanes;
      for (int others = 0; others < 5; ++others)
        asked.push_back(core_tests::any_lane(random));
      for (const auto& lane : asked)
        REQUIRE(is_for(bytes, lane) == (given.lanes.empty() || std::ranges::find(given.lanes, lane) != given.lanes.end()));
    }
  }

  TEST_CASE("an item that no lane takes can't be kept, and is refused where it was written all the same") {
    const auto code_of = [](const weir::lane_item& item) {
      const auto checked = weir::check_item(item);
      REQUIRE(!checked);
      CHECK(verdict(encoded({{}, item})) == checked.error().sentence());
      return checked.error().code();
    };
    batch wrong;
    CHECK(code_of(wrong) == errc::position_missing);
    wrong.walked = "k";
    CHECK(code_of(wrong) == errc::request_missing);
    wrong.at = weir::position{};
    CHECK(code_of(wrong) == errc::request_missing);
    wrong.request = request_id{};
    CHECK(code_of(wrong) == errc::position_unexpected);
    using parts = std::vector<weir::transaction_part>;
    for (const auto& shares : {parts{{{}, 0, 1, 0}}, parts{{{}, 0, 3, 0}}, parts{{{}, 1, 1, 0}},
           parts{{{}, 0, 1, 0}, {{}, 0, 1, 0}}, parts{{{}, 0, 2, 0}, {{}, 2, 1, 0}}, parts{{{}, 1, 2, 0}}}) {
      auto live = example_batch();
      live.envelopes = weir::make_block({{}, {}}, shares);
      CHECK(code_of(live) == errc::source_failed);
    }
    for (const auto& given : examples())
      CHECK(weir::check_item(given.item));
  }

  TEST_CASE("another version is refused: a newer one as that, none as corrupt") {
    for (const std::uint32_t version : {2u, 3u, 127u, 128u, 4'294'967'295u}) {
      auto newer = message();
      newer.set_version(version);
      CHECK(verdict(newer, errc::newer_format) == "the item is of a newer version");
      // With fields that are not known yet.
      CHECK(verdict(newer.SerializeAsString() + "\x32\x01x", errc::newer_format) == "the item is of a newer version");
      const auto decoded = decode(newer.SerializeAsString());
      CHECK(decoded.error().fact_of("version") == std::to_string(version));
      CHECK(decoded.error().fact_of("known") == "1");
    }
    // 2^32 + 1, of which a parser with 32 bits sees 1.
    CHECK(verdict("\x08\x81\x80\x80\x80\x10"s + example.substr(2), errc::newer_format) == "the item is of a newer version");
    CHECK(verdict(example.substr(2)) == "the item does not say its version");
    CHECK(verdict("") == "the item does not say its version");
    CHECK(verdict("\x08\x00"s + example.substr(2)) == says_nothing);
    CHECK(verdict("\x08"s) == cut_short);
  }

  TEST_CASE("an item is a batch or a snapshot's end") {
    const auto neither = "the item is neither a batch nor a snapshot's end";
    CHECK(verdict("\x08\x01"s) == neither);
    CHECK(verdict("\x08\x01\x12\x00"s) == neither);
    const auto marker = encoded({{}, example_marker()});
    CHECK(verdict(example + marker.substr(2)) == misplaced);
    CHECK(verdict(marker + example.substr(2)) == misplaced);
    auto unnamed = message({{}, example_marker()});
    unnamed.mutable_snapshot_complete()->clear_request();
    CHECK(verdict(unnamed) == "a snapshot's end does not name its request");
  }

  TEST_CASE("values that no item has are refused") {
    auto given = message(full_item());
    given.mutable_batch()->mutable_position()->set_stamp(std::string(64, 's'));
    CHECK(verdict(given) == "read");
    given.mutable_batch()->mutable_position()->set_stamp(std::string(65, 's'));
    CHECK(verdict(given) == "a position's stamp holds at most 64 bytes");
    given = message(full_item());
    given.mutable_batch()->mutable_block()->mutable_parts(0)->clear_position();
    CHECK(verdict(given) == "a transaction's part has no position");
    given = message(full_item());
    for (const auto other : {2, 127, 128, -1}) {
      given.mutable_batch()->mutable_block()->mutable_envelopes(0)->set_operation(static_cast<messages::Operation>(other));
      CHECK(verdict(given) == too_large);
    }
    // The flag as 2, which a parser with less care takes for true.
    CHECK(verdict(live_at("\x28\x01"s)) == "read");
    CHECK(verdict(live_at("\x28\x02"s)) == too_large);
  }

  TEST_CASE("a field that is not known, there twice or out of order is refused, in every message") {
    CHECK(verdict(example + "\x2A\x01x"s) == misplaced);
    CHECK(verdict(example + "\x8A\x01\x01x"s) == misplaced);
    CHECK(verdict(example + example) == misplaced);
    CHECK(verdict(example + example.substr(2)) == misplaced);
    CHECK(verdict(example + "\x12\x00"s) == misplaced); // a lane behind the batch
    CHECK(decode(example + "\x2A\x01x"s).error().fact_of("at") == std::to_string(example.size()));
    CHECK(decode(example + "\x2A\x01x"s).error().fact_of("size") == std::to_string(example.size() + 3));

    const auto check = [](const stored_item& given, auto&& part_of) {
      for (const auto& unknown : {"\x7A\x00"s, "\x78\x01"s, "\x0B\x0C"s}) { // field 15, a number, a group
        auto whole = message(given);
        REQUIRE(verdict(whole) == "read");
        REQUIRE(part_of(whole)->MergeFromString(unknown));
        CHECK(verdict(whole) == misplaced);
      }
    };
    const auto block_of = [](messages::Item& item) { return item.mutable_batch()->mutable_block(); };
    check(full_item(), [](auto& item) { return &item; });
    check(full_item(), [](auto& item) { return item.mutable_lanes(1); });
    check(full_item(), [](auto& item) { return item.mutable_batch(); });
    check(full_item(), [](auto& item) { return item.mutable_batch()->mutable_position(); });
    check(full_item(), [&](auto& item) { return block_of(item); });
    check(full_item(), [&](auto& item) { return block_of(item)->mutable_envelopes(0); });
    check(full_item(), [&](auto& item) { return block_of(item)->mutable_envelopes(0)->mutable_headers(1); });
    check(full_item(), [&](auto& item) { return block_of(item)->mutable_parts(1); });
    check(full_item(), [&](auto& item) { return block_of(item)->mutable_parts(1)->mutable_position(); });
    check(snapshot_item(), [](auto& item) { return item.mutable_batch()->mutable_request(); });
    const stored_item marker{{}, example_marker()};
    check(marker, [](auto& item) { return item.mutable_snapshot_complete(); });
    check(marker, [](auto& item) { return item.mutable_snapshot_complete()->mutable_request(); });

    CHECK(verdict(live_at("\x08\x01\x10\x01"s)) == "read");
    CHECK(verdict(live_at("\x08\x01\x08\x01"s)) == misplaced);
    CHECK(verdict(live_at("\x10\x01\x08\x01"s)) == misplaced);
  }

  TEST_CASE("a field that is there and could be left out is refused") {
    CHECK(verdict(live_at("")) == "read");
    CHECK(verdict(live_at("\x08\x00"s)) == says_nothing);
    CHECK(verdict(live_at("\x1A\x00"s)) == says_nothing);
    CHECK(verdict(live_at("\x21\0\0\0\0\0\0\0\0"s)) == says_nothing);
    CHECK(verdict(live_at("\x28\x00"s)) == says_nothing);
  }

  TEST_CASE("a number or a length in more bytes than it needs is refused") {
    const auto within = [](const std::string& seq) { return live_at("\x10"s + seq); };
    const auto ones = std::string(9, '\xFF');
    CHECK(verdict(within("\x01"s)) == "read");
    CHECK(verdict(within("\x80\x01"s)) == "read");
    CHECK(verdict(within(ones + "\x01"s)) == "read");
    CHECK(verdict(within("\x81\x00"s)) == too_long);
    CHECK(verdict(within("\x81\x80\x00"s)) == too_long);
    CHECK(verdict(within(ones + "\x00"s)) == too_long);
    CHECK(verdict(within(ones + "\x02"s)) == too_long);
    CHECK(verdict(within(ones + "\x7F"s)) == too_long);
    CHECK(verdict(within(ones + "\xFF"s)) == cut_short);
    CHECK(verdict(within(ones + "\x81\x00"s)) == cut_short);
    CHECK(verdict("\x88\x00\x01"s + example.substr(2)) == "the item does not say its version"); // a tag of two bytes
    CHECK(verdict("\x08\x01\x1A\x9A\x00"s + example.substr(4)) == too_long);
    CHECK(verdict("\x08\x81\x00"s + example.substr(2)) == too_long);
    CHECK(verdict("\x08\x82\x00"s + example.substr(2)) == too_long);
  }

  TEST_CASE("lengths and counts beyond the end are refused, however large, and nothing is allocated for them") {
    for (const auto& length : {"\x1B"s, "\x7F"s, "\xFF\xFF\xFF\xFF\x07"s, "\x80\x80\x80\x80\x08"s, "\xFF\xFF\xFF\xFF\x0F"s,
           "\x9A\x80\x80\x80\x10"s, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"s, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s}) {
      CHECK(verdict("\x08\x01\x1A"s + length + example.substr(4)) == cut_short);
      CHECK(verdict("\x08\x01\x12"s + length) == cut_short);
    }
    // A field that ends behind the message that it is in, and not behind the item.
    auto longer = example;
    longer[example.size() - 3] = '\x03';
    CHECK(verdict(longer + "!") == cut_short);
    auto given = message(full_item());
    given.mutable_batch()->mutable_block()->mutable_parts(1)->set_count(std::numeric_limits<std::uint64_t>::max());
    CHECK(verdict(given) == "the source's batch does not say which transaction each of its changes belongs to");
    given.mutable_batch()->mutable_block()->mutable_parts(1)->set_begin(std::numeric_limits<std::uint64_t>::max());
    CHECK(verdict(given) == "the source's batch does not say which transaction each of its changes belongs to");
  }

  TEST_CASE("trailing bytes are refused") {
    for (const auto& given : examples())
      for (int one = 0; one < 256; ++one)
        CHECK(verdict(encoded(given) + static_cast<char>(one)) != "read");
    CHECK(verdict(example + std::string(20, '\xFF')) == misplaced);
  }

  TEST_CASE("an item that is cut anywhere is refused") {
    auto items = examples();
    for (const auto seed : core_tests::seeds(20)) {
      core_tests::random_source random{seed};
      items.push_back(core_tests::any_item(random));
    }
    for (const auto& given : items) {
      const auto bytes = encoded(given);
      for (std::size_t size = 0; size < bytes.size(); size += size < 2'000 ? 1 : 97)
        REQUIRE(verdict(bytes.substr(0, size)) != "read");
    }
  }

  TEST_CASE("an item with one bit turned is refused, or says what gives the same bytes again") {
    auto items = examples();
    for (const auto seed : core_tests::seeds(15)) {
      core_tests::random_source random{seed};
      items.push_back(core_tests::any_item(random));
    }
    for (const auto& given : items) {
      auto bytes = encoded(given);
      for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += bit < 10'000 ? 1 : 97) {
        CAPTURE(bit);
        auto& bent = bytes[bit / 8];
        bent = static_cast<char>(bent ^ 1 << bit % 8);
        require_refused_or_faithful(bytes);
        bent = static_cast<char>(bent ^ 1 << bit % 8);
      }
    }
  }

  TEST_CASE("with random damage, exactly those bytes are read that protobuf's own class reads and writes again") {
    for (const auto seed : core_tests::seeds(5'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      auto bent = encoded(core_tests::any_item(random));
      for (auto bends = random.between(1, 3); bends > 0; --bends) {
        // Near the begin, where the lengths are.
        const auto at = static_cast<std::size_t>(random.below(std::min<std::size_t>(bent.size(), 100) + 1));
        switch (random.below(3)) {
        case 0: bent.insert(at, 1, static_cast<char>(random.next())); break;
        case 1: bent.erase(at, static_cast<std::size_t>(random.between(1, 5))); break;
        default: bent.replace(at, 1, 1, static_cast<char>(random.next() >> random.below(64))); break;
        }
      }
      const auto decoded = decode(bent);
      const auto expected = core_tests::item_of(bent);
      REQUIRE(decoded.has_value() == expected.has_value());
      if (decoded)
        REQUIRE(is_same(decoded.value(), *expected));
      require_refused_or_faithful(bent);
    }
  }
}
