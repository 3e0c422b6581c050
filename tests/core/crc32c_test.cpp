#include <weir/crc32c.hpp>

#include "crc32c_ways.hpp"
#include "seeds.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <string_view>

using namespace std::string_view_literals;
using weir::crc32c;

namespace {

/// By the definition, bit by bit.
std::uint32_t naive_crc32c(std::string_view bytes, std::uint32_t before = 0) {
  auto sum = ~before;
  for (const auto one : bytes) {
    sum ^= static_cast<unsigned char>(one);
    for (int bit = 0; bit < 8; ++bit)
      sum = (sum & 1U) != 0 ? sum >> 1U ^ 0x82F63B78U : sum >> 1U;
  }
  return ~sum;
}

std::string random_bytes(core_tests::random_source& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (auto& one : bytes)
    one = static_cast<char>(random.next());
  return bytes;
}

} // namespace

TEST_SUITE("crc32c") {
  TEST_CASE("the published vectors: RFC 3720 appendix B.4, and the digits") {
    std::string ascending(32, '\0');
    std::iota(ascending.begin(), ascending.end(), '\0');
    const std::string descending{ascending.rbegin(), ascending.rend()};
    const auto read_command = "\x01\xC0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x14\0\0\0\0\0\x04\0\0\0\0\x14\0\0\0\x18"
                              "\x28\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"sv;
    REQUIRE(read_command.size() == 48);
    for (const auto& way : {weir::detail::crc32c_by_table, weir::detail::crc32c_by_instruction}) {
      if (way == weir::detail::crc32c_by_instruction && !weir::detail::has_crc32c_instruction())
        continue;
      CHECK(way("", 0) == 0);
      CHECK(way(std::string(32, '\0'), 0) == 0x8A9136AA);
      CHECK(way(std::string(32, '\xFF'), 0) == 0x62A8AB43);
      CHECK(way(ascending, 0) == 0x46DD794E);
      CHECK(way(descending, 0) == 0x113FDB5C);
      CHECK(way(read_command, 0) == 0xD9963A56);
      CHECK(way("123456789", 0) == 0xE3069283);
    }
    CHECK(crc32c("123456789") == 0xE3069283);
  }

  TEST_CASE("table, instruction and definition agree at every length and alignment") {
    for (const auto seed : core_tests::seeds(20)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto bytes = random_bytes(random, 200);
      for (std::size_t from = 0; from < 9; ++from)
        for (std::size_t size = 0; size + from < bytes.size(); ++size) {
          const auto part = std::string_view{bytes}.substr(from, size);
          const auto before = static_cast<std::uint32_t>(random.next());
          const auto expected = naive_crc32c(part, before);
          REQUIRE(weir::detail::crc32c_by_table(part, before) == expected);
          if (weir::detail::has_crc32c_instruction())
            REQUIRE(weir::detail::crc32c_by_instruction(part, before) == expected);
          REQUIRE(crc32c(part, before) == expected);
        }
    }
  }

  TEST_CASE("the checksum of two parts is that of the whole, wherever it is cut") {
    core_tests::random_source random{core_tests::seeds(1).front()};
    const auto bytes = random_bytes(random, 100);
    const auto whole = crc32c(bytes);
    for (std::size_t at = 0; at <= bytes.size(); ++at)
      CHECK(crc32c(bytes.substr(at), crc32c(bytes.substr(0, at))) == whole);
  }
}
