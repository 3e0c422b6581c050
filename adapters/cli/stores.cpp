#include <weir/cli/stores.hpp>

#include <utility>

namespace weir::cli {

directory_positions::directory_positions(std::shared_ptr<state_directory> directory)
  : directory_{std::move(directory)},
    failed_{std::make_shared<std::atomic<bool>>(false)},
    disk_{"weir-state"} {}

task<result<void>> directory_positions::save(self, position at) {
  auto writing = disk_.run([directory = directory_, at] { return directory->save(at); });
  auto written = co_await writing;
  if (!written)
    *failed_ = true;
  co_return written;
}

file_dead_letters::file_dead_letters(std::filesystem::path path)
  : file_{std::make_shared<dead_letter_file>(std::move(path))},
    disk_{"weir-dead"} {}

task<result<void>> file_dead_letters::add(self, std::vector<dead_letter> letters) {
  auto writing = disk_.run([file = file_, letters = std::move(letters)] { return file->append(letters); });
  auto written = co_await writing;
  co_return written;
}

} // namespace weir::cli
