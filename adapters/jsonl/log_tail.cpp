#include "log_tail.hpp"

#include "file_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace weir {

namespace {

constexpr std::size_t block_size = 64U << 10U;

/// The offset behind the last line feed before `end`; 0 if there is none.
result<std::uint64_t> line_begin(int file, std::uint64_t end, const std::filesystem::path& path) {
  while (end > 0) {
    const auto size = std::min<std::uint64_t>(block_size, end);
    auto block = read_at(file, end - size, size, path);
    if (!block)
      return std::move(block).error();
    if (const auto found = block.value().rfind('\n'); found != std::string::npos)
      return end - size + found + 1;
    end -= size;
  }
  return std::uint64_t{0};
}

error foreign(std::uint64_t offset, const std::filesystem::path& path) {
  return error{errc::wrong_owner,
    fmt::format("{} holds something else than a log of changes at byte {}", path.string(), offset),
    {{"path", path.string()}, {"offset", std::to_string(offset)}, {"expected", std::string{log_line_start}}}};
}

/// Whether what begins at the offset begins like a line of a log, as far as it goes.
result<bool> begins_like_ours(int file, std::uint64_t begin, std::uint64_t end, const std::filesystem::path& path) {
  auto start = read_at(file, begin, std::min<std::uint64_t>(log_line_start.size(), end - begin), path);
  if (!start)
    return std::move(start).error();
  return log_line_start.starts_with(start.value());
}

} // namespace

result<log_tail> read_log_tail(int file, std::uint64_t size, const std::filesystem::path& path) {
  if (auto is_ours = begins_like_ours(file, 0, size, path); !is_ours)
    return std::move(is_ours).error();
  else if (!is_ours.value())
    return foreign(0, path);
  auto end = line_begin(file, size, path);
  if (!end)
    return std::move(end).error();
  for (auto broken_lines = 0; end.value() > 0; ++broken_lines) {
    auto begin = line_begin(file, end.value() - 1, path);
    if (!begin)
      return std::move(begin).error();
    const auto line_feed = end.value() - 1;
    if (auto is_ours = begins_like_ours(file, begin.value(), line_feed, path); !is_ours)
      return std::move(is_ours).error();
    else if (!is_ours.value() || line_feed == begin.value())
      return foreign(begin.value(), path);
    auto line = read_at(file, begin.value(), line_feed - begin.value(), path);
    if (!line)
      return std::move(line).error();
    if (auto last = read_log_line(line.value()))
      return log_tail{last, end.value()};
    if (broken_lines == 1)
      return error{errc::corrupt,
        fmt::format(
          "{} can't be read as a log of changes: its last two lines are broken, from byte {} on", path.string(), begin.value()),
        {{"path", path.string()}, {"offset", std::to_string(begin.value())}}};
    end = begin.value();
  }
  return log_tail{};
}

} // namespace weir
