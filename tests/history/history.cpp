#include "history.hpp"

#include "tree_model.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace weir_test {

namespace {

constexpr std::size_t pool_size = 512;

/// `git` without what the caller's environment or configuration would add, for the shell.
std::string git_in(const std::filesystem::path& directory) {
  std::string quoted = "'";
  for (const char c : directory.string()) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return "env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE -u GIT_OBJECT_DIRECTORY GIT_CONFIG_NOSYSTEM=1 "
         "GIT_CONFIG_GLOBAL=/dev/null git -C "
         + quoted + "' ";
}

/// What is written to `git fast-import`'s standard input.
class import_stream {
public:
  explicit import_stream(const std::string& command) : pipe_{::popen(command.c_str(), "w")} {
    if (pipe_ == nullptr)
      throw std::runtime_error("can't start git fast-import");
  }
  ~import_stream() {
    if (pipe_ != nullptr)
      ::pclose(pipe_);
  }
  import_stream(const import_stream&) = delete;
  import_stream& operator=(const import_stream&) = delete;

  import_stream& operator<<(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() > (1u << 18))
      flush();
    return *this;
  }
  import_stream& operator<<(std::size_t number) { return *this << std::string_view{std::to_string(number)}; }

  void data(std::string_view bytes) { *this << "data " << bytes.size() << "\n" << bytes << "\n"; }

  void finish() {
    *this << "done\n";
    flush();
    if (::pclose(std::exchange(pipe_, nullptr)) != 0)
      throw std::runtime_error("git fast-import failed");
  }

private:
  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), pipe_) != buffer_.size())
      throw std::runtime_error("git fast-import stopped reading");
    buffer_.clear();
  }

  std::FILE* pipe_;
  std::string buffer_;
};

/// C-style quoting as fast-import reads it back: every byte survives.
std::string c_quoted(std::string_view path) {
  std::string text = "\"";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += '\\';
      for (const int shift : {6, 3, 0})
        text += static_cast<char>('0' + ((byte >> shift) & 7));
    } else {
      text += c;
    }
  }
  return text + "\"";
}

class generator {
public:
  generator(const history_options& options, import_stream& out) : options_{options}, out_{out}, draw_{options.seed} {}

  history_summary run() {
    write_pool();
    for (std::size_t number = 1; number <= options_.commits; ++number)
      write_commit(number);
    out_ << "reset refs/heads/side\nfrom " << std::string(options_.sha256 ? 64 : 40, '0') << "\n\n";
    return summary_;
  }

private:
  void write_pool() {
    for (std::size_t mark = 1; mark <= pool_size; ++mark) {
      out_ << "blob\nmark :" << mark << "\n";
      out_.data("content " + std::to_string(mark) + "\n" + std::string(draw_.below(120), 'x') + "\n");
    }
    next_mark_ = pool_size + 1;
  }

