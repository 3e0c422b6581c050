#include "../core/seeds.hpp"
#include "any_bytes.hpp"
#include "change_parser.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using weir::git::change_parser;
using step = change_parser::step;

namespace {

const std::string id_a(40, 'a');
const std::string id_b(40, 'b');
const std::string id_c = "0123456789abcdef0123456789abcdef01234567";
const std::string none(40, '0');
const std::string nul(1, '\0');

std::string change_text(std::string_view status, std::string_view path, std::string_view mode = "100644") {
  return ":100755 " + std::string{mode} + " " + none + " " + id_c + " " + std::string{status} + nul + std::string{path} + nul;
}

/// A history with what could confuse a careless reader: paths that look like changes, like commits, like line breaks.
std::string some_history() {
  return id_a + " 1700000000 " + nul + "\n" + change_text("A", "plain") + change_text("A", change_text("A", "x").substr(0, 60))
         + change_text("M", "\n:100644 new\nline") + id_b + " 1700000001 " + id_a + nul // an empty commit
         + id_c + " 17 " + id_b + " " + id_a + nul + "\n" + change_text("D", id_a + " 1 ", "000000")
         + change_text("T", "\n", "120000") + id_a + "  " + id_c + nul + "\n" + change_text("A", "\xff\xfe\"\\", "160000");
}

std::string parse(std::string_view text, const std::vector<std::size_t>& cuts) {
  change_parser parser{40};
  std::string seen;
  std::size_t next_cut = 0;
  std::size_t at = 0;
  for (;;) {
    const auto got = parser.next();
    if (got == step::need_input) {
      const auto end = next_cut < cuts.size() ? cuts[next_cut++] : text.size();
      text.substr(at, end - at).copy(parser.input().prepare(), end - at);
      parser.input().filled(end - at);
      if (at == end && end == text.size())
        parser.finish_input();
      at = end;
    } else if (got == step::commit) {
      const auto& commit = parser.commit();
      seen += "[" + std::string{commit.id.substr(0, 4)} + "<" + std::string{commit.first_parent.substr(0, 4)} + "@"
              + std::to_string(commit.time) + "]";
    } else if (got == step::change) {
      const auto& change = parser.change();
      seen += std::string{change.is_delete ? "-" : "+"} + std::string{change.mode} + "(" + std::string{change.path} + ")";
      CHECK(change.blob == id_c);
    } else {
      return seen + (got == step::end ? "." : "!" + std::string{parser.failure().fact_of("offset")});
    }
  }
}

} // namespace

TEST_CASE("a history is read commit by commit, change by change") {
  CHECK(parse(some_history(), {})
        == "[aaaa<@1700000000]+100644(plain)+100644(" + change_text("A", "x").substr(0, 60) + ")+100644(\n:100644 new\nline)"
             + "[bbbb<aaaa@1700000001][0123<bbbb@17]-000000(" + id_a + " 1 )+120000(\n)[aaaa<0123@0]+160000(\xff\xfe\"\\).");
  CHECK(parse("", {}) == ".");
}

TEST_CASE("wherever the input is cut, the same is read") {
  const auto text = some_history();
  const auto whole = parse(text, {});
  for (std::size_t first = 0; first <= text.size(); ++first) {
    REQUIRE(parse(text, {first}) == whole);
    REQUIRE(parse(text, {first, std::min(first + 7, text.size())}) == whole);
  }
  std::vector<std::size_t> every_byte;
  for (std::size_t at = 1; at < text.size(); ++at)
    every_byte.push_back(at);
  CHECK(parse(text, every_byte) == whole);
}

TEST_CASE("wherever the input ends too early, that is seen") {
  const auto text = some_history();
  int ends = 0;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto seen = parse(std::string_view{text}.substr(0, size), {});
    ends += seen.back() == '.' ? 1 : 0;
  }
  // Whole tokens only: behind each of four commits' heads and seven changes, and before everything; not behind the last change,
  // which is the whole text.
  CHECK(ends == 4 + 6 + 1 - 1);
}

TEST_CASE("what is no history is refused, with its place") {
  const auto head = id_a + " 17 " + nul;
  const auto at_change = "!" + std::to_string(head.size() + 1);
  const auto refused = [](std::string_view text) { return parse(text, {}); };
  CHECK(refused("x") == "!0");
  CHECK(refused(change_text("A", "x")) == "!0");
  CHECK(refused("\n" + change_text("A", "x")) == "!0");
  CHECK(refused(std::string(39, 'a') + "g 17 " + nul) == "!0");
  CHECK(refused(id_a + " 17" + nul) == "!0");
  CHECK(refused(id_a + " 1x " + nul) == "!0");
  CHECK(refused(id_a + " 17 " + std::string(39, 'b') + nul) == "!0");
  CHECK(refused(id_a + " 17 " + id_b + "b" + nul) == "!0");
  CHECK(refused(id_a + std::string(24, 'a') + " 17 " + nul) == "!0"); // 64 digits where 40 were expected
  CHECK(refused(head + change_text("A", "x")) == "[aaaa<@17]!" + std::to_string(head.size()));
  CHECK(refused(head + "\n" + head) == "[aaaa<@17]!" + std::to_string(head.size()));
  for (const char* status : {"R", "U", "X", "C"})
    CHECK(refused(head + "\n" + change_text(status, "x")) == "[aaaa<@17]" + at_change);
  CHECK(refused(head + "\n" + change_text("A", "")) == "[aaaa<@17]" + at_change);
  CHECK(refused(head + "\n" + change_text("A", "x", "10064x")) == "[aaaa<@17]" + at_change);
  CHECK(refused(head + "\n" + change_text("AA", "x")) == "[aaaa<@17]" + at_change);
}

TEST_CASE("a token that never ends is refused before it fills the memory") {
  change_parser parser{40};
  std::size_t fed = 0;
  auto got = parser.next();
  for (; got == step::need_input && fed < 4 * weir::git::longest_token; got = parser.next()) {
    auto* const room = parser.input().prepare();
    const auto size = parser.input().room();
    std::fill_n(room, size, 'a');
    parser.input().filled(size);
    fed += size;
  }
  CHECK(got == step::malformed);
  CHECK(fed < 3 * weir::git::longest_token);
}

TEST_CASE("any bytes are safe to read, and read the same in pieces") {
  const auto text = some_history();
  const auto tree = "100644 blob " + id_a + "\tpath" + nul + "160000 commit " + id_b + "\t\n\xff" + nul;
  for (const auto seed : core_tests::seeds(3)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int round = 0; round < 2000; ++round) {
      auto bytes = random.chance(70) ? text : tree;
      for (auto left = random.below(4); left > 0; --left) {
        const auto at = random.below(bytes.size());
        if (random.chance(40))
          bytes[at] = static_cast<char>(random.next());
        else if (random.chance(50))
          bytes.erase(at, random.below(20));
        else
          bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(60)));
      }
      git_tests::parse_any_bytes(bytes, 1 + random.below(50));
    }
  }
}
