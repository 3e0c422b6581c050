#include "history.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace {

int usage() {
  std::fputs("usage: make-history OUT_DIR [--commits N] [--seed S] [--changes-per-commit N] [--files N]\n"
             "                    [--first-commit-files N] [--sha256]\n"
             "\n"
             "Writes a bare repository with a generated history on branch main into OUT_DIR.\n",
    stderr);
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-')
    return usage();
  weir_test::history_options options;
  for (int at = 2; at < argc; ++at) {
    if (std::strcmp(argv[at], "--sha256") == 0) {
      options.sha256 = true;
      continue;
    }
    if (at + 1 == argc)
      return usage();
    const char* name = argv[at];
    char* end = nullptr;
    const auto value = std::strtoull(argv[++at], &end, 10);
    if (*argv[at] == '\0' || *end != '\0')
      return usage();
    if (std::strcmp(name, "--commits") == 0)
      options.commits = value;
    else if (std::strcmp(name, "--seed") == 0)
      options.seed = value;
    else if (std::strcmp(name, "--changes-per-commit") == 0 && value > 0)
      options.changes_per_commit = value;
    else if (std::strcmp(name, "--files") == 0)
      options.files = value;
    else if (std::strcmp(name, "--first-commit-files") == 0)
      options.first_commit_files = value;
    else
      return usage();
  }
  try {
    const auto made = weir_test::make_history(argv[1], options);
    std::printf("%zu commits (%zu merges, %zu empty), %zu beside the line (%zu roots); "
                "%zu adds, %zu edits, %zu deletes, %zu renames, %zu modes, %zu types, %zu submodules, "
                "%zu file to directory, %zu directory to file\n",
      made.commits, made.merges, made.empty_commits, made.side_commits, made.extra_roots, made.adds, made.edits, made.deletes,
      made.renames, made.mode_changes, made.type_changes, made.submodules, made.file_to_directory, made.directory_to_file);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "make-history: %s\n", failure.what());
    return 1;
  }
}
