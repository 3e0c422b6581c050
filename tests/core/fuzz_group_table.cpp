#include <weir/checkpoint.hpp>
#include <weir/group_table.hpp>

#include "group.pb.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as a group's table: what is read is written in the same bytes again, fits into a checkpoint, and is what protobuf's
// own class reads.

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

void check(std::string_view bytes, std::uint32_t shards) {
  const auto decoded = weir::decode_group_table(bytes, shards);
  if (!decoded) {
    require(decoded.error() == weir::errc::corrupt || decoded.error() == weir::errc::newer_format);
    require(!decoded.error().sentence().empty());
    return;
  }
  const auto& table = decoded.value();
  const auto written = weir::encode_group_table(table);
  require(written == bytes && written.size() <= weir::max_checkpoint_metadata);
  weir::log::v1::GroupTable message;
  require(message.ParseFromString(written) && message.term() == table.term);
  require(static_cast<std::size_t>(message.seats_size()) == table.seats.size() && message.owners().size() == shards);
  std::size_t shared_out = 0;
  for (const auto& seat : table.seats)
    shared_out += table.share_of(seat.id);
  require(shared_out == (table.seats.empty() ? 0 : shards));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  for (const std::uint32_t shards : {1U, 3U, 100U})
    check(bytes, shards);
  weir::log::v1::GroupTable made;
  made.set_version(1);
  made.set_term(size);
  for (std::size_t at = 0; at + 3 < size && made.seats_size() < 70; at += 4) {
    auto& seat = *made.add_seats();
    seat.set_id(data[at] + std::uint64_t{data[at + 1]} * 0x1234567);
    seat.set_beats(data[at + 2]);
    seat.set_lease(data[at + 3] * std::uint64_t{20'000});
  }
  made.set_owners(std::string{bytes.substr(0, 9)});
  check(made.SerializeAsString(), static_cast<std::uint32_t>(made.owners().size()));
  return 0;
}
