#pragma once

#include <weir/log_entry.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// What the process of a fault test appends, so that the test knows what has to be there.
namespace sqlite_tests {

inline constexpr std::uint32_t script_shards = 2;
inline constexpr std::uint64_t script_appends = 12;

/// A payload that is another for each entry, of very different lengths.
inline std::string script_payload(std::uint64_t number, std::size_t index) {
  std::string payload = std::to_string(number) + "/" + std::to_string(index) + ":";
  const std::size_t length = number % 5 == 4 ? 20'000 : number * 37 % 300;
  for (std::size_t at = 0; payload.size() < length; ++at)
    payload += static_cast<char>('a' + (number * 7 + index * 3 + at) % 26);
  return payload;
}

/// The entries of append `number`: for both shards, some with dedupe keys.
inline std::vector<weir::new_entry> script_entries(std::uint64_t number) {
  std::vector<weir::new_entry> entries;
  for (std::size_t index = 0; index < 1 + number % 4; ++index) {
    weir::new_entry one;
    one.key = "key " + std::to_string(number % 3);
    if (number % 2 == 0)
      one.dedupe = std::to_string(number) + "-" + std::to_string(index);
    one.payload = script_payload(number, index);
    one.shard = static_cast<std::uint32_t>((number + index) % script_shards);
    entries.push_back(std::move(one));
  }
  return entries;
}

} // namespace sqlite_tests
