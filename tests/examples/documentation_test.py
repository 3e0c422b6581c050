"""Every program that the documentation shows is one that the tests compile and run, word for word."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
shown = {"README.md": ["embed.cpp"], "docs/embedding.md": ["own_ends.cpp"], "docs/bus.md": ["presence.cpp"]}
failures = []
for page, programs in shown.items():
    blocks = re.findall(r"```cpp\n(.*?)```", (root / page).read_text(), flags=re.S)
    for program in programs:
        text = (root / "tests" / "examples" / program).read_text()
        if text not in blocks:
            failures.append(f"{page} does not show tests/examples/{program} as it is")

for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        if not (page.parent / target).exists():
            failures.append(f"{page.relative_to(root)} links to {target}, which is not there")

for failure in failures:
    print(failure)
print("the documentation holds" if not failures else f"{len(failures)} faults")
sys.exit(1 if failures else 0)
