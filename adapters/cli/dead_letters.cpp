#include <weir/base64.hpp>
#include <weir/change_text.hpp>
#include <weir/cli/dead_letters.hpp>
#include <weir/cli/json_members.hpp>
#include <weir/json_text.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::cli {

namespace {

/// As in a log of changes, but for the place: it is the batch's.
void append_record(std::string& out, const envelope& record) {
  out += '{';
  append_bytes_member(out, "collection", record.collection);
  append_bytes_member(out, "key", record.key);
  append_member(out, "op", record.operation == operation::erase ? "delete" : "upsert");
  if (record.payload && is_json_on_one_line(*record.payload)) {
    out.append(",\"payload\":").append(*record.payload);
  } else if (record.payload) {
    out += ",\"payload_base64\":\"";
    append_base64(out, *record.payload);
    out += '"';
  }
  if (!record.headers.empty()) {
    out += ",\"headers\":{";
    for (const auto& [name, value] : record.headers)
      append_member(out, name, value);
    out += '}';
  }
  out += '}';
}

/// Where the last whole line ends. The descriptor is open for reading.
result<off_t> end_of_last_line(int descriptor, off_t size, const std::filesystem::path& path) {
  std::array<char, 4096> piece{};
  auto end = size;
  while (end > 0) {
    const auto begin = end > static_cast<off_t>(piece.size()) ? end - static_cast<off_t>(piece.size()) : 0;
    const auto count = ::pread(descriptor, piece.data(), static_cast<std::size_t>(end - begin), begin);
    if (count < 0)
      return system_failure(errno, "read", path);
    const std::string_view text{piece.data(), static_cast<std::size_t>(count)};
    if (const auto feed = text.rfind('\n'); feed != std::string_view::npos)
      return begin + static_cast<off_t>(feed) + 1;
    end = begin;
  }
  return off_t{0};
}

} // namespace

std::string to_json(const dead_letter& letter, std::chrono::system_clock::time_point time) {
  const auto since_epoch = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  std::string line{"{\"time\":\""};
  append_time(line, std::chrono::nanoseconds{since_epoch}.count());
  line += '"';
  append_member(line, "lane", letter.lane);
  append_member(line, "code", name_of(letter.reason.code()));
  append_member(line, "reason", letter.reason.sentence());
  line += ",\"facts\":{";
  for (const auto& [name, value] : letter.reason.facts())
    append_member(line, name, value);
  line += '}';
  if (letter.at)
    line += fmt::format(",\"epoch\":{},\"seq\":{}", letter.at->epoch, letter.at->seq);
  if (letter.record) {
    line += ",\"change\":";
    append_record(line, *letter.record);
  } else {
    append_bytes_member(line, "record", letter.bytes);
  }
  return line + "}\n";
}

result<void> dead_letter_file::open() {
  posix::file_descriptor file{::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666)};
  if (!file.is_open())
    return system_failure(errno, "open", path_);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0)
    return system_failure(errno, "read", path_);
  auto end = end_of_last_line(file.number(), status.st_size, path_);
  if (!end)
    return std::move(end).error();
  if (end.value() != status.st_size && ::ftruncate(file.number(), end.value()) != 0)
    return system_failure(errno, "cut", path_);
  if (auto synced = sync_directory(path_.parent_path()); !synced)
    return synced;
  file_ = std::move(file);
  return success();
}

result<void> dead_letter_file::append(std::span<const dead_letter> letters) {
  return append(letters, std::chrono::system_clock::now());
}

result<void> dead_letter_file::append(std::span<const dead_letter> letters, std::chrono::system_clock::time_point time) {
  if (letters.empty())
    return success();
  if (!file_.is_open())
    if (auto opened = open(); !opened)
      return opened;
  std::string lines;
  for (const auto& letter : letters)
    lines += to_json(letter, time);
  struct stat before{};
  if (::fstat(file_.number(), &before) != 0)
    return system_failure(errno, "read", path_);
  auto failure = write_all(file_.number(), lines);
  if (failure == 0 && ::fdatasync(file_.number()) != 0)
    failure = errno;
  if (failure != 0) {
    // What was written in part must not stand before the next attempt; where even that fails, the next open() cuts it.
    if (::ftruncate(file_.number(), before.st_size) != 0)
      file_.close();
    return system_failure(failure, "write", path_);
  }
  return success();
}

} // namespace weir::cli
