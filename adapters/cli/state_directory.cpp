#include <weir/cli/plain_text.hpp>
#include <weir/cli/state_directory.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace weir::cli {

namespace {

constexpr auto lock_name = "lock";
constexpr auto position_name = "position.json";

/// Far more than the file ever has: what is larger was not written by this program.
constexpr std::size_t longest_position_file = 1UL << 20U;

/// The process that the lock file names. 0 where it names none: its holder has only just taken it.
pid_t read_holder(const std::filesystem::path& path) {
  auto text = read_file(path, 64);
  pid_t holder = 0;
  if (text)
    std::from_chars(text.value().data(), text.value().data() + text.value().size(), holder);
  return holder;
}

/// A process that was killed while it started a child leaves the lock to that for a moment, until it runs its own program.
constexpr std::chrono::seconds longest_wait{5};

bool is_gone(pid_t process) noexcept {
  return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

struct flock whole_file() noexcept {
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

/// An open-file-description lock: unlike the older kind it does not end when some other descriptor of the file is closed, and
/// child processes that are started with the descriptor closed don't hold it.
result<posix::file_descriptor> take_lock(const std::filesystem::path& directory) {
  const auto path = directory / lock_name;
  posix::file_descriptor lock{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)};
  if (!lock.is_open())
    return system_failure(errno, "lock", path);
  auto range = whole_file();
  const auto until = std::chrono::steady_clock::now() + longest_wait;
  while (::fcntl(lock.number(), F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES)
      return system_failure(errno, "lock", path);
    const auto holder = read_holder(path);
    if (!is_gone(holder) || std::chrono::steady_clock::now() >= until)
      return in_use(directory, holder);
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  // For people only. Where it can't be written (a full disk), the lock holds nevertheless.
  const auto number = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.number(), 0) == 0)
    write_all(lock.number(), number);
  return lock;
}

/// Where the directory is not there yet: whether it could be made. Looks at the nearest that is there.
result<void> could_be_made(std::filesystem::path path) {
  std::error_code failure;
  while (!std::filesystem::exists(path, failure) && path.has_relative_path())
    path = path.parent_path();
  if (!std::filesystem::is_directory(path, failure))
    return system_failure(ENOTDIR, "keep state below", path);
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    return system_failure(errno, "create a directory in", path);
  return success();
}

/// Says which file it is about and what can be done.
error explained(const error& cause, const std::filesystem::path& file) {
  // A directory of that name, or far too many bytes, is no less damaged than bytes that are wrong.
  const auto code = cause.code() == errc::invalid_argument ? errc::corrupt : cause.code();
  const auto advice = [&]() -> std::string_view {
    switch (code) {
    case errc::corrupt: return "restore it from a backup, or remove it to read the source from the beginning";
    case errc::unsupported: return "run the newer version of weir that wrote it";
    case errc::wrong_owner: return "give this pipeline a state directory of its own";
    default: return {};
    }
  }();
  auto sentence = advice.empty()
                    ? cause.sentence()
                    : fmt::format("can't use the state in {}: {}; {}", in_quotes(file.native()), cause.sentence(), advice);
  return error{code, std::move(sentence), cause.facts()}.with("path", file.native());
}

result<std::optional<position>> read_confirmed(const std::filesystem::path& directory, const state_owner& owner) {
  const auto file = directory / position_name;
  auto text = read_file_if_there(file, longest_position_file);
  if (!text)
    return explained(text.error(), file);
  if (!text.value())
    return std::optional<position>{};
  auto saved = parse_saved_state(*text.value());
  if (!saved)
    return explained(saved.error(), file);
  if (auto same = expect_owner(saved.value().owner, owner); !same)
    return explained(same.error(), file);
  return std::optional{saved.value().confirmed};
}

} // namespace

state_directory::state_directory(
  std::filesystem::path path, state_owner owner, posix::file_descriptor lock, std::optional<position> confirmed)
  : path_{std::move(path)},
    owner_{std::move(owner)},
    lock_{std::move(lock)},
    confirmed_{confirmed} {}

result<state_directory> state_directory::open(const std::filesystem::path& path, const state_owner& owner) {
  if (auto made = make_directory(path); !made)
    return std::move(made).error();
  auto lock = take_lock(path);
  if (!lock)
    return std::move(lock).error();
  auto confirmed = read_confirmed(path, owner);
  if (!confirmed)
    return std::move(confirmed).error();
  return state_directory{path, owner, std::move(lock).value(), confirmed.value()};
}

result<void> state_directory::save(const position& at) {
  if (confirmed_ && at < *confirmed_)
    return error{errc::position_not_above,
      fmt::format("the position {} lies before the confirmed one, {}", to_string(at), to_string(*confirmed_)),
      {{"position", to_string(at)}, {"confirmed", to_string(*confirmed_)}}};
  const bool same =
    confirmed_ && at == *confirmed_ && at.stamp == confirmed_->stamp && at.ends_transaction == confirmed_->ends_transaction;
  if (same)
    return success();
  if (auto written = replace_file(path_ / position_name, to_json({owner_, at})); !written)
    return written;
  confirmed_ = at;
  return success();
}

result<state_glance> glance_at_state(const std::filesystem::path& path, const state_owner& owner) {
  state_glance seen;
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    if (auto possible = could_be_made(path); !possible)
      return std::move(possible).error();
    return seen;
  }
  if (failure)
    return system_failure(failure.value(), "look into", path);
  if (!std::filesystem::is_directory(status))
    return system_failure(ENOTDIR, "keep state in", path);
  seen.there = true;
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    return system_failure(errno, "write in", path);
  auto confirmed = read_confirmed(path, owner);
  if (!confirmed)
    return std::move(confirmed).error();
  seen.confirmed = confirmed.value();
  const auto lock_path = path / lock_name;
  const posix::file_descriptor lock{::open(lock_path.c_str(), O_RDWR | O_CLOEXEC)};
  auto range = whole_file();
  if (lock.is_open() && ::fcntl(lock.number(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK)
    seen.holder = read_holder(lock_path);
  return seen;
}

error in_use(const std::filesystem::path& directory, pid_t holder) {
  const auto who = holder > 0 ? fmt::format("process {}", holder) : std::string{"another process"};
  return error{errc::in_use,
    fmt::format("the state directory {} is in use by {}; stop that one first, or give this pipeline a directory of its own",
      in_quotes(directory.native()), who),
    {{"path", directory.native()}, {"pid", std::to_string(holder)}}};
}

} // namespace weir::cli
