#pragma once

#include <weir/log.hpp>

#include "../lanes/world.hpp"
#include "scratch.hpp"

#include <memory>
#include <string>
#include <vector>

namespace weir_bench {

/// The adapters that are measured.
enum class adapter { memory, sqlite };

std::string name_of(adapter which);

/// A new store; one in a file lies in the directory.
std::shared_ptr<weir::log_store> open_log(adapter which, const scratch& directory);

/// A topic of a new store.
class log_world {
public:
  log_world(adapter which, const std::string& policy);

  caf::actor_system& system() noexcept { return world_.system(); }
  const std::shared_ptr<weir::log_topic>& topic() const noexcept { return topic_; }

  /// Appends so many entries, many at a time.
  void fill(std::uint64_t entries);

private:
  scratch directory_;
  world world_;
  std::shared_ptr<weir::log_store> store_;
  std::shared_ptr<weir::log_topic> topic_;
};

/// A batch of entries with payloads.
std::vector<weir::new_entry> entries_of(std::size_t count);

} // namespace weir_bench
