#include <weir/batch_parts.hpp>

#include "batch_builder.hpp"

#include <doctest/doctest.h>

#include <string>

using weir::git::batch_builder;

namespace {

weir::position at(std::uint64_t seq) {
  weir::position made;
  made.seq = seq;
  return made;
}

weir::envelope change(std::string key) {
  weir::envelope made;
  made.key = std::move(key);
  return made;
}

/// "seq.first_index:keys" per part, with "…" where the transaction goes on.
std::string text_of(const weir::batch& carried) {
  std::string text;
  REQUIRE(weir::check_parts(carried));
  CHECK(carried.changes == carried.envelopes->envelopes().size());
  weir::for_each_part(carried, [&](const weir::transaction_part& part, auto envelopes) {
    text += std::to_string(part.at.seq) + "." + std::to_string(part.first_index) + ":";
    for (const auto& one : envelopes)
      text += one.key;
    text += part.at.ends_transaction ? " " : "… ";
    return true;
  });
  CHECK(*carried.at == carried.envelopes->parts().back().at);
  CHECK(carried.at->ends_transaction == carried.envelopes->parts().back().at.ends_transaction);
  return text;
}

} // namespace

TEST_CASE("whole transactions go out, the open one stays") {
  batch_builder built;
  built.begin(at(1));
  built.add(change("a"));
  CHECK_FALSE(built.has_whole_transactions());
  built.end();
  built.begin(at(2));
  built.end();
  built.begin(at(3));
  built.add(change("b"));
  built.add(change("c"));
  CHECK(text_of(built.take_whole()) == "1.0:a 2.0: ");
  CHECK_FALSE(built.has_whole_transactions());
  built.add(change("d"));
  built.end();
  CHECK(text_of(built.take_whole()) == "3.0:bcd ");
}

TEST_CASE("a cut transaction keeps its position and counts on") {
  batch_builder built;
  built.begin(at(7));
  built.add(change("a"));
  built.end();
  built.begin(at(8));
  built.add(change("b"));
  built.add(change("c"));
  CHECK(text_of(built.take_all()) == "7.0:a 8.0:bc… ");
  built.add(change("d"));
  CHECK(text_of(built.take_all()) == "8.2:d… ");
  built.add(change("e"));
  built.end();
  built.begin(at(9));
  CHECK(text_of(built.take_all()) == "8.3:e "); // nothing of 9 is there that could be cut
  built.add(change("f"));
  built.end();
  CHECK(text_of(built.take_whole()) == "9.0:f ");
}

TEST_CASE("the limits count changes, bytes and empty transactions, and let one change pass alone") {
  const weir::read_limit limit{3, 2000};
  batch_builder built;
  CHECK_FALSE(built.is_full_for(1'000'000, limit));
  built.begin(at(1));
  built.add(change(std::string(500, 'k')));
  const auto size = change(std::string(500, 'k')).size_in_bytes();
  CHECK_FALSE(built.is_full_for(2000 - size, limit));
  CHECK(built.is_full_for(2001 - size, limit));
  built.end();
  built.begin(at(2));
  built.end();
  CHECK_FALSE(built.is_full_for(0, limit));
  built.begin(at(3));
  built.end();
  CHECK(built.is_full_for(0, limit));
  built.take_whole();
  CHECK_FALSE(built.is_full_for(1'000'000, limit));
  built.begin(at(4));
  for (const char* key : {"a", "b", "c"})
    built.add(change(key));
  CHECK(built.is_full_for(1, limit));
  built.take_all();
  CHECK_FALSE(built.is_full_for(1'000'000, limit));
}
