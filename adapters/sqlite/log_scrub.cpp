#include <weir/record_codec.hpp>
#include <weir/sqlite_log.hpp>

#include "log_consumers.hpp"
#include "log_core.hpp"
#include "log_read.hpp"
#include "log_snapshots.hpp"

#include <boost/outcome/try.hpp>

#include <algorithm>

namespace weir::sqlite {

namespace {

using namespace sqlite_log;

/// An entry whose digest alone is damaged, and what it was.
struct mendable {
  std::int64_t place = 0; ///< of its block
  std::int64_t index = 0; ///< in the block
  chain_digest digest = {};
};

class scrub {
public:
  scrub(log_file& in, const scrub_progress& progress) : in_{in}, progress_{progress} {}

  scrub_report run() {
    check_pages();
    const auto topics = read_topics(in_);
    if (!topics) {
      note(topics.error());
      return std::move(report_);
    }
    for (const auto& topic : topics.value())
      count(topic);
    for (const auto& topic : topics.value())
      check(topic);
    return std::move(report_);
  }

  const std::vector<mendable>& mendables() const noexcept { return mendables_; }

private:
  void note(const error& why) { report_.others.push_back(why.sentence()); }

  /// What SQLite says about its own pages.
  void check_pages() {
    auto query = in_.connection.prepare("PRAGMA quick_check(20)");
    if (!query)
      return note(query.error());
    for (;;) {
      const auto has_row = query.value().step();
      if (!has_row)
        return note(has_row.error());
      if (!has_row.value())
        return;
      if (auto line = query.value().bytes(0); line != "ok")
        report_.others.push_back("SQLite's pages: " + line);
    }
  }

  void count(const topic_row& topic) {
    for (std::uint32_t shard = 0; shard < topic.shards; ++shard) {
      const auto of = read_shard(in_, topic.id, shard);
      if (!of)
        continue; // check() notes it
      block_walk blocks{in_, of.value()};
      const auto before = blocks.bytes_before(of.value().bounds.earliest);
      total_ += of.value().bytes - std::min(of.value().bytes, before ? before.value() : 0);
    }
  }

  void check(const topic_row& topic) {
    for (std::uint32_t shard = 0; shard < topic.shards; ++shard) {
      const auto of = read_shard(in_, topic.id, shard);
      if (!of)
        note(of.error());
      else
        check_chain(topic, of.value());
    }
    check_snapshots(topic);
    if (const auto all = read_checkpoints(in_, topic.id); !all)
      note(all.error());
    check_keys(topic);
  }

  void check_chain(const topic_row& topic, const shard_row& of) {
    block_walk blocks{in_, of};
    auto before = std::optional{of.before}; // the digest that is stored with the entry before; absent behind a gap
    log_verifier verifier{of.before};
    for (auto offset = of.bounds.earliest; offset < of.bounds.head;) {
      if (const auto gap = given_up_at(topic, of, offset)) {
        offset = *gap;
        before.reset();
        continue;
      }
      const auto block = blocks.at(offset);
      if (!block || !block.value()) {
        const auto next = blocks.next_begin(offset);
        const auto end = next ? std::max(next.value(), offset + 1) : offset + 1;
        damaged(topic, of, offset, std::min(end, of.bounds.head) - 1, block ? "it is not there" : block.error().sentence());
        offset = end;
        before.reset();
        continue;
      }
      const auto& view = *block.value();
      if (offset == view.first())
        check_seam(topic, of, blocks, before, offset, verifier);
      else if (!before)
        verifier = log_verifier{view.head_of(offset - 1).digest};
      const auto prior = before;
      before = view.head_of(offset).digest;
      ++report_.entries;
      advance(view.head_of(offset).length);
      if (const auto found = verifier.read(view, offset); !found) {
        damaged(topic, of, offset, offset, found.error().sentence());
        if (prior)
          find_mend(view, of, offset, *prior);
      }
      ++offset;
    }
    if (before && *before != of.last && of.bounds.head > of.bounds.earliest && !ends_damaged(topic, of))
      report_.others.push_back("topic " + topic.name + ", shard " + std::to_string(of.shard)
                               + ": the last entry's digest is not the shard's: entries are missing at the end");
  }

  /// A block says what was before it; so does the block before.
  void check_seam(const topic_row& topic, const shard_row& of, const block_walk& blocks,
    const std::optional<chain_digest>& before, std::int64_t offset, log_verifier& verifier) {
    const auto said = blocks.before();
    if (!before) {
      verifier = log_verifier{said.value_or(chain_digest{})};
    } else if (said != before && !ends_damaged(topic, of)) {
      report_.others.push_back("topic " + topic.name + ", shard " + std::to_string(of.shard) + ": the block at offset "
                               + std::to_string(offset) + " does not continue the one before it");
    }
  }

