#include <weir/stored_requests.hpp>

#include "stream_items.hpp"
#include "stream_messages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using namespace std::string_literals;
using core_tests::is_same;
using weir::encode_requests;
using weir::errc;
using weir::request;
using weir::result;

namespace messages = weir::stream::v1;

namespace {

request example_request() {
  return {{1, 2}, "search", {"files"}, "k", weir::position{.epoch = 1, .seq = 7}};
}

// The example of stream_item.proto: "search" asks for "files" from behind "k" on, as of 1:7.
const auto example = "\x08\x01\x12\x2C\x0A\x12\x09\x01\0\0\0\0\0\0\0\x11\x02\0\0\0\0\0\0\0\x12\x06"s + "search" + "\x1A\x05"s
                     + "files" + "\x22\x01k\x2A\x04\x08\x01\x10\x07"s;

/// All that a request can leave out, is left out in one of them; stamps, times and names without text in another one.
std::vector<request> examples() {
  const weir::position at{1, 300, weir::stamp::from("commit").value(), 1'700'000'000'000'000'000, false};
  return {
    example_request(), {{}, "", {""}, {}, {}}, {{0x0123456789ABCDEF, 0xFEDCBA9876543210}, "audit", {"b", "", "a"}, "", at}};
}

/// From bytes with nothing around them, so that the address sanitizer sees every read beside them.
result<std::vector<request>> decode(std::string_view bytes) {
  const std::vector<char> alone{bytes.begin(), bytes.end()};
  return weir::decode_requests({alone.data(), alone.size()});
}

/// The sentence of the refusal; "read" if there is none.
std::string verdict(std::string_view bytes, errc expected = errc::corrupt) {
  const auto decoded = decode(bytes);
  if (decoded)
    return "read";
  CHECK(decoded.error() == expected);
  return decoded.error().sentence();
}

std::string verdict(const messages::Requests& given, errc expected = errc::corrupt) {
  return verdict(given.SerializeAsString(), expected);
}

messages::Requests message(const std::vector<request>& given = {example_request()}) {
  return core_tests::message_of(given);
}

/// One request of these fields, which are fewer than 128 bytes.
std::string with_fields(const std::string& fields) {
  return "\x08\x01\x12"s + static_cast<char>(fields.size()) + fields;
}

/// Requests come back as they are, and both codecs write and read the same.
void require_round_trip(const std::vector<request>& given) {
  const auto bytes = encode_requests(given);
  const auto decoded = decode(bytes);
  REQUIRE(decoded);
  REQUIRE(is_same(decoded.value(), given));
  REQUIRE(bytes == message(given).SerializeAsString());
  const auto same = core_tests::requests_of(bytes);
  REQUIRE(same);
  REQUIRE(is_same(*same, given));
}

/// Read is what protobuf's own class reads and writes again in the same way, as the same.
void require_as_protobuf(const std::string& bytes) {
  const auto decoded = decode(bytes);
  const auto expected = core_tests::requests_of(bytes);
  REQUIRE(decoded.has_value() == expected.has_value());
  if (!decoded) {
    REQUIRE((decoded.error() == errc::corrupt || decoded.error() == errc::newer_format));
    return;
  }
  REQUIRE(is_same(decoded.value(), *expected));
  REQUIRE(encode_requests(decoded.value()) == bytes);
}

/// The examples, and random ones.
std::vector<std::string> many(std::uint64_t random_ones) {
  std::vector<std::string> all{example, encode_requests({}), encode_requests(examples())};
  for (const auto seed : core_tests::seeds(random_ones)) {
    core_tests::random_source random{seed};
    all.push_back(encode_requests(core_tests::any_requests(random, 4)));
  }
  return all;
}

constexpr auto misplaced = "a field is not known, or not where it belongs";
constexpr auto says_nothing = "a field is there and says no more than if it were not";
constexpr auto cut_short = "a field is cut short";
constexpr auto too_long = "a number is not written in as few bytes as it needs, or has more than 64 bits";
constexpr auto no_version = "the stored requests do not say their version";
constexpr auto newer = "the stored requests are of a newer version";
constexpr auto no_id = "a request has no id";
constexpr auto no_collection = "a request is for no collection";

} // namespace