  /// The line of committer times is not monotonic: clocks of different people differ.
  std::string who(std::string_view name) {
    static constexpr std::string_view zones[] = {"+0000", "+0200", "-0730", "+1345"};
    clock_ += 1 + draw_.below(600);
    auto when = clock_;
    if (draw_.one_in(20))
      when -= draw_.below(172'800);
    return std::string{name} + " A Person <person@example.org> " + std::to_string(when) + " "
           + std::string{zones[draw_.below(4)]} + "\n";
  }

  std::size_t begin_commit(std::string_view branch) {
    const auto mark = next_mark_++;
    out_ << "commit " << branch << "\nmark :" << mark << "\n" << who("author") << who("committer");
    out_.data(draw_.one_in(8) ? "subject\n\n:100644 100644 in a message\nM\tfile\n" : "a change");
    return mark;
  }

  void write_commit(std::size_t number) {
    std::vector<std::size_t> sides;
    if (number > 2 && draw_.one_in(10))
      for (std::size_t wanted = draw_.one_in(8) ? 2 : 1; sides.size() < wanted;)
        sides.push_back(write_side());
    const auto mark = begin_commit("refs/heads/main");
    if (number > 1)
      out_ << "from :" << main_.back() << "\n";
    for (const auto side : sides)
      out_ << "merge :" << side << "\n";
    summary_.merges += sides.empty() ? 0 : 1;
    if (number == 1)
      for (std::size_t file = 0; file < options_.first_commit_files; ++file)
        add("bulk/" + std::to_string(file / 1000) + "/" + std::to_string(file % 1000));
    if (draw_.one_in(16)) {
      ++summary_.empty_commits; // or a merge that takes nothing
    } else {
      for (auto left = 1 + draw_.below(2 * options_.changes_per_commit); left > 0; --left)
        write_change();
    }
    out_ << "\n";
    ++summary_.commits;
    if (main_.size() == 64)
      main_.erase(main_.begin());
    main_.push_back(mark);
  }

  /// Commits beside the first-parent line; their own changes must never be seen.
  std::size_t write_side() {
    std::size_t mark = 0;
    const bool rooted = draw_.one_in(5);
    if (rooted) {
      out_ << "reset refs/heads/side\n\n";
      ++summary_.extra_roots;
    }
    for (auto left = 1 + draw_.below(3); left > 0; --left) {
      const auto parent = mark;
      mark = begin_commit("refs/heads/side");
      if (parent != 0)
        out_ << "from :" << parent << "\n";
      else if (!rooted)
        out_ << "from :" << main_[draw_.below(main_.size())] << "\n";
      out_ << "M 100644 :" << blob() << " " << c_quoted("side only/" + draw_name(draw_)) << "\n\n";
      ++summary_.side_commits;
    }
    return mark;
  }

  void write_change() {
    if (tree_.size() < 8 || (tree_.size() < options_.files && draw_.one_in(3)))
      return add(new_path());
    const auto file = tree_.at(draw_.below(tree_.size()));
    switch (draw_.below(32)) {
    case 0:
    case 1:
    case 2:
    case 3: return add(new_path());
    case 4:
    case 5:
    case 6:
    case 7: ++summary_.deletes; return remove(file.path);
    case 8:
    case 9: return rename(file);
    case 10:
    case 11: return change_mode(file);
    case 12: return change_type(file);
    case 13: return set_submodule(draw_.one_in(2) ? file.path : new_path());
    case 14: ++summary_.file_to_directory; return put({file.path + "/" + draw_name(draw_), "100644", blob()});
    case 15: return draw_.one_in(4) ? replace_directory() : add(new_path());
    default: return edit(file);
    }
  }

  std::size_t blob() { return 1 + draw_.below(pool_size); }

  /// Directories stay small however large the tree grows: git rewrites each that a commit touches.
  std::string new_path() {
    auto directory = draw_.one_in(12 + tree_.size() / 20) ? std::string{} : tree_.any_directory(draw_);
    const bool crowded = !directory.empty() && tree_.files_below(directory) > 24 && !draw_.one_in(4);
    if ((crowded || draw_.one_in(24)) && directory.size() < 300)
      directory += (directory.empty() ? "" : "/") + draw_name(draw_);
    return directory.empty() ? draw_name(draw_) : directory + "/" + draw_name(draw_);
  }

  void put(tree_model::file file) {
    out_ << "M " << file.mode << " ";
    if (file.mode == "160000") {
      auto id = std::to_string(file.content);
      out_ << std::string((options_.sha256 ? 64 : 40) - id.size(), '7') << id;
    } else {
      out_ << ":" << file.content;
    }
    out_ << " " << c_quoted(file.path) << "\n";
    tree_.set(std::move(file));
  }

  void remove(const std::string& path) {
    out_ << "D " << c_quoted(path) << "\n";
    tree_.erase(path);
  }

  void add(std::string path) {
    ++summary_.adds;
    put({std::move(path), "100644", blob()});
  }

  void edit(tree_model::file file) {
    ++summary_.edits;
    file.content = file.mode == "160000" ? draw_.below(100'000) : 1 + (file.content + draw_.below(pool_size - 1)) % pool_size;
    put(std::move(file));
  }

  void rename(const tree_model::file& file) {
    ++summary_.renames;
    auto moved = file;
    moved.path = new_path();
    remove(file.path);
    put(std::move(moved));
  }

  void change_mode(tree_model::file file) {
    if (file.mode != "100644" && file.mode != "100755")
      return edit(std::move(file));
    ++summary_.mode_changes;
    file.mode = file.mode == "100644" ? "100755" : "100644";
    put(std::move(file));
  }

  void change_type(tree_model::file file) {
    ++summary_.type_changes;
    file.mode = file.mode == "120000" ? "100644" : "120000";
    file.content = blob();
    put(std::move(file));
  }

  void set_submodule(std::string path) {
    ++summary_.submodules;
    put({std::move(path), "160000", draw_.below(100'000)});
  }

  void replace_directory() {
    // Finding the files below costs a walk over the model: a small one stays affordable, a large tree does without.
    auto directory = tree_.any_directory(draw_);
    if (directory.empty() || directory.find('/') == std::string::npos || tree_.size() > 10'000)
      return add(new_path());
    ++summary_.directory_to_file;
    put({std::move(directory), "100644", blob()});
  }

  const history_options& options_;
  import_stream& out_;
  dice draw_;
  tree_model tree_;
  history_summary summary_;
  std::vector<std::size_t> main_; ///< marks of the newest commits of the line
  std::size_t next_mark_ = 1;
  std::size_t clock_ = 1'000'000'000;
};

} // namespace

history_summary make_history(const std::filesystem::path& directory, const history_options& options) {
  std::filesystem::create_directories(directory);
  const auto git = git_in(directory);
  const auto* format = options.sha256 ? "sha256" : "sha1";
  if (std::system((git + "init --quiet --bare --initial-branch=main --object-format=" + format).c_str()) != 0)
    throw std::runtime_error("git init failed");
  import_stream out{git + "fast-import --quiet --force --done"};
  auto summary = generator{options, out}.run();
  out.finish();
  return summary;
}

} // namespace weir_test
