#include "log_core.hpp"

#include <boost/outcome/try.hpp>
#include <sqlite3.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <random>
#include <sys/stat.h>

namespace weir::sqlite_log {

namespace {

constexpr std::int64_t journal_limit = 64 << 20;

error bad_option(const char* name, const std::string& given, std::uint64_t least, std::uint64_t most) {
  return error{errc::invalid_argument,
    std::string{name} + " is a number from " + std::to_string(least) + " to " + std::to_string(most),
    {{"option", name}, {"given", given}}};
}

/// The explicit option, or the environment's, or the default.
result<std::uint64_t> choose(
  std::optional<std::uint64_t> given, const char* variable, std::uint64_t usual, std::uint64_t least, std::uint64_t most) {
  if (!given) {
    const char* text = std::getenv(variable); // NOLINT(concurrency-mt-unsafe): read once, while the log is opened
    if (text == nullptr)
      return usual;
    const std::string_view all{text};
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(all.data(), all.data() + all.size(), number);
    if (failure != std::errc{} || end != all.data() + all.size())
      return bad_option(variable, std::string{all.substr(0, 40)}, least, most);
    given = number;
  }
  if (*given < least || *given > most)
    return bad_option(variable, std::to_string(*given), least, most);
  return *given;
}

std::optional<std::uint64_t> number_in(std::optional<std::size_t> given) {
  return given ? std::optional{std::uint64_t{*given}} : std::nullopt;
}

result<void> create(database& in, const settings& how) {
  std::random_device entropy;
  const auto store = (std::uint64_t{entropy()} << 32) | entropy();
  BOOST_OUTCOME_TRY(in.run("BEGIN IMMEDIATE"));
  auto empty = is_empty(in);
  if (empty && empty.value()) { // otherwise another process was faster
    if (auto made = make_tables(in, how.path, store, how.now()); !made) {
      (void)in.run("ROLLBACK");
      return made;
    }
  }
  return in.run("COMMIT");
}

result<void> set_up(database& in, const settings& how) {
  sqlite3_busy_timeout(in.handle(), static_cast<int>(how.busy_timeout.count()));
  BOOST_OUTCOME_TRY(in.run("PRAGMA synchronous = FULL"));
  BOOST_OUTCOME_TRY(in.run(("PRAGMA cache_size = -" + std::to_string(how.cache_bytes / 1024)).c_str()));
  return in.run(("PRAGMA journal_size_limit = " + std::to_string(journal_limit)).c_str());
}

std::optional<file_stamp> stamp_of(const std::filesystem::path& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0)
    return std::nullopt;
  return file_stamp{about.st_ino, about.st_size, {about.st_mtim.tv_sec, about.st_mtim.tv_nsec}};
}

} // namespace

bool looks(sqlite::log_options::opening how) noexcept {
  return how == sqlite::log_options::opening::look_only || how == sqlite::log_options::opening::look_first;
}

bool is_outdated(const log_file& looked_at) {
  struct stat log{};
  return looked_at.connection.is_frozen()
         && (::stat((looked_at.path.string() + "-wal").c_str(), &log) == 0 || stamp_of(looked_at.path) != looked_at.stamp);
}

result<settings> resolve(const sqlite::log_options& wanted) {
  settings how{wanted.path, wanted.how, 0, 0, 0, {}, wanted.now, wanted.vfs};
  BOOST_OUTCOME_TRY(how.readers, choose(number_in(wanted.readers), "WEIR_SQLITE_READERS", 2, 1, 64));
  BOOST_OUTCOME_TRY(
    how.cache_bytes, choose(number_in(wanted.cache_bytes), "WEIR_SQLITE_CACHE_BYTES", 2U << 20, 64U << 10, 1U << 30));
  BOOST_OUTCOME_TRY(how.largest_entry,
    choose(number_in(wanted.largest_entry), "WEIR_SQLITE_LARGEST_ENTRY", 16U << 20, 1, sqlite::largest_entry_limit));
  const auto given =
    wanted.busy_timeout ? std::optional{static_cast<std::uint64_t>(wanted.busy_timeout->count())} : std::nullopt;
  BOOST_OUTCOME_TRY(const auto busy, choose(given, "WEIR_SQLITE_BUSY_TIMEOUT_MS", 5000, 0, 3600000));
  how.busy_timeout = std::chrono::milliseconds{busy};
  if (!how.now)
    how.now = [] {
      const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
      return std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
    };
  return how;
}

