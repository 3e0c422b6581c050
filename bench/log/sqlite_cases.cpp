#include "../harness/measure.hpp"
#include "cases.hpp"
#include "scratch.hpp"

#include <sqlite3.h>

namespace weir_bench {

namespace {

/// A log as one writes it by hand: a table with what an entry has, and a transaction for each batch.
class table {
public:
  table() {
    if (sqlite3_open((directory_ / "table.db").c_str(), &handle_) != SQLITE_OK)
      give_up("open");
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE log(number INTEGER PRIMARY KEY, key BLOB, time INTEGER, payload BLOB)");
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
    insert_ = prepare("INSERT INTO log(key, time, payload) VALUES(?1, ?2, ?3)");
    select_ = prepare("SELECT number, key, time, payload FROM log WHERE number > ?1 ORDER BY number LIMIT 512");
    payload_ = payload_of(1);
  }
  ~table() {
    for (auto* one : {begin_, commit_, insert_, select_})
      sqlite3_finalize(one);
    sqlite3_close(handle_);
  }
  table(const table&) = delete;
  table& operator=(const table&) = delete;

  void append(std::size_t batch) {
    step(begin_);
    for (std::size_t one = 0; one < batch; ++one) {
      sqlite3_bind_blob(insert_, 1, "", 0, SQLITE_STATIC);
      sqlite3_bind_int64(insert_, 2, static_cast<std::int64_t>(one));
      sqlite3_bind_blob(insert_, 3, payload_.data(), static_cast<int>(payload_.size()), SQLITE_STATIC);
      step(insert_);
    }
    step(commit_);
  }

  struct row {
    std::int64_t number;
    std::string key;
    std::int64_t time;
    std::string payload;
  };

  std::vector<row> read(std::int64_t after) {
    std::vector<row> rows;
    rows.reserve(512);
    sqlite3_bind_int64(select_, 1, after);
    while (sqlite3_step(select_) == SQLITE_ROW)
      rows.push_back({sqlite3_column_int64(select_, 0), bytes(1), sqlite3_column_int64(select_, 2), bytes(3)});
    sqlite3_reset(select_);
    return rows;
  }

private:
  std::string bytes(int column) {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(select_, column));
    return data == nullptr ? std::string{} : std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(select_, column)));
  }

  void run(const char* sql) {
    if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      give_up(sqlite3_errmsg(handle_));
  }

  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(handle_, sql, -1, &prepared, nullptr) != SQLITE_OK)
      give_up(sqlite3_errmsg(handle_));
    return prepared;
  }

  void step(sqlite3_stmt* prepared) {
    if (sqlite3_step(prepared) != SQLITE_DONE)
      give_up(sqlite3_errmsg(handle_));
    sqlite3_reset(prepared);
  }

  scratch directory_;
  sqlite3* handle_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* select_ = nullptr;
  std::string payload_;
};

class table_append final : public labour {
public:
  explicit table_append(std::size_t batch) : batch_{batch} {}
  void run(std::uint64_t items) override {
    for (std::uint64_t done = 0; done < items; done += batch_)
      table_.append(batch_);
  }

private:
  table table_;
  std::size_t batch_;
};

class table_select final : public labour {
public:
  table_select() {
    for (std::uint64_t done = 0; done < 100'000; done += 250)
      table_.append(250);
  }
  void run(std::uint64_t items) override {
    std::int64_t after = 0;
    for (std::uint64_t done = 0; done < items;) {
      const auto rows = table_.read(after);
      after = rows.empty() ? 0 : rows.back().number;
      done += rows.size();
    }
  }

private:
  table table_;
};

} // namespace

void add_sqlite_cases(std::vector<bench_case>& cases) {
  for (const auto batch : std::initializer_list<std::size_t>{1, 16, 256})
    cases.push_back({"sqlite.loop.append." + std::to_string(batch), false, [batch](const run_settings& settings) {
                       table_append subject{batch};
                       return measure(subject, settings);
                     }});
  cases.push_back({"sqlite.select", false, [](const run_settings& settings) {
                     table_select subject;
                     return measure(subject, settings);
                   }});
}

} // namespace weir_bench
