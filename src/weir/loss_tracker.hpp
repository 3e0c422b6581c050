#pragma once

#include <weir/bus_text.hpp>
#include <weir/hint.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir {

/// What was heard of one bus.
struct publisher_figures {
  bus_id publisher;
  std::uint64_t published = 0;        ///< hints of it, as far as it was heard to say
  std::uint64_t heard = 0;            ///< hints
  std::uint64_t missing = 0;          ///< hints that were published since it was first heard, and not heard
  std::chrono::milliseconds beacon{}; ///< between its beacons; zero: none was heard
  std::chrono::nanoseconds silent{};  ///< since anything of it was heard
  bool is_gone = false;               ///< it has left, or was silent for two beacons
  bool has_left = false;
};

/// Between which two moments something was missed, by a tracker's own count of what happens.
struct missed_span {
  std::uint64_t after = 0;
  std::uint64_t until = 0;

  friend bool operator==(const missed_span&, const missed_span&) = default;
};

/// What that loss is to a subscription that began at `began`: all of it, nobody knows how much of it, or nothing.
std::optional<lost> share_of(const lost& missing, const missed_span& span, std::uint64_t began) noexcept;

/// Something for the subscriptions of a topic, to be told before whatever is heard next.
struct finding {
  std::string topic;
  std::variant<lost, gone> what;
  std::optional<missed_span> missed = {}; ///< of a loss; absent: it is everybody's
};

/// Finds out what a bus does not hear of what others publish. It hears everything of everybody, in one order, as long as its
/// link is up: a number that is too high is a gap. How many hints of a topic fell into it, the topic's next number says, or the
/// publisher's answer. Knows the topics that are subscribed to, and up to `most` publishers. Pure: the time is the caller's.
class loss_tracker {
public:
  using time = std::chrono::nanoseconds; ///< by a clock of the caller that never goes back

  /// @param assumed between the beacons of a publisher of which none was heard yet
  explicit loss_tracker(std::size_t most = 4096, std::chrono::milliseconds assumed = std::chrono::seconds{4})
    : most_{most},
      assumed_{assumed} {}

  /// From now on hints of that topic count. Returns the moment, for share_of().
  std::uint64_t subscribe(const std::string& topic) {
    topics_.try_emplace(topic, topic_state{.subscribed_at = ++moment_});
    return moment_;
  }
  void unsubscribe(const std::string& topic) { topics_.erase(topic); }

  struct heard {
    bool is_new = false; ///< otherwise it was heard before, and is not delivered
    std::vector<finding> before = {};
  };

  heard on_hint(std::string_view topic, const hint_place& at, time now);

  /// It was heard, and what is in it can't be understood: lost.
  std::vector<finding> on_undecodable(std::string_view topic, const hint_place& at, time now);

  std::vector<finding> on_beacon(const bus_beacon& one, time now);
  std::vector<finding> on_answer(const bus_answer& one, time now);
  std::vector<finding> on_leave(const bus_leave& one, time now);

  /// The link was down, and is up again: whatever was published meanwhile was not heard.
  std::vector<finding> on_link_up(time now);
  void on_link_down() noexcept { is_up_ = false; }

  /// The link was found to be up, though nobody said anything.
  void on_link_alive(time now) noexcept { alive_at_ = now; }

  /// What falls due: publishers that are silent for two beacons, though something was heard behind the first that they owed:
  /// otherwise it may be the link that is silent. …
  std::vector<finding> on_time(time now);

  /// … and whom to ask, each at most once in a while: what has moved behind that number? Also who was silent for one of the
  /// beacons that are assumed: its answer says when it speaks.
  std::vector<std::pair<bus_id, std::uint64_t>> take_asks(time now);

  /// Of every bus that was heard and is not forgotten.
  std::vector<publisher_figures> figures(time now) const;

private:
  struct publisher_state {
    std::uint64_t last = 0; // heard of it
    std::uint64_t heard_hints = 0;
    std::uint64_t missing_hints = 0;
    std::optional<std::uint64_t> missing = {}; // something behind that number was not heard, nobody knows on which topics
    loss_cause cause = loss_cause::publisher;  // of what is missing
    bool may_miss = false;                     // the link was down since it was heard
    missed_span gap = {};                      // of what is missing; its end is that of the last gap that was found
    std::uint64_t whole_at = 0;                // when it was heard last, and everything up to there was known
    time heard = {};
    std::chrono::milliseconds interval{}; // between its beacons; zero: none was heard
    std::optional<time> asked = {};
    std::uint32_t answered = 0;                          // parts that were heard, one after the other, of the answer with …
    std::pair<std::uint64_t, std::uint64_t> answer = {}; // … that number and since
    bool is_gone = false;
    bool has_left = false;
  };

  struct name_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
  };

  struct known_number {
    std::uint64_t on_topic = 0;
    std::uint64_t at = 0; // the moment
  };

  struct topic_state {
    std::uint64_t subscribed_at = 0;          // the moment
    std::map<bus_id, known_number> last = {}; // the last number on it that was heard, or told to be lost, of each publisher
  };

  publisher_state& state_of(bus_id publisher, std::uint64_t before, time now);
  void note_number(publisher_state& of, std::uint64_t before);
  void tell_missing(std::vector<finding>& into, const std::string& topic, const topic_state& in, bus_id publisher,
    const publisher_state& of, std::uint64_t on_topic) const;
  void give_up(std::vector<finding>& into, bus_id publisher, const publisher_state& of, const missed_span& span) const;
  void tell_gone(std::vector<finding>& into, bus_id publisher) const;
  void forget_another(bus_id kept);
  void keep_figures_of(bus_id left);

  std::size_t most_;
  std::chrono::milliseconds assumed_;
  bool is_up_ = true;
  time alive_at_{};               // when anything was heard last, of anybody
  std::uint64_t moment_ = 0;      // counts what happens to subscriptions: that one begins, that something was missed
  std::uint64_t link_gap_at_ = 0; // the moment
  std::unordered_map<std::string, topic_state, name_hash, std::equal_to<>> topics_;
  std::map<bus_id, publisher_state> publishers_;
  std::deque<bus_id> left_; // the newest of those that have left: their figures are kept for a while
};

} // namespace weir
