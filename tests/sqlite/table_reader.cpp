#include "table_reader.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

namespace adapter_tests {

table_reader::table_reader(const std::filesystem::path& path) {
  REQUIRE(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK);
}

table_reader::~table_reader() {
  sqlite3_close_v2(handle_);
}

std::vector<std::string> table_reader::query(std::string_view sql) const {
  sqlite3_stmt* prepared = nullptr;
  const auto code = sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &prepared, nullptr);
  REQUIRE_MESSAGE(code == SQLITE_OK, sqlite3_errmsg(handle_));
  std::vector<std::string> rows;
  while (sqlite3_step(prepared) == SQLITE_ROW) {
    std::string row;
    for (auto column = 0; column < sqlite3_column_count(prepared); ++column) {
      if (column > 0)
        row += '|';
      const auto* data = static_cast<const char*>(sqlite3_column_blob(prepared, column));
      if (sqlite3_column_type(prepared, column) == SQLITE_NULL)
        row += "NULL";
      else if (data != nullptr)
        row.append(data, static_cast<std::size_t>(sqlite3_column_bytes(prepared, column)));
    }
    rows.push_back(std::move(row));
  }
  REQUIRE(sqlite3_finalize(prepared) == SQLITE_OK);
  return rows;
}

std::map<std::string, std::string> table_reader::rows(std::string_view collection) const {
  std::string name;
  for (const auto one : collection)
    name.append(one == '"' ? 2 : 1, one);
  const auto sql = "SELECT key, payload FROM \"" + name + "\"";
  sqlite3_stmt* prepared = nullptr;
  REQUIRE(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &prepared, nullptr) == SQLITE_OK);
  const auto bytes = [&](int column) {
    if (sqlite3_column_type(prepared, column) == SQLITE_NULL)
      return std::string{"NULL"};
    const auto* data = static_cast<const char*>(sqlite3_column_blob(prepared, column));
    return data == nullptr ? std::string{}
                           : std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(prepared, column)));
  };
  std::map<std::string, std::string> found;
  while (sqlite3_step(prepared) == SQLITE_ROW)
    found.emplace(bytes(0), bytes(1));
  REQUIRE(sqlite3_finalize(prepared) == SQLITE_OK);
  return found;
}

void table_reader::run(std::string_view sql) const {
  char* why = nullptr;
  const auto code = sqlite3_exec(handle_, std::string{sql}.c_str(), nullptr, nullptr, &why);
  REQUIRE_MESSAGE(code == SQLITE_OK, std::string{why == nullptr ? "" : why});
}

} // namespace adapter_tests
