#include <weir/cli/bus_report.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <string>

namespace {

using namespace weir;
using namespace weir::cli;
using namespace std::chrono_literals;
namespace json = boost::json;

/// One line, and what it says.
json::value parsed(const std::string& line) {
  CHECK(line.find('\n') == line.size() - 1);
  return json::parse(line);
}

hint said(std::string key, std::string payload) {
  return hint{"changed/orders", std::move(key), std::move(payload), {bus_id{0xab}, 7, 3, 1'500'000'000}};
}

/// One that listens, with the id 1, one that goes on, one that was closed, one that is silent, and one that was just met.
bus_stats some_stats() {
  bus_stats heard;
  heard.heard = 1234;
  heard.undecodable = 2;
  heard.foreign = 3;
  heard.reconnects = 4;
  heard.queue_usage = 0.25;
  heard.lag[9] = 3;
  heard.lag[21] = 1;
  publisher_figures own;
  own.publisher = bus_id{1};
  auto going = own;
  going.publisher = bus_id{0xa};
  going.published = 12;
  going.heard = 11;
  going.missing = 1;
  going.beacon = 5s;
  going.silent = 1500ms;
  auto closed = going;
  closed.publisher = bus_id{0xb};
  closed.is_gone = true;
  closed.has_left = true;
  auto silent = going;
  silent.publisher = bus_id{0xc};
  silent.is_gone = true;
  auto met = own;
  met.publisher = bus_id{0xd};
  heard.publishers = {own, going, closed, silent, met};
  return heard;
}

TEST_CASE("a hint, what is lost and who is gone, as JSON") {
  CHECK(parsed(record_json(said("42", "paid")))
        == json::parse(R"({"type":"hint","topic":"changed/orders","key":"42","payload":"paid","publisher":"00000000000000ab",
             "number":7,"on_topic":3,"time":"1970-01-01T00:00:01.500000000Z"})"));
  CHECK(parsed(record_json(lost{3, true, bus_id{0xab}, loss_cause::buffer_full}))
        == json::parse(R"({"type":"lost","count":3,"exact":true,"publisher":"00000000000000ab","cause":"buffer_full"})"));
  CHECK(parsed(record_json(lost{0, false, {}, loss_cause::link_gap}))
        == json::parse(R"({"type":"lost","count":0,"exact":false,"cause":"link_gap"})"));
  CHECK(parsed(record_json(gone{bus_id{0xab}})) == json::parse(R"({"type":"gone","publisher":"00000000000000ab"})"));
}

TEST_CASE("a hint's JSON has bytes that are no text as base64, and no key where there is none") {
  const auto bytes = parsed(record_json(said(std::string("\xff\0", 2), "\x80"))).as_object();
  CHECK(bytes.at("key_base64") == "/wA=");
  CHECK(bytes.at("payload_base64") == "gA==");
  CHECK_FALSE(bytes.contains("key"));
  CHECK_FALSE(bytes.contains("payload"));
  const auto without = parsed(record_json(said("", ""))).as_object();
  CHECK_FALSE(without.contains("key"));
  CHECK_FALSE(without.contains("key_base64"));
  CHECK(without.at("payload") == "");
  CHECK(parsed(record_json(said("\"", "a\nb"))).at("payload") == "a\nb");
}

TEST_CASE("what is lost is a line, however much of it is known") {
  CHECK(loss_text(lost{1, true, {}, loss_cause::conflated}) == "lost 1 hint (conflated)\n");
  CHECK(loss_text(lost{3000, true, bus_id{0xab}, loss_cause::publisher})
        == "lost 3,000 hints of the bus 00000000000000ab (publisher)\n");
  CHECK(loss_text(lost{3, false, {}, loss_cause::several}) == "lost at least 3 hints (several)\n");
  CHECK(loss_text(lost{0, false, {}, loss_cause::link_gap}) == "lost an unknown number of hints (link_gap)\n");
  CHECK(loss_text(lost{0, false, bus_id{0xab}, loss_cause::undecodable})
        == "lost an unknown number of hints of the bus 00000000000000ab (undecodable)\n");
  CHECK(loss_text(gone{bus_id{0xab}}) == "the bus 00000000000000ab is gone\n");
  CHECK(loss_text(said("k", "p")).empty());
}

TEST_CASE("how publishing went") {
  CHECK(published_text({1, 0, {}}) == "published 1 hint\n");
  CHECK(published_text({0, 0, {}}) == "published 0 hints\n");
  CHECK(published_text({1234, 1000, {}})
        == "published 1,234 hints; 1,000 of these the server has refused, or nobody knows whether it has them\n");
  CHECK(parsed(published_json({1234, 10, {}})) == json::parse(R"({"published":1234,"unconfirmed":10})"));
}

TEST_CASE("what was heard in a time, without the one who listened") {
  CHECK(stat_text(some_stats(), bus_id{1}, 6s)
        == "listened for 6.0 s: 1,234 hints heard, 2 not understood, 3 that no bus has said\n"
           "the server's queue of notifications is 25.0000 % full\n"
           "\n"
           "BUS                  PUBLISHED       HEARD     MISSING    BEACON      SILENT  STATE\n"
           "000000000000000a            12          11           1        5s       1.5 s  alive\n"
           "000000000000000b            12          11           1        5s       1.5 s  closed\n"
           "000000000000000c            12          11           1        5s       1.5 s  gone\n"
           "000000000000000d             0           0           0         -       0.0 s  no beacon yet\n"
           "\n"
           "lag from publish to here:\n"
           "  below    512 µs           3   75.00 %\n"
           "  below     2.1 s           1  100.00 %\n");
  bus_stats nothing;
  CHECK(stat_text(nothing, bus_id{1}, 61s)
        == "listened for 1 min 1 s: 0 hints heard, 0 not understood, 0 that no bus has said\nno other bus was heard\n");
  nothing.publishers.resize(1);
  nothing.publishers[0].publisher = bus_id{1};
  CHECK(stat_text(nothing, bus_id{1}, 61s).ends_with("no other bus was heard\n"));
}

TEST_CASE("what was heard in a time, as JSON") {
  const auto whole = parsed(stat_json(some_stats(), bus_id{1}, 6s));
  CHECK(whole.at("listened_ms") == 6000);
  CHECK(whole.at("heard") == 1234);
  CHECK(whole.at("undecodable") == 2);
  CHECK(whole.at("foreign") == 3);
  CHECK(whole.at("reconnects") == 4);
  CHECK(whole.at("queue_usage").as_double() == 0.25);
  REQUIRE(whole.at("buses").as_array().size() == 4);
  CHECK(whole.at("buses").at(0)
        == json::parse(R"({"bus":"000000000000000a","published":12,"heard":11,"missing":1,"beacon_ms":5000,"silent_ms":1500,
             "state":"alive"})"));
  CHECK(whole.at("buses").at(1).at("state") == "closed");
  CHECK(whole.at("buses").at(2).at("state") == "gone");
  CHECK(whole.at("buses").at(3).at("state") == "no beacon yet");
  CHECK(whole.at("lag") == json::parse(R"([{"below_us":512,"hints":3},{"below_us":2097152,"hints":1}])"));
  const auto nothing = parsed(stat_json({}, bus_id{1}, 0s)).as_object();
  CHECK_FALSE(nothing.contains("queue_usage"));
  CHECK(nothing.at("buses").as_array().empty());
  CHECK(nothing.at("lag").as_array().empty());
}

TEST_CASE("a bus's failure is one line, with the facts that help") {
  CHECK(bus_failure_text("publish", error{errc::disconnected, "can't connect to the server", {{"server", "localhost/app"}}})
        == "weir bus publish: can't connect to the server (code=disconnected, server=localhost/app)\n");
  CHECK(bus_failure_text("stat", error{errc::invalid_argument, "no port", {{"option", "server"}}})
        == "weir bus stat: no port (code=invalid_argument)\n");
  CHECK(bus_failure_text("subscribe", error{errc::closed}) == "weir bus subscribe: closed (code=closed)\n");
  const auto text = bus_failure_text("stat", error{errc::io_failed, "no \x1b[2J\n", {{"said", "\x1b[2J\n"}}});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\n') == text.size() - 1);
}

TEST_CASE("a server that refuses ends with 2, one that fails with 1") {
  for (const auto code : {errc::invalid_argument, errc::unsupported, errc::not_found, errc::permission_denied})
    CHECK(code_of_bus(error{code}) == exit_code::usage);
  for (const auto code : {errc::disconnected, errc::timed_out, errc::io_failed, errc::too_large, errc::bus_full, errc::closed,
         errc::outcome_unknown, errc::cancelled, errc::evicted})
    CHECK(code_of_bus(error{code}) == exit_code::failed);
}

} // namespace
