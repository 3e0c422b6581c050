#!/usr/bin/env python3
"""Good code passes the co_await rules, and every bad snippet is found under its rule."""

import pathlib
import tempfile
import unittest

from co_await_rules import check_file, check_text

GOOD = {
    "the four forms": """
        task<int> f(lane in) {
          auto op = in.publish(4);
          co_await std::move(op);
          (void)co_await op;
          auto other = in.publish(5);
          auto done = co_await std::move(other);
          result<int> typed = co_await other;
          const std::map<int, std::string>& kept = co_await other;
          auto&& bound = co_await other;
          done = co_await op;
          co_return co_await other;
        }""",
    "a call whose arguments are names or moved names": """
        task<> f(self me, consumer<item> in) {
          auto sink = me.name();
          for (;;) {
            auto got = co_await in.receive();
            auto written = co_await write(me, std::move(got));
            auto typed = co_await me.receive<std::vector<int>>(written);
            co_await weir::sleep(me, typed);
          }
        }""",
    "awaiting where any statement may stand": """
        task<> f(lane in) {
          auto op = in.next();
          if (op.ready())
            co_await op;
          else
            co_await op;
          switch (op.kind()) {
          case kind::live:
            co_await op;
            break;
          default:
            co_await op;
          }
          while (op.more()) {
            co_await op;
          }
          try {
            co_await op;
          } catch (const std::exception& failure) {
            log(failure);
          }
          do
            co_await op;
          while (op.more());
        }""",
    "a loop that begins with a declaration": """
        task<> f(self me) { for (;;) { auto op = me.next(); co_await op; } }
        task<> g(self me) { for (auto i = 0; i < 3; ++i) co_await me; }""",
    "a body without awaits that declares nothing": "task<int> five() { co_return 5; }",
    "a coroutine without awaits": "task<int> five() { auto value = 5; co_return value; }",
    "a lambda that captures nothing": "auto t = [](self me) -> task<int> { auto op = me.next(); co_return co_await std::move(op); };",
    "a capturing lambda that is no coroutine": """
        task<int> f(worker files, std::string path) {
          auto call = files.run([path] { return read_all(path); });
          co_return co_await std::move(call);
        }""",
    "references in what is no coroutine": "int f(const std::string& text, int&& value) { return value; }",
    "references inside a parameter's type": "task<> f(std::function<void(const int&)> call) { auto op = call; co_await op; }",
    "a first statement that declares": """
        task<> a(self me) { const std::vector<int> v{1}; co_await me; }
        task<> b(self me) { auto [x, y] = pair(); co_await me; }
        task<> c(self me) { std::optional<std::pair<int, int>> p; co_await me; }
        task<> d(self me) { weir::lane_id id{"x"}; co_await me; }
        task<> e(self me) { [[maybe_unused]] auto x = 1; co_await me; }
        task<> g(self me) { item* p = nullptr; co_await me; }
        task<> h(self me) { std::vector<int> v(3), w(4); co_await me; }""",
    "members and nested classes": """
        class sink final : public weir::sink {
        public:
          task<result<void>> flush(self me) override {
            auto call = files_.run([this] { return flush_now(); });
            co_return co_await std::move(call);
          }
          explicit sink(const options& given) : files_{given.name}, count_(0) {}
        };""",
    "words in comments and strings": """
        // if (co_await x) is what g++ 12 gets wrong
        /* foo(co_await x) */
        const char* text = "if (co_await x)";
        const char* raw = R"x(foo(co_await y))x";
        #define AWAIT(x) co_await (x)
        """,
    "an allowed exception with its reason": """
        task<> f(caf::actor_system& system) { // NOLINT(weir-co-await-parameter): the system outlives every actor
          auto op = system.next();
          co_await op;
        }""",
    "an allowed exception on the line before": """
        task<> f(lane in) {
          auto op = in.next();
          // NOLINTNEXTLINE(weir-co-await-form): shows the bug
          use(co_await op);
        }""",
    "awaiters and promises": """
        class publish_awaiter {
        public:
          bool await_ready() const noexcept { return false; }
          void await_suspend(std::coroutine_handle<> waiting) noexcept;
          int await_resume();
        private:
          friend class lane;
          explicit publish_awaiter(lane* owner) : owner_{owner} {}
          lane* owner_;
        };
        struct promise {
          struct final_awaiter {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise> done) noexcept { return done; }
            void await_resume() const noexcept {}
          };
          final_awaiter final_suspend() noexcept { return {}; }
          void unhandled_exception() noexcept { failure = std::current_exception(); }
        };
        void drive(publish_awaiter& a) { if (!a.await_ready()) a.await_suspend(h); }""",
    "an array of moderate size": "task<> f(lane in) { std::array<char, 16> a; char b[8]; co_await in; }",
    "operator co_await": "struct op { auto operator co_await() && noexcept { return take(std::move(*this)); } };",
    "template coroutines": """
        template <class T>
          requires std::movable<T>
        task<T> f(T value) {
          auto op = later(std::move(value));
          co_return co_await std::move(op);
        }""",
}

