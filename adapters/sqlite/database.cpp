#include "database.hpp"

#include <weir/utf8.hpp>

#include "../posix/error_code.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace weir {

namespace {

/// How long a lock that another connection holds is waited for.
constexpr int busy_milliseconds = 1000;

errc code_of(int code, int system_number) noexcept {
  switch (code & 0xFF) {
  case SQLITE_FULL: return errc::storage_full;
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return errc::in_use;
  case SQLITE_NOTADB:
  case SQLITE_CORRUPT: return errc::corrupt;
  case SQLITE_PERM:
  case SQLITE_READONLY:
  case SQLITE_AUTH: return errc::permission_denied;
  case SQLITE_TOOBIG:
  case SQLITE_CONSTRAINT: return errc::rejected;
  case SQLITE_CANTOPEN:
  case SQLITE_IOERR: return posix::code_of(system_number);
  default: return errc::io_failed;
  }
}

/// What SQLite says about its last failure on this connection.
error failure_of(sqlite3* handle, int code) {
  const auto system_number = sqlite3_system_errno(handle);
  std::vector<error::fact> facts{{"sqlite", std::to_string(sqlite3_extended_errcode(handle))}};
  if (system_number != 0)
    facts.emplace_back("errno", std::to_string(system_number));
  if (const auto* path = sqlite3_db_filename(handle, "main"); path != nullptr && *path != '\0')
    facts.emplace_back("path", path);
  const auto* why = (code & 0xFF) == SQLITE_TOOBIG ? sqlite3_errstr(SQLITE_TOOBIG) : sqlite3_errmsg(handle);
  return error{code_of(code, system_number), "SQLite: " + valid_utf8(why), std::move(facts)};
}

error system_error(int number, const std::string& what, const std::filesystem::path& path) {
  return error{posix::code_of(number), what + ": " + std::generic_category().message(number),
    {{"path", path.string()}, {"errno", std::to_string(number)}}};
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
}

/// SQLite says "unable to open database file" for all of these.
result<void> check_path(const std::filesystem::path& path, bool reads_only, bool& exists) {
  if (path.empty() || path == ":memory:")
    return error{errc::invalid_argument, "the database needs a file", {{"path", path.string()}}};
  const auto directory = directory_of(path);
  struct stat about{};
  if (::stat(directory.c_str(), &about) != 0)
    return system_error(errno, "there is no directory " + directory.string(), directory);
  if (!S_ISDIR(about.st_mode))
    return system_error(ENOTDIR, "there is no directory " + directory.string(), directory);
  if (!reads_only && ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return system_error(errno, "SQLite must make files beside the database, in " + directory.string(), directory);
  exists = ::stat(path.c_str(), &about) == 0;
  if (!exists && errno != ENOENT)
    return system_error(errno, "can't look at " + path.string(), path);
  if (!exists) { // a link to a file that is yet to be made is as good as that file
    std::error_code is_no_link;
    const auto target = std::filesystem::read_symlink(path, is_no_link);
    return is_no_link ? success() : check_path(directory / target, reads_only, exists);
  }
  if (!S_ISREG(about.st_mode))
    return error{errc::invalid_argument, path.string() + " is no regular file", {{"path", path.string()}}};
  if (::faccessat(AT_FDCWD, path.c_str(), reads_only ? R_OK : R_OK | W_OK, AT_EACCESS) != 0)
    return system_error(errno, (reads_only ? "can't read " : "can't write to ") + path.string(), path);
  return success();
}

/// How to read a database without a trace. Where no log lies beside it, reading it as immutable makes none; where one does
/// (somebody writes, or was killed), the files that reading needs are there already.
std::string look_only_uri(const std::filesystem::path& path, bool& is_frozen) {
  std::string uri = "file:";
  static constexpr char digits[] = "0123456789ABCDEF";
  for (const auto one : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(one);
    const auto is_plain = one == '/' || one == '.' || one == '-' || one == '_' || (one >= '0' && one <= '9')
                          || (one >= 'A' && one <= 'Z') || (one >= 'a' && one <= 'z');
    if (is_plain) {
      uri += one;
    } else {
      uri += '%';
      uri += digits[byte >> 4U];
      uri += digits[byte & 0xFU];
    }
  }
  struct stat log{};
  is_frozen = ::stat((path.string() + "-wal").c_str(), &log) != 0;
  return uri + (is_frozen ? "?mode=ro&immutable=1" : "?mode=ro");
}

/// What was written is in a log beside the file whose index is gone (it was copied without it): reading makes one.
result<void> check_index(const std::filesystem::path& path) {
  struct stat about{};
  const auto directory = directory_of(path);
  if (::stat((path.string() + "-wal").c_str(), &about) != 0 || ::stat((path.string() + "-shm").c_str(), &about) == 0
      || ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0)
    return success();
  return error{errc::permission_denied,
    path.string() + " was not closed by whoever wrote it, and reading it takes making a file beside it, in "
      + directory.string(),
    {{"path", path.string()}}};
}

/// SQLite takes a file that is short or begins with zeros for an empty database, and would write over it. (Read through
/// SQLite's own descriptor: closing another one of the same file would drop the locks of all connections in this process.)
result<void> check_header(sqlite3* handle, const std::filesystem::path& path) {
  using std::string_view_literals::operator""sv;
  static constexpr auto header = "SQLite format 3\0"sv;
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  std::array<char, header.size()> start{};
  if (sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == nullptr
      || file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK || size == 0)
    return success();
  const auto code = file->pMethods->xRead(file, start.data(), static_cast<int>(start.size()), 0);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
    return failure_of(handle, code);
  if (std::string_view{start.data(), start.size()} == header)
    return success();
  return error{errc::corrupt, path.string() + " is no SQLite database", {{"path", path.string()}}};
}

} // namespace

statement::~statement() {
  sqlite3_finalize(prepared_);
}

void statement::bind(int parameter, std::int64_t number) noexcept {
  failure_ = std::max(failure_, sqlite3_bind_int64(prepared_, parameter, number));
}

void statement::bind(int parameter, std::uint64_t number) noexcept {
  bind(parameter, static_cast<std::int64_t>(number));
}

void statement::bind_null(int parameter) noexcept {
  failure_ = std::max(failure_, sqlite3_bind_null(prepared_, parameter));
}

void statement::bind_text(int parameter, std::string_view bytes) noexcept {
  const auto* data = bytes.empty() ? "" : bytes.data(); // a null pointer would bind NULL
  failure_ = std::max(failure_, sqlite3_bind_text64(prepared_, parameter, data, bytes.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void statement::bind_blob(int parameter, std::string_view bytes) noexcept {
  const auto* data = bytes.empty() ? "" : bytes.data();
  failure_ = std::max(failure_, sqlite3_bind_blob64(prepared_, parameter, data, bytes.size(), SQLITE_STATIC));
}

result<bool> statement::step() {
  auto code = std::exchange(failure_, SQLITE_OK);
  if (code == SQLITE_OK)
    code = sqlite3_step(prepared_);
  if (code == SQLITE_ROW)
    return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(prepared_);
    return false;
  }
  auto failure = failure_of(sqlite3_db_handle(prepared_), code);
  sqlite3_reset(prepared_);
  return failure;
}

void statement::reset() noexcept {
  sqlite3_reset(prepared_);
}

bool statement::is_null(int column) const noexcept {
  return sqlite3_column_type(prepared_, column) == SQLITE_NULL;
}

std::int64_t statement::number(int column) const noexcept {
  return sqlite3_column_int64(prepared_, column);
}

std::string statement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(prepared_, column));
  return data == nullptr ? std::string{} : std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(prepared_, column)));
}

