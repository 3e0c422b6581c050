#include "excerpt.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace std::string_literals;
using weir::detail::excerpt;

TEST_SUITE("excerpt") {
  TEST_CASE("text stays as it is, and what would break a line or is no text is written in digits") {
    CHECK(excerpt("") == "");
    CHECK(excerpt("orders \xC3\xA9\xF0\x9F\x98\x80\\") == "orders \xC3\xA9\xF0\x9F\x98\x80\\");
    CHECK(excerpt("a\nb\0c\x7F\x1B"s) == "a\\x0ab\\x00c\\x7f\\x1b");
    CHECK(excerpt("\xFFx\xC3") == "\\xffx\\xc3");
  }

  TEST_CASE("no more than 64 bytes are shown, and no character is cut") {
    CHECK(excerpt(std::string(64, 'x')) == std::string(64, 'x'));
    CHECK(excerpt(std::string(65, 'x')) == std::string(64, 'x') + "… (65 bytes)");
    CHECK(excerpt(std::string(63, 'x') + "\xC3\xA9") == std::string(63, 'x') + "… (65 bytes)");
    CHECK(excerpt(std::string(62, 'x') + "\xC3\xA9") == std::string(62, 'x') + "\xC3\xA9");
  }
}
