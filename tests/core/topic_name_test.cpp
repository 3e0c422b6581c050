#include <weir/topic_name.hpp>
#include <weir/utf8.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

using namespace std::string_literals;
using weir::check_topic_name;
using weir::decode_topic_name;
using weir::encode_topic_name;

namespace {

const std::string smiley = "\xF0\x9F\x98\x80";

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (; times > 0; --times)
    all += text;
  return all;
}

/// The sentence of the refusal and the byte that it names, or "valid".
std::string verdict(std::string_view name) {
  const auto checked = check_topic_name(name);
  if (checked)
    return "valid";
  CHECK(checked.error() == weir::errc::invalid_argument);
  return std::string{checked.error().fact_of("at")} + ": " + checked.error().sentence();
}

bool is_encoded_alphabet(std::string_view text) {
  return std::ranges::all_of(
    text, [](char one) { return (one >= 'a' && one <= 'z') || (one >= '0' && one <= '9') || one == '_'; });
}

/// Characters that meet each other's escapes, cases and neighbours.
std::string random_name(core_tests::random_source& random) {
  static const std::vector<std::string> pieces{"a", "A", "z", "Z", "0", "9", "_", "-", ".", "/", "w1", "_2d", "_5f", "5f", "%",
    " ", "\n", "\x7F", "\xC3\xA9", "\xC3\x89", "e\xCC\x81", "\xEF\xBC\xA1", smiley, "\xCE\xA9"};
  std::string name;
  for (auto left = random.between(1, 12); left > 0; --left)
    name += random.pick(pieces);
  return name;
}

} // namespace

