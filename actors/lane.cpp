#include <weir/lane.hpp>

#include <utility>

namespace weir {

namespace {

error stopped() {
  return error{errc::cancelled, "the coroutine was asked to stop before this happened"};
}

error too_late() {
  return error{errc::timed_out, "the deadline passed before this happened"};
}

} // namespace

// publish_operation -----------------------------------------------------------------------------------------------------------

bool publish_operation::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  return waiting_.emplace(*this).start(frame, root);
}

bool publish_operation::line_place::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  suspend(frame, root);
  if (operation_.to_ == nullptr) { // done at once, but the coroutine has had its share of the turn
    resume_soon();
    return true;
  }
  if (operation_.failure_)
    return true; // asked to stop: on_stop() has put us into the run queue
  if (auto refused = operation_.to_->bind(root.owner()).join(*this)) {
    operation_.failure_ = std::move(refused);
    resume_soon();
    return true;
  }
  if (is_waiting())
    if (const auto at = operation_.until_.resolve(root.owner()))
      set_deadline(*at);
  return true;
}

void publish_operation::line_place::on_settled(std::optional<error> failure) noexcept {
  operation_.failure_ = std::move(failure);
  resume_soon();
}

void publish_operation::line_place::on_stop() noexcept {
  if (operation_.to_ == nullptr || (is_suspended() && is_queued()))
    return; // it has happened
  withdraw();
  operation_.failure_ = stopped();
  resume_soon();
}

void publish_operation::line_place::on_deadline() noexcept {
  if (!withdraw())
    return;
  operation_.failure_ = too_late();
  resume_soon();
}

// attach_operation ------------------------------------------------------------------------------------------------------------

bool attach_operation::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  suspend(frame, root);
  if (outcome_)
    return true;
  if (producer_ != nullptr)
    producer_->bind(root.owner()).await_attached(*this);
  else
    consumer_->bind(root.owner()).await_attached(*this);
  return true;
}

result<std::uint64_t> attach_operation::await_resume() {
  return std::move(*outcome_);
}

attach_operation::~attach_operation() {
  if (is_suspended() && !outcome_)
    withdraw();
}

void attach_operation::withdraw() noexcept {
  if (producer_ != nullptr && producer_->bound() != nullptr)
    producer_->bound()->withdraw(*this);
  if (consumer_ != nullptr && consumer_->bound() != nullptr)
    consumer_->bound()->withdraw(*this);
}

void attach_operation::on_stop() noexcept {
  if (outcome_)
    return;
  withdraw();
  outcome_.emplace(stopped());
  resume_soon();
}

// producer --------------------------------------------------------------------------------------------------------------------

producer<lane_item>::producer(std::shared_ptr<const detail::lane_link> link) noexcept : link_{std::move(link)} {}
producer<lane_item>::producer(producer&&) noexcept = default;
producer<lane_item>& producer<lane_item>::operator=(producer&&) noexcept = default;
producer<lane_item>::~producer() = default;

result<void> producer<lane_item>::try_publish(lane_item& item) {
  if (end_) {
    lane_machine::offered offered{items_.make(std::move(item))};
    std::optional<error> failure;
    if (end_->try_enqueue(offered, failure) == detail::producer_end::offer::enqueued)
      return success();
    item = offered.take(); // it stays with the caller
    if (failure)
      return std::move(*failure);
  }
  return error{errc::would_wait, "the lane has no room now, or is not attached yet", {{"lane", to_string(link_->id)}}};
}

// publish_all -----------------------------------------------------------------------------------------------------------------

namespace {

/// What a publish to so many lanes costs of a turn, as other awaits do: more, and its publisher keeps the others from running
/// for long; less, and the messages to each lane carry little.
constexpr int lanes_per_await = 16;

} // namespace

struct publish_all_operation::line_place final : detail::publication {
  line_place(publish_all_operation& operation, std::size_t number, lane_machine::offered&& copy)
    : publication{std::move(copy)},
      owner{operation},
      index{number} {}

