#pragma once

#include <weir/error.hpp>

#include "../../../posix/file_descriptor.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::cli {

/// What the operating system refused: not_found, permission_denied, storage_full, or io_failed, with the facts `path` and
/// `reason`. `action` completes "can't ACTION PATH: REASON".
error system_failure(int error_number, std::string_view action, const std::filesystem::path& path);

/// The whole of a regular file, or absent when there is none of that name. A larger one than `limit` bytes, a directory or a
/// device is refused with invalid_argument, and nothing blocks on a FIFO.
result<std::optional<std::string>> read_file_if_there(const std::filesystem::path& path, std::size_t limit);

/// The same, where the file must be there: not_found otherwise.
result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

/// Replaces the file's content at once: whoever reads it, also after a crash at any instant, finds all of the old content or
/// all of the new. On return the new content is on the disk. Leaves nothing behind when it fails.
result<void> replace_file(const std::filesystem::path& path, std::string_view content);

/// Writes all of it, however many calls that takes. The number of the failure, or 0.
int write_all(int descriptor, std::string_view bytes) noexcept;

/// Makes durable which files the directory holds.
result<void> sync_directory(const std::filesystem::path& path);

/// Creates the directory, and those above it that are not there. One that is there is fine.
result<void> make_directory(const std::filesystem::path& path);

} // namespace weir::cli