  bool ends_damaged(const topic_row& topic, const shard_row& of) const {
    return !report_.damaged.empty() && report_.damaged.back().topic == topic.name && report_.damaged.back().shard == of.shard;
  }

  /// Behind what was given up at that offset; absent where nothing was.
  std::optional<std::int64_t> given_up_at(const topic_row& topic, const shard_row& of, std::int64_t offset) {
    const auto repair = find_repair(in_, of, offset);
    if (!repair) {
      note(repair.error());
      return std::nullopt;
    }
    if (!repair.value() || repair.value()->first > offset)
      return std::nullopt;
    const auto end = std::min(repair.value()->first + repair.value()->count, of.bounds.head);
    report_.damaged.push_back({topic.name, of.shard, offset, end - 1, repair.value()->why, true});
    return end;
  }

  void damaged(const topic_row& topic, const shard_row& of, std::int64_t first, std::int64_t last, std::string why) {
    if (!report_.damaged.empty()) {
      auto& before = report_.damaged.back();
      if (before.topic == topic.name && before.shard == of.shard && before.last + 1 == first && before.why == why
          && !before.is_given_up) {
        before.last = last;
        return;
      }
    }
    report_.damaged.push_back({topic.name, of.shard, first, last, std::move(why), false});
  }

  /// Whether the record is whole, and the entry behind it says that its digest was what the bytes amount to.
  void find_mend(const log_block_view& view, const shard_row& of, std::int64_t offset, const chain_digest& before) {
    entry ignored;
    const auto computed = view.digest_after(before, offset);
    const bool is_whole = decode_record(view.record_of(offset), ignored).has_value();
    bool is_confirmed = false;
    if (offset + 1 < view.end())
      is_confirmed = view.digest_after(computed, offset + 1) == view.head_of(offset + 1).digest;
    else if (offset + 1 < of.bounds.head)
      is_confirmed = said_before(of, offset + 1) == computed;
    else
      is_confirmed = computed == of.last;
    if (is_whole && is_confirmed)
      mendables_.push_back({place_of(of.at, view.first()), offset - view.first(), computed});
  }

  /// What the block that begins there says was before it.
  std::optional<chain_digest> said_before(const shard_row& of, std::int64_t offset) {
    auto query = in_.connection.prepare("SELECT before FROM weir_block WHERE place = ?1");
    if (!query)
      return std::nullopt;
    query.value().bind(1, place_of(of.at, offset));
    const auto has_row = query.value().step();
    return has_row && has_row.value() ? digest_from(query.value().view(0)) : std::nullopt;
  }

  void check_snapshots(const topic_row& topic) {
    auto query = in_.connection.prepare("SELECT id, chunks FROM weir_snapshot WHERE topic = ?1 AND finished = 1");
    if (!query)
      return note(query.error());
    query.value().bind(1, topic.id);
    for (;;) {
      const auto has_row = query.value().step();
      if (!has_row)
        return note(has_row.error());
      if (!has_row.value())
        return;
      ++report_.snapshots;
      const auto id = query.value().whole_number(0);
      const auto chunks = std::max<std::uint64_t>(1, query.value().whole_number(1));
      for (std::uint64_t index = 0; index < chunks; ++index) {
        const auto chunk = read_chunk(in_, topic, id, index);
        if (chunk || chunk.error() == errc::no_snapshot)
          continue;
        report_.others.push_back("topic " + topic.name + ", snapshot " + std::to_string(id) + ": " + chunk.error().sentence());
        break;
      }
    }
  }

  void check_keys(const topic_row& topic) {
    auto query = in_.connection.prepare("SELECT number, key, shard, first, print, \"check\" FROM weir_dedupe WHERE topic = ?1");
    if (!query)
      return note(query.error());
    auto& row = query.value();
    row.bind(1, topic.id);
    std::uint64_t damaged_keys = 0;
    for (;;) {
      const auto has_row = row.step();
      if (!has_row)
        return note(has_row.error());
      if (!has_row.value())
        break;
      const auto check =
        row_check{}.add(topic.id).add(row.number(0)).add(row.view(1)).add(row.number(2)).add(row.number(3)).add(row.view(4));
      damaged_keys += check.value() == row.number(5) ? 0 : 1;
    }
    if (damaged_keys > 0)
      report_.others.push_back(
        "topic " + topic.name + ": " + std::to_string(damaged_keys) + " dedupe keys are not what was written");
  }

