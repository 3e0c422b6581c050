#include <weir/self.hpp>

namespace weir {

namespace {

error stopped() {
  return error{errc::cancelled, "the coroutine was asked to stop"};
}

} // namespace

result<void> sleep_operation::await_resume() const {
  if (cancelled_)
    return stopped();
  return success();
}

void sleep_operation::on_stop() noexcept {
  cancelled_ = true;
  resume_soon();
}

result<void> join_operation::await_resume() const {
  if (cancelled_)
    return stopped();
  return success();
}

} // namespace weir
