#include "pipeline_fixture.hpp"

#include <algorithm>
#include <stdexcept>

namespace weir::cli::test {

void pipeline_fixture::configure_lines(std::string_view source, std::string_view sink) const {
  std::string text{"name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n"};
  text.append(source).append("[[sink]]\nname = \"audit\"\ntype = \"jsonl\"\npath = \"audit.jsonl\"\n").append(sink);
  configure(text);
}

void pipeline_fixture::put_changes(int count) const {
  std::string text;
  for (int number = 1; number <= count; ++number)
    text += "{\"collection\":\"c\",\"key\":\"k" + std::to_string(number)
            + "\",\"op\":\"upsert\",\"payload\":{\"n\":" + std::to_string(number) + "}}\n";
  put(directory_ / "changes.jsonl", text);
}

std::unique_ptr<process> pipeline_fixture::start(std::vector<std::string> arguments, process::streams given) const {
  arguments.insert(arguments.begin(), WEIR_PROGRAM);
  return std::make_unique<process>(std::move(arguments), path(), std::move(given));
}

std::string pipeline_fixture::git(std::vector<std::string> arguments) const {
  const auto repository = directory_ / "repository";
  const auto call = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "git");
    process called{words, repository};
    if (called.wait() != exited(0))
      throw std::runtime_error{"git " + words[1] + " failed: " + called.errors()};
    return called.output();
  };
  if (std::filesystem::create_directory(repository))
    call({"init", "--quiet", "--initial-branch=main", "."});
  return call(std::move(arguments));
}

std::size_t pipeline_fixture::lines_in(std::string_view file) const {
  return static_cast<std::size_t>(std::ranges::count(content_of(directory_ / file), '\n'));
}

} // namespace weir::cli::test
