#pragma once

#include <weir/batch.hpp>
#include <weir/error.hpp>

#include <span>

namespace weir {

/// Whether the block's parts are its envelopes in order, none left out and none twice; source_failed if not. A batch without
/// parts is sound.
result<void> check_parts(const batch& carried);

/// Calls visit(part, envelopes) for each transaction of a live batch whose parts are sound, in order, until one call returns
/// false. Where the source does not say which envelopes belong to which transaction, the batch is one part at its own
/// position. Where the batch's position stands behind that of its last part, an empty part with it comes last.
template <class F>
void for_each_part(const batch& live, F&& visit) {
  const auto envelopes = live.envelopes ? std::span{live.envelopes->envelopes()} : std::span<const envelope>{};
  const transaction_part whole{*live.at, 0, envelopes.size(), 0};
  const auto parts =
    live.envelopes && !live.envelopes->parts().empty() ? std::span{live.envelopes->parts()} : std::span{&whole, 1};
  for (const auto& part : parts)
    if (!visit(part, envelopes.subspan(part.begin, part.count)))
      return;
  if (!covers(parts.back().at, *live.at))
    visit(transaction_part{*live.at, envelopes.size(), 0, 0}, std::span<const envelope>{});
}

} // namespace weir
