#include "tree_model.hpp"

#include <utility>

namespace weir_test {

namespace {

template <class F>
void for_each_directory_of(std::string_view path, F call) {
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
    call(path.substr(0, slash));
}

} // namespace

const tree_model::file* tree_model::find(const std::string& path) const {
  auto found = index_.find(path);
  return found == index_.end() ? nullptr : &files_[found->second];
}

void tree_model::set(file made) {
  for_each_directory_of(made.path, [this](std::string_view directory) { erase(std::string{directory}); });
  if (directories_.contains(made.path))
    erase_below(made.path);
  if (auto found = index_.find(made.path); found != index_.end()) {
    files_[found->second] = std::move(made);
    return;
  }
  count_directories(made.path, +1);
  index_.emplace(made.path, files_.size());
  files_.push_back(std::move(made));
}

void tree_model::erase(const std::string& path) {
  auto found = index_.find(path);
  if (found == index_.end())
    return;
  const auto at = found->second;
  count_directories(path, -1);
  index_.erase(found);
  if (at + 1 != files_.size()) {
    files_[at] = std::move(files_.back());
    index_[files_[at].path] = at;
  }
  files_.pop_back();
}

void tree_model::erase_below(const std::string& directory) {
  std::vector<std::string> doomed;
  const auto prefix = directory + "/";
  for (const auto& one : files_)
    if (one.path.starts_with(prefix))
      doomed.push_back(one.path);
  for (const auto& path : doomed)
    erase(path);
}

void tree_model::count_directories(std::string_view path, int change) {
  for_each_directory_of(path, [&](std::string_view directory) {
    auto counted = directories_.try_emplace(std::string{directory}, 0).first;
    counted->second += static_cast<std::size_t>(change);
    if (counted->second == 0)
      directories_.erase(counted);
  });
}

std::string tree_model::any_directory(dice& draw) const {
  // The map's own order differs between standard libraries; a file's place in the vector does not.
  for (int attempt = 0; attempt < 8 && !files_.empty(); ++attempt) {
    const auto& path = files_[draw.below(files_.size())].path;
    if (const auto slash = path.rfind('/'); slash != std::string::npos)
      return path.substr(0, slash);
  }
  return {};
}

std::size_t tree_model::files_below(const std::string& directory) const {
  auto found = directories_.find(directory);
  return found == directories_.end() ? 0 : found->second;
}

std::string draw_name(dice& draw) {
  auto number = std::to_string(draw.below(100'000));
  switch (draw.below(24)) {
  case 0: return "with space " + number;
  case 1: return "quo\"te" + number;
  case 2: return "new\nline" + number;
  case 3: return "tab\t" + number;
  case 4: return "back\\slash" + number;
  case 5: return "\xff\xfe" + number;
  case 6: return "latin-\xe9-" + number;
  case 7: return "\xc3\xbcml\xc3\xa4ut-" + number;
  case 8: return "\"" + number + "\"";
  case 9: return "\n" + number;
  case 10: return ":100644 100644 " + number;
  case 11: return "-" + number;
  case 12: return " " + number + " ";
  case 13: return std::string(180, 'l') + number;
  case 14: return std::string("\x01\x7f\r") + number;
  case 15: return "." + number;
  default: return "file" + number + ".txt";
  }
}

} // namespace weir_test