result<log_file> open_file(const settings& how) {
  using opening = sqlite::log_options::opening;
  log_file opened{{}, how.path, 0, {}};
  const auto may_create = how.how == opening::create_if_missing || how.how == opening::must_be_new;
  const auto access = how.how == opening::look_only    ? database::access::read
                      : how.how == opening::look_first ? database::access::look
                      : may_create                     ? database::access::read_write
                                                       : database::access::change;
  opened.stamp = stamp_of(how.path); // before: what is written meanwhile is noticed
  auto connection = database::open(how.path, access, how.vfs);
  if (!connection && connection.error() == errc::corrupt && connection.error().fact_of("sqlite").empty())
    return not_a_log(how.path, "it is no SQLite database");
  BOOST_OUTCOME_TRY(opened.connection, std::move(connection));
  if (!opened.connection.is_open())
    return error{errc::not_found, "there is no file " + how.path.string(), {{"path", how.path.string()}, {"holds", "nothing"}}};
  auto& in = opened.connection;
  BOOST_OUTCOME_TRY(set_up(in, how));
  BOOST_OUTCOME_TRY(const auto empty, is_empty(in));
  if (empty && may_create) {
    BOOST_OUTCOME_TRY(in.run("PRAGMA page_size = 8192"));
    BOOST_OUTCOME_TRY(in.run("PRAGMA journal_mode = WAL"));
    BOOST_OUTCOME_TRY(create(in, how));
  } else if (how.how == opening::must_be_new) {
    return error{errc::invalid_argument, how.path.string() + " is there already", {{"path", how.path.string()}}};
  }
  BOOST_OUTCOME_TRY(opened.store, check_tables(in, how.path));
  return opened;
}

log_core::log_core(settings how, std::unique_ptr<group_writer> writer, std::vector<log_file> readers)
  : how_{std::move(how)},
    store_{readers.front().store},
    writer_{std::move(writer)} {
  for (auto& one : readers)
    readers_.push_back(std::make_unique<reader>(std::move(one)));
}

std::shared_ptr<open_topic> log_core::attach(topic_description known, std::int64_t id) {
  const std::lock_guard lock{mutex_};
  auto& place = topics_[id];
  auto found = place.lock();
  if (!found) {
    found = std::make_shared<open_topic>(std::move(known), id);
    place = found;
  }
  return found;
}

result<void> log_core::watch(open_topic& awaited) {
  const std::lock_guard lock{mutex_};
  if (!watch_) {
    auto existing = how_;
    if (!looks(existing.how))
      existing.how = sqlite::log_options::opening::must_exist;
    BOOST_OUTCOME_TRY(looked_at_, open_file(existing));
    watch_ = std::make_unique<log_watch>(how_.path, [this] { return look(); });
  }
  awaited.is_awaited = true;
  watch_->look_soon();
  return success();
}

std::vector<std::shared_ptr<open_topic>> log_core::awaited_topics() {
  const std::lock_guard lock{mutex_};
  std::vector<std::shared_ptr<open_topic>> all;
  for (const auto& [id, place] : topics_)
    if (auto open = place.lock(); open && (open->is_awaited.exchange(false) || open->heads.has_waiting()))
      all.push_back(std::move(open));
  return all;
}

result<void> log_core::open_again(log_file& outdated) {
  BOOST_OUTCOME_TRY(auto fresh, open_file(how_));
  if (fresh.store != store_)
    return error{
      errc::not_found, how_.path.string() + " is another log than the one that was opened", {{"path", how_.path.string()}}};
  outdated = std::move(fresh);
  return success();
}

/// On the watch's thread. What can't be read now is told to whoever reads it.
bool log_core::look() {
  bool has_more = false;
  if (is_outdated(*looked_at_) && !open_again(*looked_at_))
    return false;
  for (const auto& open : awaited_topics()) {
    for (std::uint32_t shard = 0; shard < open->known.shards; ++shard) {
      const auto row = read_shard(*looked_at_, open->id, shard);
      has_more = row && open->heads.publish(shard, row.value().bounds.head) ? true : has_more;
    }
  }
  return has_more;
}

log_core::read_transaction::read_transaction(log_file& in) : file{in} {
  if (auto begun = in.connection.run("BEGIN"); !begun)
    failure = std::move(begun).error();
}

log_core::read_transaction::~read_transaction() {
  if (file.connection.is_in_transaction())
    (void)file.connection.run("ROLLBACK");
}

} // namespace weir::sqlite_log
