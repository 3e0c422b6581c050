#include "tree_parser.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using weir::git::tree_parser;
using step = tree_parser::step;

namespace {

const std::string id(64, 'e');
const std::string nul(1, '\0');

std::string parse(std::string_view text, std::size_t piece) {
  tree_parser parser{64};
  std::string seen;
  for (;;) {
    const auto got = parser.next();
    if (got == step::need_input) {
      const auto size = std::min(piece, text.size());
      text.copy(parser.input().prepare(), size);
      parser.input().filled(size);
      text.remove_prefix(size);
      if (size == 0)
        parser.finish_input();
    } else if (got == step::file) {
      CHECK(parser.file().blob == id);
      seen += std::string{parser.file().mode} + "(" + std::string{parser.file().path} + ")";
    } else {
      return seen + (got == step::end ? "." : "!" + std::string{parser.failure().fact_of("offset")});
    }
  }
}

} // namespace

TEST_CASE("a tree is read file by file, in pieces of any size") {
  const auto text =
    "100644 blob " + id + "\ta\tb" + nul + "120000 blob " + id + "\t\n\xff" + nul + "160000 commit " + id + "\t " + nul;
  for (std::size_t piece = 1; piece <= text.size(); ++piece)
    REQUIRE(parse(text, piece) == "100644(a\tb)120000(\n\xff)160000( ).");
  CHECK(parse("", 1) == ".");
}

TEST_CASE("what is no file of a tree is refused, with its place") {
  const auto good = "100644 blob " + id + "\ta" + nul;
  const auto after = "100644(a)!" + std::to_string(good.size());
  CHECK(parse(good + "100644 blob " + id + "\tb", 1000) == after);
  CHECK(parse(good + "100644 blob " + id + "\t" + nul, 1000) == after);
  CHECK(parse(good + "100644 blob " + id + " b" + nul, 1000) == after);
  CHECK(parse(good + "100644 blob " + id.substr(1) + "\tb" + nul, 1000) == after);
  CHECK(parse(good + "100648 blob " + id + "\tb" + nul, 1000) == after);
  CHECK(parse(good + nul, 1000) == after);
  CHECK(parse("100644" + nul, 1000) == "!0");
}
