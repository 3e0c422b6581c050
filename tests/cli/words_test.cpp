#include <weir/cli/nearest_name.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/units.hpp>

#include <doctest/doctest.h>

#include <array>

namespace {

using namespace weir::cli;
using namespace std::chrono_literals;
using std::string_view_literals::operator""sv;

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("naem", "name") == 1);
  CHECK(edit_distance("ca", "abc") == 3); // optimal string alignment: no edit inside of a swap
  CHECK(edit_distance("Max-Bytes", "max_bytes") == 0);
  CHECK(edit_distance("repository", "repositories") == edit_distance("repositories", "repository"));
}

TEST_CASE("the nearest name is a slip away, or there is none") {
  constexpr std::array names{"path"sv, "name"sv, "max_changes"sv, "on_failure"sv, "on_rejected"sv};
  CHECK(nearest_name("paht", names) == "path");
  CHECK(nearest_name("NAME", names) == "name");
  CHECK(nearest_name("maxchanges", names) == "max_changes");
  CHECK(nearest_name("on-reject", names) == "on_rejected");
  CHECK_FALSE(nearest_name("colour", names));
  CHECK_FALSE(nearest_name("", names));
  CHECK_FALSE(nearest_name("x", std::array{"y"sv}));
  CHECK_FALSE(nearest_name(std::string(100'000, 'p'), names));
}

TEST_CASE("quoted text can be shown anywhere") {
  CHECK(in_quotes("plain") == "\"plain\"");
  CHECK(in_quotes("say \"hi\" \\ now") == "\"say \\\"hi\\\" \\\\ now\"");
  CHECK(in_quotes("\x1b[31mred\n") == "\"\\x1B[31mred\\x0A\"");
  CHECK(in_quotes("caf\xc3\xa9") == "\"caf\xc3\xa9\"");
  CHECK(in_quotes("\xff\xc3") == "\"\\xFF\\xC3\"");
  CHECK(in_quotes("\xc2\x9b"
                  "31m")
        == "\"\\xC2\\x9B31m\"");
  CHECK(in_quotes("abcdef", 6) == "\"abcdef\"");
  CHECK(in_quotes("abcdefg", 6) == "\"abcdef…\"");
  CHECK(printable("two\nlines, \"quoted\"") == "two\\x0Alines, \"quoted\"");
  CHECK(one_of(std::array{"a"sv}) == "\"a\"");
  CHECK(one_of(std::array{"a"sv, "b"sv, "c"sv}) == "\"a\", \"b\" or \"c\"");
}

TEST_CASE("a password is in no text that is shown") {
  CHECK(in_quotes("postgres://u:secret@host/app") == "\"postgres://u:…@host/app\"");
  CHECK(in_quotes("postgres://u:se/c@ret@host and http://a:b@c") == "\"postgres://u:…@host and http://a:…@c\"");
  CHECK(in_quotes("postgres://host/?user=u&password=secret&x=1") == "\"postgres://host/?user=u&password=…&x=1\"");
  CHECK(in_quotes("host=a sslpassword='two words' password=secret") == "\"host=a sslpassword=… password=…\"");
  CHECK(in_quotes("password='open") == "\"password=…\"");
  CHECK(in_quotes("postgres://:secret@") == "\"postgres://:…@\"");
  for (const auto* plain : {"postgres://u@host:5432/app", "http://host:80/path", "a://b c:d@e", "user:word@host", "password"})
    CHECK(in_quotes(plain) == "\"" + std::string{plain} + "\"");
  CHECK(in_quotes("postgres://u:" + std::string(500, 's') + "@host", 40) == "\"postgres://u:…@host\"");
}

TEST_CASE("escaped bytes stay different from each other") {
  CHECK(escaped_utf8("a\xff") == "a\\xFF");
  CHECK(escaped_utf8("a\\xFF") == "a\\\\xFF");
  CHECK(weir::valid_utf8("a\xff"
                         "b")
        == "a\xef\xbf\xbd"
           "b");
}

TEST_CASE("sizes") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("1B") == 1);
  CHECK(parse_size("64KiB") == 65'536);
  CHECK(parse_size("16 MiB") == 16'777'216);
  CHECK(parse_size("2GiB") == 2'147'483'648);
  CHECK(parse_size("17179869183GiB") == 18'446'744'072'635'809'792ULL);
  for (const auto* wrong :
    {"", "MiB", "-1", "+1", "1.5MiB", "16MB", "16mib", "1 ", "1KiB ", "17179869184GiB", "99999999999999999999", " 1", "0x10"})
    CHECK_MESSAGE(!parse_size(wrong), wrong);
  CHECK(exact_size(0) == "0B");
  CHECK(exact_size(1025) == "1025B");
  CHECK(exact_size(65'536) == "64KiB");
  CHECK(exact_size(std::uint64_t{3} << 30U) == "3GiB");
  CHECK(rounded_size(0) == "0 B");
  CHECK(rounded_size(1023) == "1023 B");
  CHECK(rounded_size(1024) == "1.0 KiB");
  CHECK(rounded_size(10'189) == "10 KiB");
  CHECK(rounded_size(1024 * 1000) == "1.0 MiB");
  CHECK(rounded_size(3'250'586) == "3.1 MiB");
  CHECK(rounded_size(~std::uint64_t{0}) == "16 EiB");
}

TEST_CASE("durations") {
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("1s") == 1s);
  CHECK(parse_duration("2 min") == 2min);
  CHECK(parse_duration("1h") == 1h);
  for (const auto* wrong : {"", "1", "s", "-1s", "1.5s", "1m", "9999999999999999h"})
    CHECK_MESSAGE(!parse_duration(wrong), wrong);
  CHECK(exact_duration(1500ms) == "1500ms");
  CHECK(exact_duration(60s) == "1min");
  CHECK(exact_duration(24h) == "24h");
  CHECK(rounded_duration(0ms) == "0.0 s");
  CHECK(rounded_duration(12'345ms) == "12.3 s");
  CHECK(rounded_duration(59'949ms) == "59.9 s");
  CHECK(rounded_duration(59'950ms) == "1 min 0 s");
  CHECK(rounded_duration(245s) == "4 min 5 s");
  CHECK(rounded_duration(3h + 7min + 50s) == "3 h 7 min");
}

TEST_CASE("counts") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1'000) == "1,000");
  CHECK(grouped(1'234'567) == "1,234,567");
  CHECK(counted(1, "change", "changes") == "1 change");
  CHECK(counted(2'000, "change", "changes") == "2,000 changes");
}

} // namespace