TEST_SUITE("topic name") {
  TEST_CASE("1 to 249 bytes are a name") {
    CHECK(verdict("a") == "valid");
    CHECK(verdict(std::string(249, 'x')) == "valid");
    CHECK(verdict(repeated(smiley, 62) + "x") == "valid");
    CHECK(verdict("") == "0: a topic's name is not empty");
    CHECK(verdict(std::string(250, 'x')) == "249: a topic's name has at most 249 bytes");
    CHECK(verdict(repeated(smiley, 63)) == "249: a topic's name has at most 249 bytes");
  }

  TEST_CASE("only well-formed UTF-8 without NUL is a name, and the error says where it ends to be that") {
    CHECK(verdict("caf\xC3\xA9 \xE2\x82\xAC \n\x7F"s) == "valid");
    CHECK(verdict("a\0b"s) == "1: a topic's name has no NUL in it");
    CHECK(verdict("\0"s) == "0: a topic's name has no NUL in it");
    const auto no_utf8 = [](std::size_t at) { return std::to_string(at) + ": a topic's name is well-formed UTF-8"; };
    CHECK(verdict("ab\xFF") == no_utf8(2));
    CHECK(verdict("\x80") == no_utf8(0));
    CHECK(verdict("a\xC3") == no_utf8(1));              // cut
    CHECK(verdict("a\xC0\x80") == no_utf8(1));          // overlong NUL
    CHECK(verdict("\xE0\x80\xAF") == no_utf8(0));       // overlong
    CHECK(verdict("x\xED\xA0\x80") == no_utf8(1));      // a surrogate
    CHECK(verdict("xy\xF4\x90\x80\x80") == no_utf8(2)); // above U+10FFFF
    CHECK(verdict(repeated(smiley, 62) + "\xF0") == no_utf8(248));
  }

  TEST_CASE("a refused name is shown on one line, and not in full length") {
    const auto refused = check_topic_name(std::string(300, '\n'));
    REQUIRE(!refused);
    const auto shown = std::string{refused.error().fact_of("topic")};
    CHECK(shown.find('\n') == shown.npos);
    CHECK(shown.ends_with("… (300 bytes)"));
  }

  TEST_CASE("the encoded form is what is documented") {
    CHECK(encode_topic_name("orders") == "w1orders");
    CHECK(encode_topic_name("Orders-2_x.eu") == "w1_4frders_2d2_5fx_2eeu");
    CHECK(encode_topic_name("\xC3\xA9") == "w1_c3_a9");
    CHECK(encode_topic_name("w1orders") == "w1w1orders");
    CHECK(encode_topic_name(std::string(249, 'x')).size() == 2 + 249);
    CHECK(encode_topic_name(std::string(249, 'X')).size() == 2 + 3 * 249);
  }

  TEST_CASE(
    "every name of one or two bytes, and of three or four in one character, comes back and has an encoded form of its own") {
    std::map<std::string, std::string> names;
    const auto take = [&](const std::string& name) {
      if (!check_topic_name(name))
        return;
      const auto encoded = encode_topic_name(name);
      REQUIRE(is_encoded_alphabet(encoded));
      REQUIRE(decode_topic_name(encoded) == name);
      REQUIRE(names.emplace(encoded, name).second);
    };
    for (int first = 0; first < 256; ++first) {
      take(std::string(1, static_cast<char>(first)));
      for (int second = 0; second < 256; ++second) {
        take({static_cast<char>(first), static_cast<char>(second)});
        take({static_cast<char>(first), static_cast<char>(second), '\x80'});
        take({static_cast<char>(first), static_cast<char>(second), '\x80', '\xBF'});
      }
    }
    CHECK(names.size() > 127 + 127 * 127 + 1920);
  }

  TEST_CASE("random names come back, and two of them never have one encoded form") {
    std::map<std::string, std::string> names;
    for (const auto seed : core_tests::seeds(5'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto name = random_name(random);
      REQUIRE(check_topic_name(name));
      const auto encoded = encode_topic_name(name);
      REQUIRE(is_encoded_alphabet(encoded));
      REQUIRE(encoded.size() <= 2 + 3 * name.size());
      REQUIRE(decode_topic_name(encoded) == name);
      const auto [there, is_new] = names.emplace(encoded, name);
      REQUIRE((is_new || there->second == name));
    }
  }

  TEST_CASE("names that look alike or differ in case stay apart, also where capital letters count as small ones") {
    const std::vector<std::string> alike{"orders", "Orders", "ORDERS", "orders-0", "orders_0", "orders.0", "orders0",
      "orders_2d0", "w1orders", "_6frders", "caf\xC3\xA9", "cafe\xCC\x81", "CAF\xC3\x89", " orders", "orders ", "orders\n"};
    std::map<std::string, std::string> encoded;
    for (const auto& name : alike) {
      REQUIRE(check_topic_name(name));
      CHECK_MESSAGE(encoded.emplace(encode_topic_name(name), name).second, name);
    }
  }

  TEST_CASE("names at the limit come back") {
    for (const auto& name : {std::string(249, 'x'), std::string(249, 'X'), std::string(249, '_'), repeated(smiley, 62) + "_"}) {
      REQUIRE(check_topic_name(name));
      CHECK(decode_topic_name(encode_topic_name(name)) == name);
    }
    CHECK_FALSE(decode_topic_name(encode_topic_name(std::string(250, 'x'))).has_value());
  }

  TEST_CASE("what is no encoded name is refused") {
    for (const auto* text : {"", "w", "w1", "w2orders", "W1orders", "orders", "w1Orders", "w1_", "w1_2", "w1_2D", "w1_2g",
           "w1_g2", "w1_61", "w1_30", "w1_00", "w1_ff", "w1_c3", "w1a-b", "w1a.b", "w1\xC3\xA9", "w1_ 2", "w1_+2", "w1_0x"})
      CHECK_MESSAGE(!decode_topic_name(text), text);
  }

  TEST_CASE("whatever is accepted is written in the same way again") {
    constexpr std::string_view digits = "a0_fAG-2";
    std::size_t accepted = 0;
    for (std::size_t number = 0; number < 8 * 8 * 8 * 8 * 8; ++number) {
      std::string text = "w1";
      for (auto rest = number; text.size() < 7; rest /= 8)
        text += digits[rest % 8];
      if (const auto name = decode_topic_name(text)) {
        ++accepted;
        REQUIRE(encode_topic_name(*name) == text);
      }
    }
    CHECK(accepted > 1000);
  }
}
