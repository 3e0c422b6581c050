#pragma once

#include <weir/error.hpp>

#include <cerrno>

namespace weir::posix {

/// What a call that set `errno` to that number failed of: not_found, permission_denied, storage_full, invalid_argument (a
/// directory), or io_failed.
inline errc code_of(int number) noexcept {
  switch (number) {
  case ENOENT:
  case ENOTDIR: return errc::not_found;
  case EACCES:
  case EPERM:
  case EROFS: return errc::permission_denied;
  case ENOSPC:
  case EDQUOT:
  case EFBIG: return errc::storage_full;
  case EISDIR: return errc::invalid_argument;
  default: return errc::io_failed;
  }
}

} // namespace weir::posix
