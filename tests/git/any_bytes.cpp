#include "any_bytes.hpp"

#include "change_parser.hpp"
#include "tree_parser.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace git_tests {

namespace {

using weir::git::change_parser;
using weir::git::tree_parser;

void require(bool holds) {
  if (!holds)
    std::abort();
}

template <class Parser, class Take>
std::string parse(std::string_view bytes, std::size_t piece, std::size_t id_size, Take take) {
  Parser parser{id_size};
  std::string seen;
  for (;;) {
    switch (const auto step = parser.next()) {
    case Parser::step::need_input: {
      require(!parser.has_finished_input());
      const auto size = std::min(piece, bytes.size());
      auto* const room = parser.input().prepare();
      require(parser.input().room() >= weir::git::input_buffer::read_size);
      bytes.copy(room, std::min(size, parser.input().room()));
      parser.input().filled(size);
      bytes.remove_prefix(size);
      if (size == 0)
        parser.finish_input();
      break;
    }
    case Parser::step::end: return seen + "end";
    case Parser::step::malformed:
      require(parser.next() == Parser::step::malformed);
      return seen + "malformed " + std::string{parser.failure().fact_of("offset")};
    default: seen += take(parser, step);
    }
  }
}

std::string take_history(const change_parser& parser, change_parser::step step) {
  if (step == change_parser::step::commit) {
    const auto& commit = parser.commit();
    require(!commit.id.empty());
    return "commit " + std::string{commit.id} + " " + std::string{commit.first_parent} + " " + std::to_string(commit.time)
           + "\n";
  }
  const auto& change = parser.change();
  require(!change.path.empty() && change.path.find('\0') == std::string_view::npos);
  require(change.mode.size() == 6 && change.mode.find_first_not_of("01234567") == std::string_view::npos);
  require(change.blob.find_first_not_of("0123456789abcdef") == std::string_view::npos);
  return std::string{change.mode} + std::string{change.blob} + (change.is_delete ? "-" : "+") + std::string{change.path} + "\n";
}

std::string take_tree(const tree_parser& parser, tree_parser::step) {
  const auto& file = parser.file();
  require(!file.path.empty() && file.path.find('\0') == std::string_view::npos);
  require(file.mode.size() == 6 && file.mode.find_first_not_of("01234567") == std::string_view::npos);
  require(file.blob.find_first_not_of("0123456789abcdef") == std::string_view::npos);
  return std::string{file.mode} + std::string{file.blob} + std::string{file.path} + "\n";
}

} // namespace

void parse_any_bytes(std::string_view bytes, std::size_t piece) {
  bytes = bytes.substr(0, 100'000); // what prepare() has room for
  piece = std::max<std::size_t>(piece, 1);
  for (const std::size_t id_size : {std::size_t{40}, std::size_t{64}}) {
    require(parse<change_parser>(bytes, bytes.size(), id_size, take_history)
            == parse<change_parser>(bytes, piece, id_size, take_history));
    require(
      parse<tree_parser>(bytes, bytes.size(), id_size, take_tree) == parse<tree_parser>(bytes, piece, id_size, take_tree));
  }
}

} // namespace git_tests
