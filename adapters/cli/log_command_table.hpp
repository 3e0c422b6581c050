#pragma once

#include "subcommand_line.hpp"

#include <array>
#include <string_view>

/// The commands of `weir log`, as their help shows them.
namespace weir::cli::log_table {

using option = option_row;
using command = command_row;

inline constexpr option topic{"--topic", "NAME", "The topic; may be left out where the log has only one"};
inline constexpr option shard{"--shard", "N", "This shard alone"};
inline constexpr option limit{"--limit", "N", "End after so many entries"};

inline constexpr std::array create_options{
  option{"--topic", "NAME", "The topic to make (main)"},
  option{"--shards", "N", "How many shards it has, for good: 1 to 4096 (1)"},
  option{"--dedupe-horizon", "N", "How many dedupe keys it remembers at least: 1 to 2^40 (1048576)"},
  option{"--json", "", "Say what was made as one JSON object"},
};
inline constexpr std::array append_options{
  topic,
  option{"--key", "KEY", "The key of entries that come without one; it decides their shard"},
  option{"--shard", "N", "The shard of entries that come without one, whatever their key"},
  option{"--jsonl", "", "Each line is a JSON object, as \"weir log read --json\" prints it"},
  option{"--offsets", "", "Print SHARD:OFFSET of each entry as soon as it is safe"},
  option{"--json", "", "Print JSON objects instead of text"},
};
inline constexpr std::array read_options{
  topic,
  option{"--after", "CURSOR", "Begin behind this cursor (or, with one shard, this offset); without it, at the first entry"},
  limit,
  shard,
  option{"--json", "", "Print each entry as a JSON object"},
};
inline constexpr std::array tail_options{
  topic,
  option{"--after", "CURSOR", "Begin behind this cursor (or, with one shard, this offset); without it, at the head"},
  limit,
  shard,
  option{"--json", "", "Print each entry as a JSON object"},
};
inline constexpr std::array head_options{
  option{"--topic", "NAME", "This topic alone"},
  option{"--json", "", "Print each topic as a JSON object"},
};
inline constexpr std::array trim_options{
  topic,
  option{"--through", "CURSOR", "The last entry of each shard that is to go (with one shard, its offset)"},
  option{"--force", "", "Also where no snapshot says what the entries amounted to"},
  option{"--hold-entries", "N", "A consumer that lags more entries than that does not hold them back: it expires"},
  option{"--hold-bytes", "SIZE", "The same for bytes, as in 64MiB"},
  option{"--hold-age", "DURATION", "The same for the age of the oldest entry that it has not acknowledged, as in 48h"},
  option{"--json", "", "Say what went as one JSON object"},
};
inline constexpr std::array snapshot_options{
  topic,
  option{"--at", "CURSOR", "The state is that of this cursor; without it, of the head"},
  option{"--list", "", "Print which snapshots there are, and store nothing"},
  option{"--read", "ID", "Write this snapshot to standard output, and store nothing"},
  option{"--json", "", "Print JSON objects instead of text"},
};
inline constexpr std::array checkpoints_options{
  topic,
  option{"--drop", "CONSUMER", "Forget this consumer: it holds nothing back any more"},
  option{"--set", "CONSUMER", "Put this consumer where --to says, also back"},
  option{"--to", "CURSOR", "Where --set puts it (with one shard, an offset)"},
  option{"--json", "", "Print JSON objects instead of text"},
};
inline constexpr std::array scrub_options{
  option{"--json", "", "Report as one JSON object"},
};

inline constexpr std::array commands{
  command{"create", "Make a log, or another topic in one", create_options, R"(Example:
  weir log create events.db
  weir log create events.db --topic orders --shards 4)"},
  command{"append", "Append standard input, line by line", append_options, R"(Example:
  journalctl -f -o cat | weir log append events.db
  weir log read old.db --json | weir log append new.db --jsonl

Each line is an entry's payload, its bytes as they are. With --jsonl each line is an object with the member payload (a text), and
perhaps key, dedupe and shard; what is no text is payload_base64, key_base64, dedupe_base64. An entry is safe once it is counted
or its offset printed: then it is on the disk. Ctrl-C or SIGTERM reads no further, and stores what was read.)"},
  command{"read", "Print the entries that are there", read_options, R"(Example:
  weir log read events.db --limit 10
  weir log read events.db --json --after "$cursor" | jq -r .payload

Prints each payload and a line feed; one shard after the other. A damaged entry ends it with code 1, behind what is before it.)"},
  command{"tail", "Print entries as they come, until a signal", tail_options, R"(Example:
  weir log tail events.db
  weir log tail events.db --json --after "$cursor" --limit 100

As "weir log read", with all shards merged in the order the entries came. Notices what other processes append.)"},
  command{"head", "Print where topics begin and end", head_options, R"(Example:
  weir log head events.db
  cursor=$(weir log head events.db --json | jq -r .cursor))"},
  command{"trim", "Drop the oldest entries", trim_options, R"(Example:
  weir log trim events.db --through 999999
  weir log trim events.db --through "$cursor" --force --hold-age 48h

Entries go where a snapshot covers them, or with --force. What a registered consumer has not acknowledged stays, unless it lags
more than a --hold option allows.)"},
  command{"snapshot", "Store the state that the entries amount to, or read it", snapshot_options, R"(Example:
  pg_dump orders | weir log snapshot events.db --at "$cursor"
  weir log snapshot events.db --list
  weir log snapshot events.db --read 3 >state

The state is read from standard input. Once it is stored, what it covers may be trimmed.)"},
  command{"checkpoints", "Print where consumers are, move or forget one", checkpoints_options, R"(Example:
  weir log checkpoints events.db
  weir log checkpoints events.db --set search --to 41
  weir log checkpoints events.db --drop search)"},
  command{"verify", "Check every byte of a log", scrub_options, R"(Example:
  weir log verify events.db
  weir log verify events.db --json | jq '.damaged[]'

Reads all entries, their chain of digests, snapshots and checkpoints, and changes nothing. Ends with code 1 when anything is
damaged; each damage is one line.)"},
  command{"repair", "Give up what is damaged, so that reads pass over it", scrub_options, R"(Example:
  weir log repair events.db

Records each damaged entry as given up, with why and when, and says so. Nothing is deleted. Make a copy before.)"},
};

} // namespace weir::cli::log_table