  void advance(std::uint64_t bytes) {
    report_.bytes += bytes;
    if (progress_ && report_.bytes - told_ >= (1U << 20)) {
      told_ = report_.bytes;
      progress_(std::min(report_.bytes, total_), total_);
    }
  }

  log_file& in_;
  const scrub_progress& progress_;
  scrub_report report_;
  std::vector<mendable> mendables_;
  std::uint64_t total_ = 0;
  std::uint64_t told_ = 0;
};

result<log_file> open_existing(const log_options& wanted, bool to_write) {
  BOOST_OUTCOME_TRY(auto how, resolve(wanted));
  how.how = to_write                                        ? log_options::opening::must_exist
            : wanted.how == log_options::opening::look_only ? wanted.how
                                                            : log_options::opening::must_exist;
  return open_file(how);
}

result<void> mend(log_file& in, const mendable& one) {
  BOOST_OUTCOME_TRY(auto* query, in.connection.kept("SELECT heads FROM weir_block WHERE place = ?1"));
  query->bind(1, one.place);
  BOOST_OUTCOME_TRY(query->step());
  auto heads = query->bytes(0);
  query->reset();
  const auto at = static_cast<std::size_t>(one.index) * log_head_size + 16;
  heads.replace(at, sizeof(chain_digest), bytes_of(one.digest));
  BOOST_OUTCOME_TRY(auto* update, in.connection.kept("UPDATE weir_block SET heads = ?2 WHERE place = ?1"));
  update->bind(1, one.place);
  update->bind_blob(2, heads);
  BOOST_OUTCOME_TRY(update->step());
  return success();
}

result<void> give_up(log_file& in, const damaged_entries& lost, std::int64_t now) {
  BOOST_OUTCOME_TRY(const auto topic, find_topic(in, lost.topic));
  if (!topic)
    return success();
  BOOST_OUTCOME_TRY(const auto of, read_shard(in, topic->id, lost.shard));
  const auto place = place_of(of.at, lost.first);
  const auto count = lost.last - lost.first + 1;
  BOOST_OUTCOME_TRY(auto* insert, in.connection.kept("INSERT INTO weir_repair VALUES(?1, ?2, ?3, ?4, ?5)"));
  insert->bind(1, place);
  insert->bind(2, count);
  insert->bind_text(3, lost.why);
  insert->bind(4, now);
  insert->bind(5, row_check{}.add(place).add(count).add(std::string_view{lost.why}).add(now).value());
  BOOST_OUTCOME_TRY(insert->step());
  return success();
}

/// Everything in one transaction, so that nobody appends between what is found and what is recorded.
result<scrub_report> repair(log_file& in, const scrub_progress& progress, std::int64_t now) {
  scrub first{in, progress};
  auto report = first.run();
  for (const auto& one : first.mendables()) {
    BOOST_OUTCOME_TRY(mend(in, one));
  }
  if (!first.mendables().empty())
    report = scrub{in, {}}.run();
  for (auto& one : report.damaged) {
    if (one.is_given_up)
      continue;
    BOOST_OUTCOME_TRY(give_up(in, one, now));
    one.is_given_up = true;
  }
  return report;
}

} // namespace

bool scrub_report::is_sound() const noexcept {
  return others.empty() && std::ranges::all_of(damaged, &damaged_entries::is_given_up);
}

result<scrub_report> scrub_log(const log_options& wanted, const scrub_progress& progress) {
  for (int again = 0;; ++again) {
    BOOST_OUTCOME_TRY(auto file, open_existing(wanted, false));
    BOOST_OUTCOME_TRY(file.connection.run("BEGIN"));
    auto report = scrub{file, progress}.run();
    BOOST_OUTCOME_TRY(file.connection.run("COMMIT"));
    if (again == most_repeats || !is_outdated(file))
      return report;
  }
}

result<scrub_report> repair_log(const log_options& wanted, const scrub_progress& progress) {
  BOOST_OUTCOME_TRY(const auto how, resolve(wanted));
  BOOST_OUTCOME_TRY(auto file, open_existing(wanted, true));
  BOOST_OUTCOME_TRY(file.connection.run("BEGIN IMMEDIATE"));
  auto report = repair(file, progress, how.now());
  if (!report) {
    (void)file.connection.run("ROLLBACK");
    return report;
  }
  BOOST_OUTCOME_TRY(file.connection.run("COMMIT"));
  return report;
}

} // namespace weir::sqlite