# rule -> snippets that break it; {} stands in the body of a coroutine that has declared `op`.
BAD_FORMS = [
    "if (co_await op) g();",
    "if (auto r = co_await op; r) g();",
    "if (!co_await op) co_return;",
    "while (co_await op) g();",
    "for (auto r = co_await op; r;) g();",
    "for (auto r : co_await op) g();",
    "switch (co_await op) { default: g(); }",
    "do g(); while (co_await op);",
    "auto r = c ? co_await op : 1;",
    "auto r = c ? 1 : co_await op;",
    "auto r = a && co_await op;",
    "auto r = co_await op || b;",
    "g(co_await op);",
    "g(1, co_await op);",
    "v.push_back(co_await op);",
    "item r{co_await op, 2};",
    "auto r = item{co_await op};",
    "item r(co_await op);",
    "std::vector<int> r = {co_await op};",
    "auto [a, b] = co_await op;",
    "auto r = (co_await op);",
    "auto r = co_await op + 1;",
    "r += co_await op;",
    "auto r = -co_await op;",
    "(int)co_await op;",
    "(co_await op).value();",
    "co_await op, g();",
    "return co_await op;",
    "throw co_await op;",
    "co_return item{co_await op};",
    "co_return (co_await op).value();",
    "a[co_await op] = 1;",
    "*p = co_await op;",
    "auto r = co_await f(item{1});",
    "auto r = co_await f({1, 2});",
    "auto r = co_await f([x] { return x; });",
    "auto r = co_await f(g(x));",
    "auto r = co_await f(x + 1);",
    "auto r = co_await f(x).g();",
    "auto r = co_await f(*x);",
    'auto r = co_await f("text");',
    "auto r = co_await item{1};",
    "auto r = co_await (op);",
    "auto r = co_await std::move(*op);",
    "auto r = co_await [] { return op; }();",
    "auto r = co_await co_await op;",
]
BAD = {
    "parameter": [
        "task<> f(const std::string& text) { auto op = g(text); co_await op; }",
        "task<> f(self me, item&& value) { auto op = g(value); co_await op; }",
        "template <class... T> task<> f(T&&... values) { auto op = g(values...); co_await op; }",
        "auto f = [](lane& in) -> task<> { auto op = in.next(); co_await op; };",
        "struct s { task<> run(lane& in) const { auto op = in.next(); co_await op; } };",
        "generator<int> f(const int& n) { auto i = n; co_yield i; }",
        "task<int> f(const int& n) { auto i = n; co_return i; }",
    ],
    "capture": [
        "auto f = [x](self me) -> task<> { auto op = me.next(); co_await op; };",
        "auto f = [&](self me) -> task<> { auto op = me.next(); co_await op; };",
        "auto f = [this] { auto op = next(); co_await op; };",
        "run([=]() mutable noexcept -> task<result<void>> { auto op = next(); co_await op; });",
        "auto f = [x]<class T>(T y) -> task<> { auto op = y.next(); co_await op; };",
    ],
    "first": [
        "task<> f(self me) { co_await me; }",
        "task<> f(self me) { me.name(); auto op = me.next(); co_await op; }",
        "task<> f(self me) { if (me.stopping()) co_return; auto op = me.next(); co_await op; }",
        "task<> f(self me) { using item = int; co_await me; }",
        "task<> f(self me) { for (;;) { me.name(); auto op = me.next(); co_await op; } }",
        "task<> f(self me) { while (me.more()) { auto op = me.next(); co_await op; } }",
        "task<> f(self me) { try { auto op = me.next(); co_await op; } catch (...) {} }",
        "task<> f(self me) { me = other; co_await me; }",
        "task<> f(self me) { ; co_await me; }",
    ],
    "frame": [
        "task<> f(self me) { auto op = me; alignas(64) int x = 1; co_await op; }",
        "task<> f(self me) { char buffer[4096]; co_await me; }",
        "task<> f(self me) { auto op = me; { std::array<std::byte, 1'024> a; } co_await op; }",
    ],
    "noexcept": [
        "class a { a(int); public: bool await_ready() const { return false; } };",
        "struct promise { std::suspend_always final_suspend() { return {}; } };",
        "struct promise { void unhandled_exception() { throw; } };",
    ],
    "suspend": [
        "class a { a(int); std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) noexcept { return h; } };",
        "class a { a(int); auto await_suspend(std::coroutine_handle<> h) noexcept -> std::coroutine_handle<> { return h; } };",
    ],
    "awaiter": [
        "struct a { int x; bool await_ready() const noexcept { return false; } };",
        "class a { public: explicit a(int x); bool await_ready() const noexcept { return false; } };",
    ],
}


