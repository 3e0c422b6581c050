#include <weir/cli/saved_state.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace {

using namespace weir;
using namespace weir::cli;

state_owner owner() {
  return {"quickstart", {{"type", "git"}, {"repository", "/srv/caf\xe9"}, {"ref", "main"}}};
}

position place(std::uint64_t epoch, std::uint64_t seq) {
  position at{epoch, seq,
    stamp::from(std::string_view{"\x00\xff\x10"
                                 "abc",
                  6})
      .value(),
    -5, true};
  return at;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a state comes back as it was kept") {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  for (const auto& at : {place(0, 0), place(3, 77), place(most, most)}) {
    const auto text = to_json({owner(), at});
    CHECK(text.ends_with("}\n"));
    const auto saved = parse_saved_state(text);
    REQUIRE(saved.has_value());
    const auto& back = saved.value().confirmed;
    CHECK(back == at);
    CHECK(back.stamp == at.stamp);
    CHECK(back.time == at.time);
    CHECK(back.ends_transaction == at.ends_transaction);
    CHECK(expect_owner(saved.value().owner, owner()).has_value());
  }
}

TEST_CASE("the format of the file is fixed, its checksum what any CRC-32 gives") {
  const position at{1, 42, stamp::from("\xAB\x01").value(), 1'700'000'000'000'000'000, true};
  CHECK(to_json({{"p", {{"type", "jsonl"}, {"path", "/x"}}}, at})
        == R"({"format":1,"state":{"pipeline":"p","source":{"type":"jsonl","path":"/x"},"confirmed":{"epoch":1,"seq":42,)"
           R"("stamp":"ab01","time":1700000000000000000,"ends_transaction":true}},"checksum":"cf3ab06d"})"
           "\n");
}

TEST_CASE("a state that an editor has only laid out anew is read") {
  const auto text = to_json({owner(), place(1, 2)});
  CHECK(parse_saved_state(replaced(text, "\"state\":{", "\"state\" : {\n  ")).has_value());
}

TEST_CASE("every change of a byte is noticed") {
  const auto text = to_json({owner(), place(1, 2)});
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    for (const auto mask : {0x01, 0x10, 0x80}) {
      auto bent = text;
      bent[at] = static_cast<char>(bent[at] ^ mask);
      CHECK_MESSAGE(!parse_saved_state(bent), bent);
    }
  }
}

TEST_CASE("every cut is noticed") {
  const auto text = to_json({owner(), place(1, 2)});
  for (std::size_t length = 0; length + 1 < text.size(); ++length)
    CHECK(parse_saved_state(text.substr(0, length)).error() == errc::corrupt);
}

TEST_CASE("what is not a state says how") {
  const auto sentence = [](std::string_view text) {
    const auto saved = parse_saved_state(text);
    REQUIRE_FALSE(saved.has_value());
    CHECK(saved.error() == errc::corrupt);
    return saved.error().sentence();
  };
  CHECK(sentence("") == "it is empty");
  CHECK(sentence("seq=5") == "it is not JSON");
  CHECK(sentence("[]") == "it is not JSON");
  CHECK(sentence("{}") == "\"format\" is missing or not what it should be");
  CHECK(sentence(R"({"format":0})") == "\"format\" is missing or not what it should be");
  CHECK(sentence(R"({"format":1})") == "\"state\" is missing or not what it should be");
  CHECK(sentence(R"({"format":1,"state":{},"checksum":"0"})") == "its checksum does not match");
  CHECK(sentence(replaced(to_json({owner(), place(1, 2)}), "\"seq\":2", "\"seq\":3")) == "its checksum does not match");
}

TEST_CASE("a newer format is not read as an old one") {
  const auto saved = parse_saved_state(R"({"format":2,"anything":"at all"})");
  REQUIRE_FALSE(saved.has_value());
  CHECK(saved.error() == errc::unsupported);
  CHECK(saved.error().sentence() == "it has format 2, and this program reads up to 1");
  CHECK(saved.error().fact_of("format") == "2");
}

TEST_CASE("a state of another owner names what differs") {
  const auto kept = parse_saved_state(to_json({owner(), place(1, 2)})).value().owner;
  const auto refusal = [&](state_owner wanted) {
    const auto same = expect_owner(kept, wanted);
    REQUIRE_FALSE(same.has_value());
    CHECK(same.error() == errc::wrong_owner);
    return same.error().sentence();
  };
  auto other = owner();
  other.pipeline = "second";
  CHECK(refusal(other) == "it was kept for the pipeline \"quickstart\", not for \"second\"");
  other = owner();
  other.source[2].second = "develop";
  CHECK(refusal(other) == "it was kept for a source whose ref is \"main\", not for \"develop\"");
  other = owner();
  other.source[1].second = "/srv/caf\xea";
  CHECK(refusal(other) == "it was kept for a source whose repository is \"/srv/caf\\\\xE9\", not for \"/srv/caf\\\\xEA\"");
  other = owner();
  other.source.emplace_back("collection", "files");
  CHECK(refusal(other) == "it was kept for a source whose collection is \"\", not for \"files\"");
  other = owner();
  other.source.pop_back();
  CHECK(refusal(other) == "it was kept for a source described by other facts: \"3 of them\", not for \"2\"");
}

} // namespace
