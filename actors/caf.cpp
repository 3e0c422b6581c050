#include <weir/caf.hpp>
#include <weir/detail/caf_actor.hpp>

#include <caf/deep_to_string.hpp>

namespace weir {

caf::actor to_caf(const actor_ref& ref) {
  return caf::actor_cast<caf::actor>(caf::strong_actor_ptr{actor_ref_access::get(ref)});
}

actor_ref from_caf(const caf::actor& actor) {
  return actor_ref_access::make(caf::actor_cast<caf::strong_actor_ptr>(actor));
}

std::string describe(const caf::error& why) {
  if (why.category() == caf::atom("weir") && why.context().match_elements<std::string>())
    return why.context().get_as<std::string>(0);
  return caf::to_string(why);
}

void detail::foreign_sender::answer(caf::message content) const {
  actor->get()->enqueue(nullptr, id.response_id(), std::move(content), nullptr);
}

} // namespace weir
