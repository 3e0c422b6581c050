#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace adapter_tests {

/// Another program that looks into the database: a connection of its own.
class table_reader {
public:
  explicit table_reader(const std::filesystem::path& path);
  ~table_reader();
  table_reader(const table_reader&) = delete;
  table_reader& operator=(const table_reader&) = delete;

  /// All rows as text, columns joined with '|'; NULL is "NULL". Fails the test when SQLite does.
  std::vector<std::string> query(std::string_view sql) const;

  /// Payloads by key, in bytes; "NULL" for none.
  std::map<std::string, std::string> rows(std::string_view collection) const;

  void run(std::string_view sql) const;

private:
  sqlite3* handle_ = nullptr;
};

} // namespace adapter_tests
