#pragma once

#include <weir/error.hpp>
#include <weir/log.hpp>

#include "log_rows.hpp"

#include <cstdint>

namespace weir::sqlite_log {

/// Trims within one transaction: see log_topic::trim().
result<trim_outcome> trim(log_file& in, const topic_row& topic, const trim_request& wanted, std::int64_t now);

} // namespace weir::sqlite_log
