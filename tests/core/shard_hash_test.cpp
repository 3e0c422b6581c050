#include <weir/shard_hash.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

using weir::murmur2;
using weir::shard_of;

namespace {

/// As Java prints it.
std::int32_t signed_murmur2(std::string_view key) {
  return static_cast<std::int32_t>(murmur2(key));
}

} // namespace

TEST_SUITE("shard hash") {
  TEST_CASE("murmur2 has the vectors that Kafka publishes for its client") {
    CHECK(signed_murmur2("21") == -973932308);
    CHECK(signed_murmur2("foobar") == -790332482);
    CHECK(signed_murmur2("a-little-bit-long-string") == -985981536);
    CHECK(signed_murmur2("a-little-bit-longer-string") == -1486304829);
    CHECK(signed_murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8") == -58897971);
    CHECK(signed_murmur2("abc") == 479470107);
  }

  TEST_CASE("a key's shard is Kafka's partition, also where the hash is negative in Java") {
    CHECK(shard_of("abc", 12) == 479470107 % 12);
    CHECK(shard_of("21", 12) == (0x80000000U - 973932308U) % 12); // Java: (hash & 0x7fffffff) % 12
    CHECK(shard_of("foobar", 1) == 0);
    CHECK(shard_of("", 7) == (murmur2("") & 0x7FFFFFFFU) % 7);
  }

  TEST_CASE("bytes above 0x7F are taken as they are, at every place of a word") {
    // A sign that spreads would make two of these keys one.
    const std::string key = "\x80\xFF\x90\xA0\xB0\xC0\xD0";
    for (std::size_t size = 1; size <= key.size(); ++size)
      for (std::size_t index = 0; index < size; ++index) {
        auto other = key.substr(0, size);
        other[index] = static_cast<char>(other[index] ^ 0x01);
        CHECK(murmur2(other) != murmur2(key.substr(0, size)));
      }
    CHECK(murmur2("\xFF") == 0xED6F615B);
    CHECK(murmur2("\x80\x81\x82\x83\x84\x85\x86") == 0xFD2567EA);
  }

  TEST_CASE("numbered keys spread over all shards") {
    std::array<unsigned, 16> held{};
    for (unsigned number = 0; number < 16'000; ++number)
      ++held[shard_of("user-" + std::to_string(number), 16)];
    for (const auto count : held) {
      CHECK(count > 850);
      CHECK(count < 1150);
    }
  }
}
