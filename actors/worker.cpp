#include <weir/detail/caf_actor.hpp>
#include <weir/worker.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <string>
#include <thread>

namespace weir {

namespace detail {

/// The queue is bounded by who waits: every coroutine waits for its own call.
class worker_thread {
public:
  explicit worker_thread(const char* name) : thread_{[this] { run(); }} {
    pthread_setname_np(thread_.native_handle(), std::string{name}.substr(0, 15).c_str());
  }

  ~worker_thread() {
    {
      const std::lock_guard lock{mutex_};
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  worker_thread(const worker_thread&) = delete;
  worker_thread& operator=(const worker_thread&) = delete;

  void add(std::shared_ptr<job> call) {
    {
      const std::lock_guard lock{mutex_};
      calls_.push_back(std::move(call));
    }
    changed_.notify_one();
  }

private:
  void run() {
    for (;;) {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [this] { return ending_ || !calls_.empty(); });
      if (ending_)
        return;
      const auto call = std::move(calls_.front());
      calls_.pop_front();
      lock.unlock();
      if (call->abandoned)
        continue;
      call->run();
      post(call->waiting_actor, control_message{call->waiting_endpoint, wake{}});
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<job>> calls_;
  bool ending_ = false;
  std::thread thread_; // last: it uses the others
};

void enqueue(worker_thread& thread, std::shared_ptr<job> call) {
  thread.add(std::move(call));
}

} // namespace detail

worker::worker(const char* name) : thread_{std::make_unique<detail::worker_thread>(name)} {}
worker::~worker() = default;
worker::worker(worker&&) noexcept = default;
worker& worker::operator=(worker&&) noexcept = default;

} // namespace weir
