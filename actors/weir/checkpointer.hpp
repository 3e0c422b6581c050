#pragma once

#include <weir/checkpoint.hpp>
#include <weir/error.hpp>
#include <weir/feed.hpp>
#include <weir/log.hpp>
#include <weir/self.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weir {

/// Keeps one consumer's checkpoint: the one who claimed it last, alone. Belongs to the actor that uses it; one call at a time.
class checkpointer {
public:
  checkpointer(std::shared_ptr<log_topic> of, std::string consumer) : topic_{std::move(of)}, consumer_{std::move(consumer)} {}

  /// Takes the checkpoint over: whoever held it before fails with checkpoint_conflict from now on. What is stored, or absent
  /// for a new consumer. One that has expired is returned and not taken over: commit() where the consumer goes on.
  task<result<std::optional<checkpoint>>> claim(self me);

  /// Stores where the consumer is. Fails with checkpoint_conflict (somebody else has claimed it), checkpoint_regress,
  /// ahead_of_head and cursor_expired; then nothing was stored.
  task<result<void>> commit(self me, cursor at, std::string metadata = {});

  /// Commits the consumer's own effect with it, or neither. Fails with unsupported where the store can't, and with what the
  /// effect says.
  task<result<void>> commit_together(self me, cursor at, log_effect effect, std::string metadata = {});

  /// As of the last claim or commit.
  const std::optional<checkpoint>& stored() const noexcept { return stored_; }

private:
  result<checkpoint_commit> commit_of(const cursor& at, std::string metadata) const;

  std::shared_ptr<log_topic> topic_;
  std::string consumer_;
  std::optional<checkpoint> stored_;
};

} // namespace weir
