#include <weir/record_codec.hpp>

#include "record.pb.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as a record; what is read is what protobuf's own class reads, and is written and read again as the same. And any
// bytes as an entry: its record comes back, and with one bit turned it is refused or says the same.

namespace {

using weir::log::v1::Record;

void require(bool holds) {
  if (!holds)
    std::abort();
}

bool is_same(const weir::entry& read, const weir::new_entry& given) {
  return read.key == given.key && read.dedupe == given.dedupe && read.payload == given.payload;
}

void check_record(std::string_view bytes) {
  weir::entry read{.offset = 3, .key = "k", .dedupe = "d", .payload = "p", .time = 4};
  const auto decoded = weir::decode_record(bytes, read);
  require(read.offset == 3 && read.time == 4);
  if (!decoded) {
    require(decoded.error() == weir::errc::corrupt || decoded.error() == weir::errc::newer_format);
    require(!decoded.error().sentence().empty() && is_same(read, {.key = "k", .dedupe = "d", .payload = "p"}));
    return;
  }
  Record same;
  require(same.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  const weir::new_entry given{.key = same.key(), .dedupe = same.dedupe(), .payload = same.payload()};
  require(is_same(read, given));
  std::string written;
  weir::encode_record(written, given);
  require(written == same.SerializeAsString()); // which also keeps fields that it does not know
  weir::entry again;
  require(weir::decode_record(written, again) && is_same(again, given));
}

void check_entry(std::string_view bytes) {
  const auto take = [&](std::size_t size) {
    std::string part{bytes.substr(0, size)};
    bytes.remove_prefix(part.size());
    return part;
  };
  const auto number = [&] { return bytes.empty() ? 0U : static_cast<unsigned char>(take(1)[0]); };
  const auto key_size = number();
  const auto dedupe_size = number();
  const std::size_t bit = number() << 8U | number();
  weir::new_entry given{.key = take(key_size), .dedupe = take(dedupe_size)};
  given.payload = bytes;
  std::string record;
  weir::encode_record(record, given);
  check_record(record);
  weir::entry read;
  require(weir::decode_record(record, read) && is_same(read, given));
  auto& bent = record[bit / 8 % record.size()];
  bent = static_cast<char>(bent ^ 1 << bit % 8);
  if (weir::decode_record(record, read))
    require(is_same(read, given));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  check_record(bytes);
  check_entry(bytes);
  return 0;
}
