#include <weir/base64.hpp>
#include <weir/cli/json_members.hpp>
#include <weir/json_text.hpp>
#include <weir/utf8.hpp>

namespace weir::cli {

namespace {

void append_name(std::string& out, std::string_view name) {
  out += out.ends_with('{') ? "" : ",";
  append_json_string(out, name);
  out += ':';
}

} // namespace

void append_member(std::string& out, std::string_view name, std::string_view text) {
  append_name(out, name);
  append_json_string(out, text);
}

void append_member(std::string& out, std::string_view name, std::int64_t number) {
  append_name(out, name);
  out += std::to_string(number);
}

void append_bytes_member(std::string& out, std::string_view name, std::string_view bytes) {
  if (is_utf8(bytes))
    return append_member(out, name, bytes);
  append_name(out, std::string{name} + "_base64");
  out += '"';
  append_base64(out, bytes);
  out += '"';
}

} // namespace weir::cli
