#include <weir/base85.hpp>
#include <weir/bus_text.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using weir::errc;

namespace {

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes += static_cast<char>(byte);
  return bytes;
}

std::string random_bytes(core_tests::random_source& random, std::size_t size) {
  std::string bytes;
  while (bytes.size() < size)
    bytes += static_cast<char>(random.below(256));
  return bytes;
}

const weir::bus_id here{0x0123456789ABCDEF};
const weir::hint_place widest{{UINT64_MAX}, UINT64_MAX, UINT64_MAX, INT64_MIN};

weir::hint decoded(const std::string& text) {
  const auto parsed = weir::parse_bus_text(text);
  REQUIRE(parsed);
  const auto* said = std::get_if<weir::hint_text>(&parsed.value());
  REQUIRE(said != nullptr);
  auto one = weir::decode(*said);
  REQUIRE(one);
  return one.value();
}

template <class T>
T parsed_as(const std::string& text) {
  const auto parsed = weir::parse_bus_text(text);
  REQUIRE(parsed);
  const auto* said = std::get_if<T>(&parsed.value());
  REQUIRE(said != nullptr);
  return *said;
}

errc fault(const std::string& text) {
  const auto parsed = weir::parse_bus_text(text);
  if (!parsed)
    return parsed.error().code();
  const auto* said = std::get_if<weir::hint_text>(&parsed.value());
  REQUIRE(said != nullptr);
  return weir::decode(*said).error().code();
}

} // namespace

TEST_CASE("base85: known texts") {
  const auto encoded = [](std::string_view bytes) {
    std::string text;
    weir::append_base85(text, bytes);
    return text;
  };
  CHECK(encoded("").empty());
  CHECK(encoded(std::string(4, '\0')) == "00000");
  CHECK(encoded("\xFF\xFF\xFF\xFF") == "|NsC0");
  CHECK(encoded("weir") == "cV%gE"); // as Python's base64.b85encode
  CHECK(encoded("weir!") == "cV%gEAp");
}

TEST_CASE("base85: all bytes come back, and each has one text") {
  core_tests::random_source random{1};
  for (std::size_t size = 0; size < 300; ++size) {
    const auto bytes = size == 256 ? every_byte() : random_bytes(random, size);
    std::string text;
    weir::append_base85(text, bytes);
    CHECK(text.size() == weir::base85_size(size));
    CHECK(text.find_first_of("'\"\\ ,:/.") == std::string::npos);
    CHECK(weir::decode_base85(text) == bytes);
  }
  for (const auto* text : {"0", "000000", "|NsC1", "~~~~~", "01", "0000 ", "000\"0", "~~", "~~~~", "0000\x80"})
    CHECK_MESSAGE(!weir::decode_base85(text), text);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto left = random.below(9); left > 0; --left)
      text += static_cast<char>(random.between(33, 126));
    const auto bytes = weir::decode_base85(text);
    if (!bytes)
      continue;
    std::string again;
    weir::append_base85(again, *bytes);
    CHECK(again == text);
  }
}

TEST_CASE("bus text: a hint comes back as it was, with any bytes and at its limits") {
  const auto largest = std::string(weir::max_hint_bytes - 256, '\xFF') + every_byte();
  const std::string topic(weir::max_bus_topic, '~');
  for (const auto& [name, key, payload] : std::initializer_list<std::tuple<std::string, std::string, std::string>>{
         {"t", "", ""}, {"a b\n'\"\\", "key", every_byte()}, {topic, "", largest}, {topic, largest, ""},
         {topic, largest.substr(0, 2899), largest.substr(2899)}, {"\xF0\x9F\x8C\x8A", every_byte(), every_byte()}}) {
    const auto text = weir::encode_hint(name, key, payload, widest);
    CHECK(text.size() <= weir::max_bus_text);
    CHECK(std::ranges::all_of(text, [](char one) { return one >= ' ' && one <= '~' && one != '\'' && one != '\\'; }));
    const auto back = decoded(text);
    CHECK(back.topic() == name);
    CHECK(back.key() == key);
    CHECK(back.payload() == payload);
    CHECK(back.publisher() == widest.publisher);
    CHECK(back.at().number == widest.number);
    CHECK(back.at().on_topic == widest.on_topic);
    CHECK(back.at().published_at == widest.published_at);
  }
}

TEST_CASE("bus text: what else buses say comes back, too") {
  const weir::bus_beacon beacon{here, 7, std::chrono::milliseconds{5000}, -1};
  CHECK(parsed_as<weir::bus_beacon>(weir::encode(beacon)) == beacon);
  const weir::bus_ask ask{here, 1, {9}, UINT64_MAX};
  CHECK(parsed_as<weir::bus_ask>(weir::encode(ask)) == ask);
  const weir::bus_leave leave{here, 0, INT64_MAX};
  CHECK(parsed_as<weir::bus_leave>(weir::encode(leave)) == leave);
  CHECK(weir::encode(leave) == "W1l 0123456789abcdef 0 9223372036854775807");
}

