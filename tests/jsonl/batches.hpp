#pragma once

#include <weir/batch.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace adapter_tests {

inline weir::envelope upsert(std::string collection, std::string key, std::string payload) {
  return {std::move(collection), std::move(key), weir::operation::upsert, std::move(payload), {}};
}

inline weir::envelope erase(std::string collection, std::string key) {
  return {std::move(collection), std::move(key), weir::operation::erase, std::nullopt, {}};
}

inline weir::position at(std::uint64_t epoch, std::uint64_t seq, bool ends_transaction = true) {
  return {epoch, seq, {}, 0, ends_transaction};
}

/// A live batch of one transaction, or of a piece of one.
inline weir::batch live(weir::position where, std::vector<weir::envelope> changes, std::uint64_t first_index = 0) {
  weir::batch made;
  made.at = where;
  made.changes = changes.size();
  const auto count = changes.size();
  made.envelopes = weir::make_block(std::move(changes), {{where, 0, count, first_index}});
  return made;
}

inline weir::batch snapshot(weir::request_id request, std::vector<weir::envelope> rows, std::string walked) {
  weir::batch made;
  made.envelopes = weir::make_block(std::move(rows));
  made.request = request;
  made.walked = std::move(walked);
  return made;
}

} // namespace adapter_tests
