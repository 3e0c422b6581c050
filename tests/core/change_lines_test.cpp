#include <weir/batch_parts.hpp>
#include <weir/change_lines.hpp>
#include <weir/resume_point.hpp>

#include "log_lines.hpp"
#include "seeds.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using weir::batch;
using weir::change_lines;
using weir::envelope;
using weir::position;
using weir::transaction_part;

namespace {

envelope change_of(std::uint64_t number) {
  return {"c", "k" + std::to_string(number), weir::operation::upsert, std::to_string(number), {}};
}

batch batch_of(position at, std::vector<envelope> changes, std::vector<transaction_part> parts = {}) {
  batch made;
  made.at = at;
  made.changes = changes.size();
  made.envelopes = weir::make_block(std::move(changes), std::move(parts));
  return made;
}

/// A history of transactions, in two epochs, and any way to cut it into batches.
struct history {
  struct transaction {
    position at;
    std::uint64_t changes;
  };
  std::vector<transaction> transactions;

  explicit history(core_tests::random_source& random) {
    auto at = position{1, 0, {}, 0, true};
    for (int count = 0; count < 30; ++count) {
      if (count == 20)
        at = position{2, 5, {}, 0, true};
      else
        at.seq += random.between(1, 3);
      transactions.push_back({at, count == 20 ? 0 : random.below(5)});
    }
  }

  /// Batches from a transaction on, cut at random places.
  std::vector<batch> batches_from(std::size_t first, core_tests::random_source& random) const {
    std::vector<batch> batches;
    std::vector<envelope> changes;
    std::vector<transaction_part> parts;
    const auto cut = [&] {
      const auto at = parts.back().at;
      batches.push_back(batch_of(at, std::move(changes), std::move(parts)));
      changes.clear();
      parts.clear();
    };
    for (auto number = first; number < transactions.size(); ++number) {
      const auto& [at, count] = transactions[number];
      transaction_part part{at, changes.size(), 0, 0};
      for (std::uint64_t index = 0; index < count; ++index) {
        if (part.count > 0 && random.chance(30)) {
          part.at.ends_transaction = false;
          parts.push_back(part);
          cut();
          part = {at, 0, 0, index};
        }
        changes.push_back(change_of(number * 100 + index));
        ++part.count;
      }
      parts.push_back(part);
      if (random.chance(50))
        cut();
    }
    if (!parts.empty())
      cut();
    return batches;
  }
};

std::string all_lines(const std::vector<batch>& batches) {
  change_lines lines{change_lines::repeats::skip};
  std::string out;
  for (const auto& one : batches)
    REQUIRE(lines.append(out, one));
  return out;
}

} // namespace

TEST_CASE("the lines do not depend on where batches end, nor on how often changes come") {
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int log_number = 0; log_number < 60; ++log_number) {
      const history told{random};
      const auto expected = all_lines(told.batches_from(0, random));

      // The same, but again and again the writer is made anew from the last line, and the source starts over from some
      // transaction before it.
      std::string log;
      std::optional<weir::log_line> last;
      for (int round = 0; round < 6; ++round) {
        std::size_t first = 0;
        while (last && first < told.transactions.size() && told.transactions[first].at < last->at)
          ++first;
        first -= random.below(first + 1);
        const auto batches = told.batches_from(first, random);
        change_lines lines{change_lines::repeats::skip};
        lines.go_on(last);
        const auto count = round == 5 ? batches.size() : random.below(batches.size() + 1);
        for (std::size_t index = 0; index < count; ++index)
          REQUIRE(lines.append(log, batches[index]));
        if (random.chance(50)) {
          lines.append_position(log);
          REQUIRE((count == 0 || !weir::lacks(core_tests::last_line_of(log)->at, batches[count - 1].at)));
        }
        last = core_tests::last_line_of(log);
        REQUIRE((!last || lines.last() == last->place));
      }
      REQUIRE(core_tests::without_positions(log) == expected);
    }
  }
}