  using publication::withdraw;

  void on_settled(std::optional<error> failure) noexcept override {
    if (failure)
      owner.outcomes_[index] = std::move(*failure);
    owner.on_settled();
  }

  publish_all_operation& owner;
  std::size_t index;
};

publish_all_operation::publish_all_operation(std::vector<producer<lane_item>*> to, lane_item&& item)
  : to_{std::move(to)},
    item_{to_.empty() ? shared_item{std::move(item)} : to_.front()->items_.make(std::move(item))},
    outcomes_(to_.size(), success()) {}

publish_all_operation::~publish_all_operation() = default;

void publish_all_operation::offer_to(detail::host& host) {
  if (host_ != nullptr)
    return;
  host_ = &host;
  unsettled_ = 1; // until all are offered
  shared_item_copies copies{item_, 2 * static_cast<std::uint32_t>(to_.size())};
  for (std::size_t index = 0; index < to_.size(); ++index) {
    auto& end = to_[index]->bind(host);
    lane_machine::offered copy{copies};
    std::optional<error> failure;
    if (end.try_enqueue(copy, failure) != detail::producer_end::offer::has_to_wait) {
      if (failure)
        outcomes_[index] = std::move(*failure);
      continue;
    }
    auto& one = *waiting_.emplace_back(std::make_unique<line_place>(*this, index, std::move(copy)));
    ++unsettled_;
    if (auto refused = end.join(one))
      one.on_settled(std::move(refused));
  }
  on_settled();
}

bool publish_all_operation::await_ready() {
  // The first end says which host this is; an end that was never used binds when the coroutine is known.
  for (auto one = to_.begin(); host_ == nullptr && one != to_.end(); ++one)
    if ((*one)->bound() != nullptr)
      offer_to((*one)->bound()->owner());
  return host_ != nullptr && unsettled_ == 0 && host_->spend(1 + static_cast<int>(to_.size()) / lanes_per_await);
}

void publish_all_operation::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  if (host_ == nullptr && root.stop_requested())
    for (auto& outcome : outcomes_)
      outcome = stopped();
  else
    offer_to(root.owner());
  suspend(frame, root);
  if (unsettled_ == 0)
    resume_soon();
}

std::vector<result<void>> publish_all_operation::await_resume() {
  return std::move(outcomes_);
}

void publish_all_operation::on_settled() noexcept {
  if (--unsettled_ == 0)
    resume_soon();
}

void publish_all_operation::on_stop() noexcept {
  for (auto& one : waiting_)
    if (one->withdraw())
      outcomes_[one->index] = stopped();
  unsettled_ = 0;
  resume_soon();
}

// delivery --------------------------------------------------------------------------------------------------------------------

delivery<lane_item>& delivery<lane_item>::operator=(delivery&& other) noexcept {
  if (this != &other) {
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
  }
  return *this;
}

const lane_id& delivery<lane_item>::lane() const {
  static const lane_id gone{"(gone)"};
  const auto* end = from();
  return end != nullptr ? end->lane() : gone;
}

result<void> delivery<lane_item>::ack() {
  if (state_ == lease_state::acknowledged)
    return success();
  auto* end = from();
  if (end == nullptr || state_ == lease_state::returned)
    return error{errc::stale_delivery, "the lease has ended"};
  auto outcome = end->acknowledge(ordinal_, item_.bytes());
  if (outcome)
    state_ = lease_state::acknowledged;
  return outcome;
}

result<void> delivery<lane_item>::nack(std::chrono::milliseconds after) {
  auto* end = from();
  if (end == nullptr || state_ != lease_state::held)
    return error{errc::stale_delivery, "the lease has ended"};
  auto outcome = end->give_back(ordinal_, item_.bytes(), static_cast<std::uint64_t>(after.count() > 0 ? after.count() : 0));
  if (outcome)
    state_ = lease_state::returned;
  return outcome;
}

