#include "entry_payload.hpp"

#include <weir/change_text.hpp>

#include <algorithm>
#include <limits>

namespace weir::git {

namespace {

constexpr std::string_view before_mode = R"({"mode":")";
constexpr std::string_view before_blob = R"(","blob":")";

} // namespace

entry_payload::entry_payload(std::string_view commit, std::int64_t time) {
  end_ = R"(","commit":")";
  end_ += commit;
  end_ += R"(","time":")";
  append_time(end_, time);
  end_ += R"("})";
}

std::size_t entry_payload::size_of(std::string_view mode, std::string_view blob) const noexcept {
  return before_mode.size() + mode.size() + before_blob.size() + blob.size() + end_.size();
}

std::string entry_payload::of(std::string_view mode, std::string_view blob) const {
  std::string text;
  text.reserve(size_of(mode, blob));
  text.append(before_mode).append(mode).append(before_blob).append(blob).append(end_);
  return text;
}

std::int64_t nanoseconds_of(std::int64_t seconds) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  constexpr auto last = std::numeric_limits<std::int64_t>::max() / second;
  return std::clamp(seconds, -last, last) * second;
}

} // namespace weir::git
