#include <weir/channel.hpp>
#include <weir/configure.hpp>
#include <weir/pipeline.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <iostream>
#include <map>

/// A source in memory: ten thousand numbers, each a change of one of a hundred keys.
class numbers final : public weir::source {
public:
  weir::task<weir::result<void>> open(weir::self, weir::resume_point from) override {
    auto opened = weir::success();
    next_ = from.confirmed ? from.confirmed->seq + 1 : 1;
    co_return opened;
  }

  weir::task<weir::result<std::optional<weir::reading>>> read(weir::self, weir::read_limit limit) override {
    std::optional<weir::reading> read;
    std::vector<weir::envelope> changes;
    for (; next_ <= 10'000 && changes.size() < limit.changes; ++next_)
      changes.push_back({.collection = "numbers", .key = std::to_string(next_ % 100), .payload = std::to_string(next_)});
    if (changes.empty())
      co_return std::move(read); // absent: the source has ended
    weir::batch live{.at = weir::position{.epoch = 1, .seq = next_ - 1}, .changes = changes.size()};
    live.envelopes = weir::make_block(std::move(changes));
    read.emplace(weir::reading{std::move(live), {}});
    co_return std::move(read);
  }

  weir::task<weir::result<void>> confirm(weir::self, weir::position at) override {
    auto confirmed = weir::success();
    forgotten_ = at.seq; // a real source lets go of what lies behind
    co_return confirmed;
  }

private:
  std::uint64_t next_ = 1;
  std::uint64_t forgotten_ = 0;
};

/// A sink in memory: a map, which is durable enough for this.
class table final : public weir::sink {
public:
  explicit table(std::map<std::string, std::string>& rows) : rows_{rows} {}

  weir::task<weir::result<weir::sink_state>> open(weir::self) override {
    weir::sink_state nothing;
    co_return std::move(nothing);
  }

  weir::task<weir::result<weir::write_outcome>> write(weir::self, std::vector<weir::lane_item> items) override {
    weir::write_outcome all_written;
    for (const auto& item : items)
      if (const auto* batch = std::get_if<weir::batch>(&item); batch != nullptr && batch->envelopes)
        for (const auto& change : batch->envelopes->envelopes())
          rows_[change.key] = change.payload.value_or("");
    co_return std::move(all_written);
  }

  weir::task<weir::result<void>> flush(weir::self) override {
    auto durable = weir::success();
    co_return durable;
  }

private:
  std::map<std::string, std::string>& rows_;
};

int main() {
  caf::actor_system_config config;
  weir::configure(config);
  caf::actor_system system{config};
  std::map<std::string, std::string> rows;
  auto stream = weir::channel::open(system, {.lanes = {"table"}}).value();
  weir::pipeline_options options{.from = std::make_unique<numbers>(), .to = {}, .collections = {"numbers"}};
  options.to.push_back({.name = "table", .destination = std::make_unique<table>(rows)});
  auto running = weir::pipeline::start(system, stream, std::move(options));
  auto ended = running ? running.value().wait() : weir::result<void>{std::move(running).error()};
  if (!ended)
    std::cerr << ended.error().to_string() << '\n';
  std::cout << rows.size() << " rows, key 42 holds " << rows["42"] << '\n';
  return ended ? 0 : 1;
}
