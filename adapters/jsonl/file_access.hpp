#pragma once

#include <weir/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace weir {

/// What the operating system refused, as a typed error: not_found, permission_denied, storage_full,
/// invalid_argument (a directory), or io_failed.
/// @param number the errno of the call
/// @param what   what could not be done, as "open the log"
error system_error(int number, std::string_view what, const std::filesystem::path& path);

/// Reads `size` bytes from `offset` on, fewer only where the file ends.
result<std::string> read_at(int file, std::uint64_t offset, std::size_t size, const std::filesystem::path& path);

} // namespace weir