// receive_operation -----------------------------------------------------------------------------------------------------------

receive_operation::~receive_operation() {
  if (is_suspended() && !outcome_)
    if (auto* end = from_->bound())
      end->withdraw(*this);
}

bool receive_operation::await_ready() {
  auto* end = from_->bound();
  if (end == nullptr)
    return false;
  if (end->has_ready())
    outcome_.emplace(end->take());
  else if (auto over = end->end())
    outcome_.emplace(std::move(*over));
  return outcome_ && end->owner().spend();
}

bool receive_operation::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  const bool was_done = outcome_.has_value();
  suspend(frame, root);
  if (was_done) {
    resume_soon();
    return true;
  }
  if (outcome_)
    return true; // asked to stop
  from_->bind(root.owner()).await(*this);
  if (const auto at = until_.resolve(root.owner()))
    set_deadline(*at);
  return true;
}

result<delivery<lane_item>> receive_operation::await_resume() {
  return std::move(*outcome_);
}

void receive_operation::settle(result<delivery<lane_item>> outcome) noexcept {
  outcome_.emplace(std::move(outcome));
  resume_soon();
}

void receive_operation::on_stop() noexcept {
  if (outcome_)
    return; // it has happened
  if (auto* end = from_->bound())
    end->withdraw(*this);
  settle(stopped());
}

void receive_operation::on_deadline() noexcept {
  if (outcome_)
    return;
  from_->bound()->withdraw(*this);
  settle(too_late());
}

// consumer --------------------------------------------------------------------------------------------------------------------

consumer<lane_item>::consumer(std::shared_ptr<const detail::lane_link> link, detail::end_role role, window granted) noexcept
  : link_{std::move(link)},
    role_{role},
    granted_{granted} {}
consumer<lane_item>::consumer(consumer&&) noexcept = default;
consumer<lane_item>& consumer<lane_item>::operator=(consumer&&) noexcept = default;
consumer<lane_item>::~consumer() = default;

detail::consumer_end& consumer<lane_item>::bind(detail::host& host) {
  if (!end_)
    end_ = std::make_unique<detail::consumer_end>(host, link_, role_, credit{granted_.items, granted_.bytes});
  return *end_;
}

std::vector<delivery<lane_item>> consumer<lane_item>::take_ready(std::size_t max_items, std::size_t max_bytes) {
  std::vector<delivery<lane_item>> taken;
  if (end_)
    end_->take_ready(taken, max_items, max_bytes);
  return taken;
}

task<result<std::vector<delivery<lane_item>>>> consumer<lane_item>::receive_some(std::size_t max_items, std::size_t max_bytes) {
  std::vector<delivery<lane_item>> taken;
  if (end_)
    end_->take_ready(taken, max_items, max_bytes);
  if (taken.empty()) {
    auto first = receive();
    auto received = co_await first;
    if (!received)
      co_return std::move(received).error();
    const auto bytes = size_in_bytes(received.value().item());
    taken.push_back(std::move(received).value());
    if (max_items > 1 && bytes < max_bytes)
      end_->take_ready(taken, max_items - 1, max_bytes - bytes);
  }
  co_return std::move(taken);
}

result<delivery<lane_item>> consumer<lane_item>::try_receive() {
  if (end_ && end_->has_ready())
    return end_->take();
  if (end_)
    if (auto over = end_->end())
      return std::move(*over);
  return error{errc::would_wait, "nothing is there now, or the end is not attached yet", {{"lane", to_string(link_->id)}}};
}

bool consumer<lane_item>::empty() const noexcept {
  return !end_ || !end_->has_ready();
}

result<void> consumer<lane_item>::ack_through(delivery<lane_item>& last) {
  if (!end_ || last.from() != end_.get())
    return error{errc::stale_delivery, "the delivery is not of this consumer", {{"lane", to_string(link_->id)}}};
  auto outcome = end_->acknowledge_through(last.ordinal_);
  return outcome;
}

} // namespace weir
