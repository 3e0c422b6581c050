#include "cli/process.hpp"
#include "postgres/postgres_server.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

using weir::cli::test::comes_true;
using weir::cli::test::exited;

namespace {

/// The example, with standard input that goes on until it leaves.
class person {
public:
  person(const postgres_tests::postgres_server& at, const std::string& name) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    input_ = ends[1];
    running_ = std::make_unique<weir::cli::test::process>(
      std::vector<std::string>{WEIR_PRESENCE, at.url(), name}, "/", weir::cli::test::process::streams{.input = ends[0]});
    ::close(ends[0]);
  }
  ~person() { end_input(); }
  person(const person&) = delete;
  person& operator=(const person&) = delete;

  bool comes_to_say(const std::string& line) const {
    return comes_true([&] { return running_->output().find(line + '\n') != std::string::npos; });
  }
  bool said(const std::string& line) const { return running_->output().find(line + '\n') != std::string::npos; }

  void leave() {
    end_input();
    CHECK(running_->wait() == exited(0));
    CHECK(running_->errors().empty());
  }
  void die() {
    running_->send(SIGKILL);
    (void)running_->wait();
  }

private:
  void end_input() {
    if (input_ >= 0)
      ::close(std::exchange(input_, -1));
  }

  int input_ = -1;
  std::unique_ptr<weir::cli::test::process> running_;
};

TEST_CASE("presence: who comes is seen, and who leaves or dies is gone") {
  const postgres_tests::postgres_server server;
  person ada{server, "ada"};
  REQUIRE(ada.comes_to_say("ada is here"));
  person bob{server, "bob"};
  person cy{server, "cy"};
  for (const auto* one : {&ada, &bob, &cy})
    for (const auto* name : {"ada", "bob", "cy"})
      CHECK(one->comes_to_say(std::string{name} + " is here")); // also of those who were there before
  bob.leave();
  CHECK(ada.comes_to_say("bob is gone"));
  CHECK(cy.comes_to_say("bob is gone"));
  cy.die();
  CHECK(ada.comes_to_say("cy is gone"));
  CHECK_FALSE(ada.said("ada is gone"));
  person again{server, "bob"};
  CHECK(again.comes_to_say("ada is here"));
  ada.leave();
  CHECK(again.comes_to_say("ada is gone"));
  CHECK_FALSE(again.said("cy is here"));
  again.leave();
}

} // namespace
