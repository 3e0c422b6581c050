#include <weir/stored_requests.hpp>

#include "position_fields.hpp"
#include "protobuf_fields.hpp"
#include "request_id_fields.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <ranges>

namespace weir {

namespace {

using detail::field_reader;
using detail::position_fields;
using detail::request_id_fields;
using detail::tag_of;
using detail::wire_type;

constexpr std::uint64_t newest_version = 1;

// The messages Request and Requests of stream_item.proto.

struct request_fields {
  static constexpr auto id = tag_of(1, wire_type::bytes);
  static constexpr auto sink = tag_of(2, wire_type::bytes);
  static constexpr auto collections = tag_of(3, wire_type::bytes);
  static constexpr auto after = tag_of(4, wire_type::bytes);
  static constexpr auto not_before = tag_of(5, wire_type::bytes);

  static void put(auto& out, const request& asked) {
    if (asked.not_before)
      out.message(not_before, [&](auto& to) { position_fields::put(to, *asked.not_before); });
    if (asked.after)
      out.present(after, *asked.after);
    for (const auto& name : std::views::reverse(asked.collections))
      out.present(collections, name);
    out.bytes(sink, asked.sink);
    out.message(id, [&](auto& to) { request_id_fields::put(to, asked.id); });
  }

  static void read(field_reader from, request& into) {
    if (const auto number = from.message(id))
      into.id = request_id_fields::read(*number);
    else
      from.fail("a request has no id");
    into.sink = from.bytes(sink);
    into.collections.reserve(from.count(collections));
    while (const auto name = from.present(collections))
      into.collections.emplace_back(*name);
    if (const auto key = from.present(after))
      into.after.emplace(*key);
    if (const auto place = from.message(not_before))
      into.not_before = position_fields::read(*place);
    from.finish();
    // Last, so that a field in the place of the collections is named as what is wrong.
    if (into.collections.empty())
      from.fail("a request is for no collection");
  }
};

struct requests_fields {
  static constexpr auto version = tag_of(1, wire_type::varint);
  static constexpr auto requests = tag_of(2, wire_type::bytes);

  static void put(auto& out, const std::vector<request>& all) {
    for (const auto& asked : std::views::reverse(all))
      out.message(requests, [&](auto& to) { request_fields::put(to, asked); });
    out.number(version, newest_version);
  }

  /// What is behind the version.
  static void read(field_reader from, std::vector<request>& into) {
    into.reserve(from.count(requests));
    while (const auto asked = from.message(requests))
      request_fields::read(*asked, into.emplace_back());
    from.finish();
  }
};

} // namespace

std::string encode_requests(const std::vector<request>& all) {
  assert(std::ranges::none_of(all, [](const request& asked) { return asked.collections.empty(); }));
  std::string bytes;
  detail::append_message(bytes, [&](auto& to) { requests_fields::put(to, all); });
  return bytes;
}

result<std::vector<request>> decode_requests(std::string_view bytes) {
  detail::field_fault fault;
  field_reader from{bytes, fault};
  const auto version = from.number(requests_fields::version);
  if (version > newest_version)
    return error{errc::newer_format, "the stored requests are of a newer version",
      {{"version", std::to_string(version)}, {"known", std::to_string(newest_version)}}};
  if (version == 0)
    from.fail("the stored requests do not say their version");
  std::vector<request> read;
  requests_fields::read(from, read);
  if (fault)
    return error{errc::corrupt, std::string{fault.sentence},
      {{"size", std::to_string(bytes.size())}, {"at", std::to_string(fault.at - bytes.data())}}};
  return read;
}

} // namespace weir