TEST_CASE("an epoch is told once, when it begins behind an older one") {
  change_lines lines{change_lines::repeats::skip};
  std::string out;
  const auto empty = [](std::uint64_t epoch, std::uint64_t seq) { return batch_of({epoch, seq, {}, 0, true}, {}, {}); };
  REQUIRE(lines.append(out, empty(1, 1)));
  CHECK(out.empty()); // nothing came before: the first epoch is no event
  REQUIRE(lines.append(out, batch_of({1, 2, {}, 0, true}, {change_of(1)})));
  out.clear();
  REQUIRE(lines.append(out, empty(2, 0)));
  CHECK(out == "{\"epoch\":2,\"seq\":0,\"event\":\"epoch\",\"stamp\":\"\",\"ends_transaction\":true}\n");
  CHECK(lines.last() == weir::change_place{2, 0, std::nullopt});
  out.clear();
  REQUIRE(lines.append(out, empty(2, 0)));
  REQUIRE(lines.append(out, batch_of({1, 9, {}, 0, true}, {change_of(2)}))); // of the older epoch: moves nothing
  CHECK(out.empty());
  REQUIRE(lines.append(out, batch_of({3, 4, {}, 0, true}, {change_of(3)}))); // told even without an empty batch
  CHECK(out.find("\"event\":\"epoch\"") != std::string::npos);
  CHECK(out.find("\"key\":\"k3\"") != std::string::npos);
}

TEST_CASE("a log that may repeat writes what comes") {
  change_lines lines{change_lines::repeats::write};
  std::string out;
  const auto one = batch_of({1, 2, {}, 0, true}, {change_of(1)});
  REQUIRE(lines.append(out, one));
  const auto once = out;
  REQUIRE(lines.append(out, one));
  CHECK(out == once + once);
}

TEST_CASE("what can't be told from its repetition is refused, and nothing is written") {
  change_lines lines{change_lines::repeats::skip};
  std::string out;
  CHECK(lines.append(out, batch_of({1, 2, {}, 0, false}, {change_of(1)})).error() == weir::errc::source_failed);
  CHECK(lines.append(out, batch{}).error() == weir::errc::position_missing);
  const position at{1, 2, {}, 0, true};
  for (const auto& parts : {std::vector<transaction_part>{{at, 0, 1, 0}}, {{at, 0, 1, 0}, {at, 0, 2, 0}}, {{at, 1, 1, 0}},
         {{at, 0, 3, 0}}, {{at, 0, 2, 0}, {at, 1, 1, 0}}}) {
    const auto unsound = batch_of(at, {change_of(1), change_of(2)}, parts);
    CHECK(weir::check_parts(unsound).error() == weir::errc::source_failed);
    CHECK(lines.append(out, unsound).error() == weir::errc::source_failed);
  }
  CHECK(out.empty());
  CHECK_FALSE(lines.last());
}

TEST_CASE("the parts of a batch end at its position") {
  const position first{1, 2, {}, 0, true};
  const position behind{1, 5, {}, 0, true};
  std::vector<std::pair<std::uint64_t, std::size_t>> seen;
  const auto look = [&](const transaction_part& part, std::span<const envelope> changes) {
    seen.emplace_back(part.at.seq, changes.size());
    return true;
  };
  weir::for_each_part(batch_of(behind, {change_of(1)}, {{first, 0, 1, 0}}), look);
  CHECK(seen == std::vector<std::pair<std::uint64_t, std::size_t>>{{2, 1}, {5, 0}});
  seen.clear();
  weir::for_each_part(batch_of(behind, {change_of(1), change_of(2)}), look);
  CHECK(seen == std::vector<std::pair<std::uint64_t, std::size_t>>{{5, 2}});
  seen.clear();
  batch without_block;
  without_block.at = first;
  weir::for_each_part(without_block, look);
  CHECK(seen == std::vector<std::pair<std::uint64_t, std::size_t>>{{2, 0}});
}
