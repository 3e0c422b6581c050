#include "bus_fixture.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <csignal>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace weir::cli::test;
using namespace std::chrono_literals;
namespace json = boost::json;

std::string text_of(const json::value& one, const char* name) {
  return json::value_to<std::string>(one.at(name));
}

/// Hints that were received, and that were told to be lost.
std::pair<std::uint64_t, std::uint64_t> account_of(const std::string& lines) {
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  for (const auto& one : objects_in(lines)) {
    if (one.at("type") == "hint")
      ++received;
    else if (one.at("type") == "lost")
      lost += one.at("count").to_number<std::uint64_t>();
  }
  return {received, lost};
}

/// A port of the loopback on which nobody listens, nor will.
class closed_port {
public:
  closed_port() : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(socket_.number(), reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
    number_ = ntohs(at.sin_port);
  }
  std::string text() const { return std::to_string(number_); }

private:
  weir::posix::file_descriptor socket_;
  std::uint16_t number_ = 0;
};

TEST_CASE("each line that is published is printed, its bytes as they are") {
  const bus_fixture here;
  const std::string lines{"one\n\n\xff\x00\x01 \r\nb\\\"\n  last", 20};
  const auto all = here.subscribe({"t", "--count", "5"});
  const auto some = here.subscribe({"t", "--count", "2"});
  const auto other = here.subscribe({"another", "--count", "1"});
  const auto published = here.run({"publish", "t"}, lines);
  CHECK(published.end == exited(0));
  CHECK(published.output == "published 5 hints\n");
  CHECK(published.errors.empty());
  CHECK(all->wait() == exited(0));
  CHECK(all->output() == lines + "\n");
  CHECK(all->errors() == "weir bus subscribe: listening to \"t\"\n");
  CHECK(some->wait() == exited(0));
  CHECK(some->output() == "one\n\n");
  here.publish("for another\n", {"another"});
  CHECK(other->wait() == exited(0));
  CHECK(other->output() == "for another\n");
}

TEST_CASE("nothing to publish is nothing wrong, and JSON says how many there were") {
  const bus_fixture here;
  CHECK(here.run({"publish", "t"}).output == "published 0 hints\n");
  const auto published = here.run({"publish", "t", "--json"}, "1\n2\n");
  CHECK(published.end == exited(0));
  CHECK(json::parse(published.output) == json::parse(R"({"published":2,"unconfirmed":0})"));
}

TEST_CASE("with JSON each hint is an object, which says who published it and which one it is") {
  const bus_fixture here;
  const auto heard = here.subscribe({"t", "--json", "--count", "4"});
  here.publish(std::string{"a\n\xff\x00\n", 5}, {"t", "--key", "k\xc3\xa4"});
  here.publish("\n", {"t", "--key", "\xfe"});
  here.publish("z");
  CHECK(heard->wait() == exited(0));
  const auto objects = objects_in(heard->output());
  REQUIRE(objects.size() >= 4);
  std::vector<json::value> hints;
  for (const auto& one : objects)
    if (one.at("type") == "hint")
      hints.push_back(one);
  REQUIRE(hints.size() == 4);
  for (const auto& one : hints)
    CHECK(text_of(one, "topic") == "t");
  CHECK(text_of(hints[0], "payload") == "a");
  CHECK(text_of(hints[0], "key") == "k\xc3\xa4");
  CHECK(text_of(hints[1], "payload_base64") == "/wA=");
  CHECK(text_of(hints[1], "key") == "k\xc3\xa4");
  CHECK(text_of(hints[2], "payload").empty());
  CHECK(text_of(hints[2], "key_base64") == "/g==");
  CHECK_FALSE(hints[3].as_object().contains("key"));
  CHECK(hints[0].at("number") == 1);
  CHECK(hints[1].at("number") == 2);
  CHECK(hints[1].at("on_topic") == 2);
  CHECK(hints[2].at("number") == 1);
  CHECK(text_of(hints[0], "publisher") == text_of(hints[1], "publisher"));
  CHECK(text_of(hints[0], "publisher") != text_of(hints[2], "publisher"));
  CHECK(text_of(hints[0], "publisher").size() == 16);
}