class rules(unittest.TestCase):
    def test_good_code_passes(self):
        for what, text in GOOD.items():
            with self.subTest(what):
                self.assertEqual(check_text(text), [])

    def test_every_bad_form_is_found(self):
        for statement in BAD_FORMS:
            with self.subTest(statement):
                text = "task<int> f(lane in, bool c) {\n  auto op = in.next();\n  " + statement + "\n  co_return 1;\n}"
                found = check_text(text)
                self.assertTrue(found, "nothing was found")
                self.assertEqual({(line, rule) for line, rule, _ in found}, {(3, "form")})

    def test_every_other_bad_snippet_is_found_under_its_rule(self):
        for rule, snippets in BAD.items():
            for text in snippets:
                with self.subTest(text):
                    self.assertEqual({found for _, found, _ in check_text(text)}, {rule})

    def test_the_line_is_named(self):
        self.assertEqual([line for line, _, _ in check_text("\n\ntask<> f(self me) {\n\n  co_await me;\n}")], [5])

    def test_an_exception_needs_a_reason(self):
        text = "task<> f(lane& in) { // NOLINT(weir-co-await-parameter)\n auto op = in.next(); co_await op; }"
        self.assertEqual([(line, rule) for line, rule, _ in check_text(text)], [(1, "parameter")])

    def test_an_exception_is_for_its_own_rule_only(self):
        text = "task<> f(lane& in) { // NOLINT(weir-co-await-form): not this one\n auto op = in.next(); co_await op; }"
        self.assertEqual([(line, rule) for line, rule, _ in check_text(text)], [(1, "parameter")])

    def test_an_awaiter_of_a_test_needs_any_constructor(self):
        text = "class a { public: explicit a(int x); bool await_ready() const noexcept { return false; } };"
        self.assertEqual(check_text(text, in_tests=True), [])
        text = "struct a { int x; bool await_ready() const noexcept { return false; } };"
        self.assertEqual([rule for _, rule, _ in check_text(text, in_tests=True)], ["awaiter"])

    def test_examples_in_markdown_are_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("# Page\n\n```cpp\ntask<> f(self me) {\n  auto op = me;\n  g(co_await op);\n}\n```\n\n```sh\nif (co_await x)\n```\n")
            self.assertEqual([(line, rule) for line, rule, _ in check_file(page)], [(6, "form")])


if __name__ == "__main__":
    unittest.main()
