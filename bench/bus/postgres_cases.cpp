#include <weir/postgres_bus.hpp>

#include "../../tests/postgres/postgres_server.hpp"
#include "../harness/measure.hpp"
#include "../lanes/world.hpp"
#include "../log/scratch.hpp"
#include "cases.hpp"

#include <poll.h>
#include <postgresql/libpq-fe.h>
#include <thread>

namespace weir_bench {

namespace {

using postgres_tests::postgres_server;

/// A connection of libpq's own, that gives up where anything fails.
class plain_connection {
public:
  explicit plain_connection(const postgres_server& to) : handle_{PQconnectdb(to.url().c_str())} {
    if (PQstatus(handle_) != CONNECTION_OK)
      give_up(PQerrorMessage(handle_));
  }
  ~plain_connection() { PQfinish(handle_); }
  plain_connection(const plain_connection&) = delete;
  plain_connection& operator=(const plain_connection&) = delete;

  void run(const char* sql) { take(PQexec(handle_, sql)); }

  void notify(const std::string& payload) {
    const char* values[]{payload.c_str()};
    take(PQexecParams(handle_, "SELECT pg_notify('plain', $1)", 1, nullptr, values, nullptr, nullptr, 0));
  }

  /// Blocks until so many have come.
  void hear(std::uint64_t count) {
    while (count > 0) {
      if (auto* one = PQnotifies(handle_)) {
        PQfreemem(one);
        --count;
        continue;
      }
      pollfd waited{PQsocket(handle_), POLLIN, 0};
      ::poll(&waited, 1, -1);
      if (PQconsumeInput(handle_) != 1)
        give_up(PQerrorMessage(handle_));
    }
  }

private:
  void take(PGresult* result) {
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
      give_up(PQerrorMessage(handle_));
  }

  PGconn* handle_;
};

std::string payload_of_hint(std::uint64_t number) {
  auto text = std::to_string(number);
  return text + std::string(hint_bytes - text.size(), 'x');
}

/// One statement for each message, on some connections at once; another one hears them.
class plain_deliveries final : public labour {
public:
  explicit plain_deliveries(std::size_t connections) {
    listener_.run("LISTEN plain");
    for (std::size_t one = 0; one < connections; ++one)
      notifiers_.push_back(std::make_unique<plain_connection>(server_));
  }

  void run(std::uint64_t items) override {
    const auto each = items / notifiers_.size();
    std::vector<std::jthread> threads;
    for (std::size_t one = 0; one < notifiers_.size(); ++one)
      threads.emplace_back([this, each, one] {
        for (std::uint64_t number = 0; number < each; ++number)
          notifiers_[one]->notify(payload_of_hint(one * 1'000'000'000 + number));
      });
    listener_.hear(each * notifiers_.size());
  }

private:
  postgres_server server_;
  plain_connection listener_{server_};
  std::vector<std::unique_ptr<plain_connection>> notifiers_;
};

class plain_roundtrip final : public exchange {
public:
  plain_roundtrip() { listener_.run("LISTEN plain"); }

  void run(std::uint64_t times, latency_histogram& record) override {
    for (std::uint64_t one = 0; one < times; ++one) {
      const auto begun = now_ns();
      notifier_.notify(payload_of_hint(one));
      listener_.hear(1);
      record.record(now_ns() - begun);
    }
  }

private:
  postgres_server server_;
  plain_connection listener_{server_};
  plain_connection notifier_{server_};
};

/// A bus that publishes, and one that hears: the same, or another one.
class bus_pair {
public:
  bus_pair(const std::string& policy, bool is_one) : world_{policy}, to_{is_one ? from_ : open()} {}

  weir::bus open() {
    auto opened = weir::postgres::open_bus(world_.system(), {.server = server_.url(), .may_be_down = false});
    if (!opened)
      give_up(opened.error().to_string());
    return std::move(opened).value();
  }

  void publish(std::uint64_t number) {
    while (!from_.publish("t", payload_of_hint(number)))
      std::this_thread::sleep_for(std::chrono::microseconds{50}); // the outbox is full
  }

  void hear(std::uint64_t count) {
    while (count > 0) {
      const auto record = in_.try_next();
      if (record && std::holds_alternative<weir::hint>(record.value())) {
        --count;
        continue;
      }
      if (record || record.error() != weir::errc::would_wait)
        give_up("a hint is lost");
      pollfd waited{in_.descriptor(), POLLIN, 0};
      ::poll(&waited, 1, -1);
    }
  }

private:
  postgres_server server_;
  world world_;
  weir::bus from_ = open();
  weir::bus to_;
  weir::subscription in_ = std::move(to_.subscribe("t", {.buffer = std::size_t{1} << 20U})).value();
};

class bus_deliveries final : public labour {
public:
  explicit bus_deliveries(const std::string& policy) : pair_{policy, false} {}

  void run(std::uint64_t items) override {
    const std::jthread publishing{[this, items] {
      for (std::uint64_t one = 0; one < items; ++one)
        pair_.publish(one);
    }};
    pair_.hear(items);
  }

private:
  bus_pair pair_;
};

class bus_roundtrip final : public exchange {
public:
  bus_roundtrip(const std::string& policy, bool is_one) : pair_{policy, is_one} {}

  void run(std::uint64_t times, latency_histogram& record) override {
    for (std::uint64_t one = 0; one < times; ++one) {
      const auto begun = now_ns();
      pair_.publish(one);
      pair_.hear(1);
      record.record(now_ns() - begun);
    }
  }

private:
  bus_pair pair_;
};

} // namespace

void add_postgres_cases(std::vector<bench_case>& cases) {
  cases.push_back({"pg.notify.one_per_statement", false, [](const run_settings& settings) {
                     plain_deliveries subject{1};
                     return measure(subject, settings);
                   }});
  cases.push_back({"pg.notify.pool16", false, [](const run_settings& settings) {
                     plain_deliveries subject{16};
                     return measure(subject, settings);
                   }});
  cases.push_back({"bus.postgres.delivered", true, [](const run_settings& settings) {
                     bus_deliveries subject{settings.policy};
                     return measure(subject, settings);
                   }});
  cases.push_back({"pg.notify.roundtrip", false, [](const run_settings& settings) {
                     plain_roundtrip subject;
                     return measure(subject, settings);
                   }});
  for (const bool is_one : {true, false})
    cases.push_back({is_one ? "bus.postgres.roundtrip" : "bus.postgres.roundtrip.two", true, [=](const run_settings& settings) {
                       bus_roundtrip subject{settings.policy, is_one};
                       return measure(subject, settings);
                     }});
}

} // namespace weir_bench
