#include <weir/crc32c.hpp>
#include <weir/record_codec.hpp>

#include "record.pb.h"
#include "seeds.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace std::string_literals;
using weir::decode_record;
using weir::encode_record;
using weir::entry;
using weir::errc;
using weir::new_entry;

// Record is the class that protoc makes of src/record.proto: protobuf's own code, which the codec does not use.
using weir::log::v1::Record;

namespace {

// The example of record.proto: key "user-7", dedupe "order-1", payload "paid".
const auto example = "\x08\x01\x12\x06user-7\x1A\x07order-1\x22\x04paid\x2D\xAF\xBE\x9B\xD7"s;

new_entry example_entry() {
  return {.key = "user-7", .dedupe = "order-1", .payload = "paid"};
}

std::string encoded(const new_entry& given) {
  std::string record;
  encode_record(record, given);
  return record;
}

bool is_same(const entry& read, const new_entry& given) {
  return read.key == given.key && read.dedupe == given.dedupe && read.payload == given.payload;
}

/// The sentence of the refusal; "read" if there is none. What is refused must leave the entry as it was.
std::string verdict(std::string_view record, errc expected = errc::corrupt) {
  entry into{.offset = 5, .key = "k", .dedupe = "d", .payload = "p", .time = 6};
  const auto decoded = decode_record(record, into);
  if (decoded)
    return "read";
  CHECK(decoded.error() == expected);
  CHECK(is_same(into, {.key = "k", .dedupe = "d", .payload = "p"}));
  return decoded.error().sentence();
}

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7U)
    bytes += static_cast<char>(number | 0x80U);
  return bytes + static_cast<char>(number);
}

/// As record.proto defines it, byte by byte.
std::uint32_t checksum_of(std::uint64_t version, const new_entry& of) {
  std::string content;
  for (const auto number :
    {version, std::uint64_t{of.key.size()}, std::uint64_t{of.dedupe.size()}, std::uint64_t{of.payload.size()}})
    for (unsigned shift = 0; shift < 64; shift += 8)
      content += static_cast<char>(number >> shift);
  return weir::crc32c(content + of.key + of.dedupe + of.payload);
}

Record record_of(const new_entry& given, std::uint32_t version = 1) {
  Record record;
  record.set_version(version);
  record.set_key(given.key);
  record.set_dedupe(given.dedupe);
  record.set_payload(given.payload);
  record.set_crc32c(checksum_of(version, given));
  return record;
}

std::string random_bytes(core_tests::random_source& random, std::size_t most) {
  std::string bytes(random.chance(30) ? 0 : static_cast<std::size_t>(random.between(1, most)), '\0');
  for (auto& one : bytes)
    one = static_cast<char>(random.next());
  return bytes;
}

new_entry random_entry(core_tests::random_source& random, std::size_t most_payload = 300) {
  return {.key = random_bytes(random, 40), .dedupe = random_bytes(random, 20), .payload = random_bytes(random, most_payload)};
}

} // namespace