TEST_SUITE("stored requests") {
  TEST_CASE("the example of stream_item.proto") {
    CHECK(encode_requests({example_request()}) == example);
    const auto decoded = decode(example);
    REQUIRE(decoded);
    CHECK(is_same(decoded.value(), {example_request()}));
  }

  TEST_CASE("no requests are an entry, too") {
    CHECK(encode_requests({}) == "\x08\x01"s);
    require_round_trip({});
  }

  TEST_CASE("absent and empty are not the same") {
    require_round_trip({{{}, "", {""}, {}, {}}});
    require_round_trip({{{}, "", {""}, "", {}}});
    require_round_trip({{{}, "", {""}, {}, weir::position{}}});
    require_round_trip({{{}, "", {"", ""}, "", weir::position{}}});
    CHECK(encode_requests({{{}, "", {""}, {}, {}}}) == with_fields("\x0A\x00\x1A\x00"s));
    CHECK(encode_requests({{{}, "", {""}, "", weir::position{}}}) == with_fields("\x0A\x00\x1A\x00\x22\x00\x2A\x00"s));
  }

  TEST_CASE("requests and collections keep their order, also where some are there twice") {
    require_round_trip(examples());
    auto turned = examples();
    std::ranges::reverse(turned);
    require_round_trip(turned);
    require_round_trip({example_request(), example_request()});
    require_round_trip({{{1, 2}, "search", {"b", "a", "b"}, {}, {}}, {{1, 1}, "search", {"a"}, {}, {}}});
  }

  TEST_CASE("the largest numbers, and any bytes") {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    std::string all(256, '\0');
    for (std::size_t byte = 0; byte < all.size(); ++byte)
      all[byte] = static_cast<char>(byte);
    for (const auto time :
      {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
      const weir::position at{most, most, weir::stamp::from(all.substr(192)).value(), time, false};
      require_round_trip({{{most, most}, all, {all, all}, all, at}});
      require_round_trip({{{most, 0}, all, {all}, all, at}, {{0, most}, all, {all}, all, at}});
    }
  }

  TEST_CASE("sizes around those where a length takes one byte more, and many requests") {
    for (const std::size_t size : {100u, 101u, 102u, 103u, 104u, 105u, 106u, 107u, 108u, 109u, 110u, 116u, 120u, 124u, 126u,
           127u, 128u, 129u, 16'340u, 16'360u, 16'370u, 16'383u, 16'384u, 2'097'151u, 2'097'152u}) {
      auto asked = example_request();
      asked.collections.emplace_back(size, 'c');
      require_round_trip({asked, example_request()});
    }
    require_round_trip(std::vector<request>(10'000, example_request()));
    auto wide = example_request();
    wide.collections.assign(10'000, "c");
    require_round_trip({wide});
  }

  TEST_CASE("what is written is what protobuf's own class writes, and comes back in both") {
    for (const auto seed : core_tests::seeds(3'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      require_round_trip(core_tests::any_requests(random, random.chance(5) ? 100 : 5));
    }
  }

  TEST_CASE("another version is refused: a newer one as that, none as corrupt") {
    for (const auto version : {2u, 3u, 127u, 128u, 4'294'967'295u}) {
      auto given = message();
      given.set_version(version);
      CHECK(verdict(given, errc::newer_format) == newer);
      // With fields that are not known yet.
      CHECK(verdict(given.SerializeAsString() + "\x1A\x01x", errc::newer_format) == newer);
      const auto decoded = decode(given.SerializeAsString());
      CHECK(decoded.error().fact_of("version") == std::to_string(version));
      CHECK(decoded.error().fact_of("known") == "1");
    }
    // 2^32 + 1, of which a parser with 32 bits sees 1.
    CHECK(verdict("\x08\x81\x80\x80\x80\x10"s + example.substr(2), errc::newer_format) == newer);
    CHECK(verdict(example.substr(2)) == no_version);
    CHECK(verdict("") == no_version);
    CHECK(decode("").error().fact_of("size") == "0");
    CHECK(decode("").error().fact_of("at") == "0");
    CHECK(verdict("\x08\x00"s + example.substr(2)) == says_nothing);
    CHECK(verdict("\x08"s) == cut_short);
    CHECK(verdict("\x08\x81\x00"s + example.substr(2)) == too_long);
  }

  TEST_CASE("a request without an id or a collection is refused, wherever it stands") {
    for (const auto which : {0, 1, 2}) {
      CAPTURE(which);
      auto given = message(examples());
      given.mutable_requests(which)->clear_id();
      CHECK(verdict(given) == no_id);
      given = message(examples());
      given.mutable_requests(which)->clear_collections();
      CHECK(verdict(given) == no_collection);
      given.mutable_requests(which)->clear_id();
      CHECK(verdict(given) == no_id);
    }
    CHECK(verdict("\x08\x01\x12\x00"s) == no_id);
    CHECK(verdict(with_fields("\x0A\x00"s)) == no_collection);
    CHECK(verdict(with_fields("\x0A\x00\x1A\x00"s)) == "read");
    CHECK(decode(with_fields("\x1A\x00"s)).error().fact_of("at") == "4");
    CHECK(decode(with_fields("\x0A\x00\x12\x01s"s)).error().fact_of("at") == "9");
    CHECK(decode(with_fields("\x0A\x00\x12\x01s"s)).error().fact_of("size") == "9");
  }

  TEST_CASE("a position that is none is refused") {
    auto given = message();
    given.mutable_requests(0)->mutable_not_before()->set_stamp(std::string(64, 's'));
    CHECK(verdict(given) == "read");
    given.mutable_requests(0)->mutable_not_before()->set_stamp(std::string(65, 's'));
    CHECK(verdict(given) == "a position's stamp holds at most 64 bytes");
    CHECK(verdict(with_fields("\x0A\x00\x1A\x00\x2A\x02\x28\x01"s)) == "read");
    CHECK(verdict(with_fields("\x0A\x00\x1A\x00\x2A\x02\x28\x02"s)) == "a number is larger than any that may be there");
  }

  TEST_CASE("a field that is not known, there twice or out of order is refused, in every message") {
    CHECK(verdict(example + "\x1A\x01x"s) == misplaced);
    CHECK(verdict(example + "\x8A\x01\x01x"s) == misplaced);
    CHECK(verdict(example + example) == misplaced);
    CHECK(verdict(example + example.substr(2)) == "read"); // another request
    CHECK(verdict(example.substr(2) + "\x08\x01"s) == no_version);
    CHECK(decode(example + "\x1A\x01x"s).error().fact_of("at") == std::to_string(example.size()));
    CHECK(decode(example + "\x1A\x01x"s).error().fact_of("size") == std::to_string(example.size() + 3));

    const auto check = [](auto&& part_of) {
      for (const auto& unknown : {"\x7A\x00"s, "\x78\x01"s, "\x0B\x0C"s}) { // field 15, a number, a group
        auto whole = message(examples());
        REQUIRE(verdict(whole) == "read");
        REQUIRE(part_of(whole)->MergeFromString(unknown));
        CHECK(verdict(whole) == misplaced);
      }
    };
    check([](auto& whole) { return &whole; });
    check([](auto& whole) { return whole.mutable_requests(1); });
    check([](auto& whole) { return whole.mutable_requests(2)->mutable_id(); });
    check([](auto& whole) { return whole.mutable_requests(2)->mutable_not_before(); });

    const auto id = "\x0A\x00"s;
    const auto sink = "\x12\x01s"s;
    const auto name = "\x1A\x01n"s;
    const auto after = "\x22\x01k"s;
    const auto place = "\x2A\x00"s;
    CHECK(verdict(with_fields(id + sink + name + name + after + place)) == "read");
    for (const auto& fields :
      {id + id + sink + name + after + place, id + sink + sink + name + after + place, id + sink + name + after + after + place,
        id + sink + name + after + place + place, id + name + sink + after + place, id + sink + after + name + place,
        id + sink + name + place + after, id + sink + name + after + name, id + sink + after + place + name})
      CHECK(verdict(with_fields(fields)) == misplaced);
    CHECK(verdict(with_fields(sink + id + name)) == no_id);
  }

  TEST_CASE("a field that is there and could be left out is refused") {
    CHECK(verdict(with_fields("\x0A\x00\x12\x00\x1A\x00"s)) == says_nothing);
    CHECK(verdict(with_fields("\x0A\x09\x09\0\0\0\0\0\0\0\0\x1A\x00"s)) == says_nothing);
    CHECK(verdict(with_fields("\x0A\x09\x11\0\0\0\0\0\0\0\0\x1A\x00"s)) == says_nothing);
    CHECK(verdict(with_fields("\x0A\x00\x1A\x00\x2A\x02\x08\x00"s)) == says_nothing);
  }

  TEST_CASE("a length in more bytes than it needs is refused") {
    CHECK(verdict("\x08\x01\x12\xAC\x00"s + example.substr(4)) == too_long);
    CHECK(verdict(with_fields("\x0A\x80\x00\x1A\x00"s)) == too_long);
    CHECK(verdict(with_fields("\x0A\x00\x1A\x80\x00"s)) == too_long);
  }

  TEST_CASE("lengths beyond the end are refused, however large, and nothing is allocated for them") {
    for (const auto& length : {"\x2D"s, "\x7F"s, "\xFF\xFF\xFF\xFF\x07"s, "\x80\x80\x80\x80\x08"s, "\xFF\xFF\xFF\xFF\x0F"s,
           "\xAC\x80\x80\x80\x10"s, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"s, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s}) {
      CHECK(verdict("\x08\x01\x12"s + length + example.substr(4)) == cut_short);
      CHECK(verdict(with_fields("\x0A\x00\x1A"s + length)) == cut_short);
      CHECK(verdict(with_fields("\x0A"s + length)) == cut_short);
    }
    // A field that ends behind the message that it is in, and not behind the entry.
    auto longer = example;
    longer[example.size() - 5] = '\x05';
    CHECK(verdict(longer + "!") == cut_short);
  }

  TEST_CASE("trailing bytes are refused") {
    for (const auto& bytes : many(20))
      for (int one = 0; one < 256; ++one)
        CHECK(verdict(bytes + static_cast<char>(one)) != "read");
    CHECK(verdict(example + std::string(20, '\xFF')) == misplaced);
  }

  TEST_CASE("requests that are cut anywhere are refused, or are the first of them") {
    for (const auto& bytes : many(50)) {
      const auto all = decode(bytes).value();
      std::size_t ends = 0;
      for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto cut = bytes.substr(0, size);
        require_as_protobuf(cut);
        const auto decoded = decode(cut);
        if (!decoded)
          continue;
        REQUIRE(is_same(decoded.value(), {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(ends)}));
        ++ends;
      }
      REQUIRE(ends == all.size()); // before the first, and behind each but the last
    }
  }

  TEST_CASE("requests with one bit turned are refused, or give the same bytes again") {
    for (auto bytes : many(50))
      for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        CAPTURE(bit);
        auto& bent = bytes[bit / 8];
        bent = static_cast<char>(bent ^ 1 << bit % 8);
        require_as_protobuf(bytes);
        bent = static_cast<char>(bent ^ 1 << bit % 8);
      }
  }

  TEST_CASE("with random damage, exactly those bytes are read that protobuf's own class reads and writes again") {
    for (const auto seed : core_tests::seeds(5'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      auto bent = encode_requests(core_tests::any_requests(random, 3));
      for (auto bends = random.between(1, 3); bends > 0; --bends) {
        // Near the begin, where the lengths are.
        const auto at = static_cast<std::size_t>(random.below(std::min<std::size_t>(bent.size(), 100) + 1));
        switch (random.below(3)) {
        case 0: bent.insert(at, 1, static_cast<char>(random.next())); break;
        case 1: bent.erase(at, static_cast<std::size_t>(random.between(1, 5))); break;
        default: bent.replace(at, 1, 1, static_cast<char>(random.next() >> random.below(64))); break;
        }
      }
      require_as_protobuf(bent);
    }
  }
}
