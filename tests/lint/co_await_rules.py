#!/usr/bin/env python3
"""The rules for code with co_await, over tokens. g++ 12 miscompiles what breaks them (tests/patterns shows how).

    co_await_rules.py FILE…        C++ files, and Markdown files for their ```cpp blocks

Prints "file:line: [rule] sentence" for each broken rule and exits 1 if there is any. A line that has to break one says so with
`// NOLINT(weir-co-await-RULE): reason`, or NOLINTNEXTLINE on the line before.
"""

import pathlib
import re
import sys

from cpp_tokens import CLOSERS, text_tokens

# Whole files that break a rule on purpose, and why.
EXCEPTIONS = {
    ("actors/weir/lane.hpp", "noexcept"): "the first use of an end attaches it to its actor, which may allocate",
    ("actors/weir/lane.hpp", "awaiter"): "publish_all_operation is no aggregate; publish_all() makes it, and so do the engines",
}
CO_WORDS = {"co_await", "co_return", "co_yield"}
LARGE_ARRAY = 64  # elements
NO_DECLARATION = CO_WORDS | {
    "return", "throw", "delete", "new", "goto", "else", "case", "default", "if", "while", "for", "do", "switch", "try", "using",
    "break", "continue", "typedef", "static_assert", "this", "sizeof", "public", "private", "protected",
}
FORMS = "co_await n;  (void)co_await n;  auto r = co_await n;  r = co_await n;  co_return co_await n;"