TEST_CASE("every policy prints what comes one by one") {
  const bus_fixture here;
  std::vector<std::unique_ptr<process>> all;
  for (const auto* policy : {"drop-newest", "drop-oldest", "conflate", "last-by-key", "end"})
    all.push_back(here.subscribe({"t", "--policy", policy, "--count", "1"}));
  const pipe_ends input;
  const auto publisher =
    here.start({"publish", "t"}, {.input = input.reading()}); // it stays: what one that has left said is void
  input.write("only\n");
  for (const auto& one : all) {
    CHECK(one->wait() == exited(0));
    CHECK(one->output() == "only\n");
  }
}

TEST_CASE("whoever reads too slowly is told exactly how much is lost, or is put out, as the policy says") {
  const bus_fixture here;
  constexpr std::uint64_t lines = 4000;
  std::string input;
  for (std::uint64_t number = 0; number < lines; ++number)
    input += std::to_string(number) + std::string(1000, 'x') + "\n";
  pipe_ends newest_pipe;
  pipe_ends oldest_pipe;
  pipe_ends end_pipe;
  const auto start = [&](const char* policy, pipe_ends& to) {
    auto running = here.subscribe({"t", "--json", "--buffer", "10", "--policy", policy}, {.output = to.writing()});
    to.close_writing();
    return running;
  };
  const auto newest = start("drop-newest", newest_pipe);
  const auto oldest = start("drop-oldest", oldest_pipe);
  const auto end = start("end", end_pipe);
  here.publish(input);
  // Four million bytes are more than a pipe and what is printed at once; nobody has read anything yet.
  const auto last = end_pipe.rest();
  CHECK(end->wait() == exited(1));
  CHECK_MESSAGE(says(*end, "(code=evicted"), end->errors());
  CHECK(account_of(last).first < lines);
  for (auto* one : {&newest_pipe, &oldest_pipe}) {
    std::string text;
    char bytes[65536];
    while (text.empty() || text.back() != '\n' || account_of(text).first + account_of(text).second < lines) {
      const auto got = ::read(one->reading(), bytes, sizeof bytes);
      REQUIRE(got > 0);
      text.append(bytes, static_cast<std::size_t>(got));
    }
    const auto [received, lost] = account_of(text);
    CHECK(received + lost == lines);
    CHECK(lost > 0);
    CHECK(text.find("\"cause\":\"buffer_full\"") != text.npos);
    CHECK((text.find("\"payload\":\"3999x") != text.npos) == (one == &oldest_pipe));
  }
}

TEST_CASE("a subscriber ends with 0 on a signal, and when nobody reads it") {
  const bus_fixture here;
  for (const auto signal : {SIGTERM, SIGINT, SIGHUP}) {
    const auto heard = here.subscribe({"t"});
    heard->send(signal);
    CHECK(heard->wait() == exited(0));
    CHECK(heard->output().empty());
  }
  const auto piped = here.shell("weir bus subscribe $BUS t | head -n 1");
  REQUIRE(comes_true([&] { return says(*piped, "listening"); }));
  here.publish("one\ntwo\nthree\n");
  CHECK(piped->wait() == exited(0));
  CHECK(piped->output() == "one\n");
  // Also where nothing ever comes.
  const auto silent = here.shell("weir bus subscribe $BUS silent | true");
  CHECK(silent->wait() == exited(0));
}

TEST_CASE("where standard output can't be written to, nobody listens, and no server is asked for") {
  const bus_fixture here;
  for (const std::string command : {"subscribe t", "subscribe t --json --count 1", "stat"})
    for (const std::string output : {">&-", "1</dev/null"}) {
      const auto ended = here.shell("weir bus " + command + " --bus postgres://127.0.0.1:1/none " + output);
      CAPTURE(command + " " + output);
      REQUIRE(ended->wait_for(60s) == exited(1));
      CHECK(ended->errors() == "weir: can't write to standard output: it is closed, or open for reading only\n");
    }
  // What is published needs no output until the end, and is out then.
  const auto heard = here.subscribe({"t", "--count", "1"});
  const auto published = here.shell("echo one | weir bus publish $BUS t >&-");
  CHECK(published->wait() == exited(1));
  CHECK(published->errors() == "weir: can't write to standard output: it is closed, or open for reading only\n");
  CHECK(heard->wait() == exited(0));
  CHECK(heard->output() == "one\n");
}

