// Compiled when the build is configured, to see whether it does (GCC PR 104981).
#include <coroutine>
#include <memory>

struct body {
  struct promise_type {
    explicit promise_type(std::unique_ptr<int>&) {}
    body get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept {}
    void return_void() noexcept {}
  };
};

body with_move_only_parameter(std::unique_ptr<int>&& given) {
  auto kept = *given;
  co_return;
}
