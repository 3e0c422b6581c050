#include <weir/digest_chain.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>

using weir::chain_begin;
using weir::chain_digest;
using weir::chain_next;
using weir::siphash;

// What is expected below came out of OpenSSL: `openssl mac -macopt hexkey:… -macopt size:16 -in FILE SIPHASH`.

namespace {

/// The bytes 0, 1, 2, … as the reference implementation's vectors take them.
std::string counted(std::size_t size) {
  std::string bytes;
  for (std::size_t number = 0; number < size; ++number)
    bytes += static_cast<char>(number);
  return bytes;
}

chain_digest counted_key() {
  chain_digest key;
  for (std::size_t index = 0; index < key.bytes.size(); ++index)
    key.bytes[index] = static_cast<std::uint8_t>(index);
  return key;
}

constexpr std::int64_t some_time = 1'700'000'000'000'000'000;

} // namespace

TEST_SUITE("digest chain") {
  TEST_CASE("SipHash-2-4-128 has the reference vectors") {
    const std::map<std::size_t, std::string_view> vectors{
      {0, "a3817f04ba25a8e66df67214c7550293"},
      {1, "da87c1d86b99af44347659119b22fc45"},
      {2, "8177228da4a45dc7fca38bdef60affe4"},
      {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
      {8, "3b62a9ba6258f5610f83e264f31497b4"},
      {9, "264499060ad9baabc47f8b02bb6d71ed"},
      {15, "5493e99933b0a8117e08ec0f97cfc3d9"},
      {16, "6ee2a4ca67b054bbfd3315bf85230577"},
      {63, "5150d1772f50834a503e069a973fbd7c"},
    };
    for (const auto& [size, expected] : vectors)
      CHECK(to_string(siphash(counted_key(), counted(size))) == expected);
  }

  TEST_CASE("all 64 reference vectors behind each other have the digest that OpenSSL gives them") {
    std::string all;
    for (std::size_t size = 0; size < 64; ++size)
      for (const auto byte : siphash(counted_key(), counted(size)).bytes)
        all += static_cast<char>(byte);
    CHECK(to_string(siphash(counted_key(), all)) == "7520d7348fb988f929625cb3ff112755");
  }

  TEST_CASE("a message may begin anywhere in memory") {
    for (std::size_t shift = 0; shift < 8; ++shift) {
      const auto bytes = std::string(shift, 'x') + counted(63);
      CHECK(to_string(siphash(counted_key(), std::string_view{bytes}.substr(shift))) == "5150d1772f50834a503e069a973fbd7c");
    }
  }

  TEST_CASE("the chain is what its documentation says") {
    const auto begin = chain_begin(0x0123456789ABCDEF, "orders/\xC3\xA9", 3, 7);
    CHECK(to_string(begin) == "a3731c60c7661b4c750e6d3324f97071");
    const auto first = chain_next(begin, 0, some_time, "first");
    CHECK(to_string(first) == "39dc3937c9c4eb81ba9c76da6c63cc13");
    CHECK(to_string(chain_next(first, 1, -1, "")) == "574af9dd8a19fb95b5b7b2f180f3ebeb");
  }

  TEST_CASE("another store, topic, epoch or shard begins another chain") {
    const auto begin = chain_begin(1, "a", 1, 1);
    CHECK(begin == chain_begin(1, "a", 1, 1));
    CHECK_FALSE(begin == chain_begin(2, "a", 1, 1));
    CHECK_FALSE(begin == chain_begin(1, "b", 1, 1));
    CHECK_FALSE(begin == chain_begin(1, "a", 2, 1));
    CHECK_FALSE(begin == chain_begin(1, "a", 1, 2));
    CHECK_FALSE(chain_begin(1, "a", 2, 1) == chain_begin(2, "a", 1, 1));
  }

  TEST_CASE("an entry that is changed, moved or missing changes every digest behind it") {
    const auto begin = chain_begin(1, "a", 1, 0);
    const auto one = chain_next(begin, 0, some_time, "one");
    const auto two = chain_next(one, 1, some_time, "two");
    CHECK_FALSE(chain_next(begin, 0, some_time, "onE") == one);
    CHECK_FALSE(chain_next(begin, 0, some_time + 1, "one") == one);
    CHECK_FALSE(chain_next(begin, 1, some_time, "two") == two);
    CHECK_FALSE(chain_next(chain_next(begin, 0, some_time, "two"), 1, some_time, "one") == two);
    const auto other = chain_next(chain_next(begin, 0, some_time, "onE"), 1, some_time, "two");
    CHECK_FALSE(other == two);
    CHECK_FALSE(chain_next(other, 2, some_time, "three") == chain_next(two, 2, some_time, "three"));
  }
}
