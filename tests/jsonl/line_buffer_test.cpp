#include "../core/seeds.hpp"
#include "line_buffer.hpp"
#include "line_stamp.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using weir::line_buffer;

namespace {

struct taken_line {
  std::string text;
  std::uint64_t begin;
  std::uint64_t end;
  bool is_too_long;
  std::string before;

  friend bool operator==(const taken_line&, const taken_line&) = default;
};

std::string last(std::string_view bytes, std::size_t count) {
  return std::string{bytes.substr(bytes.size() - std::min(bytes.size(), count))};
}

/// All lines of a stream, cut the simple way.
std::vector<taken_line> expected_lines(std::string_view stream, std::size_t begin, std::size_t max_line) {
  std::vector<taken_line> lines;
  while (begin < stream.size()) {
    const auto found = stream.find('\n', begin);
    const auto text_end = std::min(found, stream.size());
    const auto end = std::min(text_end + 1, stream.size());
    const auto size = text_end - begin;
    lines.push_back({std::string{stream.substr(begin, size > max_line ? std::min(size, line_buffer::start_size) : size)}, begin,
      end, size > max_line, last(stream.substr(0, end), line_buffer::seam_size)});
    begin = end;
  }
  return lines;
}

} // namespace

TEST_CASE("lines are the same however the bytes arrive, and every place is recognised by what stands before it") {
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int round = 0; round < 100; ++round) {
      const auto max_line = random.between(1, 400);
      const auto chunk = random.between(1, 300);
      std::string stream;
      for (auto left = random.below(60); left > 0; --left) {
        stream.append(random.chance(5) ? random.below(6000) : random.below(60), static_cast<char>('a' + random.below(26)));
        stream += '\n';
      }
      if (random.chance(50))
        stream += "without an end";
      // Begin at the start, or behind one of the lines.
      std::size_t begin = 0;
      if (random.chance(50))
        begin = std::min(stream.size(), stream.find('\n', random.below(stream.size() + 1)) + 1);

      line_buffer buffer{max_line, chunk};
      buffer.restart(begin, std::string_view{stream}.substr(0, begin));
      std::vector<taken_line> lines;
      const auto keep = [&](const line_buffer::line& line) {
        lines.push_back({std::string{line.text}, line.begin, line.end, line.is_too_long, std::string{buffer.before_offset()}});
      };
      for (auto arrived = begin; arrived < stream.size();) {
        const auto room = buffer.room();
        REQUIRE(room.size() == chunk);
        const auto count = std::min({random.between(1, chunk), stream.size() - arrived, room.size()});
        std::memcpy(room.data(), stream.data() + arrived, count);
        buffer.filled(count);
        arrived += count;
        REQUIRE(buffer.received() == arrived);
        REQUIRE(buffer.before_received() == last(std::string_view{stream}.substr(0, arrived), line_buffer::seam_size));
        for (auto most = random.below(5); most > 0; --most)
          if (const auto line = buffer.next())
            keep(*line);
      }
      while (const auto line = buffer.next())
        keep(*line);
      if (const auto line = buffer.rest())
        keep(*line);
      CHECK_FALSE(buffer.rest());
      REQUIRE(lines == expected_lines(stream, begin, max_line));
      CHECK(buffer.offset() == stream.size());
    }
  }
}

TEST_CASE("a line without end is passed over in bounded memory") {
  line_buffer buffer{1000, 100};
  std::size_t most = 0;
  const char* lowest = nullptr;
  for (int count = 0; count < 100'000; ++count) {
    const auto room = buffer.room();
    std::memset(room.data(), 'x', room.size());
    buffer.filled(room.size());
    CHECK_FALSE(buffer.next());
    if (count == 1000)
      lowest = room.data();
    if (count > 1000)
      most = std::max(most, static_cast<std::size_t>(std::abs(room.data() - lowest)));
  }
  CHECK(most < 2000); // always the same bytes of the same allocation
  buffer.room()[0] = '\n';
  buffer.filled(1);
  const auto line = buffer.next();
  REQUIRE(line);
  CHECK(line->is_too_long);
  CHECK(line->text.size() <= line_buffer::start_size);
  CHECK(line->end == 10'000'001);
}

TEST_CASE("a line feed that comes late belongs to the line before it") {
  line_buffer buffer{100, 100};
  buffer.restart(3, "abc");
  buffer.pass_line_feed('\n');
  CHECK(buffer.offset() == 4);
  CHECK(buffer.received() == 4);
  CHECK(buffer.before_offset() == "abc\n");
  CHECK_FALSE(buffer.next());
}

TEST_CASE("a stamp holds the offset and knows the bytes before it") {
  const auto made = weir::line_stamp::of(0x0102030405060708U, "what stood before");
  const auto stamp = made.to_stamp();
  CHECK(stamp.bytes().substr(0, 8) == "\x01\x02\x03\x04\x05\x06\x07\x08");
  CHECK(weir::line_stamp::from(stamp) == made);
  CHECK(weir::line_stamp::of(1, "what stood before").seam == made.seam);
  CHECK(weir::line_stamp::of(1, "what stood befor").seam != made.seam);
  CHECK(weir::line_stamp::of(1, "what stood befory").seam != made.seam);
  CHECK(weir::line_stamp::of(1, "xhat stood before").seam != made.seam);
  CHECK_FALSE(weir::line_stamp::from(weir::stamp::from("a commit id").value()));
  CHECK_FALSE(weir::line_stamp::from({}));
  // State files outlive this program: the hash may never change.
  CHECK(weir::line_stamp::of(0, "").seam == 0);
  CHECK(weir::line_stamp::of(0, "weir").seam != 0);
}
