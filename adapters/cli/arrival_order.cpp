#include <weir/cli/arrival_order.hpp>

#include <algorithm>
#include <iterator>

namespace weir::cli {

std::vector<std::uint32_t> arrival_order::wanted() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
    if (shards_[shard].entries.empty() && shards_[shard].has_more)
      all.push_back(shard);
  return all;
}

void arrival_order::add(std::uint32_t shard, std::vector<entry> entries) {
  auto& to = shards_[shard];
  to.has_more = !entries.empty();
  std::ranges::move(entries, std::back_inserter(to.entries));
}

std::optional<std::pair<std::uint32_t, entry>> arrival_order::take() {
  std::optional<std::uint32_t> first;
  for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
    const auto& one = shards_[shard];
    if (one.entries.empty() && one.has_more)
      return std::nullopt;
    if (!one.entries.empty() && (!first || one.entries.front().time < shards_[*first].entries.front().time))
      first = shard;
  }
  if (!first)
    return std::nullopt;
  auto& from = shards_[*first].entries;
  std::pair taken{*first, std::move(from.front())};
  from.pop_front();
  return taken;
}

} // namespace weir::cli
