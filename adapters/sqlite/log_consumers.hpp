#pragma once

#include <weir/checkpoint.hpp>
#include <weir/error.hpp>

#include "log_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::sqlite_log {

struct pin_row {
  std::int64_t id = 0;
  std::vector<std::int64_t> offsets = {};
  std::int64_t until = 0;
};

result<std::optional<checkpoint>> read_checkpoint(log_file& in, std::int64_t topic, const std::string& consumer);
result<std::vector<checkpoint>> read_checkpoints(log_file& in, std::int64_t topic);
result<void> write_checkpoint(log_file& in, std::int64_t topic, const checkpoint& row);
result<void> erase_checkpoint(log_file& in, std::int64_t topic, const std::string& consumer);

result<std::int64_t> add_pin(log_file& in, std::int64_t topic, const std::vector<std::int64_t>& offsets, std::int64_t until);
result<void> erase_pin(log_file& in, std::int64_t topic, std::int64_t pin);

/// Those whose time is not over; the others are erased.
result<std::vector<pin_row>> current_pins(log_file& in, std::int64_t topic, std::int64_t now);

} // namespace weir::sqlite_log
