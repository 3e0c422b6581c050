#include <weir/memory_log.hpp>

#include "conformance/log/log_implementation.hpp"

namespace log_suite {

namespace {

class memory_place final : public log_place {
public:
  explicit memory_place(place_options how) : how_{how} {}

  std::shared_ptr<weir::log_store> open() override {
    return weir::memory::open_log({.largest_entry = how_.largest_entry, .now = [this] { return clock.now(); }});
  }

private:
  place_options how_;
};

} // namespace

const char* implementation_name() noexcept {
  return "memory";
}

std::unique_ptr<log_place> new_place(place_options how) {
  return std::make_unique<memory_place>(how);
}

} // namespace log_suite