TEST_CASE("a subscriber says where it did not hear, and that the link is down, and up again") {
  const bus_fixture here;
  server().sql("CREATE ROLE hearer LOGIN");
  const auto text = here.shell(
    "weir bus subscribe --bus '" + here.url("hears", "hearer") + "' --channel " + here.channel() + " t --count 2 2>&1");
  REQUIRE(comes_true([&] { return text->output().find("listening") != std::string::npos; }));
  const auto objects = here.subscribe_at(here.url("hears", "hearer"), {"t", "--json", "--count", "2"});
  REQUIRE(here.listeners("hears") == 2);
  const auto witness = here.subscribe({"t"});
  const pipe_ends input;
  const auto publisher = here.start({"publish", "t"}, {.input = input.reading()});
  input.write("before\n");
  REQUIRE(comes_true([&] { return text->output().find("before\n") != std::string::npos && !objects->output().empty(); }));
  // They can't come back at once, and so the publisher is heard when they do.
  server().sql("ALTER ROLE hearer NOLOGIN");
  server().sql(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hears' AND query LIKE 'LISTEN%'");
  const std::string down{"weir bus subscribe: the link is down, and is tried again: "};
  REQUIRE(comes_true([&] { return text->output().find(down) != std::string::npos && says(*objects, down); }));
  input.write("while it was down\n");
  REQUIRE(comes_true([&] { return witness->output().ends_with("while it was down\n"); }));
  server().sql("ALTER ROLE hearer LOGIN");
  const std::string up{"weir bus subscribe: the link is up again\n"};
  REQUIRE(comes_true([&] { return text->output().find(up) != std::string::npos && says(*objects, up); }));
  input.write("after\n");
  CHECK(text->wait() == exited(0));
  CHECK(objects->wait() == exited(0));

  const auto said = text->output();
  const auto lost = said.find("weir bus subscribe: lost ");
  REQUIRE_MESSAGE(lost != said.npos, said);
  CHECK(said.find("(link_gap)\n", lost) != said.npos);
  CHECK(said.find("before\n") < lost);
  CHECK(lost < said.find("\nafter\n"));
  const auto records = objects_in(objects->output());
  REQUIRE(records.size() >= 3);
  CHECK(records[0].at("type") == "hint");
  CHECK(records[1].at("type") == "lost");
  CHECK(text_of(records[1], "cause") == "link_gap");
  CHECK(text_of(records.back(), "payload") == "after");
  CHECK_FALSE(says(*objects, "subscribe: lost "));
  publisher->send(SIGTERM);
  CHECK(publisher->wait() == exited(0));
  server().sql("DROP ROLE hearer");
}

TEST_CASE("a line that is too long is named, and what stood before it is published") {
  const bus_fixture here;
  const auto heard = here.subscribe({"t", "--json"});
  const auto refused = here.run({"publish", "t"}, "one\ntwo\n" + std::string(5801, 'x') + "\nfour\n");
  CHECK(refused.end == exited(1));
  CHECK(refused.output == "published 2 hints\n");
  CHECK(refused.errors
        == "weir bus publish: line 3: a hint has at most 5800 bytes, key and payload together (code=too_large, key=0, "
           "payload=5801)\n");
  const auto keyed = here.run({"publish", "t", "--key", "0123456789"}, std::string(5790, 'y') + "\n" + std::string(5791, 'z'));
  CHECK(keyed.end == exited(1));
  CHECK(keyed.errors.starts_with("weir bus publish: line 2: "));
  const auto huge = here.run({"publish", "t", "--json"}, "\n" + std::string(1'000'000, 'x') + "\n");
  CHECK(huge.end == exited(1));
  CHECK(huge.errors == "weir bus publish: line 2 has more than 64KiB (code=too_large)\n");
  CHECK(json::parse(huge.output).at("published") == 1);
  here.publish(std::string(5800, 'w') + "\nlast\n");
  REQUIRE(comes_true([&] { return heard->output().find("\"last\"") != std::string::npos; }));
  CHECK(payloads_in(heard->output())
        == std::vector<std::string>{"one", "two", std::string(5790, 'y'), "", std::string(5800, 'w'), "last"});
}

TEST_CASE("a publisher goes on when its server was stopped and is there again") {
  const bus_fixture here;
  pipe_ends input;
  const auto publisher = here.start({"publish", "t", "--json"}, {.input = input.reading()});
  const auto heard = here.subscribe({"t", "--json"});
  input.write("before\n");
  REQUIRE(comes_true([&] { return heard->output().find("\"before\"") != std::string::npos; }));
  stopped_server stopped;
  const std::string down{": the link is down, and is tried again: "};
  REQUIRE(comes_true([&] { return says(*publisher, "publish" + down) && says(*heard, "subscribe" + down); }));
  input.write("meanwhile\n");
  REQUIRE(comes_true([&] { return input.is_empty(); }));
  CHECK_FALSE(publisher->wait_for(0ms));
  stopped.start();
  const std::string up{": the link is up again\n"};
  REQUIRE(comes_true([&] { return says(*publisher, "publish" + up) && says(*heard, "subscribe" + up); }));
  input.write("after\n");
  REQUIRE(comes_true([&] { return heard->output().find("\"after\"") != std::string::npos; }));
  input.close_writing();
  const auto end = publisher->wait();
  const auto report = json::parse(publisher->output());
  CHECK(report.at("published") == 3);
  // "meanwhile" may have met a connection that was dying, and "before" was perhaps heard before it was confirmed.
  const auto unconfirmed = report.at("unconfirmed").to_number<int>();
  CHECK(unconfirmed <= 2);
  CHECK(end == exited(unconfirmed == 0 ? 0 : 1));
}

TEST_CASE("a signal ends a publisher whose server is gone, and it says what is unknown") {
  const bus_fixture here;
  const auto heard = here.subscribe({"t", "--json"});
  for (const std::string known : {"stopped", "frozen"}) {
    pipe_ends input;
    const auto publisher = here.start({"publish", "t", "--json"}, {.input = input.reading()});
    const auto hears = [&](const std::string& line) {
      input.write(line + "\n");
      REQUIRE(comes_true([&] { return heard->output().find("\"" + line + "\"") != std::string::npos; }));
    };
    hears("certain, " + known); // as the next one is read only when the server has confirmed it
    hears("known, " + known);
    const auto stop = [&] {
      input.write("unknown\nunknown\n");
      REQUIRE(comes_true([&] { return input.is_empty(); }));
      publisher->send(SIGTERM);
      CHECK(publisher->wait() == exited(1));
    };
    if (known == "frozen") {
      const frozen_server frozen;
      stop();
    } else {
      const stopped_server stopped;
      REQUIRE(comes_true([&] { return says(*publisher, "the link is down"); }));
      stop();
    }
    const auto report = json::parse(publisher->output());
    CHECK(report.at("published") == 4);
    const auto unconfirmed = report.at("unconfirmed").to_number<int>();
    CHECK((unconfirmed == 2 || unconfirmed == 3)); // it was heard, and perhaps not confirmed
    if (known == "stopped")
      REQUIRE(comes_true([&] { return says(*heard, "the link is up again"); }));
  }
}

TEST_CASE("a server that refuses, or is not there, is one sentence without the password") {
  const bus_fixture here;
  const closed_port nobody;
  const auto port = ":" + std::to_string(server().port()) + "/";
  const std::vector<std::pair<std::string, int>> all{
    {"postgres://weir:secret@127.0.0.1" + port + "missing", 2},
    {"postgres://locked:secret@127.0.0.1" + port + "postgres", 2},
    {"postgres://nobody:secret@127.0.0.1" + port + "postgres", 2},
    {"postgres://weir:secret@127.0.0.1" + port + "bytes", 2},
    {"postgres://weir:secret@127.0.0.1:nonsense/postgres", 2},
    {"postgres://weir:secret@127.0.0.1/postgres?secret=1", 2},
    {"postgres://weir:secret@127.0.0.1:" + nobody.text() + "/postgres", 1},
  };
  for (const auto& [url, code] : all)
    for (const auto& words : std::vector<std::vector<std::string>>{{"publish", "t"}, {"subscribe", "t"}, {"stat"}}) {
      INFO(url);
      const auto refused = here.run_at(url, words, "one\n");
      CHECK(refused.end == exited(code));
      CHECK(refused.output.empty());
      CHECK_MESSAGE(refused.errors.starts_with("weir bus " + words.front() + ": "), refused.errors);
      CHECK(refused.errors.find('\n') == refused.errors.size() - 1);
      CHECK_MESSAGE(refused.errors.find("secret") == std::string::npos, refused.errors);
    }
}

TEST_CASE("stat shows who publishes, how long hints take, and what is no hint") {
  const bus_fixture here;
  const pipe_ends input;
  const auto publisher = here.start({"publish", "t"}, {.input = input.reading()});
  // A beacon comes every few seconds: whoever listens longer has heard one. A machine that is very slow is given longer.
  for (int seconds = 6; seconds < 60; seconds *= 2) {
    const auto time = std::to_string(seconds) + "s";
    const auto text = here.start_at(here.url("stat"), {"stat", "--for", time});
    const auto object = here.start_at(here.url("stat"), {"stat", "--json", "--for", time});
    REQUIRE(comes_true([&] { return here.listeners("stat") == 2; }));
    input.write("one\ntwo\n");
    for (const auto* said : {"hello", "W9h from later"})
      server().sql("SELECT pg_notify('" + here.channel() + "', '" + said + "')");
    CHECK(text->wait() == exited(0));
    CHECK(object->wait() == exited(0));
    CHECK(text->errors().empty());
    CHECK(object->errors().empty());
    const auto heard = json::parse(object->output());
    const json::object* found = nullptr;
    for (const auto& one : heard.at("buses").as_array())
      if (one.at("heard").to_number<int>() > 0)
        found = &one.as_object();
    const bool is_complete = found != nullptr && found->at("heard") == 2 && found->at("beacon_ms").to_number<int>() > 0
                             && heard.at("foreign") == 1 && heard.at("undecodable") == 1;
    if (!is_complete)
      continue;
    CHECK(heard.at("heard") == 2);
    CHECK(found->at("missing") == 0);
    CHECK(found->at("published").to_number<int>() >= 2);
    CHECK(text_of(*found, "state") == "alive");
    CHECK(heard.at("listened_ms").to_number<int>() >= seconds * 1000);
    CHECK(heard.at("queue_usage").to_number<double>() >= 0);
    std::uint64_t lag = 0;
    for (const auto& one : heard.at("lag").as_array())
      lag += one.at("hints").to_number<std::uint64_t>();
    CHECK(lag == 2);

    const auto said = text->output();
    CHECK_MESSAGE(said.find(": 2 hints heard, 1 not understood, 1 that no bus has said\n") != said.npos, said);
    CHECK(said.find("\nthe server's queue of notifications is 0.") != said.npos);
    CHECK(said.find("\n" + text_of(*found, "bus") + "  ") != said.npos);
    CHECK(said.find("  alive\n") != said.npos);
    CHECK(said.find("\nlag from publish to here:\n  below ") != said.npos);
    CHECK(said.find("  100.00 %\n") != said.npos);
    return;
  }
  FAIL("a minute was not enough to hear two hints and a beacon");
}

TEST_CASE("stat ends at a signal with what it has heard, and says when the server is gone") {
  const bus_fixture here;
  const auto listening = here.start({"stat", "--for", "876000h", "--json"});
  REQUIRE(comes_true([&] { return here.listeners() == 1; }));
  listening->send(SIGTERM);
  CHECK(listening->wait() == exited(0));
  CHECK(json::parse(listening->output()).at("heard") == 0);
  const auto lonely = here.start({"stat", "--for", "876000h"});
  REQUIRE(comes_true([&] { return here.listeners() == 1; }));
  const stopped_server stopped;
  // Nothing says that it has noticed: a signal that comes before ends it with what it has heard.
  lonely->send(SIGTERM);
  const auto end = lonely->wait();
  CHECK((end == exited(0) || end == exited(1)));
  CHECK((end == exited(1)) == says(*lonely, "weir bus stat: "));
  CHECK(lonely->output().empty() == (end == exited(1)));
}

} // namespace