class checker:
    def __init__(self, text, in_tests=False):
        self.in_tests = in_tests  # where awaiters need a constructor, but not a private one
        self.code = text_tokens(text)
        self.tokens = self.code.tokens
        self.broken = []  # (line, rule, sentence)
        self.body_of = {}  # brace index -> what body() says
        self.enclosing = self._enclosing_braces()

    def _enclosing_braces(self):
        """For each token the index of the innermost `{` around it, or None."""
        enclosing, stack = [], []
        for index, one in enumerate(self.tokens):
            if one.text == "}" and stack:
                stack.pop()
            enclosing.append(stack[-1] if stack else None)
            if one.text == "{":
                stack.append(index)
        return enclosing

    def say(self, index, rule, sentence):
        self.broken.append((self.tokens[index].line, rule, sentence))

    def body(self, brace):
        if brace not in self.body_of:
            self.body_of[brace] = self.code.body(brace)
        return self.body_of[brace]

    def function_of(self, index):
        """The brace of the innermost function or lambda body around the token, or None."""
        brace = self.enclosing[index]
        while brace is not None and self.body(brace)[0] not in ("function", "lambda"):
            brace = self.enclosing[brace]
        return brace

    def run(self):
        coroutines = {}
        for index, one in enumerate(self.tokens):
            if one.text in CO_WORDS and one.kind == "name":
                if self.text(index - 1) == "operator":
                    continue
                brace = self.function_of(index)
                if brace is not None:
                    coroutines.setdefault(brace, index)
                if one.text == "co_await":
                    self.check_form(index)
        for brace in coroutines:
            self.check_parameters(brace)
            self.check_first_statement(brace)
            self.check_frame(brace)
        self.check_awaiters()
        return sorted(self.without_allowed())

    def without_allowed(self):
        for line, rule, sentence in self.broken:
            reasons = [reason for at, check, reason in self.code.allowed if at == line and check == f"weir-co-await-{rule}"]
            if not reasons:
                yield line, rule, sentence
            elif not any(reasons):
                yield line, rule, "NOLINT needs its reason behind a colon"

    def text(self, index):
        return self.code.text(index)

    # Rules 1 and 2: what is awaited is a name or a call with names, and the statement has one of four forms.

    def check_form(self, index):
        start = self.statement_start(index)
        if start is None:
            self.say(index, "form", f"co_await stands inside an expression, a condition or braces; the forms are: {FORMS}")
            return
        if not self.is_form(start, index):
            self.say(index, "form", f"not one of the forms: {FORMS}")
            return
        end = self.operand_end(index + 1)
        if end is None or self.text(end) != ";":
            self.say(index, "form", "co_await takes a name, a moved name, or a call whose arguments are names or moved names: "
                                    "`auto op = …; auto r = co_await std::move(op);`")

    def statement_start(self, index):
        """Where the statement begins in which the co_await stands at the outermost level, or None when it stands deeper."""
        at = index - 1
        while at >= 0:
            text = self.text(at)
            if text in (";", "}") or text in ("else", "do"):
                if text == "}" and self.is_initialiser(self.tokens[at].partner):
                    return None
                return at + 1
            if text == "{":
                return None if self.is_initialiser(at) else at + 1
            if text in ("(", "[", "?", "&&", "||", ","):
                # `auto&& r = co_await n;` declares; `<` … `,` … `>` belongs to a type.
                if text == "&&" and self.code.is_name(at + 1) and self.text(at + 2) == "=":
                    at -= 1
                    continue
                return None
            if text == ":":
                return at + 1 if self.code.ends_label(at) else None
            if text == ")":
                opened = self.tokens[at].partner
                if opened is None:
                    return None
                if self.text(opened - 1) in ("if", "for", "while", "switch") or self.text(opened - 2) == "if":
                    return at + 1
                at = opened
            elif text == "]":
                at = self.tokens[at].partner if self.tokens[at].partner is not None else at
            elif text == ">":
                angle = self.code.angle_open(at)
                at = angle if angle is not None else at
            at -= 1
        return 0

    def is_initialiser(self, brace):
        return brace is not None and self.body(brace)[0] == "other" and not self.opens_class(brace)

    def opens_class(self, brace):
        at = brace - 1
        while at >= 0 and self.text(at) not in (";", "{", "}", "(", ")", "="):
            if self.text(at) in ("struct", "class", "namespace", "union", "enum", "extern"):
                return True
            at -= 1
        return False

    def is_form(self, start, index):
        if start == index:
            return True
        before = self.tokens[start:index]
        if [one.text for one in before] in (["co_return"], ["(", "void", ")"]):
            return True
        if before[-1].text != "=" or len(before) < 2 or before[-2].kind != "name":
            return False
        if len(before) == 2:
            return True
        return self.declares(start) == index - 1

    def operand_end(self, at):
        """The index behind a name, a moved name, or a call with names; None for anything else."""
        if self.is_moved_name(at):
            return at + 6
        if not self.code.is_name(at) and self.text(at) != "::":
            return None
        at = at + 1 if self.text(at) == "::" else at
        plain = True
        while self.code.is_name(at):
            at += 1
            if self.text(at) == "<":
                close = self.code.angle_close(at)
                if close is None:
                    return None
                at = close + 1
            if self.text(at) in ("::", ".", "->"):
                plain = False
                at += 1
            else:
                break
        if self.text(at) == "(" and self.tokens[at].partner is not None:
            return self.tokens[at].partner + 1 if self.are_names(at + 1, self.tokens[at].partner) else None
        return at if plain else None

    def is_moved_name(self, at):
        return [self.text(at + step) for step in (0, 1, 2, 3, 5)] == ["std", "::", "move", "(", ")"] and self.code.is_name(at + 4)

    def are_names(self, at, end):
        while at < end:
            if self.is_moved_name(at):
                at += 6
            elif self.code.is_name(at):
                at += 1
            else:
                return False
            if at < end and self.text(at) != ",":
                return False
            at += 1
        return True

    # Rule 3: parameters by value, no capturing lambda.

    def check_parameters(self, brace):
        kind, name, parameters = self.body(brace)
        if kind == "lambda" and self.tokens[name].partner != name + 1:
            self.say(name, "capture", "a lambda that captures is no coroutine: the closure dies before the frame does")
        if parameters is None:
            return
        at, end = parameters + 1, self.tokens[parameters].partner
        while at < end:
            text = self.text(at)
            if text in ("&", "&&"):
                self.say(at, "parameter", "a coroutine takes its parameters by value: what a reference means may be gone at the first resumption")
            elif text == "<":
                close = self.code.angle_close(at)
                at = close if close is not None and close < end else at
            elif text in CLOSERS and self.tokens[at].partner is not None:
                at = self.tokens[at].partner
            at += 1

    # Rule 4: the first statement declares something, or is a for loop that begins with a declaration: tests/patterns has that form
    # among those that work. A body without co_await has nothing that could be skipped.

    def check_first_statement(self, brace):
        if not self.awaits(brace) or self.is_declaring_loop(brace + 1):
            return
        if self.declares(brace + 1) is None:
            self.say(min(brace + 1, len(self.tokens) - 1), "first", "the first statement of a coroutine declares something (g++ 12 may skip the body otherwise)")

    def awaits(self, brace):
        end = self.tokens[brace].partner or len(self.tokens)
        return any(self.text(at) in ("co_await", "co_yield") and self.function_of(at) == brace for at in range(brace, end))

    def is_declaring_loop(self, at):
        if self.text(at) != "for" or self.text(at + 1) != "(" or self.tokens[at + 1].partner is None:
            return False
        body = self.tokens[at + 1].partner + 1
        return self.declares(at + 2) is not None or (self.text(body) == "{" and self.declares(body + 1) is not None)

    def declares(self, at):
        """Where the initialiser (or the `;`) of the declaration that begins at `at` stands, or None when it is no declaration."""
        words = 0
        while self.text(at) == "[" and self.text(at + 1) == "[":
            at = self.tokens[at].partner + 1
        while True:
            if self.code.is_name(at) and self.text(at) not in NO_DECLARATION:
                words += 1
                at += 1
            elif self.text(at) == "::":
                at += 1
                words = max(0, words - 1)
            elif self.text(at) == "<" and words:
                close = self.code.angle_close(at)
                if close is None:
                    return None
                at = close + 1
            elif self.text(at) in ("*", "&", "&&") and words:
                at += 1
            elif self.text(at) == "[" and words and self.text(at - 1) in ("auto", "&", "&&"):
                return self.tokens[at].partner + 1
            else:
                break
        named = self.code.is_name(at - 1)
        return at if words >= 2 and named and self.text(at) in ("=", ";", "{", "(", "[", ",", ":") else None

    # Rule 5: nothing over-aligned and no large array in a frame.

    def check_frame(self, brace):
        at, end = brace + 1, self.tokens[brace].partner or len(self.tokens)
        while at < end:
            text = self.text(at)
            if text == "{" and self.body(at)[0] in ("function", "lambda"):
                at = self.tokens[at].partner or end
            elif text == "alignas":
                self.say(at, "frame", "nothing over-aligned in a coroutine: frames do not honour it")
            elif text == "[" and self.code.is_name(at - 1) and self.code.is_name(at - 2) and self.is_large(at + 1):
                self.say(at, "frame", f"an array of more than {LARGE_ARRAY} elements in a coroutine's frame")
            elif text == "array" and self.text(at + 1) == "<":
                close = self.code.angle_close(at + 1)
                if close is not None and self.is_large(close - 1):
                    self.say(at, "frame", f"an array of more than {LARGE_ARRAY} elements in a coroutine's frame")
            at += 1

    def is_large(self, at):
        digits = re.match(r"\d+", self.text(at).replace("'", ""))
        return bool(digits) and int(digits.group()) > LARGE_ARRAY

    # Rules 6 and 7: what awaiters and promises look like.

    def check_awaiters(self):
        for index, one in enumerate(self.tokens):
            if not self.is_declared_function(index):
                continue
            if one.text in ("await_ready", "final_suspend", "unhandled_exception"):
                if not self.is_noexcept(index):
                    self.say(index, "noexcept", f"{one.text} is noexcept")
            if one.text == "await_suspend" and not self.returns_void_or_bool(index) and "final" not in self.class_of(index)[1]:
                self.say(index, "suspend", "await_suspend returns void or bool; depth is the run queue's business")
            if one.text == "await_ready":
                self.check_constructor(index)

    def is_declared_function(self, index):
        return (self.code.is_name(index) and self.text(index + 1) == "(" and self.text(index - 1) not in (".", "->")
                and (self.code.is_name(index - 1) or self.text(index - 1) in (">", "*", "&"))
                and self.text(index - 1) not in NO_DECLARATION)

    def is_noexcept(self, index):
        at = self.tokens[index + 1].partner
        while at is not None and self.text(at) not in ("{", ";", "=", ""):
            if self.text(at) == "noexcept":
                return True
            at += 1
        return False

    def returns_void_or_bool(self, index):
        if self.text(index - 1) in ("void", "bool"):
            return True
        at = self.tokens[index + 1].partner
        while at is not None and self.text(at) not in ("{", ";", ""):
            if self.text(at) == "->":
                return self.text(at + 1) in ("void", "bool")
            at += 1
        return False

    def class_of(self, index):
        """The brace and the name of the class around the token."""
        brace = self.enclosing[index]
        if brace is None:
            return None, ""
        at = brace - 1
        while at >= 0 and self.text(at) not in (";", "{", "}"):
            if self.text(at) in ("struct", "class"):
                while self.text(at + 1) in ("[", "alignas") and self.tokens[at + 1].partner:
                    at = self.tokens[at + 1].partner
                return brace, self.text(at + 1)
            at -= 1
        return brace, ""

    def check_constructor(self, index):
        brace, name = self.class_of(index)
        if not name or "final" in name:
            return
        is_private = self.in_tests or self.is_class(brace)
        at, end = brace + 1, self.tokens[brace].partner or len(self.tokens)
        while at < end:
            text = self.text(at)
            if text in ("public", "private", "protected") and self.text(at + 1) == ":":
                is_private = self.in_tests or text != "public"
            elif text == name and self.text(at + 1) == "(" and self.text(at - 1) != "~" and is_private:
                return
            elif text in CLOSERS and self.tokens[at].partner is not None:
                at = self.tokens[at].partner
            at += 1
        self.say(index, "awaiter", f"the awaiter {name} has a private constructor and comes from a function: an aggregate is destroyed twice by g++ 12")

    def is_class(self, brace):
        at = brace - 1
        while at >= 0 and self.text(at) not in (";", "{", "}"):
            if self.text(at) in ("struct", "class"):
                return self.text(at) == "class"
            at -= 1
        return False


def check_text(text, in_tests=False):
    """The broken rules of C++ text as (line, rule, sentence)."""
    return checker(text, in_tests).run()


FENCE = re.compile(r"^```(?:cpp|c\+\+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def check_file(path):
    text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    if not str(path).endswith(".md"):
        return check_text(text, in_tests=str(path).startswith(("tests/", "bench/")))
    broken = []
    for block in FENCE.finditer(text):
        lines_before = text.count("\n", 0, block.start(1))
        broken += [(line + lines_before, rule, sentence) for line, rule, sentence in check_text(block.group(1))]
    return broken


def main(paths):
    count = 0
    for path in paths:
        for line, rule, sentence in check_file(path):
            if (path, rule) in EXCEPTIONS:
                continue
            print(f"{path}:{line}: [{rule}] {sentence}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
