#include "../harness/measure.hpp"
#include "cases.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

namespace weir_bench {

namespace {

/// Writes entries one behind the other, and syncs after each batch.
class file_append final : public labour {
public:
  explicit file_append(std::size_t batch)
    : batch_{batch},
      file_{::open((directory_ / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)} {
    for (std::size_t one = 0; one < batch; ++one)
      bytes_ += payload_of(one);
  }
  ~file_append() override { ::close(file_); }

  void run(std::uint64_t items) override {
    for (std::uint64_t done = 0; done < items; done += batch_)
      if (::write(file_, bytes_.data(), bytes_.size()) != static_cast<ssize_t>(bytes_.size()) || ::fdatasync(file_) != 0)
        give_up("write");
  }

private:
  scratch directory_;
  std::size_t batch_;
  int file_;
  std::string bytes_;
};

/// Reads a file from its beginning, over and over.
class file_scan final : public labour {
public:
  file_scan() : file_{::open((directory_ / "file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)} {
    for (std::uint64_t one = 0; one < entries; ++one)
      if (const auto bytes = payload_of(one); ::write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        give_up("write");
  }
  ~file_scan() override { ::close(file_); }

  void run(std::uint64_t items) override {
    std::string buffer(1U << 20, '\0');
    off_t at = 0;
    for (std::uint64_t done = 0; done < items;) {
      const auto size = ::pread(file_, buffer.data(), buffer.size(), at);
      if (size < 0)
        give_up("read");
      at = size == 0 ? 0 : at + size;
      done += static_cast<std::uint64_t>(size) / entry_bytes;
    }
  }

private:
  static constexpr std::uint64_t entries = 100'000;
  scratch directory_;
  int file_;
};

} // namespace

void add_file_cases(std::vector<bench_case>& cases) {
  for (const auto batch : std::initializer_list<std::size_t>{1, 16, 256})
    cases.push_back({"file.append." + std::to_string(batch), false, [batch](const run_settings& settings) {
                       file_append subject{batch};
                       return measure(subject, settings);
                     }});
  cases.push_back({"file.scan", false, [](const run_settings& settings) {
                     file_scan subject;
                     return measure(subject, settings);
                   }});
}

} // namespace weir_bench