TEST_CASE("bus text: an answer takes as many parts as it must") {
  weir::bus_answer whole{.publisher = here, .number = 1000, .since = 3, .has_forgotten = true};
  CHECK(weir::encode(whole).size() == 1);
  CHECK(parsed_as<weir::bus_answer>(weir::encode(whole).front()) == whole);
  for (std::uint64_t number = 1; number <= 1000; ++number)
    whole.topics.emplace_back(std::string(number % 256, 't') + "x", number);
  const auto parts = weir::encode(whole);
  CHECK(parts.size() > 10);
  auto back = whole;
  back.topics.clear();
  for (std::uint32_t number = 0; number < parts.size(); ++number) {
    CHECK(parts[number].size() <= weir::max_bus_text);
    const auto part = parsed_as<weir::bus_answer>(parts[number]);
    CHECK(part.part == number);
    CHECK(part.parts == parts.size());
    back.topics.insert(back.topics.end(), part.topics.begin(), part.topics.end());
  }
  CHECK(back == whole);
}

TEST_CASE("bus text: what no bus says is refused") {
  const auto right = weir::encode_hint("t", "", "payload", {here, 3, 2, 5});
  CHECK(right == "W1h bN 0123456789abcdef 3 2 5 . aAA3DZ((E");
  CHECK(fault("") == errc::corrupt);
  CHECK(fault("hello") == errc::corrupt);
  CHECK(fault("W2h anything") == errc::newer_format);
  CHECK(fault("W1z " + right.substr(4)) == errc::corrupt);
  CHECK(fault(right + " ") == errc::corrupt);
  CHECK(fault(right + " x") == errc::corrupt);
  CHECK(fault(right + std::string(weir::max_bus_text, 'x')) == errc::corrupt);
  for (const auto* text : {"W1h . 0123456789abcdef 3 2 5 . aAA3DZ((E", "W1h bN 0123456789ABCDEF 3 2 5 . aAA3DZ((E",
         "W1h bN 0123456789abcde 3 2 5 . aAA3DZ((E", "W1h bN 0123456789abcdef 03 2 5 . aAA3DZ((E",
         "W1h bN 0123456789abcdef 3 4 5 . aAA3DZ((E", "W1h bN 0123456789abcdef 3 0 5 . aAA3DZ((E",
         "W1h bN 0123456789abcdef 3 2 5 . aAA3DZ((", "W1h bN 0123456789abcdef 3 2 5  . aAA3DZ((E",
         "W1h bN 0123456789abcdef 3 2 99999999999999999999 . .", "W1h bN 0123456789abcdef 3 2 5 .", "W1h",
         "W1b 0123456789abcdef 1 0 1", "W1b 0123456789abcdef 1 3600001 1", "W1s 0123456789abcdef 1 0 1/1",
         "W1s 0123456789abcdef 1 0 0/0", "W1s 0123456789abcdef 1 0 01", "W1s 0123456789abcdef 1 0 0/1 bN",
         "W1s 0123456789abcdef 1 0 0/1 bN:0", "W1s 0123456789abcdef 1 0 0/1 .:1", "W1s 0123456789abcdef 1 0 x"})
    CHECK_MESSAGE(fault(text) == errc::corrupt, text);
  // One byte too many, and a topic that is none.
  std::string large;
  weir::append_base85(large, std::string(weir::max_hint_bytes + 1, 'x'));
  CHECK(fault("W1h bN 0123456789abcdef 3 2 5 . " + large) == errc::corrupt);
  std::string nul;
  weir::append_base85(nul, std::string_view{"a\0b", 3});
  CHECK(fault("W1h " + nul + " 0123456789abcdef 3 2 5 . .") == errc::corrupt);
}

TEST_CASE("bus topics and sizes: the limits, and which bytes") {
  CHECK(weir::check_bus_topic(std::string(256, 'x')));
  CHECK(weir::check_bus_topic("a b'\"\\\n"));
  for (const auto& topic :
    {std::string{}, std::string(257, 'x'), std::string{"a\0b", 3}, std::string{"\xC3"}, std::string{"x\xED\xA0\x80"}}) {
    const auto checked = weir::check_bus_topic(topic);
    REQUIRE_FALSE(checked);
    CHECK(checked.error() == errc::bad_topic);
    CHECK(!checked.error().fact_of("at").empty());
  }
  CHECK(weir::check_bus_topic(std::string(254, 'x') + "\xC3\xA4"));
  CHECK(!weir::check_bus_topic(std::string(255, 'x') + "\xC3\xA4"));
  CHECK(weir::check_hint_size("", std::string(5800, 'x')));
  CHECK(weir::check_hint_size(std::string(5800, 'x'), ""));
  CHECK(weir::check_hint_size("", std::string(5801, 'x')).error() == errc::too_large);
  CHECK(weir::check_hint_size("x", std::string(5800, 'x')).error() == errc::too_large);
}
