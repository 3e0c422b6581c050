#include "scratch.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <unistd.h>

namespace adapter_tests {

namespace {

void print_skip(std::string_view test, std::string_view reason) {
  std::printf("SKIP %.*s: %.*s\n", static_cast<int>(test.size()), test.data(), static_cast<int>(reason.size()), reason.data());
}

} // namespace

scratch_directory::scratch_directory() {
  // In memory where there is such a place: these tests sync thousands of times, and none of them cuts the power.
  const std::filesystem::path shared_memory{"/dev/shm"};
  const auto parent = ::access(shared_memory.c_str(), W_OK) == 0 ? shared_memory : std::filesystem::temp_directory_path();
  auto pattern = (parent / "weir-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error{"no temporary directory"};
  path_ = pattern;
}

scratch_directory::~scratch_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

small_disk::small_disk(std::uint64_t bytes) {
  const auto options = "size=" + std::to_string(bytes);
  is_mounted_ = ::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
  if (!is_mounted_)
    reason_ = "a tmpfs can't be mounted here: " + std::string{std::strerror(errno)};
}

small_disk::~small_disk() {
  if (is_mounted_)
    ::umount2(directory_.path().c_str(), MNT_DETACH);
}

bool small_disk::is_there_for(std::string_view test) const {
  if (!is_mounted_)
    print_skip(test, reason_);
  return is_mounted_;
}

void small_disk::fill(std::uint64_t but) const {
  const auto path = directory_ / "ballast";
  const auto file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string page(4096, '.');
  while (::write(file, page.data(), page.size()) > 0) {
  }
  const auto size = ::lseek(file, 0, SEEK_END);
  if (::ftruncate(file, std::max<off_t>(0, size - static_cast<off_t>(but))) != 0)
    throw std::runtime_error{"the disk can't be filled"};
  ::close(file);
}

void small_disk::empty() const {
  std::filesystem::remove(directory_ / "ballast");
}

without_rights::without_rights() {
  if (::geteuid() != 0)
    return;
  ::setfsuid(65534); // this also drops the capabilities that override file permissions
  is_on_ = ::setfsuid(65534) == 65534;
}

without_rights::~without_rights() {
  if (is_on_)
    ::setfsuid(0);
}

bool without_rights::is_on_for(std::string_view test) const {
  if (!is_on_)
    print_skip(test, "only root can drop its rights for a while");
  return is_on_;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

void append_to_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream{path, std::ios::binary | std::ios::app} << bytes;
}

} // namespace adapter_tests
