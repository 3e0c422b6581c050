#pragma once

#include <weir/cli/files.hpp>
#include <weir/error.hpp>
#include <weir/pipeline.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace weir::cli {

/// One line of JSON, line feed included: {"time","lane","code","reason","facts"} and, where it is known, "epoch" and "seq" of
/// the batch that it came with. A change that a sink could not take is the member "change", which by itself is a line that the
/// jsonl source reads; a line that the source could not read is "record" or, where it is not text, "record_base64".
std::string to_json(const dead_letter& letter, std::chrono::system_clock::time_point time);

/// The file that dead letters are appended to. It is created with the first of them. Functions block on the disk; one thread at
/// a time.
///
/// After a crash a letter may come again, because what it was made of does.
class dead_letter_file {
public:
  explicit dead_letter_file(std::filesystem::path path) : path_{std::move(path)} {}

  /// Appends the letters, stamped with the time; on return they are on the disk. A last line that a crash has torn is cut off
  /// first. On a failure (permission_denied, storage_full, io_failed …) the file is as it was.
  result<void> append(std::span<const dead_letter> letters);

  /// The same with a given time.
  result<void> append(std::span<const dead_letter> letters, std::chrono::system_clock::time_point time);

private:
  result<void> open();

  std::filesystem::path path_;
  posix::file_descriptor file_;
};

} // namespace weir::cli
