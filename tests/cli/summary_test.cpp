#include <weir/cli/summary.hpp>

#include <doctest/doctest.h>

namespace {

using namespace weir;
using namespace weir::cli;
using namespace std::chrono_literals;

run_summary example() {
  run_summary told;
  told.file = "p.toml";
  told.pipeline = "p";
  told.elapsed = 1'500ms;
  told.changes = 7;
  told.confirmed = position{1, 9, stamp::from("\x01\xff").value(), 0, true};
  told.written = {{"a", 7}, {"b", 8}};
  return told;
}

TEST_CASE("a run that is done") {
  CHECK(to_json(example())
        == R"({"file":"p.toml","pipeline":"p","outcome":"done","exit_code":0,"seconds":1.5,"changes":7,)"
           R"("sinks":{"a":{"changes":7},"b":{"changes":8}},"dead_letters":0,)"
           R"("confirmed":{"epoch":1,"seq":9,"stamp":"01ff"}})");
  using facts = std::vector<std::pair<std::string, std::string>>;
  CHECK(facts_of(example())
        == facts{{"changes", "7"}, {"seconds", "1.5"}, {"written.a", "7"}, {"written.b", "8"}, {"confirmed", "1:9"}});
}

TEST_CASE("seconds are plain decimals") {
  const auto seconds = [](std::chrono::milliseconds elapsed) {
    auto told = example();
    told.elapsed = elapsed;
    const auto text = to_json(told);
    const auto begin = text.find("\"seconds\":") + 10;
    return text.substr(begin, text.find(',', begin) - begin);
  };
  CHECK(seconds(0ms) == "0");
  CHECK(seconds(1ms) == "0.001");
  CHECK(seconds(30ms) == "0.03");
  CHECK(seconds(2s) == "2");
  CHECK(seconds(1'234'567ms) == "1234.567");
  CHECK(seconds(std::chrono::hours{24 * 365 * 100} + 1ms) == "3153600000.001");
}

TEST_CASE("a run that failed says why") {
  auto told = example();
  told.outcome = run_summary::outcomes::failed;
  told.code = exit_code::state;
  told.confirmed.reset();
  told.dead_letters = 2;
  told.failure = error{errc::storage_full, "no room", {{"path", "/x\xff"}}};
  const auto text = to_json(told);
  CHECK(text.find(R"("outcome":"failed","exit_code":3)") != std::string::npos);
  CHECK(text.find("confirmed") == std::string::npos);
  CHECK(text.ends_with("\"dead_letters\":2,\"error\":{\"code\":\"storage_full\",\"sentence\":\"no "
                       "room\",\"facts\":{\"path\":\"/x\xef\xbf\xbd\"}}}"));
}

TEST_CASE("a run that never began has mistakes, and no figures") {
  run_summary told;
  told.file = "p.toml";
  told.outcome = run_summary::outcomes::refused;
  told.code = exit_code::usage;
  told.mistakes = {{{3, 4}, "sink[0].path", "is missing", "a path"}};
  CHECK(to_json(told)
        == R"({"file":"p.toml","outcome":"refused","exit_code":2,)"
           R"("mistakes":[{"line":3,"column":4,"key":"sink[0].path","wrong":"is missing","expected":"a path"}]})");
}

TEST_CASE("what a check found") {
  CHECK(check_to_json("p.toml", "p", {}) == R"({"file":"p.toml","ok":true,"pipeline":"p","mistakes":[]})");
  CHECK(
    check_to_json("p.toml", "", {{{1, 1}, "", "not valid TOML", ""}})
    == R"({"file":"p.toml","ok":false,"mistakes":[{"line":1,"column":1,"key":"","wrong":"not valid TOML","expected":""}]})");
}

} // namespace
