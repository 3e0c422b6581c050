#pragma once

#include <weir/error.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace weir {

/// A prepared statement, to be used again and again. What is bound by reference must live until step() has returned false.
class statement {
public:
  statement() = default;
  explicit statement(sqlite3_stmt* prepared) noexcept : prepared_{prepared} {}
  ~statement();
  statement(statement&& other) noexcept : prepared_{std::exchange(other.prepared_, nullptr)}, failure_{other.failure_} {}
  statement& operator=(statement&& other) noexcept {
    std::swap(prepared_, other.prepared_);
    std::swap(failure_, other.failure_);
    return *this;
  }

  bool is_prepared() const noexcept { return prepared_ != nullptr; }

  // Parameters count from 1. A value that SQLite does not take makes the next step() fail.
  void bind(int parameter, std::uint64_t number) noexcept;
  void bind(int parameter, std::int64_t number) noexcept;
  void bind_null(int parameter) noexcept;
  void bind_text(int parameter, std::string_view bytes) noexcept;
  void bind_blob(int parameter, std::string_view bytes) noexcept;

  /// Runs up to the next row; false when there is none, and the statement is ready to run again.
  result<bool> step();

  /// Gives up on further rows.
  void reset() noexcept;

  // Columns count from 0.
  bool is_null(int column) const noexcept;
  std::int64_t number(int column) const noexcept;
  std::uint64_t whole_number(int column) const noexcept { return static_cast<std::uint64_t>(number(column)); }
  std::string bytes(int column) const;

  /// As bytes(), without a copy: valid until the next step() or reset().
  std::string_view view(int column) const noexcept;

private:
  sqlite3_stmt* prepared_ = nullptr;
  int failure_ = 0; ///< of a bind
};

/// A connection to a database file. One thread at a time.
class database {
public:
  enum class access {
    read_write, ///< creates the file if it is not there
    change,     ///< the file must be there
    look,       ///< reads what could be changed, and leaves no trace: no file is made, none is changed
    read,       ///< the same, also where nothing may be changed
  };

  database() = default;
  ~database() { close(); }
  database(database&& other) noexcept
    : handle_{std::exchange(other.handle_, nullptr)},
      is_frozen_{other.is_frozen_},
      kept_{std::move(other.kept_)} {}
  database& operator=(database&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(is_frozen_, other.is_frozen_);
    std::swap(kept_, other.kept_);
    return *this;
  }

  /// `vfs` names one of SQLite's file systems that were registered in this process; null: the usual one.
  static result<database> open(const std::filesystem::path& path, access wanted, const char* vfs = nullptr);

  bool is_open() const noexcept { return handle_ != nullptr; }

  /// It is read as a file that nobody changes, because nobody had it open: what is written later does not show, and what is
  /// read while it is written may be neither the old nor the new.
  bool is_frozen() const noexcept { return is_frozen_; }
  void close() noexcept;

  /// Runs statements that return nothing.
  result<void> run(const char* sql);

  /// Prepares one statement, to be kept.
  result<statement> prepare(std::string_view sql);

  /// A statement that this connection prepares once and keeps, ready to be bound; `sql` lives as long as the connection. It
  /// must have been stepped to its end, or reset, before it is asked for again.
  result<statement*> kept(const char* sql);

  /// The first column of the first row; absent if there is no row.
  result<std::optional<std::string>> look_up(std::string_view sql, std::string_view parameter = {});

  bool is_in_transaction() const noexcept;

  sqlite3* handle() const noexcept { return handle_; }

private:
  sqlite3* handle_ = nullptr;
  bool is_frozen_ = false;
  std::unordered_map<std::string_view, statement> kept_;
};

/// A name as SQL wants it, whatever it holds.
std::string as_identifier(std::string_view name);

} // namespace weir
