#pragma once

#include <weir/error.hpp>
#include <weir/wiring.hpp>

#include <map>
#include <mutex>
#include <string>

namespace weir {

/// Which actors wait for which through lanes, checked whenever an end attaches: an attachment that would close a circle of
/// actors is refused with wait_cycle. Both ends in one actor are no circle: a coroutine that waits suspends itself, not its
/// actor. Every stream has one; streams that feed each other share one (channel::options::wiring). Any thread.
class shared_wiring {
public:
  enum class end { producer, consumer };

  /// `lane` is what tells it from all others: streams that share this may have lanes of the same name.
  result<void> attach(const void* lane, const std::string& name, end which, const std::string& actor);

  /// Nothing happens when another actor has taken over.
  void detach(const void* lane, end which, const std::string& actor) noexcept;

private:
  struct ends {
    std::string producer;
    std::string consumer;

    bool is_edge() const noexcept { return !producer.empty() && !consumer.empty() && producer != consumer; }
    std::string& operator[](end which) noexcept { return which == end::producer ? producer : consumer; }
  };

  std::mutex mutex_;
  wiring edges_;
  std::map<const void*, ends> lanes_;
};

} // namespace weir
