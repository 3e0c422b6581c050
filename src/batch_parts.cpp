#include <weir/batch_parts.hpp>

namespace weir {

result<void> check_parts(const batch& carried) {
  if (!carried.envelopes || carried.envelopes->parts().empty())
    return success();
  const auto changes = carried.envelopes->envelopes().size();
  std::size_t next = 0;
  auto are_sound = true;
  for (const auto& part : carried.envelopes->parts()) {
    are_sound = are_sound && part.begin == next && part.count <= changes - next;
    if (are_sound)
      next += part.count;
  }
  if (are_sound && next == changes)
    return success();
  return error{errc::source_failed, "the source's batch does not say which transaction each of its changes belongs to",
    {{"changes", std::to_string(changes)}, {"accounted_for", std::to_string(next)}}};
}

} // namespace weir
