#pragma once

#include <weir/batch.hpp>
#include <weir/source.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::git {

/// Collects whole transactions, and cuts one where a limit leaves no other way.
class batch_builder {
public:
  /// Begins a transaction; the one before has ended.
  void begin(const position& at);
  void add(envelope change);
  void end();

  /// Whether one more change of so many bytes (0 for the end of a transaction without any) would exceed the limit. An empty
  /// transaction counts as one change. Never true while there is nothing.
  bool is_full_for(std::size_t bytes, const read_limit& limit) const noexcept;

  bool has_whole_transactions() const noexcept { return !parts_.empty(); }

  /// The whole transactions; what came of the open one stays for the next batch.
  batch take_whole();

  /// Everything; the open transaction is cut, and its rest counts on.
  batch take_all();

private:
  batch make(std::vector<envelope> changes);

  std::vector<envelope> changes_;
  std::vector<transaction_part> parts_; ///< of the whole transactions
  transaction_part open_;
  bool is_open_ = false;
  std::size_t bytes_ = 0;
  std::size_t empty_parts_ = 0;
};

} // namespace weir::git
