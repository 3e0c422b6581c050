#include <weir/detail/caf_actor.hpp>
#include <weir/detail/lane_directory.hpp>
#include <weir/request_lane.hpp>

#include <algorithm>
#include <utility>

namespace weir {

namespace detail {

class request_end final : public endpoint {
public:
  request_end(host& owner, std::shared_ptr<const request_link> link) : endpoint{owner}, link_{std::move(link)} {
    owner.post(link_->requests, control_message{{}, attach_end{end_role::consumer, owner.ref(), here(), {}}});
  }

  ~request_end() override {
    stop(errc::cancelled); // whoever still waits here
    owner().post(link_->requests, control_message{{}, detach_end{end_role::consumer, owner().ref(), here(), 0}});
  }

  void await(receive_request_operation& waiting) {
    receivers_.push_back(&waiting);
    serve();
    grant_for_receivers();
  }
  void withdraw(receive_request_operation& waiting) noexcept { std::erase(receivers_, &waiting); }

  result<void> finish(std::uint64_t ticket, bool served) {
    if (ended_ || link_->gauge->consumer_generation[0].load(std::memory_order_acquire) != generation_)
      return error{errc::stale_delivery, "the lease was superseded", {{"lane", "requests"}}};
    if (served)
      owner().post(link_->requests, control_message{{}, acknowledged_one{end_role::consumer, generation_, ticket}});
    else
      owner().post(link_->requests, control_message{{}, returned_one{end_role::consumer, generation_, ticket, 0, 0}});
    return success();
  }

  void on_control(control& message) override {
    if (const auto* known = std::get_if<attached>(&message)) {
      generation_ = known->generation;
      grant_for_receivers();
    } else if (const auto* ends = std::get_if<cancel>(&message)) {
      if (!ended_ && ends->why)
        failure_ = *ends->why;
      stop(ends->reason);
    }
  }

  void on_data(parcel& items) override {
    auto& delivered = static_cast<delivered_request&>(items);
    if (generation_ == 0)
      generation_ = delivered.generation;
    if (ended_ || generation_ != delivered.generation)
      return;
    ++arrived_;
    ready_.push_back(delivery<request>{*this, delivered.ticket, delivered.attempt, std::move(delivered.asked)});
    serve();
  }

private:
  /// Asks for as many as are waited for: what is delivered is seen at once, so that attempts count what was tried.
  void grant_for_receivers() {
    const auto wanted = arrived_ + receivers_.size();
    if (generation_ == 0 || ended_ || wanted <= granted_)
      return;
    granted_ = wanted;
    owner().post(link_->requests, control_message{{}, grant{end_role::consumer, generation_, {granted_, 0}}});
  }

  void stop(errc reason) {
    if (!ended_)
      ended_ = reason;
    ready_.clear();
    serve();
  }

  void serve() {
    while (!receivers_.empty() && (ended_ || !ready_.empty())) {
      auto* first = receivers_.front();
      receivers_.pop_front();
      if (ended_) {
        first->settle(end());
      } else {
        first->settle(std::move(ready_.front()));
        ready_.pop_front();
      }
    }
  }

  error end() const {
    if (failure_)
      return *failure_;
    return error{*ended_, *ended_ == errc::fenced ? "a newer server has taken over the request lane" : "the stream was closed",
      {{"lane", "requests"}}};
  }

  std::shared_ptr<const request_link> link_;
  std::uint64_t generation_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t arrived_ = 0;
  std::optional<errc> ended_;
  std::optional<error> failure_; // instead of what ended_ alone says
  std::deque<delivery<request>> ready_;
  std::deque<receive_request_operation*> receivers_;
};

} // namespace detail

result<void> producer<request>::publish(request asked) const {
  if (asked.collections.empty())
    return error{errc::invalid_argument, "a request names at least one collection", {{"sink", asked.sink}}};
  if (auto fault = link_->lanes->find_fault(asked))
    return std::move(*fault);
  std::ranges::sort(asked.collections);
  const auto [first, last] = std::ranges::unique(asked.collections);
  asked.collections.erase(first, last);
  link_->gauge->published.fetch_add(1, std::memory_order_release);
  auto sent = std::make_shared<detail::published_request>();
  sent->asked = std::move(asked);
  detail::post(link_->requests, detail::data_message{{}, std::move(sent)});
  return success();
}

delivery<request>::delivery(detail::request_end& from, std::uint64_t ticket, std::uint32_t attempt, request item) noexcept
  : host_{&from.owner()},
    from_{from.here()},
    ticket_{ticket},
    attempt_{attempt},
    item_{std::move(item)} {}

delivery<request>::delivery(delivery&& other) noexcept
  : host_{std::exchange(other.host_, nullptr)},
    from_{other.from_},
    ticket_{other.ticket_},
    attempt_{other.attempt_},
    item_{std::move(other.item_)} {}

delivery<request>& delivery<request>::operator=(delivery&& other) noexcept {
  if (this != &other) {
    (void)finish(false);
    host_ = std::exchange(other.host_, nullptr);
    from_ = other.from_;
    ticket_ = other.ticket_;
    attempt_ = other.attempt_;
    item_ = std::move(other.item_);
  }
  return *this;
}

delivery<request>::~delivery() {
  (void)finish(false);
}

result<void> delivery<request>::ack() {
  return finish(true);
}

result<void> delivery<request>::nack() {
  return finish(false);
}

result<void> delivery<request>::finish(bool served) {
  auto* host = std::exchange(host_, nullptr);
  auto* end = host == nullptr ? nullptr : static_cast<detail::request_end*>(host->find(from_));
  if (end == nullptr)
    return error{errc::stale_delivery, "the lease has ended", {{"lane", "requests"}}};
  return end->finish(ticket_, served);
}

void receive_request_operation::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  suspend(frame, root);
  if (outcome_)
    return; // asked to stop
  from_->bind(root.owner()).await(*this);
  if (outcome_)
    return;
  if (const auto at = until_.resolve(root.owner()))
    set_deadline(*at);
}

receive_request_operation::~receive_request_operation() {
  if (is_suspended() && !outcome_ && from_->bound() != nullptr)
    from_->bound()->withdraw(*this);
}

result<delivery<request>> receive_request_operation::await_resume() {
  return std::move(*outcome_);
}

void receive_request_operation::settle(result<delivery<request>> outcome) noexcept {
  outcome_.emplace(std::move(outcome));
  resume_soon();
}

void receive_request_operation::on_stop() noexcept {
  if (outcome_)
    return;
  if (from_->bound() != nullptr)
    from_->bound()->withdraw(*this);
  settle(error{errc::cancelled, "the coroutine was asked to stop before this happened"});
}

void receive_request_operation::on_deadline() noexcept {
  if (outcome_)
    return;
  from_->bound()->withdraw(*this);
  settle(error{errc::timed_out, "the deadline passed before this happened"});
}

consumer<request>::consumer(std::shared_ptr<const detail::request_link> link) noexcept : link_{std::move(link)} {}
consumer<request>::consumer(consumer&&) noexcept = default;
consumer<request>& consumer<request>::operator=(consumer&&) noexcept = default;
consumer<request>::~consumer() = default;

detail::request_end& consumer<request>::bind(detail::host& host) {
  if (!end_)
    end_ = std::make_unique<detail::request_end>(host, link_);
  return *end_;
}

} // namespace weir