TEST_SUITE("record codec") {
  TEST_CASE("the example of record.proto") {
    CHECK(encoded(example_entry()) == example);
    CHECK(checksum_of(1, example_entry()) == 0xD79BBEAF);
    entry read;
    REQUIRE(decode_record(example, read));
    CHECK(is_same(read, example_entry()));
  }

  TEST_CASE("a record is appended to what is there") {
    std::string out = "before";
    encode_record(out, example_entry());
    encode_record(out, {});
    CHECK(out == "before" + example + encoded({}));
  }

  TEST_CASE("decoding sets key, dedupe and payload, empty ones too, and nothing else") {
    entry into{.offset = 5, .key = "old", .dedupe = "old", .payload = "old", .time = 6, .digest = {{1, 2, 3}}};
    REQUIRE(decode_record(encoded({}), into));
    CHECK(is_same(into, {}));
    CHECK(into.offset == 5);
    CHECK(into.time == 6);
    CHECK(into.digest == weir::chain_digest{{1, 2, 3}});
  }

  TEST_CASE("what is written is what protobuf's own class writes, and comes back in both") {
    for (const auto seed : core_tests::seeds(2'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto given = random_entry(random, random.chance(5) ? 70'000 : 300);
      const auto record = encoded(given);
      std::string written;
      REQUIRE(record_of(given).SerializeToString(&written));
      REQUIRE(record == written);
      Record parsed;
      REQUIRE(parsed.ParseFromString(record));
      REQUIRE(parsed.version() == 1);
      REQUIRE(parsed.key() == given.key);
      REQUIRE(parsed.dedupe() == given.dedupe);
      REQUIRE(parsed.payload() == given.payload);
      REQUIRE(parsed.crc32c() == checksum_of(1, given));
      entry read;
      REQUIRE(decode_record(written, read));
      REQUIRE(is_same(read, given));
    }
  }

  TEST_CASE("sizes around those where a length takes one byte more") {
    for (const std::size_t size : {1u, 126u, 127u, 128u, 129u, 16'383u, 16'384u, 2'097'151u, 2'097'152u}) {
      const new_entry given{.key = std::string(size, 'k'), .dedupe = {}, .payload = std::string(size, 'p')};
      const auto record = encoded(given);
      CHECK(record == record_of(given).SerializeAsString());
      entry read;
      REQUIRE(decode_record(record, read));
      CHECK(is_same(read, given));
    }
  }

  TEST_CASE("a record that is written in another way is the same record") {
    const auto sum = example.substr(example.size() - 5);
    const auto version = "\x08\x01"s;
    const auto key = "\x12\x06user-7"s;
    const auto dedupe = "\x1A\x07order-1"s;
    const auto payload = "\x22\x04paid"s;
    CHECK(verdict(sum + payload + dedupe + key + version) == "read");
    CHECK(verdict("\x08\x81\x80\x00"s + "\x12\x86\x00user-7"s + dedupe + payload + sum) == "read");
    // Empty fields may be there or not.
    const auto bare = encoded({});
    CHECK(verdict(bare + "\x12\x00"s) == "read");
    CHECK(verdict("\x22\x00\x1A\x00"s + bare) == "read");
  }

  TEST_CASE("a checksum of 0 may be there or not, as protobuf has it") {
    const new_entry given{.payload = "\xA7\xFF\xCA\x0D"};
    REQUIRE(checksum_of(1, given) == 0);
    CHECK(verdict(encoded(given)) == "read");
    CHECK(verdict(record_of(given).SerializeAsString()) == "read");
  }

  TEST_CASE("another version is refused: a newer one as that, none as corrupt") {
    for (const std::uint32_t version : {2u, 3u, 127u, 128u, 4'294'967'295u}) {
      const auto record = record_of(example_entry(), version).SerializeAsString();
      CHECK(verdict(record, errc::newer_format) == "the record is of a newer version");
      // With fields that are not known yet.
      CHECK(verdict(record + "\x32\x01x", errc::newer_format) == "the record is of a newer version");
      entry into;
      CHECK(decode_record(record, into).error().fact_of("version") == std::to_string(version));
      CHECK(decode_record(record, into).error().fact_of("known") == "1");
    }
    // 2^32 + 1, of which a parser with 32 bits sees 1.
    CHECK(verdict("\x08\x81\x80\x80\x80\x10"s + example.substr(2), errc::newer_format) == "the record is of a newer version");
    CHECK(verdict(record_of(example_entry(), 0).SerializeAsString()) == "the record does not say its version");
    CHECK(verdict("\x08\x00"s + example.substr(2)) == "the record does not say its version");
    CHECK(verdict("") == "the record does not say its version");
  }

  TEST_CASE("content that does not fit its checksum is refused, and both are told") {
    auto record = record_of(example_entry());
    record.set_payload("Paid");
    entry into;
    const auto refused = decode_record(record.SerializeAsString(), into);
    REQUIRE(!refused);
    CHECK(refused.error() == errc::corrupt);
    CHECK(refused.error().sentence() == "the record's content does not fit its checksum");
    CHECK(refused.error().fact_of("crc32c") == "d79bbeaf");
    CHECK(refused.error().fact_of("computed").size() == 8);
    CHECK(refused.error().fact_of("size") == "30");
    // The same bytes, cut into fields elsewhere.
    auto moved = record_of(example_entry());
    moved.set_key("user-7o");
    moved.set_dedupe("rder-1");
    CHECK(verdict(moved.SerializeAsString()) == "the record's content does not fit its checksum");
    moved = record_of(example_entry());
    moved.clear_crc32c();
    CHECK(verdict(moved.SerializeAsString()) == "the record's content does not fit its checksum");
  }

  TEST_CASE("a field that is there twice is refused, also where it says the same") {
    CHECK(verdict(example + example) == "the record has a field twice");
    CHECK(verdict(example + "\x22\x04paid"s) == "the record has a field twice");
    CHECK(verdict("\x12\x00"s + example) == "the record has a field twice");
    CHECK(verdict("\x08\x01"s + example) == "the record has a field twice");
  }

  TEST_CASE("a field of another number or type is refused") {
    const auto sentence = "the record has a field that version 1 does not have";
    CHECK(verdict(example + "\x32\x01x"s) == sentence);            // 6
    CHECK(verdict(example + "\x30\x01"s) == sentence);             // 6, a number
    CHECK(verdict(example + "\x8A\x01\x01x"s) == sentence);        // 17
    CHECK(verdict(example + "\x10\x01"s) == sentence);             // the key as a number
    CHECK(verdict(example + "\x13\x14"s) == sentence);             // a group
    CHECK(verdict("\x0D\x01\x00\x00\x00"s + example) == sentence); // the version with four bytes
    entry into;
    CHECK(decode_record(example + "\x32\x01x"s, into).error().fact_of("at") == "31");
  }

  TEST_CASE("trailing bytes are refused") {
    for (int one = 0; one < 256; ++one)
      CHECK(verdict(example + static_cast<char>(one)) != "read");
    CHECK(verdict(example + "\0"s) == "the record ends in what is no field");
    CHECK(verdict(example + "\x80"s) == "the record ends in what is no field");
    CHECK(verdict(example + std::string(20, '\xFF')) == "the record ends in what is no field");
  }

  TEST_CASE("lengths beyond the end are refused, however large") {
    for (const std::uint64_t size : {std::uint64_t{5}, std::uint64_t{0x7FFFFFFF}, std::uint64_t{0x80000000},
           std::uint64_t{0xFFFFFFFF}, std::uint64_t{0x100000004}, ~std::uint64_t{0}})
      CHECK(verdict("\x08\x01\x22"s + varint(size) + "paid") == "a field of the record is cut short");
  }

  TEST_CASE("a record that is cut anywhere is refused") {
    for (std::size_t size = 0; size < example.size(); ++size)
      CHECK(verdict(example.substr(0, size)) != "read");
    const auto bare = encoded({});
    for (std::size_t size = 0; size < bare.size(); ++size)
      CHECK(verdict(bare.substr(0, size)) != "read");
  }

  TEST_CASE("a record with one bit turned is refused, or says the same") {
    auto records = std::vector<new_entry>{example_entry(), {}, {.key = "k"}, {.payload = std::string(200, '\0')}};
    for (const auto seed : core_tests::seeds(10)) {
      core_tests::random_source random{seed};
      records.push_back(random_entry(random));
    }
    for (const auto& given : records) {
      const auto record = encoded(given);
      for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
        auto bent = record;
        bent[bit / 8] = static_cast<char>(bent[bit / 8] ^ 1 << bit % 8);
        entry read;
        const auto decoded = decode_record(bent, read);
        CAPTURE(bit);
        if (decoded)
          REQUIRE(is_same(read, given));
        else
          REQUIRE((decoded.error() == errc::corrupt || decoded.error() == errc::newer_format));
      }
    }
  }

  TEST_CASE("random damage never gives another content") {
    for (const auto seed : core_tests::seeds(5'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto given = random_entry(random);
      auto bent = encoded(given);
      for (auto bends = random.between(1, 4); bends > 0; --bends) {
        const auto at = static_cast<std::size_t>(random.below(bent.size() + 1));
        switch (random.below(3)) {
        case 0: bent.insert(at, 1, static_cast<char>(random.next())); break;
        case 1: bent.erase(at, static_cast<std::size_t>(random.between(1, 5))); break;
        default: bent.replace(at, 1, 1, static_cast<char>(random.next())); break;
        }
      }
      entry read;
      if (decode_record(bent, read))
        REQUIRE(is_same(read, given));
    }
  }
}
