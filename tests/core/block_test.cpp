#include <weir/envelope.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

namespace {

/// Counts how many of its kind are alive.
class counted : public weir::block_attachment {
public:
  counted(const void* owner, std::atomic<int>& alive) : block_attachment{owner}, alive_{alive} { ++alive_; }
  ~counted() override { --alive_; }

private:
  std::atomic<int>& alive_;
};

} // namespace

TEST_SUITE("block") {
  TEST_CASE("a block keeps its envelopes and parts as they came") {
    std::vector<weir::envelope> envelopes(3);
    envelopes[2].key = "third";
    const weir::transaction_part part{.at = {.epoch = 1, .seq = 2}, .begin = 1, .count = 2, .first_index = 5};
    const auto made = weir::make_block(std::move(envelopes), {part});
    CHECK(made->envelopes().size() == 3);
    CHECK(made->envelopes()[2].key == "third");
    REQUIRE(made->parts().size() == 1);
    CHECK(made->parts()[0].first_index == 5);
  }

  TEST_CASE("an attachment lives as long as the block's last copy") {
    std::atomic<int> alive{0};
    const int owner = 0;
    auto first = weir::make_block({});
    auto second = first;
    CHECK(first->attach(std::make_unique<counted>(&owner, alive)));
    CHECK(first->has_attachment_of(&owner));
    first.reset();
    CHECK(alive == 1);
    second.reset();
    CHECK(alive == 0);
  }

  TEST_CASE("each owner attaches once; a second one of it ends at once") {
    std::atomic<int> alive{0};
    const int owners[2] = {};
    const auto made = weir::make_block({});
    CHECK(made->attach(std::make_unique<counted>(&owners[0], alive)));
    CHECK(made->attach(std::make_unique<counted>(&owners[1], alive)));
    CHECK_FALSE(made->attach(std::make_unique<counted>(&owners[0], alive)));
    CHECK_FALSE(made->attach(std::make_unique<counted>(&owners[1], alive)));
    CHECK(alive == 2);
    CHECK(made->has_attachment_of(&owners[1]));
    CHECK_FALSE(made->has_attachment_of(&alive));
  }

  TEST_CASE("from many threads too, exactly one attachment of an owner wins") {
    constexpr int threads = 4;
    constexpr int owners = 8;
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> alive{0};
      std::atomic<int> won{0};
      std::atomic<int> seen{0};
      const int owner[owners] = {};
      auto made = weir::make_block({});
      std::barrier start{threads};
      std::vector<std::thread> running;
      for (int number = 0; number < threads; ++number)
        running.emplace_back([&, number, mine = made]() mutable {
          start.arrive_and_wait();
          for (int step = 0; step < owners; ++step) {
            const void* one = &owner[(step + number) % owners];
            won += mine->attach(std::make_unique<counted>(one, alive)) ? 1 : 0;
            seen += mine->has_attachment_of(one) ? 1 : 0;
          }
          mine.reset(); // the last copy may go on any thread
        });
      made.reset();
      for (auto& one : running)
        one.join();
      CHECK(won == owners);
      CHECK(seen == threads * owners);
      CHECK(alive == 0);
    }
  }
}
