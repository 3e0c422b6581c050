#include "log_reader.hpp"

#include <sqlite3.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

/// What somebody would write by hand instead: one thread, one prepared statement for each kind of change, a transaction for
/// every 256 changes, no way to resume. The table, the rows and the database's settings are those of Weir's SQLite sink.
namespace {

constexpr int changes_per_transaction = 256;

class table {
public:
  explicit table(const char* path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(opened);
    if (code != SQLITE_OK)
      throw std::runtime_error{std::string{path} + ": " + sqlite3_errstr(code)};
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;"
        "PRAGMA journal_size_limit = 67108864;"
        "CREATE TABLE files(key TEXT PRIMARY KEY NOT NULL, payload TEXT, position INTEGER NOT NULL, epoch INTEGER NOT NULL, "
        "generation INTEGER NOT NULL)");
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
    upsert_ = prepare("INSERT INTO files(key, payload, position, epoch, generation) VALUES(?1, ?2, ?3, 1, 1) ON CONFLICT(key) "
                      "DO UPDATE SET payload = excluded.payload, position = excluded.position, epoch = excluded.epoch, "
                      "generation = excluded.generation");
    erase_ = prepare("DELETE FROM files WHERE key = ?1");
  }

  void upsert(std::string_view key, std::string_view payload, std::uint64_t position) {
    bind(upsert_, 1, key);
    bind(upsert_, 2, payload);
    sqlite3_bind_int64(upsert_.get(), 3, static_cast<sqlite3_int64>(position));
    change(upsert_);
  }

  void erase(std::string_view key) {
    bind(erase_, 1, key);
    change(erase_);
  }

  void commit() {
    if (std::exchange(uncommitted_, 0) != 0)
      step(commit_);
  }

private:
  struct closing {
    void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  using statement = std::unique_ptr<sqlite3_stmt, closing>;

  [[noreturn]] void fail() const { throw std::runtime_error{sqlite3_errmsg(database_.get())}; }

  void run(const char* sql) {
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      fail();
  }

  statement prepare(const char* sql) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr) != SQLITE_OK)
      fail();
    return statement{prepared};
  }

  static void bind(const statement& to, int index, std::string_view text) {
    sqlite3_bind_text64(to.get(), index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }

  void step(const statement& one) {
    if (sqlite3_step(one.get()) != SQLITE_DONE)
      fail();
    sqlite3_reset(one.get());
  }

  /// One change, in the transaction that it belongs to.
  void change(const statement& one) {
    if (uncommitted_ == 0)
      step(begin_);
    step(one);
    if (++uncommitted_ == changes_per_transaction)
      commit();
  }

  std::unique_ptr<sqlite3, closing> database_;
  statement begin_;
  statement commit_;
  statement upsert_;
  statement erase_;
  int uncommitted_ = 0;
};

std::string text_of_time(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

} // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: weir-bench-baseline REPOSITORY DATABASE\n", stderr);
    return 2;
  }
  try {
    table files{words[2]};
    std::uint64_t number = 0;
    std::string end; // of every payload of one commit
    std::string payload;
    weir_bench::read_log(words[1], [&](const weir_bench::log_commit& commit, const weir_bench::log_entry& entry) {
      if (entry.mode == "000000") {
        files.erase(entry.path);
        return;
      }
      if (commit.number != number) {
        number = commit.number;
        end = R"(","commit":")" + commit.id + R"(","time":")" + text_of_time(commit.time) + R"("})";
      }
      payload.assign(R"({"mode":")").append(entry.mode).append(R"(","blob":")").append(entry.blob).append(end);
      files.upsert(entry.path, payload, number);
    });
    files.commit();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "weir-bench-baseline: %s\n", failure.what());
    return 1;
  }
}
