#include "table_check.hpp"

#include "log_reader.hpp"

#include <sqlite3.h>

#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace weir_bench {

namespace {

struct closing {
  void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

/// Path → how its payload begins.
std::map<std::string, std::string> wanted_rows(const std::filesystem::path& repository) {
  std::FILE* const tree = ::popen(("git -C " + quoted(repository.string()) + " ls-tree -r -z --full-tree HEAD").c_str(), "r");
  if (tree == nullptr)
    throw std::runtime_error{"git ls-tree could not be started"};
  std::map<std::string, std::string> rows;
  std::string entry; // "<mode> <type> <blob>\t<path>"
  for (int byte = std::getc(tree); byte != EOF; byte = std::getc(tree)) {
    if (byte != 0) {
      entry += static_cast<char>(byte);
      continue;
    }
    const auto mode = entry.substr(0, entry.find(' '));
    const auto tab = entry.find('\t');
    const auto before_blob = entry.rfind(' ', tab);
    rows.emplace(entry.substr(tab + 1),
      R"({"mode":")" + mode + R"(","blob":")" + entry.substr(before_blob + 1, tab - before_blob - 1) + R"(")");
    entry.clear();
  }
  if (::pclose(tree) != 0)
    throw std::runtime_error{"git ls-tree failed"};
  return rows;
}

std::string text_of(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  return bytes == nullptr ? std::string{} : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
}

} // namespace

void check_table(const std::filesystem::path& database, const std::filesystem::path& repository) {
  auto wanted = wanted_rows(repository);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(database.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
  const std::unique_ptr<sqlite3, closing> handle{opened};
  sqlite3_stmt* prepared = nullptr;
  if (code != SQLITE_OK || sqlite3_prepare_v2(opened, "SELECT key, payload FROM files", -1, &prepared, nullptr) != SQLITE_OK)
    throw std::runtime_error{database.string() + ": " + sqlite3_errmsg(opened)};
  const std::unique_ptr<sqlite3_stmt, closing> rows{prepared};
  while (sqlite3_step(rows.get()) == SQLITE_ROW) {
    const auto path = text_of(rows.get(), 0);
    const auto found = wanted.find(path);
    if (found == wanted.end())
      throw std::runtime_error{"the table has a row too many: " + path};
    if (!text_of(rows.get(), 1).starts_with(found->second))
      throw std::runtime_error{"the table has an old row: " + path};
    wanted.erase(found);
  }
  if (!wanted.empty())
    throw std::runtime_error{"the table lacks a row: " + wanted.begin()->first};
}

} // namespace weir_bench
