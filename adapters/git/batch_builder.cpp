#include "batch_builder.hpp"

#include <iterator>
#include <utility>

namespace weir::git {

void batch_builder::begin(const position& at) {
  open_ = {at, changes_.size(), 0, 0};
  open_.at.ends_transaction = true;
  is_open_ = true;
}

void batch_builder::add(envelope change) {
  bytes_ += change.size_in_bytes();
  changes_.push_back(std::move(change));
  ++open_.count;
}

void batch_builder::end() {
  parts_.push_back(open_);
  empty_parts_ += open_.count == 0 ? 1 : 0;
  is_open_ = false;
}

bool batch_builder::is_full_for(std::size_t bytes, const read_limit& limit) const noexcept {
  const auto counted = changes_.size() + empty_parts_;
  return counted != 0 && (counted >= limit.changes || bytes_ + bytes > limit.bytes);
}

batch batch_builder::take_whole() {
  const auto kept = is_open_ ? open_.count : 0;
  const auto first_kept = changes_.end() - static_cast<std::ptrdiff_t>(kept);
  std::vector<envelope> rest{std::make_move_iterator(first_kept), std::make_move_iterator(changes_.end())};
  changes_.erase(first_kept, changes_.end());
  auto made = make(std::exchange(changes_, std::move(rest)));
  open_.begin = 0;
  for (const auto& change : changes_)
    bytes_ += change.size_in_bytes();
  return made;
}

batch batch_builder::take_all() {
  if (!is_open_)
    return take_whole();
  auto cut = open_;
  cut.at.ends_transaction = false;
  if (cut.count != 0)
    parts_.push_back(cut);
  auto made = make(std::exchange(changes_, {}));
  open_ = {open_.at, 0, 0, open_.first_index + cut.count};
  return made;
}

batch batch_builder::make(std::vector<envelope> changes) {
  batch made;
  made.at = parts_.back().at;
  made.changes = changes.size();
  made.envelopes = make_block(std::move(changes), std::exchange(parts_, {}));
  bytes_ = 0;
  empty_parts_ = 0;
  return made;
}

} // namespace weir::git
