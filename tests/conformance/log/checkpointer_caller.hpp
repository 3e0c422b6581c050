#pragma once

#include "conformance/log/log_caller.hpp"
#include "conformance/log/performer.hpp"

#include <memory>
#include <optional>
#include <string>

namespace log_suite {

/// An actor that keeps one consumer's checkpoint when a test says so.
class checkpointer_caller {
public:
  checkpointer_caller(log_caller& in, std::shared_ptr<weir::log_topic> of, std::string consumer);

  weir::result<std::optional<weir::checkpoint>> claim();
  weir::result<void> commit_cursor(weir::cursor at, std::string metadata = {});
  weir::result<void> commit(offsets at, std::string metadata = {});
  weir::result<void> commit_together(offsets at, weir::log_effect effect, std::string metadata = {});
  std::optional<weir::checkpoint> stored();

private:
  std::shared_ptr<weir::log_topic> topic_;
  std::shared_ptr<weir::checkpointer> keeps_; // the actor's
  performer performer_;
};

} // namespace log_suite