std::string_view statement::view(int column) const noexcept {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(prepared_, column));
  return {data, data == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(prepared_, column))};
}

result<database> database::open(const std::filesystem::path& path, access wanted, const char* vfs) {
  auto exists = false;
  if (auto usable = check_path(path, wanted == access::read, exists); !usable)
    return std::move(usable).error();
  if (wanted == access::read && exists) {
    if (auto readable = check_index(path); !readable)
      return std::move(readable).error();
  }
  database opened;
  auto code = SQLITE_OK;
  constexpr auto usual = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (wanted == access::read_write)
    code = sqlite3_open_v2(path.c_str(), &opened.handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | usual, vfs);
  else if (wanted == access::change && !exists)
    return system_error(ENOENT, "there is no file " + path.string(), path);
  else if (wanted == access::change)
    code = sqlite3_open_v2(path.c_str(), &opened.handle_, SQLITE_OPEN_READWRITE | usual, vfs);
  else if (exists)
    code = sqlite3_open_v2(
      look_only_uri(path, opened.is_frozen_).c_str(), &opened.handle_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | usual, vfs);
  else
    return opened;
  if (opened.handle_ == nullptr)
    return error{errc::io_failed, "SQLite has no memory to open a database", {{"path", path.string()}}};
  if (code != SQLITE_OK)
    return failure_of(opened.handle_, code);
  if (auto headed = check_header(opened.handle_, path); !headed)
    return std::move(headed).error();
  sqlite3_busy_timeout(opened.handle_, busy_milliseconds);
  return opened;
}

void database::close() noexcept {
  kept_.clear();
  sqlite3_close_v2(std::exchange(handle_, nullptr));
}

result<void> database::run(const char* sql) {
  if (const auto code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK)
    return failure_of(handle_, code);
  return success();
}

result<statement> database::prepare(std::string_view sql) {
  sqlite3_stmt* prepared = nullptr;
  const auto code =
    sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (code != SQLITE_OK)
    return failure_of(handle_, code);
  return statement{prepared};
}

result<statement*> database::kept(const char* sql) {
  if (const auto found = kept_.find(sql); found != kept_.end())
    return &found->second;
  auto prepared = prepare(sql);
  if (!prepared)
    return std::move(prepared).error();
  return &kept_.emplace(sql, std::move(prepared).value()).first->second;
}

result<std::optional<std::string>> database::look_up(std::string_view sql, std::string_view parameter) {
  auto prepared = prepare(sql);
  if (!prepared)
    return std::move(prepared).error();
  if (sql.find('?') != std::string_view::npos)
    prepared.value().bind_text(1, parameter);
  auto has_row = prepared.value().step();
  if (!has_row)
    return std::move(has_row).error();
  if (!has_row.value())
    return std::optional<std::string>{};
  return std::optional{prepared.value().bytes(0)};
}

bool database::is_in_transaction() const noexcept {
  return handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0;
}

std::string as_identifier(std::string_view name) {
  std::string text = "\"";
  for (const auto one : name)
    text.append(one == '"' ? 2 : 1, one);
  return text + '"';
}

} // namespace weir
