#include <weir/batch.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <string>

using weir::batch;
using weir::envelope;
using weir::lane_id;
using weir::request_id;

TEST_SUITE("batch") {
  TEST_CASE("an envelope counts the bytes it holds") {
    const envelope bare;
    const envelope full{.collection = "files",
      .key = "a/b",
      .operation = weir::operation::upsert,
      .payload = std::string(100, 'x'),
      .headers = {{"name", "value"}}};
    CHECK(bare.size_in_bytes() == sizeof(envelope));
    CHECK(full.size_in_bytes() == sizeof(envelope) + 5 + 3 + 100 + sizeof(full.headers.front()) + 9);
  }

  TEST_CASE("a batch counts its block and what it has walked; a marker its collections") {
    std::vector<envelope> envelopes(2);
    envelopes[1].key = "key";
    const auto block = weir::make_block(envelopes, {{}, {}});
    CHECK(block->size_in_bytes() == sizeof(weir::block) + 2 * sizeof(weir::transaction_part) + 2 * sizeof(envelope) + 3);
    batch carried;
    CHECK(size_in_bytes(weir::lane_item{carried}) == sizeof(batch));
    carried.envelopes = block;
    carried.walked = "up to here";
    CHECK(size_in_bytes(weir::lane_item{carried}) == sizeof(batch) + block->size_in_bytes() + 10);
    const weir::lane_item marker = weir::snapshot_complete{{}, {"files", "users"}};
    CHECK(size_in_bytes(marker) == sizeof(weir::snapshot_complete) + 2 * sizeof(std::string) + 10);
  }

  TEST_CASE("live batches have a position, snapshot batches and markers none") {
    batch live;
    live.at = weir::position{.epoch = 1, .seq = 2};
    batch snapshot;
    snapshot.request = request_id{1, 2};
    CHECK_FALSE(live.is_snapshot());
    CHECK(snapshot.is_snapshot());
    const weir::lane_item item = live;
    REQUIRE(position_of(item) != nullptr);
    CHECK(position_of(item)->seq == 2);
    CHECK(position_of(weir::lane_item{snapshot}) == nullptr);
    CHECK(position_of(weir::lane_item{weir::snapshot_complete{}}) == nullptr);
  }

  TEST_CASE("a lane is named by its sink, and its collection if it has one") {
    CHECK(to_string(lane_id{"search"}) == "search");
    CHECK(to_string(lane_id{"search", "files"}) == "search/files");
    CHECK(lane_id{"search"} == lane_id{std::string{"search"}});
    CHECK(lane_id{"search"} < lane_id{"search", "files"});
    CHECK(lane_id{"a", "z"} < lane_id{"b", "a"});
  }

  TEST_CASE("a request's id is 32 hexadecimal digits and reads back") {
    CHECK(to_string(request_id{}) == std::string(32, '0'));
    CHECK(to_string(request_id{0x0123456789abcdef, 0xfedcba9876543210}) == "0123456789abcdeffedcba9876543210");
    core_tests::random_source random{7};
    for (int round = 0; round < 1000; ++round) {
      const request_id id{random.next(), random.next()};
      CHECK(weir::parse_request_id(to_string(id)) == id);
    }
  }

  TEST_CASE("what is no request's id is not read") {
    const std::string right(32, 'a');
    CHECK(weir::parse_request_id(right).has_value());
    for (std::string wrong : {std::string{}, right.substr(1), right + "a", "-" + right.substr(1), "0x" + right.substr(2),
           right.substr(0, 31) + "g", right.substr(0, 15) + " " + right.substr(16), "+" + right.substr(1)})
      CHECK_MESSAGE(!weir::parse_request_id(wrong), wrong);
    for (std::size_t place = 0; place < right.size(); ++place)
      for (int byte = 0; byte < 256; ++byte) {
        auto text = right;
        text[place] = static_cast<char>(byte);
        const bool is_digit = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
        REQUIRE(weir::parse_request_id(text).has_value() == is_digit);
      }
  }
}
