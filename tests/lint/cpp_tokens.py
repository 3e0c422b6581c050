"""C++ text as tokens with line numbers and matched brackets: as much of the language as a lint over tokens needs."""

import re

TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)")
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"(?:_\w+)?)
    | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<number>\.?\d(?:'?[\w.]|[eEpP][+-])*)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<mark2>::|->|\.\.\.|&&|\|\||<=>|==|!=|<=|[-+*/%|&^]=|\+\+|--)
    | (?P<mark1>.)
    """,
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
ALLOWED = re.compile(r"NOLINT(NEXTLINE)?\(([\w-]+)\)(:\s*\S.*)?")
CLOSERS = {"(": ")", "[": "]", "{": "}"}
CONTROL = {"if", "for", "while", "switch", "catch"}
SPECIFIERS = {"const", "volatile", "override", "final", "mutable", "noexcept", "try", "constexpr", "consteval", "&", "&&"}
TYPE_MARKS = {"::", "<", ">", ",", "*", "&", "&&", "..."}


class token:
    __slots__ = ("text", "kind", "line", "partner")

    def __init__(self, text, kind, line):
        self.text = text
        self.kind = kind
        self.line = line
        self.partner = None  # index of the other bracket

    def __repr__(self):
        return f"{self.text}@{self.line}"


class text_tokens:
    """The tokens of one file, without comments and preprocessor lines."""

    def __init__(self, text):
        self.tokens = []
        self.allowed = []  # (line, check, reason): what NOLINT comments let through
        blank = DIRECTIVE.sub(lambda found: "\n" * found.group().count("\n"), text)
        line = 1
        for found in TOKEN.finditer(blank):
            kind, piece = found.lastgroup, found.group()
            if kind == "comment":
                self._read_allowance(piece, line)
            elif kind != "space":
                self.tokens.append(token(piece, "mark" if kind.startswith("mark") else kind, line))
            line += piece.count("\n")
        self._match_brackets()

    def _read_allowance(self, comment, line):
        found = ALLOWED.search(comment)
        if found:
            self.allowed.append((line + (1 if found.group(1) else 0), found.group(2), (found.group(3) or "")[1:].strip()))

    def _match_brackets(self):
        open_ones = []
        for index, one in enumerate(self.tokens):
            if one.text in CLOSERS:
                open_ones.append(index)
            elif one.text in CLOSERS.values():
                while open_ones and CLOSERS[self.tokens[open_ones[-1]].text] != one.text:
                    open_ones.pop()
                if open_ones:
                    one.partner = open_ones.pop()
                    self.tokens[one.partner].partner = index

    def text(self, index):
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def is_name(self, index):
        return 0 <= index < len(self.tokens) and self.tokens[index].kind == "name"

    def angle_open(self, close):
        """The index of the `<` that the `>` at `close` ends, or None."""
        depth = 0
        index = close
        while index >= 0:
            text = self.text(index)
            if text == ">":
                depth += 1
            elif text == "<":
                depth -= 1
                if depth == 0:
                    return index
            elif text in (")", "]") and self.tokens[index].partner is not None:
                index = self.tokens[index].partner
            elif text in (";", "{", "}"):
                return None
            index -= 1
        return None

    def angle_close(self, start):
        """The index of the `>` that ends the template arguments opened at `start`, or None."""
        depth = 0
        index = start
        while index < len(self.tokens):
            text = self.text(index)
            if text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return index
            elif text in CLOSERS and self.tokens[index].partner is not None:
                index = self.tokens[index].partner
            elif text in (";", "}", "||"):
                return None
            index += 1
        return None

    def _before_trailing_type(self, index):
        """Walks back over `-> type` or `requires …`; returns the index before it, or `index` where there is none."""
        at = index
        while at >= 0:
            one = self.tokens[at]
            if one.text in ("->", "requires"):
                return at - 1
            if one.text in (")", "]") and one.partner is not None:
                at = one.partner - 1
            elif one.kind == "name" and one.text not in CONTROL or one.text in TYPE_MARKS:
                at -= 1
            else:
                return index
        return index

    def body(self, brace):
        """What the `{` opens: ("function", name index, parameters index), ("lambda", capture index, parameters index or None),
        ("block", …) for the other statements' braces, or ("other", …) for classes and initialisers."""
        at = brace - 1
        while True:
            text = self.text(at)
            if text in SPECIFIERS:
                at -= 1
            elif text == "]" and self.text(at - 1) == "]":
                at = self.tokens[at].partner - 1  # an attribute
            elif text == ")" and self.text(self.tokens[at].partner - 1 if self.tokens[at].partner else -1) == "noexcept":
                at = self.tokens[at].partner - 2
            else:
                before = self._before_trailing_type(at)
                if before == at:
                    break
                at = before
        text = self.text(at)
        if text in ("else", "do", ";", "{", "}", "") or self.text(brace - 1) == "try":
            return ("block", None, None)
        if text == ":" and self.ends_label(at):
            return ("block", None, None)
        if text == "]" and self.tokens[at].partner is not None:
            start = self.tokens[at].partner
            if not self.is_name(start - 1) and self.text(start - 1) not in (")", "]"):
                return ("lambda", start, None)
        if text != ")" or self.tokens[at].partner is None:
            return ("other", None, None)
        opened = self.tokens[at].partner
        before = self.text(opened - 1)
        if before in CONTROL or (before == "constexpr" and self.text(opened - 2) == "if"):
            return ("block", None, None)
        if before == "]":
            return ("lambda", self.tokens[opened - 1].partner, opened)
        if before == ">":
            angle = self.angle_open(opened - 1)
            if angle is not None and self.text(angle - 1) == "]":
                return ("lambda", self.tokens[angle - 1].partner, opened)
            return ("function", angle - 1 if angle else opened - 1, opened)
        if self.is_name(opened - 1) or self.text(opened - 2) == "operator" or before == ")":
            return ("function", opened - 1, opened)
        return ("other", None, None)

    def ends_label(self, colon):
        """Whether the `:` ends a case, a default, a label or an access specifier, and no conditional expression."""
        at = colon - 1
        while at >= 0 and self.text(at) not in (";", "{", "}"):
            if self.text(at) == "?":
                return False
            if self.text(at) in ("case", "default", "public", "private", "protected"):
                return True
            at -= 1
        return at == colon - 2 and self.is_name(colon - 1)
