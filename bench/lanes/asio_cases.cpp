#include "cases.hpp"
#include "thread_flow.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace weir_bench {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// A coroutine on each of two threads, and Asio's channel between them. Both try without waiting first, which is several times
/// as fast as waiting for what is there already.
class channel_flow final : public thread_flow {
public:
  explicit channel_flow(std::size_t bound) : channel_{receiving_, bound} {}

private:
  using channel = asio::experimental::concurrent_channel<void(error_code, weir::lane_item)>;

  static asio::awaitable<void> send_all(channel_flow* flow, production wanted) {
    error_code none;
    for (std::uint64_t number = 0; number < wanted.count; ++number) {
      wanted.wait_until_due(number);
      weir::lane_item item = flow->pool().make(number, wanted.due(number));
      if (flow->channel_.try_send(none, std::move(item)))
        continue;
      weir::lane_item again = flow->pool().make(number, wanted.due(number));
      auto sending = flow->channel_.async_send(none, std::move(again), asio::use_awaitable);
      co_await std::move(sending);
    }
  }

  static asio::awaitable<void> receive_all(channel_flow* flow, production wanted) {
    std::uint64_t taken = 0;
    const auto take = [&](error_code, const weir::lane_item& item) {
      flow->done(item, wanted);
      ++taken;
    };
    while (taken < wanted.count) {
      while (flow->channel_.try_receive(take)) {
      }
      if (taken == wanted.count)
        break;
      auto receiving = flow->channel_.async_receive(asio::use_awaitable);
      auto item = co_await std::move(receiving);
      take({}, item);
    }
  }

  void produce(const production& wanted) override {
    sending_.restart();
    asio::co_spawn(sending_, send_all(this, wanted), asio::detached);
    sending_.run();
  }

  void consume(const production& wanted) override {
    receiving_.restart();
    asio::co_spawn(receiving_, receive_all(this, wanted), asio::detached);
    receiving_.run();
  }

  asio::io_context sending_;
  asio::io_context receiving_;
  channel channel_;
};

} // namespace

void add_asio_cases(std::vector<bench_case>& cases) {
  for (const auto bound : std::initializer_list<std::size_t>{1, 8, 64, 256, 1024, 8192})
    cases.push_back({"asio.channel." + std::to_string(bound), false, [bound](const run_settings& settings) {
                       auto subject = std::make_unique<channel_flow>(bound);
                       return measure(*subject, settings);
                     }});
}

} // namespace weir_bench
